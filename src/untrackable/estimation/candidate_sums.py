"""Sums for values too wide to have a sum for each: estimates are of a list of candidates.

Without a list, reports are kept until there is one. With a list, reports are counted as they come, and not kept.
"""

import copy
import hashlib
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks, framing
from untrackable.errors import MergeError, SumsError
from untrackable.estimation.aggregators import (
    Aggregator,
    Estimate,
    Reports,
    Scope,
    check_candidates,
    inner_product_estimate,
)
from untrackable.kernels.engine import on_gpu
from untrackable.kernels.parity import parity_sums

Words = NDArray[np.uint64]

_WORD = 64
_ONE = np.uint64(1)
_SCANNED = 1 << 16
"""How many reports are compared with all candidates at a time, so that they stay in the processor's cache."""
_SCANNED_ON_GPU = 1 << 21
"""The same on a GPU, where it takes so many to keep all multiprocessors busy."""
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
        self._bits, self._flip = bits, flip
        self._bytes = (bits + 8) // 8 if bits >= _WORD else 0
        """The bytes of a report that does not fit into a word; else 0."""
        self._axes = 2 if self._bytes else 1
        self._kept: tuple[Columns, ...] = (Columns(limbs_of(bits)), Columns(limbs_of(bits)))

    @property
    def why_candidates(self) -> str:
        """There are too many values."""
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

    def _empty_copy(self) -> Self:
        """Empty sums of this kind."""
        made = copy.copy(self)
        made.n, made._kept = 0, tuple(Columns(columns.filled.shape[0]) for columns in self._kept)
        return made

    def _agreeing(self, columns: tuple[Words, ...], words: Words) -> NDArray[np.int64]:
        """How many of the reports in these columns agree with each candidate."""
        plain, flipped = columns
        total = plain.shape[1] + flipped.shape[1]
        agreeing: NDArray[np.int64] = (parity_sums(plain, words) - parity_sums(flipped, words) + total) >> 1
        return agreeing

    def _array(self, reports: list[int]) -> Reports:
        if any(not 2 <= report < 2 << self._bits for report in reports):
            raise ValueError(self._range())
        if not self._bytes:
            return np.array(reports, dtype=np.uint64)
        data = b"".join(report.to_bytes(self._bytes, "little") for report in reports)
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self._bytes)

    def _checked(self, reports: Reports) -> Reports:
        if not self._bytes:
            if reports.size and (int(reports.min()) < 2 or int(reports.max()) >= 2 << self._bits):
                raise ValueError(self._range())
            return reports.reshape(-1, 1).astype(np.uint64)
        if reports.dtype != np.uint8 or reports.shape[-1:] != (self._bytes,):
            raise ValueError(
                f"reports must be arrays of {self._bytes} bytes each, got {reports.dtype} {reports.shape}"
            )
        rows = reports.reshape(-1, self._bytes)
        surplus = 8 * self._bytes - self._bits - 1
        if surplus and np.any(rows[:, -1] >> (8 - surplus)):
            raise ValueError(self._range())
        wide = np.zeros((rows.shape[0], 8 * -(-self._bytes // 8)), dtype=np.uint8)
        wide[:, : self._bytes] = rows
        words = wide.view("<u8").astype(np.uint64, copy=False)
        if np.any((words[:, 0] < 2) & ~words[:, 1:].any(axis=1)):
            raise ValueError(self._range())
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

    def _range(self) -> str:
        return f"a report must be between 2 and 2^{self._bits + 1} - 1"


class CandidateCounts(Aggregator):
    """How many reports agree with each candidate of a list that was chosen before these reports were seen.

    A report is compared with every candidate as it comes, and forgotten, so memory grows with the candidates only.
    Estimates are exactly those of a `CandidateAggregator`. Counts merge with counts of the same candidates in the
    same order.
    """

    _sums = ("counts",)
    _frame, _unframe = staticmethod(framing.frame_counts), staticmethod(framing.unframe_counts)

    def __init__(self, kept: CandidateAggregator, candidates: Sequence[int]) -> None:
        super().__init__(kept.scope)
        check_candidates(candidates)
        self._axes = kept._axes
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
        self._kept_form = kept._empty_copy()

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """The estimate of all candidates in their order, as `CandidateAggregator` gives it."""
        return inner_product_estimate(
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
    """How many words a vector takes."""
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
