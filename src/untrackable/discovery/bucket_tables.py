"""What is in the buckets of every level, and how likely a string that nobody holds is to find as much there.

A hash that no client has used is independent of everything that clients have sent. So a string that nobody holds
finds, at every level from the first at which nobody shares its prefix, the entry of a uniform bucket of that
level's table, whatever the table. How likely the sum of such entries is to reach a value is counted, not modelled:
by convolving the histograms of the tables. Noise, collisions with what others hold and dishonest reports are all in
there. To keep collisions with heavy strings from hiding lighter ones, entries above a cap count as the cap.
"""

from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINE = 24
"""Steps to a standard deviation of a level."""
_CAPS = (np.inf, 16.0, 12.0, 8.0, 7.0, 6.0, 5.5, 5.0, 4.5, 4.0, 3.5)
"""Where entries may be cut off, in standard deviations."""
_MOST = 1 << 12
"""Steps from 0 at which entries are cut off in any case."""


class Laws:
    """The laws of sums of entries of uniform buckets, for every range of levels.

    `counts` has a row for each level: how many buckets have each number of steps, from `low` on.
    """

    def __init__(self, counts: Integers, low: int) -> None:
        self._laws = counts / counts.sum(axis=1, keepdims=True)
        self._low = low
        self._tails: dict[tuple[int, int], FloatArray] = {}

    def tail(self, first: int, last: int, sums: Integers) -> FloatArray:
        """P(the entries of the levels first … last-1 sum to at least this), exactly."""
        tail = self._tail(first, last)
        found: FloatArray = tail[np.clip(sums - self._low * (last - first), 0, tail.size - 1)]
        return found

    def threshold(self, first: int, last: int, probability: float) -> int:
        """The least sum that is reached with at most this probability; one more than the largest if none is."""
        tail = self._tail(first, last)
        return self._low * (last - first) + int(np.searchsorted(-tail, -probability))

    def _tail(self, first: int, last: int) -> FloatArray:
        """From the least possible sum on, and last 0 for what is too large."""
        if (first, last) not in self._tails:
            law = reduce(np.convolve, self._laws[first:last])
            self._tails[first, last] = np.append(np.cumsum(law[::-1])[::-1], 0.0)
        return self._tails[first, last]


class Tables:
    """Entries in whole steps, capped, a row for each level, and the laws of their sums."""

    def __init__(self, entries: FloatArray, smallest: float) -> None:
        """The cap is the one with which the least frequency passes a test at `smallest` over all levels.

        It depends on nothing but the entries.
        """
        spread = float(np.quantile(np.abs(entries[:, : 1 << 16]), 0.6827)) or 1.0
        steps = np.rint(np.clip(entries * (_FINE / spread), -_MOST, _MOST)).astype(np.int16)
        low, high = int(steps.min()), int(steps.max())
        counts = np.stack([np.bincount(row - low, minlength=high - low + 1) for row in steps])
        found = []
        for cap in {int(min(high, cap * _FINE)) for cap in _CAPS}:
            capped = counts[:, : max(1, cap - low + 1)].copy()
            capped[:, -1] += counts[:, capped.shape[1] :].sum(axis=1)
            laws = Laws(capped, low)
            needed = laws.threshold(0, len(steps), smallest) / len(steps)
            found.append((_mean_below(needed / _FINE, cap / _FINE), -cap, laws))
        _, cap, self.laws = min(found, key=lambda entry: entry[:2])
        self.steps = np.minimum(steps, max(-cap, low), out=steps)


def _mean_below(needed: float, cap: float) -> float:
    """The mean that a normal variable of deviation 1 must have to be `needed` on average once it is capped."""
    means = np.linspace(needed, max(needed, cap) + 3, 400)
    room = cap - means
    capped = cap - (room * special.ndtr(room) + np.exp(-(room**2) / 2) / np.sqrt(2 * np.pi))
    enough = np.flatnonzero(capped >= needed)
    return float(means[enough[0]]) if enough.size else np.inf
