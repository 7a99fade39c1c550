"""The search against looking at every string there is."""

import itertools

import numpy as np
import pytest

from untrackable import DiscoveredStrings
from untrackable.discovery.prefix_search import BucketTables, StringWeights, level_width, search

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
    tables = BucketTables(np.random.default_rng(3).normal(size=(len(prefixes), 256)), {0: 1e-4})
    beam, space = 12, StringWeights.of(encoding)
    kept = search(encoding, tables, beam, lambda level, done: None)
    expected = []
    for length in range(shortest, longest + 1):
        for letters in itertools.product("abc", repeat=length):
            entries = [tables.steps[i][b] for i, b in enumerate(encoding.buckets("".join(letters)))]
            stands = all(
                tables.null.tail(0, i + 1, np.array([sum(entries[: i + 1])]))[0]
                <= level_width(encoding, i, beam) * (space.string(length) if length < size else space.prefix(size))
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
    weights = space.prefix_weights(longest)[last.ends]
    striking = tables.null.tail(0, len(prefixes), last.steps.sum(axis=1)) / weights
    assert np.all(np.diff(striking) >= 0)


def test_more_are_kept_where_going_on_is_cheap() -> None:
    encoding = DiscoveredStrings(
        salt=SALT, longest=8, prefixes=(3, 5, 8, 8), alphabet="0123456789abcdef", bucket_bits=20
    )
    assert [level_width(encoding, level, 100) for level in range(4)] == [1600, 400, 1600, 100]
    letters = DiscoveredStrings(salt=SALT, longest=6, prefixes=(2, 4, 6), bucket_bits=20)
    assert [level_width(letters, level, 100) for level in range(3)] == [100, 100, 100]


def test_kept_prefixes_know_where_they_come_from() -> None:
    encoding = DiscoveredStrings(salt=SALT, longest=5, prefixes=(2, 4, 5), alphabet="abc", bucket_bits=8)
    tables = BucketTables(np.random.default_rng(4).normal(size=(3, 256)), {0: 1e-4})
    kept = search(encoding, tables, 30, lambda level, done: None)
    for before, after, size in zip(kept, kept[1:], encoding.prefixes, strict=False):
        assert np.array_equal(before.symbols[after.parents][:, :size], after.symbols[:, :size])
        assert np.array_equal(before.steps[after.parents], after.steps[:, :-1])
