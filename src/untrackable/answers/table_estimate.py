"""The estimate of a table: the shares of people whose value has given parts, from reports about these parts."""

from typing import Protocol, runtime_checkable

import numpy as np

from untrackable.encodings.asked_tables import AskedTable, View
from untrackable.encodings.encoding import Encoding
from untrackable.estimation.aggregators import Aggregator, Estimate
from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread, Spreads, stacked


@runtime_checkable
class _TableSums(Protocol):
    """Sums of reports about views, which estimate the table of bits that a view shows."""

    def table(self, view: View, beta: float = 0.05) -> Estimate:
        """The frequency of each number that these bits can be."""

    def entry_spreads(self, tables: tuple[View, ...]) -> list[Spread]:
        """How far an entry of each of these tables may be off."""


class CellSpreads(Spreads):
    """The spread of each cell by itself. That of a sum over several cells is not known."""

    def __init__(self, cells: list[Spread]) -> None:
        self._cells = cells

    def of(self, weights: FloatArray) -> Spread:
        """The spread of the only cell that has a weight."""
        places = np.flatnonzero(weights).tolist()
        if len(places) != 1:
            raise ValueError("how far a sum over several cells of a table may be off is not known")
        cell: Spread = self._cells[places[0]]
        return cell.scaled(float(weights[places[0]]))

    def of_each(self) -> Spread:
        """The spreads of all cells."""
        return stacked(self._cells)


def table_of(encoding: Encoding | None, name: str | None) -> AskedTable | None:
    """The table that is asked for, or None if the encoding asks about whole values."""
    asked = None if encoding is None else encoding.asked
    if asked is not None:
        return asked.named(name)
    if name is not None:
        raise ValueError("this question has one table only; give no name of a table")
    return None


def estimated_table(sums: Aggregator, table: AskedTable, beta: float) -> Estimate:
    """The share of each cell, under its label. Intervals hold for each cell, or for all cells at once."""
    if not isinstance(sums, _TableSums):
        raise ValueError("these reports are about whole values, not about the tables that are asked for")  # noqa: TRY004
    shown = tuple(dict.fromkeys(cell.bits for cell in table.cells))
    tables = {bits: sums.table(bits, beta) for bits in shown}
    entries = dict(zip(shown, sums.entry_spreads(shown), strict=True))
    cells = [entries[cell.bits] for cell in table.cells]
    return Estimate(
        np.array([tables[cell.bits].frequencies[cell.entry] for cell in table.cells]),
        sums.n,
        beta,
        np.array([tables[cell.bits].standard_error[cell.entry] for cell in table.cells]),
        span=np.array([float(cell.span) for cell in cells]),
        values=[cell.label for cell in table.cells],
        complete=False,
        spread=CellSpreads(cells),
    )
