"""Sums of answers of several bits: for every value, or for a list of candidates."""

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import SumsError
from untrackable.estimation.aggregators import InnerProductAggregator, Reports, Scope
from untrackable.estimation.candidate_sums import CandidateAggregator, Columns, Words, limbs_of
from untrackable.kernels.multi_bit_answers import add_answers, support_counts
from untrackable.mechanisms.local import multi_bit_reports


class WideAggregator(InnerProductAggregator):
    """sums[c·A] = Σ (-1)^(c·y) over the reports (A, y) and all non-zero c in F_2^w.

    Σ_c (-1)^(c·(y ⊕ A·u)) is 2^w if y is the true answer of value u, and 0 otherwise. So the transform at u is
    2^w·(number of reports with the true answer of u) - n.
    """

    def __init__(self, scope: Scope, *, bits: int, width: int, flip: float) -> None:
        super().__init__(scope, bits=bits, flip=flip, width=width)
        self._axes = 2 if multi_bit_reports.report_bytes(bits, width) else 1

    def _array(self, reports: list[int]) -> Reports:
        return multi_bit_reports.array_of(reports, self._bits, self._width)

    def _checked(self, reports: Reports) -> Reports:
        return multi_bit_reports.rows_of(reports, self._bits, self._width)

    def _possible(self, reports: Reports) -> None:
        vectors, _ = multi_bit_reports.columns_of(reports.astype(np.uint64, copy=False), self._bits, self._width)
        if not multi_bit_reports.all_independent(vectors, self._width):
            raise ValueError(multi_bit_reports.rule(self._bits, self._width))

    def _add(self, reports: Reports) -> None:
        rows = reports.astype(np.uint64, copy=False)
        if not add_answers(self.sums, rows, self._width):
            raise ValueError(multi_bit_reports.rule(self._bits, self._width))
        self.n += rows.shape[0]


class WideCandidateAggregator(CandidateAggregator):
    """The vectors and answers of all reports, in no order.

    Memory grows with the reports: ⌈bits/64⌉ words for each vector and one for the answer. An estimate takes `width`
    inner products for each report and candidate.
    """

    def __init__(self, scope: Scope, *, bits: int, width: int, flip: float) -> None:
        super().__init__(scope, bits=bits, flip=flip)
        self._width = width
        self._axes = 2 if multi_bit_reports.report_bytes(bits, width) else 1
        self._kept = (Columns(width * limbs_of(bits) + 1),)

    def _agreeing(self, columns: tuple[Words, ...], words: Words) -> NDArray[np.int64]:
        (kept,) = columns
        return support_counts(kept[:-1], kept[-1], words)

    def _array(self, reports: list[int]) -> Reports:
        return multi_bit_reports.array_of(reports, self._bits, self._width)

    def _checked(self, reports: Reports) -> Reports:
        rows = multi_bit_reports.rows_of(reports, self._bits, self._width)
        vectors, answers = multi_bit_reports.columns_of(rows, self._bits, self._width)
        if not multi_bit_reports.all_independent(vectors, self._width):
            raise ValueError(multi_bit_reports.rule(self._bits, self._width))
        return np.vstack((vectors, answers))

    def _columns(self, reports: Reports) -> tuple[Words, ...]:
        return (reports.astype(np.uint64, copy=False),)

    def _packed(self) -> bytes:
        """All vectors and answers, sorted, so that their order of arrival is not stored."""
        kept = self._kept[0].filled
        return kept[:, np.lexsort(kept)].T.astype("<u8").tobytes()

    def _add_packed(self, payload: memoryview, n: int) -> None:
        size = self._kept[0].filled.shape[0]
        if len(payload) != 8 * size * n:
            raise SumsError(f"these sums should have {8 * size * n} bytes for {n} reports")
        kept = np.frombuffer(payload, dtype="<u8").astype(np.uint64).reshape(n, size).T
        top = kept[limbs_of(self._bits) - 1 : -1 : limbs_of(self._bits)]
        surplus = np.any(top >> np.uint64((self._bits - 1) % 64) > 1) or np.any(kept[-1] >> np.uint64(self._width))
        if surplus or not multi_bit_reports.all_independent(kept[:-1], self._width):
            raise SumsError("these sums hold a report that their mechanism cannot have made")
        self._kept[0].append(kept)
