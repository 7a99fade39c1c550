"""From reports to frequencies: sums that add and merge, and estimates that say how far off they may be."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.errors import MergeError
from untrackable.kernels.counting import add_signs
from untrackable.kernels.transform import walsh_hadamard
from untrackable.theory.accuracy import mean_radius

FloatArray = NDArray[np.float64]
Reports = NDArray[np.uint64] | NDArray[np.uint8]

LARGEST_DENSE_BITS = 26


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Estimated frequencies, unbiased, with how far each may be from the truth.

    `radius` bounds the error of any one value chosen beforehand, and `simultaneous_radius` that of all values at
    once, each except with probability `beta` (upper bounds). `standard_error` is estimated from the data.
    """

    frequencies: FloatArray
    n: int
    beta: float
    radius: FloatArray
    simultaneous_radius: FloatArray
    standard_error: FloatArray


@dataclass(frozen=True, slots=True)
class Source:
    """Whose reports an aggregate may hold: of one mechanism, and of one round unless its rounds `pool`.

    Rounds pool when one client's reports are independent given its values and equally noisy; otherwise an error
    radius that counts them as so many people would be too small.
    """

    mechanism: object
    part: int
    pools: bool


class Aggregator(ABC):
    """Sums of reports of one source; merges only with its like."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.n = 0

    def add(self, reports: Reports | Iterable[int]) -> Self:
        """Count reports: an array as simulation yields it, or the integers that clients send."""
        if not isinstance(reports, np.ndarray):
            try:
                reports = self._array([operator.index(report) for report in reports])
            except TypeError:
                raise TypeError("reports must be integers, or an array of them") from None
        elif reports.dtype.kind not in "iu":
            raise TypeError(f"reports must be integers, not {reports.dtype}")
        elif not self.source.pools and reports.ndim > self._axes and reports.shape[1] > 1:
            raise ValueError(
                f"these reports are of {reports.shape[1]} rounds, which do not pool for this mechanism: "
                "add one round at a time, reports[:, i]"
            )
        self._add(self._checked(reports))
        return self

    _axes = 1
    """Axes of an array of reports of one round."""

    def merge(self, other: "Aggregator") -> Self:
        """Add another aggregate's sums to this one."""
        if other is self:
            raise MergeError("an aggregate cannot be merged with itself: its reports would count twice")
        if not isinstance(other, type(self)) or other.source != self.source:
            raise MergeError("these aggregates were collected under different parameters or rounds")
        self._merge(other)
        self.n += other.n
        return self

    def _counted(self) -> int:
        if self.n == 0:
            raise ValueError("there are no reports to estimate from")
        return self.n

    @abstractmethod
    def _array(self, reports: list[int]) -> Reports: ...

    @abstractmethod
    def _checked(self, reports: Reports) -> Reports: ...

    @abstractmethod
    def _add(self, reports: Reports) -> None: ...

    @abstractmethod
    def _merge(self, other: Self) -> None: ...


class FrequencyAggregator(Aggregator):
    """Sums from which the frequency of every value follows."""

    @abstractmethod
    def estimate(self, beta: float = 0.05) -> Estimate:
        """Frequencies of all values, with radii that fail with probability at most `beta`."""


class BitAggregator(FrequencyAggregator):
    """Ones among reported bits, where a 1 is reported with probability `truth` for a 1 and `lie` for a 0."""

    def __init__(self, source: Source, *, truth: float, lie: float) -> None:
        super().__init__(source)
        self._truth, self._lie = truth, lie
        self.ones = 0

    def estimate(self, beta: float = 0.05) -> Estimate:
        """Frequencies of 0 and 1: (share of ones - lie)/(truth - lie) for 1."""
        n = self._counted()
        beta = checks.open_probability("beta", beta)
        gap = self._truth - self._lie
        one = (self.ones / n - self._lie) / gap
        held = min(1.0, max(0.0, one))
        variance = held * self._truth * (1 - self._truth) + (1 - held) * self._lie * (1 - self._lie)
        both = np.ones(2)
        radius = mean_radius(n, beta, span=1 / abs(gap)) * both  # the two errors are one and the same
        return Estimate(np.array([1 - one, one]), n, beta, radius, radius, np.sqrt(variance / n) / abs(gap) * both)

    def _array(self, reports: list[int]) -> Reports:
        return _words(reports, 0, 1)

    def _checked(self, reports: Reports) -> Reports:
        return _within(reports, 0, 1)

    def _add(self, reports: Reports) -> None:
        self.ones += int(np.count_nonzero(reports))
        self.n += reports.size

    def _merge(self, other: Self) -> None:
        self.ones += other.ones


class InnerProductAggregator(FrequencyAggregator):
    """sums[v] = Σ (-1)^b over the reports (v, b): one Walsh-Hadamard transform away from every frequency."""

    def __init__(self, source: Source, *, bits: int, flip: float) -> None:
        super().__init__(source)
        if bits > LARGEST_DENSE_BITS:
            raise ValueError(f"bits must be at most {LARGEST_DENSE_BITS} to estimate all 2^bits values, got {bits}")
        self._bits, self._flip = bits, flip
        self.sums = np.zeros(1 << bits, dtype=np.int64)

    def estimate(self, beta: float = 0.05) -> Estimate:
        """(2^d-1)/2^d·1/(1-2η)·WHT(sums)/n + 2^-d for every value; they sum to one, as WHT(sums) sums to zero."""
        n = self._counted()
        beta = checks.open_probability("beta", beta)
        values = 1 << self._bits
        gap = 1 - 2 * self._flip
        scale = (1 - 1 / values) / gap
        frequencies = scale * walsh_hadamard(self.sums) / n + 1 / values
        held = np.clip(frequencies, 0, 1)
        mean_square = held * gap**2 + (1 - held) * (gap / (values - 1)) ** 2
        span = 2 * scale
        return Estimate(
            frequencies,
            n,
            beta,
            np.full(values, mean_radius(n, beta, span=span)),
            np.full(values, mean_radius(n, beta, span=span, statistics=values)),
            scale * np.sqrt((1 - mean_square) / n),
        )

    def _array(self, reports: list[int]) -> Reports:
        return _words(reports, 2, (2 << self._bits) - 1)

    def _checked(self, reports: Reports) -> Reports:
        # The range is checked while counting; a negative number is a word that is too large.
        kind = np.int64 if reports.dtype.kind == "i" else np.uint64
        return reports.astype(kind, copy=False).view(np.uint64)

    def _add(self, reports: Reports) -> None:
        words = reports.astype(np.uint64, copy=False)
        if not add_signs(self.sums, words):
            raise ValueError(f"a report must be between 2 and {(2 << self._bits) - 1}")
        self.n += words.size

    def _merge(self, other: Self) -> None:
        self.sums += other.sums


def _words(reports: list[int], low: int, high: int) -> Reports:
    if any(not low <= report <= high for report in reports):
        raise ValueError(f"a report must be between {low} and {high}")
    return np.array(reports, dtype=np.uint64)


def _within(reports: Reports, low: int, high: int) -> Reports:
    if reports.size and (int(reports.min()) < low or int(reports.max()) > high):
        raise ValueError(f"a report must be between {low} and {high}")
    return reports
