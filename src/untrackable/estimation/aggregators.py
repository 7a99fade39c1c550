"""From reports to frequencies: sums that add and merge, and estimates that say how far off they may be."""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks, framing
from untrackable.errors import MergeError, SumsError
from untrackable.estimation.estimate import Estimate as Estimate
from untrackable.estimation.estimate import FloatArray as FloatArray
from untrackable.kernels.counting import add_signs
from untrackable.kernels.transform import walsh_hadamard

Reports = NDArray[np.uint64] | NDArray[np.uint8]

LARGEST_DENSE_BITS = 26
_CONVERTED = 1 << 16
"""Integers that are turned into real numbers at a time, in their place."""
_HEAD = 16
"""Bytes of the part and the number of reports, before saved sums."""


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

    _sums: ClassVar[tuple[str, ...]]
    """Names of the attributes that add up: integers, and arrays of them."""
    _sealed, _unsealed = staticmethod(framing.frame_sums), staticmethod(framing.unframe_sums)
    """How saved sums are framed, so that those of another kind are not taken for them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.n = 0

    def add(self, reports: Reports | Iterable[int]) -> Self:
        """Count reports: an array as simulation yields it, or the integers that clients send."""
        self._add(self._checked(self._given(reports)))
        return self

    def check(self, reports: Reports | Iterable[int]) -> None:
        """Raise what `add` would raise, and add nothing."""
        self._possible(self._checked(self._given(reports)))

    def _given(self, reports: Reports | Iterable[int]) -> Reports:
        if not isinstance(reports, np.ndarray):
            try:
                return self._array([operator.index(report) for report in reports])
            except TypeError:
                raise TypeError("reports must be integers, or an array of them") from None
        if reports.dtype.kind not in "iu":
            raise TypeError(f"reports must be integers, not {reports.dtype}")
        if not self.source.pools and reports.ndim > self._axes and reports.shape[1] > 1:
            raise ValueError(
                f"these reports are of {reports.shape[1]} rounds, which do not pool for this mechanism: "
                "add one round at a time, reports[:, i]"
            )
        return reports

    _axes = 1
    """Axes of an array of reports of one round."""

    @property
    def in_bytes(self) -> bool:
        """Whether arrays of reports have a last axis: their bytes, least significant first."""
        return self._axes == 2

    def merge(self, other: "Aggregator") -> Self:
        """Add another aggregate's sums to this one."""
        if other is self:
            raise MergeError("an aggregate cannot be merged with itself: its reports would count twice")
        if not isinstance(other, type(self)) or other.source != self.source:
            raise MergeError("these aggregates were collected under different parameters or rounds")
        self._merge(other)
        self.n += other.n
        return self

    def to_bytes(self) -> bytes:
        """The sums, to be kept or sent; the same bytes in whatever order reports were added and sums merged."""
        head = np.array([self.source.part, self.n], dtype="<u8").tobytes()
        return self._sealed(self.source.mechanism, head, self._packed())

    def add_saved(self, data: bytes) -> Self:
        """Add the sums that were saved as these bytes, of the same mechanism and round."""
        if not isinstance(data, bytes):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        payload = self._unsealed(self.source.mechanism, data)
        if len(payload) < _HEAD:
            raise SumsError("these bytes are sums that are truncated")
        part, n = (int(number) for number in np.frombuffer(payload[:_HEAD], dtype="<u8"))
        if part != self.source.part:
            raise SumsError(f"these sums are of part {part}, not of part {self.source.part}")
        self._add_packed(payload[_HEAD:], n)
        self.n += n
        return self

    def _packed(self) -> bytes:
        return b"".join(np.asarray(getattr(self, name), dtype="<i8").tobytes() for name in self._sums)

    def _add_packed(self, payload: memoryview, n: int) -> None:
        mine = [np.asarray(getattr(self, name)) for name in self._sums]
        if len(payload) != 8 * sum(array.size for array in mine):
            raise SumsError(f"these sums should have {8 * sum(array.size for array in mine)} bytes")
        start = 0
        for name, array in zip(self._sums, mine, strict=True):
            saved = np.frombuffer(payload, dtype="<i8", count=array.size, offset=start).reshape(array.shape)
            self._increase(name, saved)
            start += 8 * array.size

    def _increase(self, name: str, by: NDArray[np.int64]) -> None:
        held = getattr(self, name)
        if isinstance(held, np.ndarray):
            held += by
        else:
            setattr(self, name, held + int(by))

    def _counted(self) -> int:
        if self.n == 0:
            raise ValueError("there are no reports to estimate from")
        return self.n

    @abstractmethod
    def _array(self, reports: list[int]) -> Reports: ...

    @abstractmethod
    def _checked(self, reports: Reports) -> Reports: ...

    def _possible(self, reports: Reports) -> None:  # noqa: B027 - most have nothing left
        """Refuse what `_checked` leaves to `_add` to refuse."""

    @abstractmethod
    def _add(self, reports: Reports) -> None: ...

    def _merge(self, other: Self) -> None:
        for name in self._sums:
            self._increase(name, np.asarray(getattr(other, name)))


