"""The estimate of a table: the shares of people whose value has given parts, from reports about these parts."""

from typing import Protocol, runtime_checkable

import numpy as np

from untrackable.encodings.asked_tables import AskedTable, View
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.path import Path
from untrackable.estimation.aggregators import Aggregator, Estimate
from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread, Spreads, stacked


@runtime_checkable
class _TableSums(Protocol):
    """Sums of reports about views, which estimate the table of bits that a view shows."""

    def table(self, view: View, beta: float = 0.05) -> Estimate:
        """The frequency of each number that these bits can be."""


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
    """The table that is asked for, or None if it is whole values, or all looks of a path."""
    asked = None if encoding is None else encoding.asked
    if asked is not None:
        if name is None and isinstance(encoding, Path):
            return None
        return asked.named(name)
    if name is not None:
        raise ValueError("this question has one table only; give no name of a table")
    return None


def estimated_table(sums: Aggregator, table: AskedTable, beta: float) -> Estimate:
    """The share of each cell, under its label. Intervals hold for each cell, or for all cells at once."""
    if not isinstance(sums, _TableSums):
        raise ValueError("these reports are about whole values, not about the tables that are asked for")  # noqa: TRY004
    tables = {bits: sums.table(bits, beta) for bits in dict.fromkeys(cell.bits for cell in table.cells)}
    spreads = {bits: found.spread.of_each() for bits, found in tables.items()}
    cells = [one.at(cell.entry) for cell in table.cells if (one := spreads[cell.bits]) is not None]
    return Estimate(
        np.array([tables[cell.bits].frequencies[cell.entry] for cell in table.cells]),
        sums.n,
        beta,
        np.array([tables[cell.bits].standard_error[cell.entry] for cell in table.cells]),
        span=np.array([tables[cell.bits].span[cell.entry] for cell in table.cells]),
        values=[cell.label for cell in table.cells],
        complete=False,
        spread=CellSpreads(cells),
    )
