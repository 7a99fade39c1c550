"""How far a wanted figure of an ordered question may be off, before there is any report: a mean, or shares."""

from functools import lru_cache
from typing import Literal

import numpy as np

from untrackable.estimation.spread import Spread, Spreads
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism

Want = Literal["frequencies", "quantiles", "mean"]
"""What is wanted of a question: the share of each answer, the share up to each number, or the mean of numbers."""
WANTS: tuple[Want, ...] = ("frequencies", "quantiles", "mean")


def wanted_spread(mechanism: Mechanism, want: Want, *, values: int, round: int = 1) -> Spread:
    """How far what one report adds to the figure may be from its mean, whatever its sender holds.

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
