"""Sums of reports about views, and the tables that they give."""

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Aggregator, Estimate, FloatArray, Reports, Scope
from untrackable.estimation.spread import Spread
from untrackable.kernels.multi_bit_answers import add_answers
from untrackable.kernels.transform import walsh_hadamard_of_reals
from untrackable.kernels.view_counting import add_view_signs, possible_view_reports
from untrackable.mechanisms.local import multi_bit_reports
from untrackable.mechanisms.local.view_characters import TableLaw, View
from untrackable.mechanisms.local.view_reports import own_reports
from untrackable.mechanisms.local.view_spread import ViewSpreads

if TYPE_CHECKING:
    from untrackable.mechanisms.local.divided import Divided
    from untrackable.mechanisms.local.views import Views


class ViewRows(NamedTuple):
    """Reports about one view, as rows of words."""

    view: int
    rows: NDArray[np.uint64]


class ViewAggregator(Aggregator):
    """For every view and every vector of its bits, the sum of the signs of the answers about it.

    `sums` has the entries of one view after those of another. The estimate of a table pools all views that show the
    same bits. The number of entries is that of the views' tables, whatever the number of bits.
    """

    _sums = ("sums",)

    def __init__(self, scope: Scope, mechanism: "Views | Divided") -> None:
        super().__init__(scope)
        self._mechanism = mechanism
        self._layout = mechanism.layout
        self._axes = 2 if self._layout.bytes else 1
        self._sizes = np.array([base.values for base in mechanism.bases], dtype=np.int64)
        ends = np.cumsum(self._sizes)
        self._starts = ends - self._sizes
        # The kernel that counts takes a power of two. The last entries may stay 0.
        self.sums = np.zeros(1 << int(ends[-1] - 1).bit_length(), dtype=np.int64)

    def table(self, view: int | View, beta: float = 0.05) -> Estimate:
        """The frequency of each entry of a view's table: of each number that its bits can be.

        The view is given by its number, or as bits that some view shows together. Tables of different views agree
        where they show the same bits.
        """
        n, beta = self._counted(), checks.open_probability("beta", beta)
        law = self._mechanism.table_law(view)
        return _estimated(self._frequencies(law, n), n, beta, law)

    def entry_spreads(self, tables: tuple[View, ...]) -> list[Spread]:
        """How far an entry of each table of some bits may be off. It does not depend on the reports."""
        return [law.spread for law in self._mechanism.entry_laws(tables)]

    def _frequencies(self, law: TableLaw, n: int) -> FloatArray:
        counted = np.zeros(1 << law.bits, dtype=np.int64)
        for shared in law.shared:
            start = self._starts[shared.view]
            counted[shared.table] += self.sums[start : start + self._sizes[shared.view]][shared.own]
        counted[0] = n  # Entry 0 of a view is never counted: the character of no bits is 1.
        return walsh_hadamard_of_reals(counted / law.reach) / (n * counted.size)

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        whole = self._mechanism.whole
        if whole is None:
            raise ValueError(
                "these reports are about tables of some bits each, not about whole values: estimate a table instead"
            )
        return self.table(whole, beta)

    def _array(self, reports: list[int]) -> Reports:
        return self._layout.array(reports, self._range())

    def _checked(self, reports: Reports) -> Reports:
        return self._layout.rows(reports)

    def _possible(self, reports: Reports) -> None:
        if self._mechanism.width > 1:
            self._by_view(reports)
        elif not possible_view_reports(*self._narrow(reports)):
            raise ValueError(self._range())

    def _add(self, reports: Reports) -> None:
        if self._mechanism.width == 1:
            if not add_view_signs(self.sums, *self._narrow(reports)):
                raise ValueError(self._range())
        else:
            self._add_rows(self._by_view(reports))
        self.n += reports.shape[0]

    def _add_rows(self, found: list[ViewRows]) -> None:
        for view, rows in found:
            start = self._starts[view]
            add_answers(self.sums[start : start + self._sizes[view]], rows, self._mechanism.bases[view].width)

    def _narrow(self, reports: Reports) -> tuple[NDArray[np.uint64], int, NDArray[np.int64], NDArray[np.int64]]:
        return reports.astype(np.uint64, copy=False), self._layout.base_bits, self._starts, self._sizes

    def _by_view(self, reports: Reports) -> list[ViewRows]:
        """The reports about each view, after checks."""
        views, rest = self._layout.split(reports)
        if views.size and int(views.max()) >= self._sizes.size:
            raise ValueError(self._range())
        order = np.argsort(views.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(views.astype(np.int64), minlength=self._sizes.size))
        found = []
        for view, (start, stop) in enumerate(itertools.pairwise([0, *ends.tolist()])):
            if start == stop:
                continue
            own, fitting = own_reports(rest[order[start:stop]], self._mechanism.bases[view])
            if not fitting.all():
                raise ValueError(self._range())
            found.append(self._rows_of(view, own))
        return found

    def _rows_of(self, view: int, own: Reports) -> ViewRows:
        """Reports about one view, after checks."""
        base = self._mechanism.bases[view]
        rows = multi_bit_reports.rows_of(own, base.bits, base.width)
        vectors, _ = multi_bit_reports.columns_of(rows, base.bits, base.width)
        if not multi_bit_reports.all_independent(vectors, base.width):
            raise ValueError(self._range())
        return ViewRows(view, rows)

    def _range(self) -> str:
        return f"a report must be about one of {self._sizes.size} views, and its base must be able to make it"


def _estimated(frequencies: FloatArray, n: int, beta: float, law: TableLaw) -> Estimate:
    """The estimate of all entries of a table."""
    entry, spreads = law.entry, ViewSpreads(law, frequencies)
    own = spreads.of_each().by_share
    held = np.clip(frequencies, 0, 1)
    variance = held * entry.held + (1 - held) * entry.free
    if own is not None and own.error is not None:
        variance += np.clip(own.excess, entry.least - entry.free, entry.elsewhere - entry.free)
    error = np.sqrt(np.maximum(0.0, variance) / n)
    return Estimate(
        frequencies,
        n,
        beta,
        error,
        span=np.broadcast_to(entry.span, frequencies.shape),
        statistics=int(law.bits == 1),  # The errors of the two entries of a bit are the same number.
        spread=spreads,
    )