class FrequencyAggregator(Aggregator):
    """Sums from which the frequency of every value follows."""

    @abstractmethod
    def estimate(self, beta: float = 0.05) -> Estimate:
        """Frequencies of all values, with radii that fail with probability at most `beta`."""


class BitAggregator(FrequencyAggregator):
    """Ones among reported bits, where a 1 is reported with probability `truth` for a 1 and `lie` for a 0."""

    _sums = ("ones",)

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
        chances = np.array([1 - self._truth, self._lie])
        return Estimate.of_means(
            np.array([1 - one, one]),
            n,
            beta,
            np.full(2, np.sqrt(variance / n) / abs(gap)),
            span=1 / abs(gap),
            statistics=1,  # the two errors are one and the same
            chance=chances if gap > 0 else 1 - chances,
        )

    def _array(self, reports: list[int]) -> Reports:
        return _words(reports, 0, 1)

    def _checked(self, reports: Reports) -> Reports:
        return _within(reports, 0, 1)

    def _add(self, reports: Reports) -> None:
        self.ones += int(np.count_nonzero(reports))
        self.n += reports.size


class InnerProductAggregator(FrequencyAggregator):
    """sums[v] = Σ (-1)^b over the reports (v, b): one Walsh-Hadamard transform away from every frequency."""

    _sums = ("sums",)

    def __init__(self, source: Source, *, bits: int, flip: float, width: int = 1) -> None:
        super().__init__(source)
        if bits > LARGEST_DENSE_BITS:
            raise ValueError(f"bits must be at most {LARGEST_DENSE_BITS} to estimate all 2^bits values, got {bits}")
        self._bits, self._flip, self._width = bits, flip, width
        self.sums = np.zeros(1 << bits, dtype=np.int64)

    def estimate(self, beta: float = 0.05) -> Estimate:
        """(2^d-1)/2^d·1/(1-2η)·WHT(sums)/n + 2^-d for every value; they sum to one, as WHT(sums) sums to zero."""
        n = self._counted()
        beta = checks.open_probability("beta", beta)
        sums = walsh_hadamard(self.sums)
        return inner_product_estimate(sums, n, beta, bits=self._bits, flip=self._flip, width=self._width)

    def _array(self, reports: list[int]) -> Reports:
        return _words(reports, 2, (2 << self._bits) - 1)

    def _checked(self, reports: Reports) -> Reports:
        # The range is checked while counting; a negative number is a word that is too large.
        kind = np.int64 if reports.dtype.kind == "i" else np.uint64
        return reports.astype(kind, copy=False).view(np.uint64)

    def _possible(self, reports: Reports) -> None:
        _within(reports, 2, (2 << self._bits) - 1)

    def _add(self, reports: Reports) -> None:
        words = reports.astype(np.uint64, copy=False)
        if not add_signs(self.sums, words):
            raise ValueError(f"a report must be between 2 and {(2 << self._bits) - 1}")
        self.n += words.size


def inner_product_estimate(
    sums: NDArray[np.int64],
    n: int,
    beta: float,
    *,
    bits: int,
    flip: float,
    width: int = 1,
    values: Sequence[int] | None = None,
) -> Estimate:
    """From Σ (-1)^(⟨v,u⟩ ⊕ b) over the reports, of every value u, or of these.

    For answers of w bits about vectors A, false with probability `flip`, it is Σ (2^w·[y = A·u] - 1). One part in
    2^w of (sum + n) is how many reports agree with u, each with the same chance if nobody holds it. The sums are
    used up: there may be 2^26, and the frequencies take their place.
    """
    symbols, others = 1 << width, (1 << bits) - 1
    gap = symbols - 1 - symbols * flip
    rest = 0.5**bits
    scale = (1 - rest) / gap
    mean = gap / others
    held, free = (1 + gap) * (symbols - 1 - gap), (1 - mean) * (symbols - 1 + mean)
    frequencies = sums.view(np.float64)
    for start in range(0, sums.size, _CONVERTED):
        frequencies[start : start + _CONVERTED] = sums[start : start + _CONVERTED].copy()
    frequencies *= scale / n
    frequencies += rest
    error = np.clip(frequencies, 0, 1)  # step by step in place
    error *= free - held
    np.subtract(free, error, out=error)
    np.sqrt(error, out=error)
    error *= scale / math.sqrt(n)
    return Estimate.of_means(
        frequencies,
        n,
        beta,
        error,
        span=symbols * scale,
        statistics=1 if bits == 1 else None,  # of a bit, the two errors are one and the same
        chance=(1 - rest / scale) / symbols,
        values=values,
        complete=values is None,
    )


def _words(reports: list[int], low: int, high: int) -> Reports:
    if any(not low <= report <= high for report in reports):
        raise ValueError(f"a report must be between {low} and {high}")
    return np.array(reports, dtype=np.uint64)


def _within(reports: Reports, low: int, high: int) -> Reports:
    if reports.size and (int(reports.min()) < low or int(reports.max()) > high):
        raise ValueError(f"a report must be between {low} and {high}")
    return reports
