"""Sums of reports: they add up, merge, are saved as bytes, and give an estimate of all frequencies.

In the field's words, they are the server's half of a frequency oracle. `CandidateAggregator` is for values too wide
to have a sum for each: estimates are of a list of candidates. Without a list, reports are kept until there is one.
With a list, `CandidateCounts` counts reports as they come, and keeps none.
"""

import copy
import hashlib
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks, framing
from untrackable.arrays import FloatArray, Words
from untrackable.errors import MergeError, SumsError
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import LinearSpreads, Spread, inner_product_spreads
from untrackable.kernels.counting import add_signs, parity_sums, walsh_hadamard
from untrackable.kernels.engine import on_gpu

Reports = NDArray[np.uint64] | NDArray[np.uint8]
LARGEST_DENSE_BITS = 26
_CONVERTED = 1 << 16
"""The number of integers turned into floating-point numbers at a time, in the same memory."""
COUNT = "n"
"""The name of the number of reports among the addends."""
_HEAD = 16
"""Saved sums begin with this many bytes: the group and the number of reports."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The reports that an aggregate may hold: those of one mechanism, and of one round unless rounds `pool`.

    Rounds pool if one client's reports are independent given its values and equally noisy. For other mechanisms a
    radius that counts each report as another person would be too small. `group` is the number that reports share
    when they may be added up: the round, the deck that covers the round, or 0 if all rounds go together.
    """

    mechanism: object
    group: int
    pools: bool


