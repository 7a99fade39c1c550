"""Least squares against dense algebra, and its covariance against the law of reports."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from untrackable import Rappor
from untrackable.arrays import FloatArray
from untrackable.rappor_decode.decode import accepted, p_value_with_rivals
from untrackable.rappor_decode.files import CandidateMap, Counts
from untrackable.rappor_decode.regression import Design, design, independent, least_squares, model

PARAMS = Rappor(bloom_bits=5, hashes=2, f=0.25, p=0.2, q=0.9, cohorts=3)
NAMES = ["a", "b", "c", "d"]


def laid(shares: FloatArray | None = None, people: tuple[int, ...] = (50, 80, 70)) -> Design:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 50, size=(3, 5))
    made = design(PARAMS, Counts(np.array(people), counts), CandidateMap.of(PARAMS, NAMES))
    if shares is None:
        return made
    return Design(made.matrix, shares, made.people, made.members, made.bits, made.rates, made.positions)


def test_the_design_has_the_bits_of_the_filters() -> None:
    made = laid()
    dense = made.matrix.toarray()
    for i, name in enumerate(NAMES):
        for cohort in range(3):
            bits = [PARAMS.bloom(name, cohort) >> bit & 1 for bit in range(5)]
            assert dense[5 * cohort : 5 * cohort + 5, i].tolist() == bits
    assert made.total == 200


@pytest.mark.parametrize("background", [False, True])
def test_least_squares_and_the_rest(background: bool) -> None:
    made = laid()
    guess = np.full(15, 0.3)
    fit = least_squares(made, np.array([2, 0]), guess, background=np.ones(15) if background else None)
    weights = 1 / made.variances(guess)
    ones = [np.ones(15)] if background else []
    dense = made.matrix.toarray()
    for columns in ([2, 0], [2, 0, 1], [2, 0, 3]):
        matrix = np.stack([*ones, *(dense[:, c] for c in columns)], axis=1)
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(matrix * root[:, None], made.shares * root)[0]
        assert solution[-1] == pytest.approx(fit.proportions[columns[-1]])  # added alone, where it is not there
        if len(columns) == 2:
            np.testing.assert_allclose(fit.solution, solution)
            np.testing.assert_allclose(fit.rest, made.shares - matrix @ solution)
            assert fit.dispersion == max(1, weights @ fit.rest**2 / (15 - len(solution)))
    assert np.all((fit.p_values >= 0) & (fit.p_values <= 1))
    assert np.all(fit.variances >= fit.own)


def test_covariance_is_that_of_reports() -> None:
    """Of a cohort's reports, all filters and all noise; of those who reported, a fixed number hold each value."""
    held = np.array([0.4, 0.3, 0.2, 0.1])
    made = laid(laid().matrix @ held)  # what is fitted is true, and residuals are none
    fit = least_squares(made, np.arange(4), made.shares, background=None)
    np.testing.assert_allclose(fit.proportions, held)
    assert fit.dispersion == 1
    one, zero = PARAMS.bit_rates
    dense, people = made.matrix.toarray(), made.people[::5]
    columns = model(made, fit.columns, None).toarray()
    rows = fit.inverse @ (columns.T * fit.weights)
    expected = np.zeros((4, 4))
    for cohort in range(3):
        part = slice(5 * cohort, 5 * cohort + 5)
        first, second = np.zeros(5), np.zeros((5, 5))
        for value, report in itertools.product(range(4), itertools.product((0, 1), repeat=5)):
            rate = np.where(dense[part, value] == 1, one, zero)
            told = np.array(report)
            chance = held[value] * np.where(told == 1, rate, 1 - rate).prod()
            clear = (told - zero) / (one - zero)
            first += chance * clear
            second += chance * np.outer(clear, clear)
        expected += rows[:, part] @ (second - np.outer(first, first)) @ rows[:, part].T / people[cohort]
    expected -= (np.diag(held) - np.outer(held, held)) / made.total
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-9, atol=1e-12)
    sums, error = fit.together(np.array([True, False, True, False]))
    assert sums == pytest.approx(0.6)
    assert error == pytest.approx(np.sqrt(expected[0, 0] + expected[2, 2] + 2 * expected[0, 2]))


def test_rivals_join_the_model() -> None:
    """The p-value beside all rivals is that of the larger least squares, its variance grown as much."""
    params = Rappor(bloom_bits=6, hashes=2, f=0, p=0.1, q=0.9, cohorts=4)
    names = [f"r{i}" for i in range(8)]
    rng = np.random.default_rng(2)
    counts = Counts(np.full(4, 400), rng.integers(40, 200, size=(4, 6)))
    made = design(params, counts, CandidateMap.of(params, names))
    fit = least_squares(made, np.array([0, 1]), np.full(24, 0.2), background=np.ones(24))
    found = p_value_with_rivals(made, fit, 0, -1e9)  # everyone is a rival
    larger = least_squares(made, np.arange(8), np.full(24, 0.2), background=np.ones(24))
    place, before = list(larger.columns).index(0) + 1, 1
    wider = larger.inverse[place, place] / fit.inverse[before, before]
    expected = norm.sf(larger.proportions[0] / np.sqrt(fit.variances[0] * wider))
    if fit.notable:
        assert found >= expected - 1e-12
    else:
        assert found == pytest.approx(expected)
    assert p_value_with_rivals(made, fit, 0, 1e9) == fit.p_values[0]  # nobody is


def test_dependent_columns_are_dropped() -> None:
    matrix = np.array([[1.0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 2, 0]])
    assert independent(matrix.T @ matrix).tolist() == [0, 1, 3]
    assert independent(np.zeros((0, 0))).tolist() == []


def test_corrections() -> None:
    p_values = np.array([0.001, 0.02, 0.03, 0.9])
    assert accepted(p_values, 0.05, "bonferroni").tolist() == [True, False, False, False]
    assert accepted(p_values, 0.05, "fdr").tolist() == [True, True, True, False]
    assert not accepted(np.array([0.5, 0.06]), 0.05, "fdr").any()
