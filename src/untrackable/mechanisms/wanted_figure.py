"""How far a wanted figure of an ordered question may be off, before there is any report: a mean, or shares."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol, cast

import numpy as np

from untrackable.estimation.spread import SampledSpreads, Spread, Spreads
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism

Want = Literal["frequencies", "quantiles", "mean"]
"""What is wanted of a question: the share of each answer, the share up to each number, or the mean of numbers."""
WANTS: tuple[Want, ...] = ("frequencies", "quantiles", "mean")


_ANY_NUMBER = 1000
"""Spreads of rounds with equally many reports do not depend on how many these are."""

_NUMBERS = np.logspace(0, 15, 601)
"""Numbers of reports for which the largest term is looked for."""


_LARGEST_TABLE = 1 << 18
"""The number of spreads, rounds times values, that are computed at once."""


class UnlikeRounds(Protocol):
    """A mechanism whose rounds are independent and not alike."""

    def round_spreads(self, rounds: Sequence[int]) -> Spreads:
        """The spreads of single rounds, along the first of two axes. None of them has a bias."""


class Terms(NamedTuple):
    """The radius of n reports is bias + min(hoeffding/√n, bernstein/√n + part/n) (upper)."""

    hoeffding: float
    bernstein: float
    part: float
    bias: float


class WantedError(NamedTuple):
    """The error of a figure (upper, fails with probability beta), and its standard error (upper)."""

    radius: float
    standard_error: float


def wanted_error(
    mechanism: Mechanism,
    want: Want,
    *,
    values: int,
    rounds: Sequence[int],
    reports: int,
    beta: float,
    participation: Fraction,
    simultaneous: bool,
) -> WantedError:
    """The error of the figure of these rounds, of each of which there are so many reports.

    For quantiles it is that of the share of people at or below a number: the worst number chosen beforehand, or all
    at once. For a mean, it is a share of the range from the lowest to the highest number.
    """
    spread = _figure_spread(mechanism, want, values, rounds, reports, participation)
    n = reports * len(rounds)
    radius = spread.radius(n, beta, statistics=_statistics(want, values, simultaneous))
    return WantedError(float(np.max(radius)), float(np.max(spread.standard_error(n))))


def wanted_curve(
    mechanism: Mechanism,
    want: Want,
    *,
    values: int,
    rounds: Sequence[int],
    beta: float,
    participation: Fraction,
    simultaneous: bool,
) -> list[Terms]:
    """The same radius for any number n of reports of each round: the largest of that of all terms.

    Only terms are kept that are the largest for some of many numbers of reports. Between these numbers others may
    be larger by less than a millionth.
    """
    spread = _figure_spread(mechanism, want, values, rounds, _ANY_NUMBER, participation)
    log = math.log(2 * _statistics(want, values, simultaneous) / (beta - spread.failure))
    n = len(rounds)
    bounds = np.broadcast_arrays(
        np.asarray(spread.span) * math.sqrt(log / (2 * n)),
        np.sqrt(2 * log / n * np.asarray(spread.variance)),
        np.asarray(spread.part) * (log / (3 * n)),
        spread.bias,
    )
    hoeffding, bernstein, part, bias = (np.ravel(each) for each in bounds)
    largest = {
        int(np.argmax(bias + np.minimum(hoeffding / math.sqrt(n), bernstein / math.sqrt(n) + part / n)))
        for n in _NUMBERS.tolist()
    }
    return [
        Terms(*(float(each[place]) for each in (hoeffding, bernstein, part, bias))) for place in sorted(largest)
    ]


def _statistics(want: Want, values: int, simultaneous: bool) -> int:
    """The number of statements that hold at once."""
    return values - 1 if simultaneous and want == "quantiles" else 1


def _figure_spread(
    mechanism: Mechanism, want: Want, values: int, rounds: Sequence[int], reports: int, participation: Fraction
) -> Spread:
    """That of the figure of these rounds, as if all their reports were alike."""
    if mechanism.rounds_alike or len(rounds) == 1:
        return _wanted_spread(mechanism, _spreads(mechanism, values, rounds[0]), want, values, participation)
    # Rounds count by one over their variance, as in `Rounds.pooled`.
    errors = [mechanism.accuracy(reports, round=r, candidates=range(values)).standard_error for r in rounds]
    weights = np.array([error**-2.0 for error in errors])
    shares = (weights / weights.sum())[:, np.newaxis]
    together, size = cast(UnlikeRounds, mechanism), max(1, _LARGEST_TABLE // values)
    variance, span, part = np.zeros(1), np.zeros(1), np.zeros(1)
    for start in range(0, len(rounds), size):
        spreads, share = together.round_spreads(rounds[start : start + size]), shares[start : start + size]
        each = _wanted_spread(mechanism, spreads, want, values, participation)
        # Logarithms of moments of independent rounds add up, as in `PooledSpreads`.
        variance = variance + (share**2 * each.variance).sum(axis=0)
        span = span + ((share * each.span) ** 2).sum(axis=0)
        part = np.maximum(part, (share * each.part).max(axis=0))
    number = len(rounds)
    return Spread(number * variance, np.sqrt(number * span), number * part)


def _wanted_spread(
    mechanism: Mechanism, spreads: Spreads, want: Want, values: int, participation: Fraction
) -> Spread:
    try:
        return _spread(SampledSpreads(spreads) if participation < 1 else spreads, want, values)
    except ValueError as error:
        why = str(error)
        raise Unsuitable("accuracy", f"{why[:1].upper()}{why[1:]}.", mechanism=mechanism) from None


def _spread(spreads: Spreads, want: Want, values: int) -> Spread:
    if want == "quantiles":
        return spreads.of_first(values)
    return spreads.of(np.linspace(-0.5, 0.5, values))


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