class Aggregator(ABC):
    """Sums of the reports of one scope. They merge only with sums of the same kind and scope.

    A subclass estimates all values (`_estimate_all`), or the values of a list (`_estimate_listed`), or both.
    """

    _sums: ClassVar[tuple[str, ...]] = ()
    """The names of the attributes that add up: integers, or arrays of integers."""
    _frame, _unframe = staticmethod(framing.frame_sums), staticmethod(framing.unframe_sums)
    """How saved sums are framed. Each kind of sums has its own frame, so that nobody mistakes one for another."""

    takes_candidates: ClassVar[bool] = False
    """Whether `estimate` may be given a list of candidates."""
    _limits: tuple[int, int] = (0, 0)
    """The smallest and the largest report."""
    _bytes: int = 0
    """The number of bytes of a report, where arrays have a last axis for them; 0 if reports are integers."""
    parts: "Sequence[Aggregator]" = ()
    """The sums of each level, where each report is about one of several parts of a value."""
    part_bits: int = 0
    """The width of such a part."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.n = 0

    @property
    def why_candidates(self) -> str:
        """Why these sums cannot estimate all values and need a list of candidates; empty if they can."""
        return ""

    @property
    def needs_candidates(self) -> bool:
        """Whether `estimate` must be given a list of candidates."""
        return bool(self.why_candidates)

    @property
    def entries(self) -> int:
        """The number of integers in these sums."""
        return sum(np.size(getattr(self, name)) for name in self._sums)

    def estimate(self, beta: float = 0.05, candidates: Sequence[Any] | None = None) -> Estimate:
        """Frequencies of all values, or of the candidates in their order. Radii fail with probability `beta`.

        Candidates must be chosen without looking at these reports, or the radii do not hold.
        """
        n, beta = self._counted(), checks.open_probability("beta", beta)
        if candidates is None:
            if self.needs_candidates:
                raise ValueError(f"candidates must be given, as {self.why_candidates}")
            return self._estimate_all(n, beta)
        if not self.takes_candidates:
            raise ValueError("candidates cannot be given: these sums estimate all values")
        return self._estimate_listed(n, beta, _check_candidates(candidates))

    def for_candidates(self, candidates: Sequence[Any] | None) -> "Aggregator":
        """Sums that answer for these candidates, and more reports can be added to.

        They take less memory than sums that answer for any candidates. Most sums are small enough, and return
        themselves.
        """
        return self

    def add(self, reports: Reports | Iterable[int]) -> Self:
        """Add reports: an array as `simulate` yields it, or the integers that clients send."""
        self._add(self._checked(self._given(reports)))
        return self

    def check(self, reports: Reports | Iterable[int]) -> None:
        """Raise the error that `add` would raise, and add nothing."""
        self._possible(self._checked(self._given(reports)))

    def _given(self, reports: Reports | Iterable[int]) -> Reports:
        if not isinstance(reports, np.ndarray):
            try:
                return self._array([operator.index(report) for report in reports])
            except TypeError:
                raise TypeError("reports must be integers, or an array of them") from None
        if reports.dtype.kind not in "iu":
            raise TypeError(f"reports must be integers, not {reports.dtype}")
        if not self.scope.pools and reports.ndim > 1 + self.in_bytes and reports.shape[1] > 1:
            raise ValueError(
                f"these reports are of {reports.shape[1]} rounds, which do not pool for this mechanism: "
                "add one round at a time, reports[:, i]"
            )
        return reports

    @property
    def in_bytes(self) -> bool:
        """Whether arrays of reports have a last axis for the bytes of a report, least significant first."""
        return self._bytes > 0

    def merge(self, other: "Aggregator") -> Self:
        """Add the sums of another aggregate to this one."""
        if other is self:
            raise MergeError("an aggregate cannot be merged with itself: its reports would count twice")
        if not isinstance(other, type(self)) or other.scope != self.scope:
            raise MergeError("these aggregates were collected under different parameters or rounds")
        self._merge(other)
        self.n += other.n
        return self

    def to_bytes(self) -> bytes:
        """The sums as bytes. They do not depend on the order in which reports were added and sums merged."""
        head = np.array([self.scope.group, self.n], dtype="<u8").tobytes()
        return self._frame(self.scope.mechanism, head, self._packed())

    def add_saved(self, data: bytes) -> Self:
        """Add sums of the same mechanism and round that were saved as these bytes."""
        if not isinstance(data, bytes):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        payload = self._unframe(self.scope.mechanism, data)
        if len(payload) < _HEAD:
            raise SumsError("these bytes are sums that are truncated")
        group, n = (int(number) for number in np.frombuffer(payload[:_HEAD], dtype="<u8"))
        if group != self.scope.group:
            raise SumsError(f"these sums are of round or deck {group}, not of {self.scope.group}")
        self._add_packed(payload[_HEAD:], n)
        self.n += n
        return self

    def addends(self) -> dict[str, NDArray[np.int64]]:
        """All that adds up when sums are merged, by name, as arrays of integers of one axis."""
        named = {name: np.asarray(getattr(self, name), dtype=np.int64).reshape(-1) for name in self._sums}
        return {COUNT: np.array([self.n]), **named}

    def increase(self, name: str, start: int, by: NDArray[np.int64]) -> None:
        """Add these integers to some of the addends, from `start` on: sums that were merged elsewhere."""
        held = self.n if name == COUNT else getattr(self, name)
        if not isinstance(held, np.ndarray):
            setattr(self, "n" if name == COUNT else name, int(held) + int(by.sum()))
            return
        held.reshape(-1)[start : start + by.size] += by

    def _packed(self) -> bytes:
        return b"".join(np.asarray(getattr(self, name), dtype="<i8").tobytes() for name in self._sums)

    def _add_packed(self, payload: memoryview, n: int) -> None:
        mine = [np.asarray(getattr(self, name)) for name in self._sums]
        if len(payload) != 8 * sum(array.size for array in mine):
            raise SumsError(f"these sums should have {8 * sum(array.size for array in mine)} bytes")
        start = 0
        for name, array in zip(self._sums, mine, strict=True):
            saved = np.frombuffer(payload, dtype="<i8", count=array.size, offset=start).reshape(array.shape)
            self.increase(name, 0, saved.reshape(-1))
            start += 8 * array.size

    def _counted(self) -> int:
        if self.n == 0:
            raise ValueError("there are no reports to estimate from")
        return self.n

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """The estimate of all values, from n > 0 reports."""
        raise NotImplementedError

    def _estimate_listed(self, n: int, beta: float, candidates: Sequence[Any]) -> Estimate:
        """The estimate of the candidates, from n > 0 reports."""
        raise NotImplementedError

    def _array(self, reports: list[int]) -> Reports:
        """Reports that clients send, as an array."""
        low, high = self._limits
        if any(not low <= report <= high for report in reports):
            raise self._outside()
        return wide_reports(reports, self._bytes) if self._bytes else np.array(reports, dtype=np.uint64)

    def _checked(self, reports: Reports) -> Reports:
        """Reports in the shape that `_add` takes. Those that no client can have sent are refused here or there."""
        low, high = self._limits
        if self._bytes:
            rows, unused = wide_rows(reports, self._bytes), 8 * self._bytes - high.bit_length()
            if unused and np.any(rows[:, -1] >> (8 - unused)):
                raise self._outside()
            return rows
        if reports.size and (int(reports.min()) < low or int(reports.max()) > high):
            raise self._outside()
        return reports

    def _outside(self) -> ValueError:
        low, high = self._limits
        return ValueError(f"a report must be between {low} and {high}")

    def _possible(self, reports: Reports) -> None:  # noqa: B027 - most have nothing left
        """Refuse the reports that `_checked` leaves to `_add` to refuse."""

    @abstractmethod
    def _add(self, reports: Reports) -> None:
        """Add checked reports."""

    def _merge(self, other: Self) -> None:
        for name in self._sums:
            self.increase(name, 0, np.asarray(getattr(other, name)).reshape(-1))


def _check_candidates(candidates: Sequence[Any]) -> Sequence[Any]:
    """A list of candidates that is not empty."""
    if isinstance(candidates, str) or not len(candidates):
        raise ValueError("candidates must be a sequence of values, at least one")
    return candidates


class BitAggregator(Aggregator):
    """The number of reported ones. A 1 is reported with probability `truth` for a 1 and `lie` for a 0."""

    _sums = ("ones",)
    _limits = (0, 1)

    def __init__(self, scope: Scope, *, truth: float, lie: float) -> None:
        super().__init__(scope)
        self._truth, self._lie = truth, lie
        self.ones = 0

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """Frequencies of 0 and 1: (share of ones - lie)/(truth - lie) for 1."""
        gap = self._truth - self._lie
        one = (self.ones / n - self._lie) / gap
        held = min(1.0, max(0.0, one))
        variance = held * self._truth * (1 - self._truth) + (1 - held) * self._lie * (1 - self._lie)
        chances = np.array([1 - self._truth, self._lie])
        return Estimate(
            np.array([1 - one, one]),
            n,
            beta,
            np.full(2, np.sqrt(variance / n) / abs(gap)),
            span=np.full(2, 1 / abs(gap)),
            statistics=1,  # The errors of 0 and 1 are the same number.
            chance=chances if gap > 0 else 1 - chances,
            spread=LinearSpreads(self._spread),
        )

    def _spread(self, weights: FloatArray) -> Spread:
        """A report adds (g(1) - g(0))·(bit - lie)/(truth - lie), up to a constant."""
        reach = abs(float(weights[1] - weights[0]) / (self._truth - self._lie))
        worst = max(chance * (1 - chance) for chance in (self._truth, self._lie))
        return Spread.of_term(reach**2 * worst, reach)

    def _add(self, reports: Reports) -> None:
        self.ones += int(np.count_nonzero(reports))
        self.n += reports.size


class InnerProductAggregator(Aggregator):
    """sums[v] = Σ (-1)^b over the reports (v, b). Their Walsh-Hadamard transform gives every frequency."""

    _sums = ("sums",)

    def __init__(self, scope: Scope, *, bits: int, flip: float, width: int = 1) -> None:
        super().__init__(scope)
        if bits > LARGEST_DENSE_BITS:
            raise ValueError(f"bits must be at most {LARGEST_DENSE_BITS} to estimate all 2^bits values, got {bits}")
        self._bits, self._flip, self._width = bits, flip, width
        self._limits = (2, (2 << bits) - 1)
        self.sums = np.zeros(1 << bits, dtype=np.int64)

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """(2^d-1)/2^d·1/(1-2η)·WHT(sums)/n + 2^-d for every value. They sum to one, as WHT(sums) sums to zero."""
        sums = walsh_hadamard(self.sums)
        return _inner_product_estimate(sums, n, beta, bits=self._bits, flip=self._flip, width=self._width)

    def _checked(self, reports: Reports) -> Reports:
        # The range is checked while counting. A negative number is a word that is too large.
        kind = np.int64 if reports.dtype.kind == "i" else np.uint64
        return reports.astype(kind, copy=False).view(np.uint64)

    def _possible(self, reports: Reports) -> None:
        Aggregator._checked(self, reports)

    def _add(self, reports: Reports) -> None:
        words = reports.astype(np.uint64, copy=False)
        if not add_signs(self.sums, words):
            raise self._outside()
        self.n += words.size


def _inner_product_estimate(
    sums: NDArray[np.int64],
    n: int,
    beta: float,
    *,
    bits: int,
    flip: float,
    width: int = 1,
    values: Sequence[int] | None = None,
) -> Estimate:
    """The estimate from Σ (-1)^(⟨v,u⟩ ⊕ b) over the reports, for every value u or for `values`.

    For answers of w bits about vectors A, false with probability `flip`, the sum is Σ (2^w·[y = A·u] - 1), and (sum
    + n)/2^w reports agree with u. If nobody holds u, each agrees with the same chance. There may be 2^26 sums, so
    the frequencies overwrite them.
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
    error = np.clip(frequencies, 0, 1)  # Each step below works in place, to save memory.
    error *= free - held
    np.subtract(free, error, out=error)
    np.sqrt(error, out=error)
    error *= scale / math.sqrt(n)
    return Estimate(
        frequencies,
        n,
        beta,
        error,
        span=np.broadcast_to(symbols * scale, sums.shape),
        statistics=int(bits == 1),  # The errors of the two values of a bit are the same number.
        chance=(1 - rest / scale) / symbols,
        values=values,
        complete=values is None,
        spread=inner_product_spreads(bits=bits, flip=flip, width=width),
    )


