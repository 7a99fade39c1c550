"""Quantiles of windows of rounds: against direct computation, and no change where the quantile has none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from untrackable.estimation.estimate import possible_places
from untrackable.estimation.rounds import Errors, RoundQuantiles, all_windows, means_of_windows


def quantiles(frequencies: NDArray[np.float64], quantile: float, deviation: float = 1e-6) -> RoundQuantiles:
    """The quantile of frequencies that are known almost exactly, of the numbers 0, 1, …"""
    shares = np.cumsum(frequencies, axis=1)[:, :-1]
    numbers = np.arange(frequencies.shape[1], dtype=np.float64)
    return RoundQuantiles(
        rounds=tuple(range(1, len(frequencies) + 1)),
        quantile=quantile,
        shares=shares,
        errors=Errors.of_deviations(np.full(shares.shape, deviation)),
        low=numbers,
        high=numbers,
        independent=True,
    )


def test_windows_are_weighted_means() -> None:
    rng = np.random.default_rng(1)
    shares, squares, variances, pulls = (rng.random((7, 4)) + 0.1 for _ in range(4))
    windows = means_of_windows(shares, Errors(squares, variances, pulls), 1 / squares.mean(axis=1, keepdims=True))
    means, errors = zip(*windows, strict=True)
    for i, (start, end) in enumerate(zip(*all_windows(7), strict=True)):
        weights = 1 / squares[start:end].mean(axis=1, keepdims=True)
        weights /= weights.sum()
        assert np.allclose(np.concatenate(means)[i], (weights * shares[start:end]).sum(axis=0))
        for name, given in (("squares", squares), ("variances", variances)):
            together = np.concatenate([getattr(each, name) for each in errors])
            assert np.allclose(together[i], (weights**2 * given[start:end]).sum(axis=0))
        pull = np.concatenate([each.pulls for each in errors])
        assert np.allclose(pull[i], (weights * pulls[start:end]).max(axis=0))


def test_values_are_ruled_out_one_by_one() -> None:
    rng = np.random.default_rng(2)
    shares, radius, quantile = rng.random((300, 5)), rng.random((300, 5)) / 3, 0.4
    first, last = possible_places(shares, radius, quantile)
    for i in range(300):
        left = [
            value
            for value in range(6)
            if not (value < 5 and shares[i, value] + radius[i, value] < quantile)
            and not (value > 0 and shares[i, value - 1] - radius[i, value - 1] > quantile)
        ] or list(range(6))
        assert (first[i], last[i]) == (left[0], left[-1])


def test_a_median_that_stays_does_not_change_whatever_else_does() -> None:
    narrow, wide, skewed = [0, 0.2, 0.6, 0.2, 0], [0.3, 0.1, 0.2, 0.1, 0.3], [0.05, 0.3, 0.5, 0, 0.15]
    found = quantiles(np.array([narrow, wide, skewed, wide, wide, narrow, skewed, skewed, narrow]), 0.5)
    assert found.changes(0.05) == ()
    assert found.estimates().tolist() == [2.0] * 9


@pytest.mark.parametrize("independent", [True, False])
def test_steps_are_found_where_they_are(independent: bool) -> None:
    low, high = np.array([0.6, 0.4, 0, 0, 0]), np.array([0, 0, 0.4, 0.6, 0])
    given = quantiles(np.array([low] * 4 + [high] * 5 + [low] * 3), 0.5)
    found = RoundQuantiles(
        rounds=given.rounds,
        quantile=0.5,
        shares=given.shares,
        errors=given.errors,
        low=given.low,
        high=given.high,
        independent=independent,
    ).changes(0.05)
    assert [(c.first, c.last, c.rose, c.lower, c.upper) for c in found] == [
        (4, 5, True, 3.0, 3.0),
        (9, 10, False, -3.0, -3.0),
    ]


def test_buckets_that_touch_are_different() -> None:
    given = quantiles(np.array([[1.0, 0, 0]] * 3 + [[0, 1.0, 0]] * 3), 0.5)
    edges = np.array([0.0, 10, 20, 30])
    found = RoundQuantiles(
        rounds=given.rounds,
        quantile=0.5,
        shares=given.shares,
        errors=given.errors,
        low=edges[:-1],
        high=edges[1:],
        independent=True,
    )
    (change,) = found.changes(0.05)
    assert (change.first, change.last, change.rose, change.lower, change.upper) == (3, 4, True, 0.0, 20.0)
    assert found.estimates().tolist() == [5.0] * 3 + [15.0] * 3
    assert quantiles(np.array([[0.5, 0.5]]), 0.5).changes(0.05) == ()
