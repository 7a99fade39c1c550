"""Strings that share buckets, and taking them out, against frequencies that are known."""

import numpy as np
import pytest

from untrackable.discovery.discovery import LevelEstimates, entries_without, fitted_frequencies, string_estimate
from untrackable.estimation.estimate import Estimate


def known(frequencies: np.ndarray, n: int) -> Estimate:
    """An estimate without error."""
    size = frequencies.size
    return Estimate(frequencies, n, 0.05, np.full(size, 0.1), span=np.full(size, 2.0))


def test_strings_that_share_buckets_are_told_apart() -> None:
    """Three strings: two share the first bucket, two the second by collision; the last has one of its own."""
    places = np.array([[0, 1, 2], [0, 3, 4], [5, 3, 6]])
    shares = np.array([0.30, 0.20, 0.05])
    tables = np.zeros((3, 8))
    for row, buckets in zip(tables, places.T, strict=True):
        np.add.at(row, buckets, shares)
    levels = LevelEstimates(
        tuple(known(row, n) for row, n in zip(tables, (100, 200, 100), strict=True)), np.array([1, 2, 1]) / 4, 8
    )
    entries = tables * levels.shares[:, None]
    found = fitted_frequencies(levels, entries, places)
    assert found == pytest.approx(shares, abs=1e-12)
    assert entries_without(levels, entries, places, found) == pytest.approx(np.zeros((3, 8)), abs=1e-12)
    weights = np.array([100, 200, 100]) / 400
    assert fitted_frequencies(levels, entries, places[2:])[0] == pytest.approx(
        weights @ [0.05, 0.25, 0.05], abs=1e-12
    )
    all_levels = string_estimate(levels, entries, places[2], np.ones(3, dtype=np.bool_))
    assert all_levels is not None
    assert all_levels.frequency == pytest.approx(weights @ [0.05, 0.25, 0.05], abs=1e-12)
    assert all_levels.standard_error == pytest.approx(8 / 7 * 0.1 * np.sqrt((weights**2).sum()), rel=1e-12)
    assert all_levels.deviation == pytest.approx(8 / 7 * 2 / np.sqrt(400), rel=1e-12)  # as for 400 reports
    two = string_estimate(levels, entries, places[2], np.array([True, False, True]))
    assert two is not None
    assert two.frequency == pytest.approx(0.05, abs=1e-12)
    assert two.deviation == pytest.approx(8 / 7 * 2 / np.sqrt(200), rel=1e-12)
    assert string_estimate(levels, entries, places[2], np.zeros(3, dtype=np.bool_)) is None


def test_entries_leave_out_what_collisions_add_on_average() -> None:
    levels = LevelEstimates((known(np.full(4, 0.25), 10), None), np.array([1.0, 0.0]), 4)
    assert levels.entries() == pytest.approx(np.zeros((2, 4)))
    assert levels.n == 10
