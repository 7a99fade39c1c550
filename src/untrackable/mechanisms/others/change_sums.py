"""Sums of `OneChange` reports: the signs of the intervals that make up the rounds so far."""

import math
from typing import TYPE_CHECKING

import numpy as np

from untrackable.estimation.aggregators import Aggregator, Estimate, FloatArray, Reports, Scope
from untrackable.estimation.spread import LinearSpreads, Spread

if TYPE_CHECKING:
    from untrackable.mechanisms.others.one_change import OneChange

MINUS, PLUS, SILENT = 0, 1, 2
"""The code of a report: the sign of its interval, or silent if no interval of the client's level ends."""


class ChangeAggregator(Aggregator):
    """Sums of the signs of the intervals that make up 1 … round. Clients of one level report each of them."""

    _sums = ("sums", "counts")

    def __init__(self, scope: Scope, mechanism: "OneChange") -> None:
        super().__init__(scope)
        self._mechanism = mechanism
        parts = intervals(scope.group)
        self._ends = np.array([end for _, end in parts])
        self._keys = np.array([mechanism._encoded(end, level, 0) >> 2 for level, end in parts])
        self.sums = np.zeros(len(parts), dtype=np.int64)
        self.counts = np.zeros(len(parts), dtype=np.int64)

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """Frequencies of 0 and 1 at the round: (log₂ T + 1)·k/β·Σ signs/n for 1, as bits start from 0.

        They are unbiased as long as nobody's bit has changed more often than `changes`.
        """
        scale, m = self._mechanism._scale, self._mechanism
        if np.any(self.counts != n):
            raise ValueError(
                f"the same people must report at rounds {self._ends.tolist()}, got {self.counts.tolist()} reports"
            )
        one = scale * float(self.sums.sum()) / n
        both = np.ones(2)
        # The span is for a dishonest client, who may send a sign for every interval.
        span = 2 * scale * len(self._ends) * both
        variance = max(0.0, scale**2 * len(self._ends) / m.levels - min(1.0, max(0.0, one)))
        error = np.sqrt(variance / n) * both
        return Estimate(
            np.array([1 - one, one]),
            n,
            beta,
            error,
            span=span,
            deviation=2 * scale / math.sqrt(n) * both,
            statistics=1,  # The errors of 0 and of 1 are the same number.
            spread=LinearSpreads(self._spread),
        )

    def _spread(self, weights: FloatArray) -> Spread:
        """A client adds its sign, times the scale, if one of the intervals is of its level; else nothing."""
        reach = self._mechanism._scale * abs(float(weights[1] - weights[0]))
        return Spread.of_term(reach**2 * len(self._ends) / self._mechanism.levels, 2 * reach)

    def _array(self, reports: list[int]) -> Reports:
        if any(not 0 <= report < 1 << 64 for report in reports):
            raise ValueError(f"a report must be between 0 and {self._highest}")
        return self._checked(np.array(reports, dtype=np.uint64))

    @property
    def _highest(self) -> int:
        return self._mechanism._encoded(self._mechanism.rounds, self._mechanism.levels - 1, SILENT)

    def _checked(self, reports: Reports) -> Reports:
        if reports.size and (int(reports.min()) < 0 or int(reports.max()) > self._highest):
            raise ValueError(f"a report must be between 0 and {self._highest}")
        numbers = reports.astype(np.uint64)
        if np.any((numbers & np.uint64(3)) > SILENT):
            raise ValueError("a report must say minus, plus or silent")
        return numbers

    def _add(self, reports: Reports) -> None:
        numbers = reports.reshape(-1).astype(np.int64)
        keys, signs = numbers >> 2, 2 * (numbers & 3) - 1
        rounds = keys // self._mechanism.levels + 1
        for i, (end, key) in enumerate(zip(self._ends, self._keys, strict=True)):
            self.counts[i] += np.count_nonzero(rounds == end)
            self.sums[i] += signs[keys == key].sum()
        self.n = int(self.counts[-1])


def intervals(round: int) -> list[tuple[int, int]]:
    """The dyadic intervals that make up 1 … round, each as its level and its last round."""
    parts, end = [], 0
    for level in reversed(range(round.bit_length())):
        if round >> level & 1:
            end += 1 << level
            parts.append((level, end))
    return parts
