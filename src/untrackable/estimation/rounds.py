"""Estimates of several rounds: each alone, pooled, and as a series with a trend.

If a client's reports are independent from round to round and equally noisy, the counts of all rounds add up, and
are one count. Otherwise the error of a weighted mean of estimates is a sum over rounds. If reports are independent,
Hoeffding's inequality holds for all of them together: deviations add up as √(Σ w²·s²). If they share a state, it
holds round by round and errors do not cancel: deviations add up as Σ |w|·s, whatever the dependence, by Hölder's
inequality for the moment generating functions. Asking again then does not make the error smaller.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from untrackable import checks
from untrackable.estimation.aggregators import Aggregator, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import FloatArray, Interval, clipped, interval_around
from untrackable.estimation.pooled_spread import PooledSpreads
from untrackable.estimation.sampling import with_sampling
from untrackable.theory.accuracy import mean_radius


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One value's frequency over the rounds, and its trend.

    `lower` and `upper` hold for each round alone, `trend_lower` and `trend_upper` for the trend at all rounds at
    once, each except with probability `beta` (upper). The trend is a line through the rounds of a window. So the
    band is about the truth smoothed in the same way, which is the truth itself where that is straight within the
    window.
    """

    rounds: tuple[int, ...]
    beta: float
    frequencies: FloatArray
    lower: FloatArray
    upper: FloatArray
    trend: FloatArray
    trend_lower: FloatArray
    trend_upper: FloatArray


class _Reporting(Protocol):
    """The part of a mechanism that pooling uses."""

    @property
    def independent(self) -> bool:
        """Whether a client's reports of different rounds are independent given its values."""

    def aggregator(self, round: int) -> Aggregator:
        """Empty sums of a round."""


class Rounds:
    """The estimates of several rounds of one mechanism."""

    def __init__(self, mechanism: _Reporting, estimates: Mapping[int, Estimate]) -> None:
        if not estimates:
            raise ValueError("estimates must be of at least one round")
        self._estimates = {round: estimates[round] for round in sorted(estimates)}
        first = next(iter(self._estimates.values()))
        for round, estimate in self._estimates.items():
            if estimate.frequencies.size != first.frequencies.size or estimate.values != first.values:
                raise ValueError(f"estimates must be of the same values in all rounds; round {round} has others")
            if estimate.reach is not None:
                raise ValueError("estimates whose hash functions are the same in every round cannot be pooled")
        self._independent = mechanism.independent
        self._scopes = {round: mechanism.aggregator(round).scope for round in self._estimates}

    @property
    def numbers(self) -> tuple[int, ...]:
        """The rounds, in order."""
        return tuple(self._estimates)

    def alone(self, round: int) -> Estimate:
        """The estimate of one round."""
        if round not in self._estimates:
            raise ValueError(f"round must be one of {', '.join(map(str, self.numbers))}, got {round}")
        return self._estimates[round]

    def independent(self, rounds: Iterable[int]) -> bool:
        """Whether a client's reports of these rounds are independent given its values.

        Reports with fresh randomness and the cards of one deck are independent. Cards that are dealt again are not.
        """
        return self._independent and _apart([self._scopes[round] for round in rounds])

    def pooled(self, rounds: Iterable[int] | None = None, *, beta: float = 0.05) -> Estimate:
        """The mean over all or the given rounds, weighted by one over the variance of a value that nobody holds.

        These weights give the least variance for rare values. They do not depend on the reports, so the mean stays
        unbiased. If frequencies change from round to round, the estimate is of their mean with these weights.
        """
        beta = checks.open_probability("beta", beta)
        chosen = self.numbers if rounds is None else tuple(sorted(set(rounds)))
        if not chosen:
            raise ValueError("rounds must be at least one")
        estimates = [self.alone(round) for round in chosen]
        if len(estimates) == 1 and beta == estimates[0].beta:
            return estimates[0]
        precision = np.stack(_precisions(estimates))
        weights = precision / precision.sum(axis=0)
        frequencies, errors, deviations = (
            np.stack([getter(e) for e in estimates]) for getter in (_frequencies, _error, deviation_of)
        )
        apart = self.independent(chosen)
        n = sum(e.n for e in estimates)
        pull = np.max([w * e.span / e.n for w, e in zip(weights, estimates, strict=True)], axis=0)
        return Estimate(
            (weights * frequencies).sum(axis=0),
            n,
            beta,
            _added(weights * errors, apart),
            span=n * pull,
            statistics=estimates[0].statistics,
            chance=_common_chance(estimates) if apart else None,
            radii=None if apart else partial(_added_radii, estimates, weights),
            mixed=any(e.mixed for e in estimates),
            deviation=_added(weights * deviations, apart),
            values=estimates[0].values,
            complete=estimates[0].complete,
            turns=estimates[0].turns,
            spread=PooledSpreads([(e.spread, e.n, w) for e, w in zip(estimates, weights, strict=True)], apart),
            numbers=estimates[0].numbers,
        )

    def window(self, last: int, *, beta: float = 0.05) -> Estimate:
        """The last `last` rounds, pooled."""
        last = checks.integer("last", last, low=1, high=len(self.numbers))
        return self.pooled(self.numbers[-last:], beta=beta)

    def series(self, place: int, *, window: int = 7, beta: float = 0.05) -> Series:
        """The value at this index, round by round, with lines through `window` rounds as its trend.

        The line at a round is fitted to the rounds around it, as many before as after if there are enough, by least
        squares with the weights of pooling.
        """
        beta = checks.open_probability("beta", beta)
        estimates = list(self._estimates.values())
        place = checks.integer("place", place, low=0, high=estimates[0].frequencies.size - 1)
        window = checks.integer("window", window, low=1)
        numbers = np.array(self.numbers, dtype=np.float64)
        frequencies = np.array([e.frequencies[place] for e in estimates])
        deviations = np.array([deviation_of(e)[place] for e in estimates])
        precision = np.array([p[place] for p in _precisions(estimates)])
        trend, deviation = np.empty(numbers.size), np.empty(numbers.size)
        for i in range(numbers.size):
            near = _around(i, window, numbers.size)
            weights = _line_weights(numbers[near] - numbers[i], precision[near])
            trend[i] = weights @ frequencies[near]
            apart = self.independent(self.numbers[near])
            deviation[i] = _added((weights * deviations[near])[:, None], apart)[0]
        alone = clipped(Interval(*np.array([replace(e, beta=beta).ends([place]) for e in estimates])[..., 0].T))
        band = interval_around(trend, deviation * mean_radius(1, beta, statistics=numbers.size))
        return Series(self.numbers, beta, frequencies, *alone, trend, *band)


