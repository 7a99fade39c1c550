"""How far the cells of tables may be off, before there is any report."""

from typing import Protocol, runtime_checkable

from untrackable.estimation.spread import Spread, stacked
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.view_characters import View


@runtime_checkable
class _SumsOfViews(Protocol):
    """Sums of reports about views, which know how well tables of some bits are estimated."""

    def entry_spreads(self, tables: tuple[View, ...]) -> list[Spread]:
        """How far an entry of each table may be off."""


def cell_spreads(mechanism: Mechanism, shown: tuple[View, ...], round: int = 1) -> Spread:
    """The spread of a cell of each table of these bits, as estimates of this round will have it.

    It is that of the people who report. Its fields are arrays with an entry for each table.
    """
    sums = mechanism.aggregator(round)
    if not isinstance(sums, _SumsOfViews):
        raise Unsuitable("values", "It asks about whole values, and tables of parts of a value are asked for.")
    return stacked(sums.entry_spreads(shown))
