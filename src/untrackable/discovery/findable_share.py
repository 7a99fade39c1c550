"""From which share on a string can be found: how much it has to add to its buckets to pass every test.

Noise is one limit and buckets are the other. Many strings that nobody holds fall by chance into the buckets of
heavy strings at every level. If there are few buckets, some do so at all levels and look just like a held string.
"""

import numpy as np
from numpy.typing import NDArray

from untrackable.discovery.bucket_tables import BucketTables
from untrackable.discovery.level_estimates import LevelEstimates
from untrackable.discovery.prefix_search import KeptPrefixes
from untrackable.discovery.string_evidence import levels_to_reach
from untrackable.discovery.string_weights import FloatArray
from untrackable.encodings.discovered_strings import DiscoveredStrings

_SHARES = np.geomspace(1e-7, 1.0, 2000)
"""The shares that are tried."""


def findable_share(
    encoding: DiscoveredStrings,
    levels: LevelEstimates,
    tables: BucketTables,
    kept: list[KeptPrefixes],
    alpha: float,
) -> float | None:
    """The share from which on one more string of the greatest length would pass every test, without its own noise.

    None if no share is enough. It is estimated: noise may lift a rarer string above the limit, or press one below.
    """
    tests, count = levels_to_reach(encoding, alpha, rank=1.0), encoding.levels
    # A string's own buckets count as well, so no p-value is below that of one bucket of each level.
    if any(float(levels.buckets) ** (i - count) > p_value for i, p_value in tests.items()):
        return None
    passing = [_passing(tables, kept, levels, tests, cap) for cap in tables.caps]
    missed = np.flatnonzero(~np.any(passing, axis=0))
    if not missed.size:
        return float(_SHARES[0])
    return float(_SHARES[missed[-1] + 1]) if missed[-1] + 1 < _SHARES.size else None


def _passing(
    tables: BucketTables, kept: list[KeptPrefixes], levels: LevelEstimates, tests: dict[int, float], cap: float
) -> NDArray[np.bool_]:
    """Whether a string of each share passes all tests under one cap."""
    count = len(kept)
    entries = np.rint(np.minimum(cap, np.outer(levels.shares * tables.scale, _SHARES))).astype(np.int64)
    entries = np.minimum(entries, tables.highest)
    passing = np.ones(_SHARES.size, dtype=np.bool_)
    for first, p_value in tests.items():
        ranks: FloatArray | float = 1.0
        if first:
            before = np.sort(kept[first - 1].steps.sum(axis=1, dtype=np.int64))
            higher = before.size - np.searchsorted(before, entries[:first].sum(axis=0))
            ranks = (1 + higher) * (1 / np.arange(1, before.size + 2)).sum()
        passing &= tables.caps[cap].tail(first, count, entries[first:].sum(axis=0)) * ranks <= p_value
    return passing
