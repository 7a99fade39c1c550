"""The demands on a mechanism: a privacy budget for every round, and a figure that is wanted.

`Unsuitable` says which demand a mechanism misses. How far the figure may be off is known before there is any
report, because the spread of an estimate does not depend on what reports say.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from untrackable import checks
from untrackable.errors import UntrackableError
from untrackable.estimation.intervals import Spread, Spreads, stacked
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.view_tables import View

Demand = Literal["accuracy", "privacy", "horizon", "changes", "values"]


class Unsuitable(UntrackableError):
    """A mechanism does not meet the demands: it misses `binding`, and the message says why."""

    def __init__(self, binding: Demand, why: str) -> None:
        super().__init__(why)
        self.binding: Demand = binding
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The demands that set a mechanism's parameters: the number of values, the number of rounds, and privacy.

    `reports` is the number of rounds, in each of which everybody answers; None means that there is no last round.
    """

    values: int = 16
    eps: float = 2.0
    delta: float = 1e-6
    reports: int | None = 20
    people: int = 100_000

    def __post_init__(self) -> None:
        checks.settle(
            self,
            values=checks.integer("values", self.values, low=2),
            eps=checks.epsilon("eps", self.eps),
            delta=checks.open_probability("delta", self.delta),
            people=checks.integer("people", self.people, low=1),
        )
        if self.reports is not None:
            checks.settle(self, reports=checks.integer("reports", self.reports, low=1))

    @property
    def bits(self) -> int:
        """Width of an encoded value, d."""
        return (self.values - 1).bit_length()

    def last_round(self, why: str) -> int:
        """The number of rounds. If there is no last one, `why` says why the mechanism needs it."""
        if self.reports is None:
            raise Unsuitable("horizon", why)
        return self.reports


Want = Literal["frequencies", "quantiles", "mean"]
"""The figure that is wanted: the share of each answer, the share up to each number, or the mean of numbers."""
WANTS: tuple[Want, ...] = ("frequencies", "quantiles", "mean")


def wanted_spread(mechanism: Mechanism, want: Want, *, values: int, round: int = 1) -> Spread:
    """The spread of what one report adds to the figure, whatever its sender holds.

    For quantiles it is that of the share of people at or below each number, as arrays. For a mean, it is a share of
    the range from the lowest to the highest number.
    """
    spreads = _spreads(mechanism, values, round)
    try:
        return spreads.of_first(values) if want == "quantiles" else spreads.of(np.linspace(-0.5, 0.5, values))
    except ValueError as error:
        why = str(error)
        raise Unsuitable("accuracy", f"{why[:1].upper()}{why[1:]}.") from None


def wanted_statistics(want: Want, values: int, *, simultaneous: bool) -> int:
    """The number of statements that hold at once."""
    return values - 1 if simultaneous and want == "quantiles" else 1


@lru_cache(maxsize=64)
def _spreads(mechanism: Mechanism, values: int, round: int) -> Spreads:
    """The spreads that an estimate of this round will have. They do not depend on what reports say.

    So those of one report about any value are the same.
    """
    (batch,) = mechanism.simulate(np.zeros(1, dtype=np.int64), rounds=[round], seed=1)
    sums = mechanism.aggregator(round)
    if sums.needs_candidates:
        raise Unsuitable("values", "It estimates answers one by one, and sums over many answers are not planned.")
    return sums.add(batch.reports[:, 0]).estimate().spread


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
