"""The lasso against enumeration of all supports."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csc_array

from untrackable.arrays import FloatArray
from untrackable.rappor_decode.regression import LassoChoice, WeightedDesign, lasso_path


def best(
    matrix: FloatArray, weights: FloatArray, response: FloatArray, penalty: float, background: bool
) -> FloatArray:
    """The minimiser, by solving for each set of positive coefficients."""
    if background:
        matrix = matrix - weights @ matrix / weights.sum()
        response = response - weights @ response / weights.sum()
    gram, products = matrix.T @ (weights[:, None] * matrix), matrix.T @ (weights * response)
    scale = np.sqrt(np.diagonal(gram))
    least: float = 0.0
    found = np.zeros(matrix.shape[1])
    for size in range(1, matrix.shape[1] + 1):
        for support in map(list, itertools.combinations(range(matrix.shape[1]), size)):
            part = gram[np.ix_(support, support)]
            if np.linalg.matrix_rank(part) < size:
                continue
            at = np.linalg.solve(part, products[support] - penalty * scale[support])
            value = float(at @ part @ at / 2 - (products[support] - penalty * scale[support]) @ at)
            if np.all(at > 0) and value < least - 1e-12:
                least, found = value, np.zeros(matrix.shape[1])
                found[support] = at
    return found


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_minimum_is_found(seed: int, background: bool) -> None:
    rng = np.random.default_rng(seed)
    matrix = (rng.random((14, 7)) < 0.4).astype(float)
    matrix[0] = 1 - matrix[1]  # no column is constant
    weights = rng.uniform(20, 60, 14)
    response = matrix @ np.maximum(0, rng.normal(0, 1, 7)) + 0.3 * background + rng.normal(0, 0.2, 14)
    for penalty in (0.0, 1.0, 5.0):
        chosen = lasso_path(
            WeightedDesign(csc_array(matrix), weights, background), response, penalty=penalty, most=7
        )
        found = np.zeros(7)
        found[chosen.columns] = chosen.coefficients
        np.testing.assert_allclose(found, best(matrix, weights, response, penalty, background), atol=2e-3)
        assert chosen.penalty == penalty
        assert np.all(np.diff(chosen.coefficients) <= 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_candidate_that_is_left_out_changes_the_others_as_if_it_were_not_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = (rng.random((14, 7)) < 0.4).astype(float)
    matrix[0] = 1 - matrix[1]  # no column is constant
    weights, response = rng.uniform(20, 60, 14), matrix @ rng.uniform(0.5, 1.5, 7)
    whole = WeightedDesign(csc_array(matrix), weights, True)
    every = lasso_path(whole, response, penalty=1.0, most=7)
    stay = every.columns != 3
    near = LassoChoice(every.columns[stay], every.coefficients[stay], every.penalty)
    chosen = lasso_path(whole, response, penalty=1.0, most=7, near=near, without=3)
    found = np.zeros(7)
    found[chosen.columns] = chosen.coefficients
    wanted = best(np.delete(matrix, 3, axis=1), weights, response, 1.0, True)
    assert not stay.all()
    assert found[3] == 0
    np.testing.assert_allclose(np.delete(found, 3), wanted, atol=2e-3)


def test_nothing_and_too_much() -> None:
    matrix, weights = csc_array(np.eye(6)), np.ones(6)
    none = lasso_path(WeightedDesign(matrix, weights, False), -np.ones(6), penalty=1.0, most=6)
    assert none.columns.size == 0
    response = np.array([10.0, 9, 8, 1, 1, 1])
    capped = lasso_path(WeightedDesign(matrix, weights, False), response, penalty=0.0, most=3)
    assert sorted(capped.columns.tolist()) == [0, 1, 2]
    assert capped.penalty >= 0.9


def test_a_column_of_ones_is_the_background() -> None:
    matrix = csc_array(np.array([[1.0, 1], [1, 0], [1, 0]]))
    chosen = lasso_path(WeightedDesign(matrix, np.ones(3), True), np.array([9.0, 1, 1]), penalty=0.5, most=2)
    assert chosen.columns.tolist() == [1]
