"""How clearly kept strings stand out: p-values for every possible first level, adjusted for all strings there are.

The test of first level j compares a string with all that go on from a prefix v of level j-1 that somebody shares.
The r-th most striking of the kept prefixes gets a share of the error rate in proportion to 1/r, so the shares of
all prefixes that somebody shares sum to at most one.
"""

from typing import NamedTuple

import numpy as np

from untrackable.discovery.bucket_tables import BucketTables
from untrackable.discovery.prefix_search import KeptPrefixes
from untrackable.discovery.string_weights import FloatArray, StringWeights
from untrackable.encodings.discovered_strings import DiscoveredStrings

USUAL_RANK = 1000.0
"""About the rank of a prefix that is looked into, times the sum of all 1/r."""


class Evidence(NamedTuple):
    """For every kept string three numbers that are small if it stands out, each the largest over all first levels.

    `adjusted` is a p-value, adjusted for all strings by the ranks of prefixes. `own` is computed alike, with the
    number of prefixes that are expected to rank higher by chance instead of the rank. So it depends on the tables
    and on the string's own buckets alone; it is no p-value. `whole` is the adjusted p-value of all levels together.
    """

    adjusted: FloatArray
    own: FloatArray
    whole: FloatArray


def tested_levels(encoding: DiscoveredStrings) -> list[int]:
    """First levels, counted from 0, at which more than one string is left to choose from."""
    return [0, *(i for i in range(1, encoding.levels) if encoding.prefixes[i - 1] < encoding.longest)]


def levels_to_reach(encoding: DiscoveredStrings, alpha: float, rank: float = USUAL_RANK) -> dict[int, float]:
    """The p-value that a string of the greatest length has to reach in each test, by first level.

    `rank` is the rank of its prefix in the later tests, times the sum of all 1/r.
    """
    strings, tested = StringWeights.of(encoding), tested_levels(encoding)
    each = alpha * strings.string(encoding.longest) / len(tested)
    later = {i: each / strings.prefix(encoding.prefixes[i - 1]) / rank for i in tested[1:]}
    return {0: each, **later}


def string_evidence(encoding: DiscoveredStrings, tables: BucketTables, kept: list[KeptPrefixes]) -> Evidence:
    """From the entries at each level, adjusted for all strings that the test could be about."""
    strings, last, count = StringWeights.of(encoding), kept[-1], len(kept)
    weights = strings.prefix_weights(encoding.longest)[last.ends]
    tested = tested_levels(encoding)
    whole = _tail(tables, last, 0, count) * len(tested) / weights
    adjusted, own = whole.copy(), whole.copy()
    ancestors = np.arange(last.ends.size)
    for first in range(count - 1, 0, -1):
        ancestors = kept[first].parents[ancestors]
        if first not in tested:
            continue  # The prefix is a whole string, so only one string is left.
        prefix = strings.prefix(encoding.prefixes[first - 1])
        p_values = _tail(tables, last, first, count) * len(tested) * prefix / weights
        # The same holds for prefixes that have ended.
        p_values[kept[first - 1].ends[ancestors] < encoding.prefixes[first - 1]] = 0.0
        shares = 1 / np.arange(1, kept[first - 1].ends.size + 1)
        np.maximum(adjusted, p_values * shares.sum() / shares[ancestors], out=adjusted)
        np.maximum(own, p_values * (1 + _tail(tables, last, 0, first) / prefix), out=own)
    return Evidence(adjusted, own, whole)


def _tail(tables: BucketTables, kept: KeptPrefixes, first: int, last: int) -> FloatArray:
    """The probability that a uniform bucket of each of these levels adds up to as much as a string's."""
    return tables.null.tail(first, last, kept.steps[:, first:last].sum(axis=1, dtype=np.int64))
