"""The entries of all buckets, and how likely a string that nobody holds is to have entries as large as some sum.

A hash that no client has used is independent of everything that clients have sent. Take a string that nobody holds,
and the first level at which nobody shares its prefix. From that level on, its entry is that of a uniform bucket of
the level's table, whatever the table. How likely the sum of such entries is to reach a value is not modelled but
counted, by convolving the histograms of the tables. So noise, collisions with other strings and dishonest reports
are all included. Entries above a cap count as the cap, so that collisions with heavy strings do not hide lighter
ones.
"""

from collections.abc import Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINE = 24
"""How many steps make a standard deviation of a level."""
_CAPS = (np.inf, 128.0, 96.0, 64.0, 48.0, 32.0, 24.0, 16.0, 12.0, 8.0, 7.0, 6.0, 5.5, 5.0, 4.5, 4.0, 3.5)
"""The caps that are tried, in standard deviations."""
_MOST = 1 << 12
"""The largest entry in steps, whatever the cap."""


class NullDistributions:
    """How the entries of uniform buckets are distributed when they are added up, for every range of levels.

    `counts` has a row for each level: how many buckets have each number of steps, from `low` on.
    """

    def __init__(self, counts: Integers, low: int) -> None:
        self._distributions = counts / counts.sum(axis=1, keepdims=True)
        self._low = low
        self._tails: dict[tuple[int, int], FloatArray] = {}

    def tail(self, first: int, last: int, sums: Integers) -> FloatArray:
        """P(the entries of the levels first … last-1 sum to at least this), for each of the sums (exact)."""
        tail = self._tail(first, last)
        found: FloatArray = tail[np.clip(sums - self._low * (last - first), 0, tail.size - 1)]
        return found

    def threshold(self, first: int, last: int, probability: float) -> int:
        """The least sum that is reached with at most this probability, or one more than the largest sum."""
        tail = self._tail(first, last)
        return self._low * (last - first) + int(np.searchsorted(-tail, -probability))

    def _tail(self, first: int, last: int) -> FloatArray:
        """The tail from the least possible sum on. The last entry is 0, for sums that cannot be reached."""
        if (first, last) not in self._tails:
            whole = reduce(np.convolve, self._distributions[first:last])
            self._tails[first, last] = np.append(np.cumsum(whole[::-1])[::-1], 0.0)
        return self._tails[first, last]


class BucketTables:
    """The entries of all buckets in capped whole steps, a row for each level and how their sums are distributed."""

    def __init__(self, entries: FloatArray, tests: Mapping[int, float]) -> None:
        """Choose the cap with which the least frequency passes all tests: p-values to reach, by first level.

        The choice depends on the entries alone.
        """
        spread = float(np.quantile(np.abs(entries[:, : 1 << 16]), 0.6827)) or 1.0
        steps = np.rint(np.clip(entries * (_FINE / spread), -_MOST, _MOST)).astype(np.int16)
        low, high = int(steps.min()), int(steps.max())
        counts = np.stack([np.bincount(row - low, minlength=high - low + 1) for row in steps])
        found = []
        self.scale = _FINE / spread
        """How many steps make an entry of 1."""
        self.highest = _MOST
        """The largest number of steps that an entry can have."""
        self.caps: dict[float, NullDistributions] = {}
        """How sums are distributed under each cap that was tried, in steps; infinity stands for no cap."""
        for cap in {int(min(high, cap * _FINE)) for cap in _CAPS}:
            capped = counts[:, : max(1, cap - low + 1)].copy()
            capped[:, -1] += counts[:, capped.shape[1] :].sum(axis=1)
            null = NullDistributions(capped, low)
            needed = max(null.threshold(i, len(steps), p) / (len(steps) - i) for i, p in tests.items())
            self.caps[cap if cap < high else np.inf] = null
            found.append((_mean_below(needed / _FINE, cap / _FINE), -cap, null))
        _, cap, self.null = min(found, key=lambda entry: entry[:2])
        self.steps = np.minimum(steps, max(-cap, low), out=steps)


def _mean_below(needed: float, cap: float) -> float:
    """The mean of a normal variable of deviation 1 whose mean is `needed` once it is capped."""
    means = np.linspace(needed, max(needed, cap) + 3, 400)
    room = cap - means
    capped = cap - (room * special.ndtr(room) + np.exp(-(room**2) / 2) / np.sqrt(2 * np.pi))
    enough = np.flatnonzero(capped >= needed)
    return float(means[enough[0]]) if enough.size else np.inf