def wide_reports(reports: list[int], size: int) -> NDArray[np.uint8]:
    """Reports as rows of this many bytes, least significant first."""
    data = b"".join(report.to_bytes(size, "little") for report in reports)
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, size)


def wide_rows(reports: NDArray[Any], size: int) -> NDArray[np.uint8]:
    """An array of reports that have this many bytes each, as rows. Their content is not checked."""
    if reports.dtype != np.uint8 or reports.shape[-1:] != (size,):
        raise ValueError(f"reports must be arrays of {size} bytes each, got {reports.dtype} {reports.shape}")
    return reports.reshape(-1, size)


def row_words(rows: NDArray[Any]) -> Words:
    """Bytes along the last axis as words, the lowest first, filled up with 0."""
    filled = np.zeros((*rows.shape[:-1], -(-rows.shape[-1] // 8) * 8), dtype=np.uint8)
    filled[..., : rows.shape[-1]] = rows
    return filled.view("<u8").astype(np.uint64, copy=False)


# --- values too wide to have a sum for each ---------------------------------------------------------------

_WORD = 64
_ONE = np.uint64(1)
_SCANNED = 1 << 16
"""The number of reports compared with all candidates at a time, so that they stay in the processor's cache."""
_SCANNED_ON_GPU = 1 << 21
"""The same on a GPU, where it takes this many to keep all multiprocessors busy."""
_DIGEST = 32


class CandidateAggregator(Aggregator):
    """The vectors of all reports (v, b), those with b = 0 apart from those with b = 1, in no order.

    Memory grows with the reports, ⌈bits/64⌉ words each. An estimate takes one inner product for each report and
    candidate. If the candidates are known beforehand, `for_candidates` keeps no reports. Reports wider than 64 bits
    are arrays of bytes along a last axis, least significant first.
    """

    takes_candidates = True
    _width = 1

    def __init__(self, scope: Scope, *, bits: int, flip: float) -> None:
        super().__init__(scope)
        self._bits, self._flip, self._limits = bits, flip, (2, (2 << bits) - 1)
        self._bytes = (bits + 8) // 8 if bits >= _WORD else 0
        self._kept: tuple[Columns, ...] = (Columns(limbs_of(bits)), Columns(limbs_of(bits)))

    @property
    def why_candidates(self) -> str:
        return f"there are 2^{self._bits} values, too many to estimate"

    def _estimate_listed(self, n: int, beta: float, candidates: Sequence[int]) -> Estimate:
        """(2^d-1)/2^d·1/(g-1-gη)·Σ (g·[y = A·u] - 1)/n + 2^-d for every candidate u, where g = 2^w.

        For reports (v, b) of width w = 1, each term of the sum is (-1)^(⟨v,u⟩ ⊕ b).
        """
        return self.for_candidates(candidates).estimate(beta)

    def for_candidates(self, candidates: Sequence[int] | None) -> "CandidateCounts":
        """Counts of the reports that agree with these candidates. More reports can be added, and are not kept."""
        if candidates is None:
            raise ValueError(f"candidates must be given, as {self.why_candidates}")
        return CandidateCounts(self, candidates)

    def addends(self) -> dict[str, NDArray[np.int64]]:
        """Reports do not add up; counts for candidates do."""
        raise ValueError(f"candidates must be given, as {self.why_candidates}")

    def _agreeing(self, columns: tuple[Words, ...], words: Words) -> NDArray[np.int64]:
        """The number of reports in these columns that agree with each candidate."""
        plain, flipped = columns
        total = plain.shape[1] + flipped.shape[1]
        return np.asarray((parity_sums(plain, words) - parity_sums(flipped, words) + total) >> 1)

    def _checked(self, reports: Reports) -> Reports:
        checked = super()._checked(reports)
        if not self._bytes:
            return checked.reshape(-1, 1).astype(np.uint64)
        words = row_words(checked)
        if np.any((words[:, 0] < 2) & ~words[:, 1:].any(axis=1)):
            raise self._outside()
        return words

    def _columns(self, reports: Reports) -> tuple[Words, ...]:
        """Checked reports as columns of words, in which form they are kept."""
        words = reports.astype(np.uint64, copy=False)
        limbs = limbs_of(self._bits)
        vectors = (words[:, :limbs] >> _ONE).T.copy()
        carried = words[:, 1 : limbs + 1].T << np.uint64(_WORD - 1)
        vectors[: carried.shape[0]] |= carried
        flipped = (words[:, 0] & _ONE).astype(np.bool_)
        return vectors[:, ~flipped], vectors[:, flipped]

    def _add(self, reports: Reports) -> None:
        for kept, more in zip(self._kept, self._columns(reports), strict=True):
            kept.append(more)
            self.n += more.shape[1]

    def _merge(self, other: Self) -> None:
        for mine, theirs in zip(self._kept, other._kept, strict=True):
            mine.append(theirs.filled)

    def _packed(self) -> bytes:
        """The number of reports with b = 0, then all vectors, sorted so that their order reveals nothing."""
        head = np.array([self._kept[0].filled.shape[1]], dtype="<u8").tobytes()
        ordered = (vectors.filled[:, np.lexsort(vectors.filled)] for vectors in self._kept)
        return head + b"".join(vectors.T.astype("<u8").tobytes() for vectors in ordered)

    def _add_packed(self, payload: memoryview, n: int) -> None:
        limbs = limbs_of(self._bits)
        if len(payload) != 8 + 8 * limbs * n:
            raise SumsError(f"these sums should have {8 + 8 * limbs * n} bytes for {n} reports")
        first = int.from_bytes(payload[:8], "little")
        vectors = np.frombuffer(payload, dtype="<u8", offset=8).astype(np.uint64).reshape(n, limbs).T
        surplus = vectors[-1] >> np.uint64((self._bits - 1) % _WORD) > _ONE
        if first > n or np.any(surplus) or not np.all(vectors.any(axis=0)):
            raise SumsError("these sums hold a report that their mechanism cannot have made")
        self._kept[0].append(vectors[:, :first])
        self._kept[1].append(vectors[:, first:])

    def _outside(self) -> ValueError:
        return ValueError(f"a report must be between 2 and 2^{self._bits + 1} - 1")


class CandidateCounts(Aggregator):
    """The number of reports that agree with each candidate of a list that was chosen before they were seen.

    A report is compared with every candidate as it comes, and forgotten, so memory grows with the candidates only.
    Estimates are exactly those of a `CandidateAggregator`. Counts merge with counts of the same candidates in the
    same order.
    """

    _sums = ("counts",)
    _frame, _unframe = staticmethod(framing.frame_counts), staticmethod(framing.unframe_counts)

    def __init__(self, kept: CandidateAggregator, candidates: Sequence[int]) -> None:
        super().__init__(kept.scope)
        _check_candidates(candidates)
        self._bytes = kept._bytes
        self._bits, self._flip, self._width = kept._bits, kept._flip, kept._width
        self.candidates = tuple(
            checks.integer("candidate", u, low=0, high=(1 << self._bits) - 1) for u in candidates
        )
        self._words = np.array(
            [[u >> _WORD * i & (1 << _WORD) - 1 for u in self.candidates] for i in range(limbs_of(self._bits))],
            dtype=np.uint64,
        )
        self.counts = kept._agreeing(tuple(columns.filled for columns in kept._kept), self._words)
        self.n = kept.n
        self._kept_form = copy.copy(kept)
        self._kept_form.n, self._kept_form._kept = 0, tuple(Columns(each.filled.shape[0]) for each in kept._kept)

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """The estimate of all candidates in their order, as `CandidateAggregator` gives it."""
        return _inner_product_estimate(
            (self.counts << self._width) - n,
            n,
            beta,
            bits=self._bits,
            flip=self._flip,
            width=self._width,
            values=list(self.candidates),
        )

    def merge(self, other: Aggregator) -> Self:
        """Add the counts of another aggregate, of the same candidates, to these."""
        if isinstance(other, CandidateCounts) and other.candidates != self.candidates:
            raise MergeError("these aggregates are of different candidates, or of the same in another order")
        return super().merge(other)

    def _array(self, reports: list[int]) -> Reports:
        return self._kept_form._array(reports)

    def _checked(self, reports: Reports) -> Reports:
        return reports  # They are checked a part at a time, as they are counted.

    def _possible(self, reports: Reports) -> None:
        for some in _parts(reports):
            self._kept_form._checked(some)

    def _add(self, reports: Reports) -> None:
        counts, n = np.zeros_like(self.counts), 0
        for some in _parts(reports):
            columns = self._kept_form._columns(self._kept_form._checked(some))
            counts += self._kept_form._agreeing(columns, self._words)
            n += sum(part.shape[1] for part in columns)
        self.counts += counts
        self.n += n

    @property
    def _digest(self) -> bytes:
        """A digest of the candidates, 32 bytes."""
        return hashlib.sha256(self._words.astype("<u8").tobytes()).digest()

    def _packed(self) -> bytes:
        return self._digest + super()._packed()

    def _add_packed(self, payload: memoryview, n: int) -> None:
        if payload[:_DIGEST] != self._digest:
            raise SumsError("these sums are of other candidates, or of the same in another order")
        counts = np.frombuffer(payload[_DIGEST : len(payload) // 8 * 8], dtype="<i8")
        if counts.size and not 0 <= counts.min() <= counts.max() <= n:
            raise SumsError(f"these sums hold a count that is not between 0 and {n}, the number of reports")
        super()._add_packed(payload[_DIGEST:], n)


def _parts(reports: Reports) -> Iterator[Reports]:
    """The reports a part at a time: at least one part, which may be empty."""
    rows: Reports = reports.reshape(-1) if reports.ndim == 0 else reports
    size = _SCANNED_ON_GPU if on_gpu() else _SCANNED
    for start in range(0, max(1, len(rows)), size):
        yield rows[start : start + size]


def limbs_of(bits: int) -> int:
    """The number of words of a vector."""
    return -(-bits // _WORD)


class Columns:
    """Vectors as columns of words in an array with room to grow."""

    def __init__(self, limbs: int) -> None:
        self._room = np.empty((limbs, 0), dtype=np.uint64)
        self._count = 0

    @property
    def filled(self) -> Words:
        """The columns that were added."""
        return self._room[:, : self._count]

    def append(self, vectors: Words) -> None:
        """Add columns, which are copied."""
        count = self._count + vectors.shape[1]
        if count > self._room.shape[1]:
            room = np.empty((self._room.shape[0], max(count, 3 * self._room.shape[1] // 2)), dtype=np.uint64)
            room[:, : self._count] = self.filled
            self._room = room
        self._room[:, self._count : count] = vectors
        self._count = count
