"""The estimate of a table: the shares of people whose value has given parts, from reports about these parts."""

from typing import Protocol, runtime_checkable

import numpy as np

from untrackable.encodings.asked_tables import AskedTable
from untrackable.encodings.encoding import Encoding
from untrackable.estimation.aggregators import Aggregator, Estimate
from untrackable.estimation.spread import Spread, stacked


@runtime_checkable
class _TableSums(Protocol):
    """Sums of reports about views, which estimate the table of each view."""

    def table(self, view: int, beta: float = 0.05) -> Estimate:
        """The frequency of each number that the bits of a view can be."""


def table_of(encoding: Encoding | None, name: str | None) -> AskedTable | None:
    """The table that is asked for, or None if the encoding asks about whole values."""
    asked = None if encoding is None else encoding.asked
    if asked is not None:
        return asked.named(name)
    if name is not None:
        raise ValueError("this question has one table only; give no name of a table")
    return None


def estimated_table(sums: Aggregator, table: AskedTable, beta: float) -> Estimate:
    """The share of each cell, under its label. Radii hold for each cell, or for all cells at once.

    They also hold for everybody's shares if those who answered are a random sample.
    """
    if not isinstance(sums, _TableSums):
        raise ValueError("these reports are about whole values, not about the tables that are asked for")  # noqa: TRY004
    views = {view: sums.table(view, beta) for view in {cell.view for cell in table.cells}}
    entry = {view: _spread(estimate, (0,)) for view, estimate in views.items()}
    shares = np.array([float(views[cell.view].frequencies[list(cell.entries)].sum()) for cell in table.cells])
    single = [len(cell.entries) == 1 for cell in table.cells]
    spreads = stacked(
        [
            entry[cell.view] if alone else _spread(views[cell.view], cell.entries)
            for cell, alone in zip(table.cells, single, strict=True)
        ]
    )
    errors = spreads.standard_error(sums.n)
    for place, (cell, alone) in enumerate(zip(table.cells, single, strict=True)):
        if alone:
            errors[place] = views[cell.view].standard_error[cell.entries[0]]
    return Estimate(
        shares,
        sums.n,
        beta,
        spreads.radius(sums.n, beta),
        spreads.radius(sums.n, beta, statistics=len(table.cells)),
        errors,
        span=np.asarray(spreads.span),
        values=[cell.label for cell in table.cells],
        complete=False,
    )


def _spread(view: Estimate, entries: tuple[int, ...]) -> Spread:
    """The spread of the sum of some entries. All single entries of a view have the same.

    As the frequencies of a view sum to one, the mean is taken from the weights first, which makes them smaller.
    """
    weights = np.zeros(view.frequencies.size)
    weights[list(entries)] = 1
    return view.spread.of(weights - weights.mean()).of_sample(1.0)