def independent_rounds(mechanism: _Reporting, rounds: Iterable[int]) -> bool:
    """Whether a client's reports of these rounds are independent given its values."""
    return mechanism.independent and _apart([mechanism.aggregator(round).scope for round in rounds])


def _apart(scopes: list[Scope]) -> bool:
    """Whether rounds with these scopes share no cards."""
    return not scopes[0].pools or len({scope.group for scope in scopes}) == 1


def _frequencies(estimate: Estimate) -> FloatArray:
    return estimate.frequencies


def _error(estimate: Estimate) -> FloatArray:
    """The standard error in a pooled estimate: people may hold other values in other rounds (`with_sampling`)."""
    if estimate.turns is None:
        return estimate.standard_error
    return with_sampling(
        estimate.standard_error, estimate.frequencies, estimate.n, 1 - float(estimate.turns.chance)
    )


def deviation_of(estimate: Estimate) -> FloatArray:
    """The s for which the radius is s·√(ln(2/β)/2)."""
    return estimate.span / math.sqrt(estimate.n) if estimate.deviation is None else estimate.deviation


def _added_radii(estimates: list[Estimate], weights: FloatArray, beta: float, statistics: int) -> FloatArray:
    """The weighted mean of the rounds' radii, all of which hold at once whatever the dependence; or Hoeffding's."""
    share = beta / len(estimates)
    held = [replace(e, beta=share, statistics=statistics).radius_of(simultaneous=True) for e in estimates]
    deviation = _added(weights * np.stack([deviation_of(e) for e in estimates]), independent=False)
    found: FloatArray = np.minimum(
        (weights * np.stack(held)).sum(axis=0), deviation * mean_radius(1, beta, statistics=statistics)
    )
    return found


def _common_chance(estimates: list[Estimate]) -> FloatArray | float | None:
    """The chance that a report counts for a value nobody holds, if all rounds are alike: their counts add up."""
    first = estimates[0]
    alike = first.chance is not None and all(
        e.chance is not None and np.array_equal(e.chance, first.chance) and np.array_equal(e.span, first.span)
        for e in estimates
    )
    return first.chance if alike else None


def _precisions(estimates: list[Estimate]) -> list[FloatArray]:
    """One over the variance of a value that nobody holds, or over its bound if a chance is not known."""
    deviations = [deviation_of(e) for e in estimates]
    # Where frequencies cannot be told, the span still says how much a report counts for the mean.
    bounds = [
        np.where(np.isfinite(d), d, e.span / math.sqrt(e.n)) ** -2
        for d, e in zip(deviations, estimates, strict=True)
    ]
    known = [e.chance for e in estimates if e.chance is not None]
    if len(known) < len(estimates):
        return bounds
    return [b / (c * (1 - c)) for b, c in zip(bounds, known, strict=True)]


def _added(weighted: FloatArray, independent: bool) -> FloatArray:
    """The deviation of a sum over rounds (the first axis)."""
    total: FloatArray = np.sqrt((weighted**2).sum(axis=0)) if independent else np.abs(weighted).sum(axis=0)
    return total


def _around(i: int, window: int, count: int) -> slice:
    """The window around an index, moved inside at the ends."""
    start = max(0, min(i - window // 2, count - window))
    return slice(start, start + window)


def _line_weights(distance: FloatArray, precision: FloatArray) -> FloatArray:
    """Weights w of a weighted least-squares line at distance 0: Σ w = 1 and Σ w·distance = 0."""
    share: FloatArray = precision / precision.sum()
    mean = float(share @ distance)
    spread = float(share @ (distance - mean) ** 2)
    if distance.size > 1:
        share *= 1 - mean * (distance - mean) / spread
    return share
