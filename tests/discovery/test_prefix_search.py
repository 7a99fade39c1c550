"""The search against looking at every string there is, and peeling against frequencies that are known."""

import itertools

import numpy as np
import pytest

from untrackable import DiscoveredStrings
from untrackable.discovery.bucket_tables import Tables
from untrackable.discovery.peeling import Levels, alone, fit, peeled
from untrackable.discovery.prefix_search import search, width
from untrackable.discovery.string_weights import Space
from untrackable.estimation.aggregators import Estimate

SALT = bytes(range(16))


@pytest.mark.parametrize(
    ("longest", "shortest", "prefixes"), [(5, 0, (2, 4, 5)), (4, 4, (1, 4, 4)), (5, 2, (3, 5)), (3, 0, (3, 3))]
)
def test_search_keeps_exactly_what_reaches_every_threshold(
    longest: int, shortest: int, prefixes: tuple[int, ...]
) -> None:
    encoding = DiscoveredStrings(
        salt=SALT, longest=longest, shortest=shortest, prefixes=prefixes, alphabet="abc", bucket_bits=8
    )
    tables = Tables(np.random.default_rng(3).normal(size=(len(prefixes), 256)), 1e-4)
    beam, space = 12, Space.of(encoding)
    kept = search(encoding, tables, beam, lambda level, done: None)
    expected = []
    for length in range(shortest, longest + 1):
        for letters in itertools.product("abc", repeat=length):
            entries = [tables.steps[i][b] for i, b in enumerate(encoding.buckets("".join(letters)))]
            stands = all(
                tables.laws.tail(0, i + 1, np.array([sum(entries[: i + 1])]))[0]
                <= width(encoding, i, beam) * (space.string(length) if length < size else space.prefix(size))
                for i, size in enumerate(prefixes)
            )
            if stands:
                expected.append("".join(letters))
    last = kept[-1]
    found = [encoding.text((row[row > 0] - 1).tolist()) for row in last.symbols]
    assert sorted(found) == sorted(expected)  # type: ignore[type-var]
    assert len(found) > 3
    for row, string in zip(last.steps, found, strict=True):
        assert row.tolist() == [tables.steps[i][b] for i, b in enumerate(encoding.buckets(string))]
    weights = space.weights(longest)[last.ends]
    striking = tables.laws.tail(0, len(prefixes), last.steps.sum(axis=1)) / weights
    assert np.all(np.diff(striking) >= 0)


def test_more_are_kept_where_going_on_is_cheap() -> None:
    encoding = DiscoveredStrings(
        salt=SALT, longest=8, prefixes=(3, 5, 8, 8), alphabet="0123456789abcdef", bucket_bits=20
    )
    assert [width(encoding, level, 100) for level in range(4)] == [1600, 400, 1600, 100]
    letters = DiscoveredStrings(salt=SALT, longest=6, prefixes=(2, 4, 6), bucket_bits=20)
    assert [width(letters, level, 100) for level in range(3)] == [100, 100, 100]


def test_kept_prefixes_know_where_they_come_from() -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=5, prefixes=(2, 4, 5), alphabet="abc", bucket_bits=8)
    tables = Tables(np.random.default_rng(4).normal(size=(3, 256)), 1e-4)
    kept = search(encoding, tables, 30, lambda level, done: None)
    for before, after, size in zip(kept, kept[1:], encoding.prefixes, strict=False):
        assert np.array_equal(before.symbols[after.parents][:, :size], after.symbols[:, :size])
        assert np.array_equal(before.steps[after.parents], after.steps[:, :-1])


def known(frequencies: np.ndarray, n: int) -> Estimate:
    """An estimate without error."""
    size = frequencies.size
    return Estimate.of_means(frequencies, n, 0.05, np.full(size, 0.1), span=2.0)


def test_strings_that_share_buckets_are_told_apart() -> None:
    """Three strings: two share the first bucket, two the second by collision; the last has one of its own."""
    places = np.array([[0, 1, 2], [0, 3, 4], [5, 3, 6]])
    shares = np.array([0.30, 0.20, 0.05])
    tables = np.zeros((3, 8))
    for row, buckets in zip(tables, places.T, strict=True):
        np.add.at(row, buckets, shares)
    levels = Levels(
        tuple(known(row, n) for row, n in zip(tables, (100, 200, 100), strict=True)), np.array([1, 2, 1]) / 4, 8
    )
    entries = tables * levels.shares[:, None]
    found = fit(levels, entries, places)
    assert found == pytest.approx(shares, abs=1e-12)
    assert peeled(levels, entries, places, found) == pytest.approx(np.zeros((3, 8)), abs=1e-12)
    weights = np.array([100, 200, 100]) / 400
    assert fit(levels, entries, places[2:])[0] == pytest.approx(weights @ [0.05, 0.25, 0.05], abs=1e-12)
    all_levels = alone(levels, entries, places[2], np.ones(3, dtype=np.bool_))
    assert all_levels is not None
    assert all_levels.frequency == pytest.approx(weights @ [0.05, 0.25, 0.05], abs=1e-12)
    assert all_levels.standard_error == pytest.approx(8 / 7 * 0.1 * np.sqrt((weights**2).sum()), rel=1e-12)
    assert all_levels.deviation == pytest.approx(8 / 7 * 2 / np.sqrt(400), rel=1e-12)  # as for 400 reports
    two = alone(levels, entries, places[2], np.array([True, False, True]))
    assert two is not None
    assert two.frequency == pytest.approx(0.05, abs=1e-12)
    assert two.deviation == pytest.approx(8 / 7 * 2 / np.sqrt(200), rel=1e-12)
    assert alone(levels, entries, places[2], np.zeros(3, dtype=np.bool_)) is None


def test_entries_leave_out_what_collisions_add_on_average() -> None:
    levels = Levels((known(np.full(4, 0.25), 10), None), np.array([1.0, 0.0]), 4)
    assert levels.entries() == pytest.approx(np.zeros((2, 4)))
    assert levels.n == 10
