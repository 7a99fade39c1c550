"""Inner products of values too wide to tabulate: reports are kept, and asked about a list of candidates."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.errors import SumsError
from untrackable.kernels.parity import parity_sums
from untrackable.mechanisms.estimates import (
    Estimate,
    FrequencyAggregator,
    Reports,
    Source,
    inner_product_estimate,
)

Words = NDArray[np.uint64]

_WORD = 64
_ONE = np.uint64(1)


class CandidateAggregator(FrequencyAggregator):
    """The vectors of all reports (v, b), those with b = 0 and those with b = 1 apart, and in no order.

    Memory grows with the reports, ⌈bits/64⌉ words each; an estimate takes one inner product for each report and
    candidate. Reports wider than 64 bits are arrays of bytes along a last axis, least significant first.
    """

    def __init__(self, source: Source, *, bits: int, flip: float) -> None:
        super().__init__(source)
        self._bits, self._flip = bits, flip
        self._bytes = (bits + 8) // 8 if bits >= _WORD else 0
        """Of a report that does not fit into a word; else 0."""
        self._axes = 2 if self._bytes else 1
        self._vectors = Columns(limbs_of(bits)), Columns(limbs_of(bits))

    def estimate(self, beta: float = 0.05, candidates: Sequence[int] | None = None) -> Estimate:
        """(2^d-1)/2^d·1/(1-2η)·Σ (-1)^(⟨v,u⟩ ⊕ b)/n + 2^-d for every candidate u, in their order.

        Candidates must be chosen without looking at these reports, or the radii do not hold.
        """
        n, beta, asked, words = self._question(beta, candidates)
        plain, flipped = (parity_sums(vectors.filled, words) for vectors in self._vectors)
        return inner_product_estimate(plain - flipped, n, beta, bits=self._bits, flip=self._flip, values=asked)

    def _question(self, beta: float, candidates: Sequence[int] | None) -> tuple[int, float, list[int], Words]:
        """How many reports there are; what is asked, checked; and the candidates as columns of words."""
        n = self._counted()
        beta = checks.open_probability("beta", beta)
        if candidates is None:
            raise ValueError(f"candidates must be given, as there are 2^{self._bits} values, too many to estimate")
        if isinstance(candidates, str) or not len(candidates):
            raise ValueError("candidates must be a sequence of values, at least one")
        asked = [checks.integer("candidate", u, low=0, high=(1 << self._bits) - 1) for u in candidates]
        words = np.array(
            [[u >> _WORD * i & (1 << _WORD) - 1 for u in asked] for i in range(limbs_of(self._bits))],
            dtype=np.uint64,
        )
        return n, beta, asked, words

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

    def _add(self, reports: Reports) -> None:
        words = reports.astype(np.uint64, copy=False)
        limbs = self._vectors[0].filled.shape[0]
        vectors = (words[:, :limbs] >> _ONE).T.copy()
        carried = words[:, 1 : limbs + 1].T << np.uint64(_WORD - 1)
        vectors[: carried.shape[0]] |= carried
        flipped = (words[:, 0] & _ONE).astype(np.bool_)
        self._vectors[0].append(vectors[:, ~flipped])
        self._vectors[1].append(vectors[:, flipped])
        self.n += words.shape[0]

    def _merge(self, other: Self) -> None:
        for mine, theirs in zip(self._vectors, other._vectors, strict=True):
            mine.append(theirs.filled)

    def _packed(self) -> bytes:
        """How many had b = 0; then all vectors, sorted, so that nothing tells in which order they came."""
        head = np.array([self._vectors[0].filled.shape[1]], dtype="<u8").tobytes()
        ordered = (vectors.filled[:, np.lexsort(vectors.filled)] for vectors in self._vectors)
        return head + b"".join(vectors.T.astype("<u8").tobytes() for vectors in ordered)

    def _add_packed(self, payload: bytes, n: int) -> None:
        limbs = self._vectors[0].filled.shape[0]
        if len(payload) != 8 + 8 * limbs * n:
            raise SumsError(f"these sums should have {8 + 8 * limbs * n} bytes for {n} reports")
        first = int.from_bytes(payload[:8], "little")
        vectors = np.frombuffer(payload, dtype="<u8", offset=8).astype(np.uint64).reshape(n, limbs).T
        surplus = vectors[-1] >> np.uint64((self._bits - 1) % _WORD) > _ONE
        if first > n or np.any(surplus) or not np.all(vectors.any(axis=0)):
            raise SumsError("these sums hold a report that their mechanism cannot have made")
        self._vectors[0].append(vectors[:, :first])
        self._vectors[1].append(vectors[:, first:])

    def _range(self) -> str:
        return f"a report must be between 2 and 2^{self._bits + 1} - 1"


def limbs_of(bits: int) -> int:
    """Words of a vector."""
    return -(-bits // _WORD)


class Columns:
    """Vectors as columns of words, with room to grow."""

    def __init__(self, limbs: int) -> None:
        self._room = np.empty((limbs, 0), dtype=np.uint64)
        self._count = 0

    @property
    def filled(self) -> Words:
        """What there is."""
        return self._room[:, : self._count]

    def append(self, vectors: Words) -> None:
        """More columns, copied."""
        count = self._count + vectors.shape[1]
        if count > self._room.shape[1]:
            room = np.empty((self._room.shape[0], max(count, 3 * self._room.shape[1] // 2)), dtype=np.uint64)
            room[:, : self._count] = self.filled
            self._room = room
        self._room[:, self._count : count] = vectors
        self._count = count
