"""Estimates of several rounds: each alone, pooled, and where a number changed.

If a client's reports are independent from round to round and equally noisy, the counts of all rounds add up, and
are one count. Otherwise the error of a weighted mean of estimates is a sum over rounds. If reports are independent,
Hoeffding's inequality holds for all of them together: deviations add up as √(Σ w²·s²). If they share a state, it
holds round by round and errors do not cancel: deviations add up as Σ |w|·s, whatever the dependence, by Hölder's
inequality for the moment generating functions. Asking again then does not make the error smaller.

Changes are found in a number that is estimated in each round and compared between windows of rounds. If a client's
reports are independent from round to round, windows next to each other are compared, each 1, 2, 4, 8, … rounds
long: their means have far smaller errors than single rounds, and there are only about T·log²T pairs of them among T
rounds. Otherwise means gain nothing, and every two rounds are compared.

All differences have intervals that hold at once, except with probability β. So statements may be picked from them
by looking at the data, and all are true at once, except with probability β. If nothing changed, a change is found
with probability at most β. Changes are picked as in Fryzlewicz's narrowest significance pursuit (2021): the
shortest stretch of rounds in which a change is certain, then the same before and after it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray, Integers
from untrackable.estimation.aggregators import Aggregator, Scope
from untrackable.estimation.estimate import Estimate, first_reached, possible_places, with_sampling
from untrackable.estimation.intervals import Interval, PooledSpreads, Spread
from untrackable.theory.accuracy import mean_radius
from untrackable.theory.turns import Turns


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
            np.stack(rows)
            for rows in zip(*((e.frequencies, _error(e), deviation_of(e)) for e in estimates), strict=True)
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


def independent_rounds(mechanism: _Reporting, rounds: Iterable[int]) -> bool:
    """Whether a client's reports of these rounds are independent given its values."""
    return mechanism.independent and _apart([mechanism.aggregator(round).scope for round in rounds])


def _apart(scopes: list[Scope]) -> bool:
    """Whether rounds with these scopes share no cards."""
    return not scopes[0].pools or len({scope.group for scope in scopes}) == 1


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
    return np.asarray(
        np.minimum((weights * np.stack(held)).sum(axis=0), deviation * mean_radius(1, beta, statistics=statistics))
    )


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


# --- the number of people who were active in a round, from those who had their turn in it -----------------


class ActivePeople(NamedTuple):
    """How many people were active in a round, or on average in each of several.

    The number lies between `lower` and `upper`, except with probability `beta` (upper). People who forgot
    that they had answered may count again, and people who send nothing at all do not count. Without turns everybody
    reports, and the number is that of the reports.
    """

    value: float
    lower: float
    upper: float
    beta: float

    def invented(self, chance: float, rounds: int) -> int:
        """How many invented reports move the number as far up as its interval reaches; 0 if it is counted (exact).

        Each of them adds one over `chance` to the people of one of these rounds.
        """
        return math.ceil((self.upper - self.value) * chance * rounds * (1 - 1e-12))

    def to_json(self) -> dict[str, Any]:
        """All of it, and what it is."""
        certainty = "exact" if self.lower == self.upper else "interval: upper, value: unbiased"
        return {**self._asdict(), "certainty": certainty}


def active_people(
    reports: Sequence[int], turns: Turns | None, beta: float = 0.05, *, missing: int = 0, fewest: int = 1
) -> ActivePeople:
    """The people who were active, from the numbers of reports of one round or several.

    Further rounds may be `missing` because they have fewer than `fewest` reports. They are missing for that reason,
    so they count as well: with none at the lower end, and with as many as possible at the upper end.

    Of n people who were active in a round, each had their turn in it with probability c = q/k, independently. So
    the reports are binomial, and n is any number for which neither tail at m is at most β/2.

    Of several rounds, the mean of their n is estimated. Somebody who was active in r of them answered in one of
    them with probability r·c. All reports together are a sum of independent indicators with the mean c·T, T = Σ n,
    and beyond c·T ± 1 no tail is heavier than that of Binomial(T, c) (Hoeffding 1956, theorem 4; at most T people
    were active at all). So T is found like n, and no T is excluded whose mean is within 1 of m.
    """
    beta, rounds, m = checks.open_probability("beta", beta), len(reports), sum(reports)
    if not rounds:
        raise ValueError("reports must be those of at least one round")
    if turns is None or turns.chance == 1:
        return ActivePeople(m / rounds, m / rounds, m / rounds, beta)
    chance = float(turns.chance)
    most = m + missing * (fewest - 1)
    whole = rounds + missing
    lower, upper = _fewest(m, chance, beta / 2) / whole, _most(most, chance, beta / 2) / whole
    value = float(m / turns.chance) / (rounds if most > m else whole)
    return ActivePeople(min(max(value, lower), upper), lower, upper, beta)


def _fewest(reports: int, chance: float, level: float) -> int:
    """The smallest n of which P(Binomial(n, c) ≥ m) is above the level, or the mean above m - 1."""
    from scipy.special import betainc

    excluded, left = reports - 1, max(reports, math.ceil(reports / chance))
    while left - excluded > 1:
        middle = (left + excluded) // 2
        unlikely = middle * chance <= reports - 1 and betainc(reports, middle - reports + 1, chance) <= level
        excluded, left = (middle, left) if unlikely else (excluded, middle)
    return left


def _most(reports: int, chance: float, level: float) -> int:
    """The largest n of which P(Binomial(n, c) ≤ m) is above the level, or the mean below m + 1."""
    from scipy.special import betainc

    left = max(reports, math.floor(reports / chance))
    # By Chernoff's bound, a count of at most half the mean has a probability of at most e^(-mean/8).
    excluded = math.ceil((2 * (reports + 1) - 8 * math.log(level)) / chance)
    while excluded - left > 1:
        middle = (left + excluded) // 2
        unlikely = middle * chance >= reports + 1 and betainc(middle - reports, reports + 1, 1 - chance) <= level
        excluded, left = (middle, left) if unlikely else (excluded, middle)
    return left


# --- changes of a number, and of a quantile, over the rounds ----------------------------------------------


class Change(NamedTuple):
    """A rise, or a fall if it is not one that `rose`.

    It is certain that the number rose (or fell) from some round to a later one, both between `first` and `last`.
    `at` is the round in which it most likely began to differ (estimated). The mean over the rounds `after` differs
    from that over the rounds `before` by at least `lower` and at most `upper`, and by `difference` as estimated; a
    round weighs more the smaller its error is. All of this holds for all changes at once, except with the stated
    probability (upper).
    """

    first: int
    last: int
    at: int
    before: tuple[int, int]
    after: tuple[int, int]
    difference: float
    lower: float
    upper: float
    rose: bool


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Bounds on the errors of some numbers: squared deviations, variances, and how far one report moves each.

    Let x be the estimate of a round, and Σ w·x a weighted mean over a window of independent rounds. Its error is at
    most √(Σ w²·s²)·√(L/2) with L = ln(2m/β), if m errors are bounded at once (Hoeffding), where s is the deviation
    of a round. It is also at most √(2L·Σ w²v) + L·max(w·p)/3 (Bernstein), if the variance of x is at most v, and no
    report moves x by more than p. The smaller one is taken. Neither depends on the answers, so the choice costs
    nothing.

    `bias` bounds what hashing adds, in all rounds alike. All of it holds except with probability `failure`.
    """

    squares: FloatArray
    variances: FloatArray
    pulls: FloatArray
    bias: FloatArray | None = None
    failure: float = 0.0

    @staticmethod
    def of(spreads: Sequence[Spread], reports: Sequence[int]) -> "Errors":
        """The errors of estimates from the spreads of reports and their numbers, one for each of several rounds."""
        squares, variances, pulls = (
            np.stack([np.asarray(getattr(s, name)) ** power / n for s, n in zip(spreads, reports, strict=True)])
            for name, power in (("span", 2), ("variance", 1), ("part", 1))
        )
        bias = np.stack([np.broadcast_to(spread.bias, squares.shape[1:]) for spread in spreads])
        return Errors(
            squares, variances, pulls, bias if np.any(bias) else None, sum(spread.failure for spread in spreads)
        )

    @staticmethod
    def of_deviations(deviations: FloatArray) -> "Errors":
        """The errors of estimates with these deviations, of which nothing else is known."""
        unknown = np.full(deviations.shape, math.inf)
        return Errors(deviations**2, unknown, unknown)

    def radius(self, beta: float, together: int) -> FloatArray:
        """By how much the numbers can be off, `together` of them at once."""
        if beta <= self.failure:
            raise ValueError(f"beta must be above {self.failure:.3g}, as hashing may fail so often, got {beta}")
        bias = 0.0 if self.bias is None else self.bias
        bounds = Spread(self.variances, np.sqrt(self.squares), self.pulls, bias, self.failure)
        return bounds.radius(1, beta, statistics=together)


class _Comparisons(NamedTuple):
    """Pairs of windows of rounds, given by indices, and by how much the number differs between them.

    A window `before` has the indices from `start` to below `middle`, the one `after` from `resume` to below `end`.
    The true differences lie between `lower` and `upper`, all at once. `rises` and `falls` say which are certain.
    """

    start: Integers
    middle: Integers
    resume: Integers
    end: Integers
    difference: FloatArray
    lower: FloatArray
    upper: FloatArray
    rises: NDArray[np.bool_]
    falls: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundNumbers:
    """A number that is linear in the frequencies, such as a share or a mean, estimated in each round without bias.

    The true number is between `lowest` and `highest`. Rounds are `independent` if a client's reports of different
    rounds are, given its values, and no bias is shared.
    """

    rounds: tuple[int, ...]
    estimates: FloatArray
    errors: Errors
    independent: bool
    lowest: float = 0.0
    highest: float = 1.0

    def band(self, beta: float, *, together: int = 1) -> Interval:
        """The interval of the number in all rounds at once, and of `together` such numbers; upper."""
        beta = checks.open_probability("beta", beta)
        radius = self.errors.radius(beta, together * len(self.rounds))
        ends = (self.estimates - radius, self.estimates + radius)
        return Interval(*(np.clip(end, self.lowest, self.highest) for end in ends))

    def changes(self, beta: float, *, together: int = 1) -> tuple[Change, ...]:
        """The rises and falls of the number. All statements about `together` such numbers hold at once; upper."""
        beta = checks.open_probability("beta", beta)
        if len(self.rounds) < 2:
            return ()
        if self.independent:
            return located_changes(self.rounds, self._window_differences(beta, together))
        return located_changes(self.rounds, round_comparisons(self.estimates, *self.band(beta, together=together)))

    def windows(self) -> tuple[FloatArray, Errors]:
        """The mean over each window of `all_windows`, for independent rounds.

        A round weighs one over its squared deviation, which does not depend on the answers.
        """
        windows = means_of_windows(self.estimates, self.errors, 1 / self.errors.squares)
        parts = ((means, errors.squares, errors.variances, errors.pulls) for means, errors in windows)
        means, squares, variances, pulls = (np.concatenate(part) for part in zip(*parts, strict=True))
        return means, Errors(squares, variances, pulls)

    def _window_differences(self, beta: float, together: int) -> _Comparisons:
        before, after = adjacent_windows(len(self.rounds))
        means, errors = self.windows()
        difference = means[after] - means[before]
        both = Errors(
            errors.squares[before] + errors.squares[after],
            errors.variances[before] + errors.variances[after],
            np.maximum(errors.pulls[before], errors.pulls[after]),
        )
        radius = both.radius(beta, together * before.size)
        return _window_comparisons(len(self.rounds), difference, radius)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundQuantiles:
    """Shares of the people up to each value but the last, estimated in each round, for one quantile.

    The shares of a window of rounds are weighted means with one weight for each round. So they are the shares of a
    population, mixed from those of the rounds, and its quantile lies between the smallest and the largest one of
    the rounds. If the quantile is the same in all rounds, it is the same in all windows.

    `shares` and the arrays of `errors` have a row for each round. `low` and `high` are the numbers that a value
    stands for, such as the edges of a bucket.
    """

    rounds: tuple[int, ...]
    quantile: float
    shares: FloatArray
    errors: Errors
    low: FloatArray
    high: FloatArray
    independent: bool

    def places(self) -> Integers:
        """The place of the quantile in each round: the first value whose estimated share is large enough."""
        return first_reached(self.shares, self.quantile)

    def estimates(self) -> FloatArray:
        """The quantile in each round: the middle of the value at its place."""
        return self._middle(self.places())

    def band(self, beta: float, *, together: int = 1) -> tuple[Integers, Integers]:
        """The first and the last place where the quantile can be, in all rounds at once; upper."""
        beta = checks.open_probability("beta", beta)
        return possible_places(self.shares, self.errors.radius(beta, together * len(self.rounds)), self.quantile)

    def changes(self, beta: float, *, together: int = 1) -> tuple[Change, ...]:
        """The rises and falls of the quantile. All statements about `together` quantiles hold at once; upper."""
        beta, count = checks.open_probability("beta", beta), len(self.rounds)
        if count < 2:
            return ()
        if not self.independent:
            first, last = self.band(beta, together=together)
            compared = round_comparisons(self.estimates(), self.low[first], self.high[last])
            earlier, later = compared.start, compared.resume
            return located_changes(self.rounds, _certain(compared, first, last, earlier, later))
        before, after = adjacent_windows(count)
        windows, weight = all_windows(count), 1 / self.errors.squares.mean(axis=1, keepdims=True)
        means = means_of_windows(self.shares, self.errors, weight)
        parts = [self._quantiles(*window, beta, together * windows.start.size) for window in means]
        places, first, last = (np.concatenate(part) for part in zip(*parts, strict=True))
        middle = self._middle(places)
        compared = _Comparisons(
            windows.start[before],
            windows.end[before],
            windows.start[after],
            windows.end[after],
            middle[after] - middle[before],
            self.low[first[after]] - self.high[last[before]],
            self.high[last[after]] - self.low[first[before]],
            np.empty(0, dtype=np.bool_),
            np.empty(0, dtype=np.bool_),
        )
        return located_changes(self.rounds, _certain(compared, first, last, before, after))

    def _quantiles(
        self, shares: FloatArray, errors: Errors, beta: float, together: int
    ) -> tuple[Integers, Integers, Integers]:
        return (
            first_reached(shares, self.quantile),
            *possible_places(shares, errors.radius(beta, together), self.quantile),
        )

    def _middle(self, places: Integers) -> FloatArray:
        """The middle of the numbers that a value stands for; of one without a bound, its other end."""
        low, high = self.low[places], self.high[places]
        finite = np.isfinite(low) & np.isfinite(high)
        return np.where(finite, (low + high) / 2, np.where(np.isfinite(low), low, high))


def means_of_windows(values: FloatArray, errors: Errors, weight: FloatArray) -> Iterator[tuple[FloatArray, Errors]]:
    """Weighted means over all windows of rounds, those of each length at once, each put together from its half."""
    sums = [weight, weight * values, weight**2 * errors.squares, weight**2 * errors.variances]
    pull = weight * errors.pulls
    for length in _window_lengths(len(values)):
        if length > 1:
            half = length // 2
            sums = [part[:-half] + part[half:] for part in sums]
            pull = np.maximum(pull[:-half], pull[half:])
        total, means, squares, variances = sums
        yield means / total, Errors(squares / total**2, variances / total**2, pull / total)


def _certain(
    compared: _Comparisons, first: Integers, last: Integers, before: Integers, after: Integers
) -> _Comparisons:
    """The comparisons of which the places do not overlap are certain: buckets that touch have other numbers."""
    return compared._replace(rises=first[after] > last[before], falls=last[after] < first[before])


class _Windows(NamedTuple):
    """_Windows of rounds, given by indices: each from `start` to below `end`."""

    start: Integers
    end: Integers


def _window_lengths(rounds: int) -> list[int]:
    """The lengths of windows: powers of two that leave room for a window of one round beside them."""
    return [1 << i for i in range(rounds.bit_length()) if 1 << i < rounds]


def all_windows(rounds: int) -> _Windows:
    """All windows of these lengths, the shortest first."""
    starts = [np.arange(rounds - length + 1) for length in _window_lengths(rounds)]
    ends = [start + length for start, length in zip(starts, _window_lengths(rounds), strict=True)]
    return _Windows(np.concatenate(starts), np.concatenate(ends))


def adjacent_windows(rounds: int) -> tuple[Integers, Integers]:
    """All pairs of windows of which the second begins where the first ends, as places in `all_windows`."""
    lengths = _window_lengths(rounds)
    offset = dict(zip(lengths, np.cumsum([0, *(rounds - length + 1 for length in lengths)]), strict=False))
    first, second = [], []
    for before in lengths:
        for after in lengths:
            middle = np.arange(before, rounds - after + 1)
            first.append(offset[before] + middle - before)
            second.append(offset[after] + middle)
    return np.concatenate(first), np.concatenate(second)


def _window_comparisons(rounds: int, difference: FloatArray, radius: FloatArray) -> _Comparisons:
    """_Windows next to each other, as `adjacent_windows` lists them, from the differences of their numbers."""
    start, end = all_windows(rounds)
    before, after = adjacent_windows(rounds)
    lower, upper = difference - radius, difference + radius
    return _Comparisons(
        start[before], end[before], start[after], end[after], difference, lower, upper, lower > 0, upper < 0
    )


def round_comparisons(estimates: FloatArray, lower: FloatArray, upper: FloatArray) -> _Comparisons:
    """Each round against each later one, from a band that holds for all rounds together."""
    earlier, later = (np.asarray(rounds, dtype=np.int64) for rounds in np.triu_indices(estimates.size, 1))
    least, most = lower[later] - upper[earlier], upper[later] - lower[earlier]
    difference = estimates[later] - estimates[earlier]
    return _Comparisons(earlier, earlier + 1, later, later + 1, difference, least, most, least > 0, most < 0)


def located_changes(numbers: tuple[int, ...], compared: _Comparisons) -> tuple[Change, ...]:
    """The changes that are certain, in order: each in its shortest stretch of rounds, none overlapping another."""
    shortest = _pursued(compared)
    stretches = [(int(compared.start[i]), int(compared.end[i]) - 1) for i in shortest]
    changes = []
    for place, i in enumerate(shortest):
        earliest = stretches[place - 1][1] if place else 0
        latest = stretches[place + 1][0] if place + 1 < len(shortest) else len(numbers) - 1
        best = _largest(compared, i, earliest, latest)
        first, last = stretches[place]
        changes.append(
            Change(
                first=numbers[first],
                last=numbers[last],
                at=numbers[compared.resume[best]],
                before=(numbers[compared.start[best]], numbers[compared.middle[best] - 1]),
                after=(numbers[compared.resume[best]], numbers[compared.end[best] - 1]),
                difference=float(compared.difference[best]),
                lower=float(compared.lower[best]),
                upper=float(compared.upper[best]),
                rose=bool(compared.rises[best]),
            )
        )
    return tuple(changes)


def _pursued(compared: _Comparisons) -> list[int]:
    """Certain comparisons, the shortest first, without those that overlap one before; in the order of rounds."""
    certain = np.flatnonzero(compared.rises | compared.falls)
    length = compared.end[certain] - compared.start[certain]
    amount = np.maximum(compared.lower[certain], -compared.upper[certain])
    left = certain[np.lexsort((-amount, length))]
    pursued: list[int] = []
    while left.size:
        best = left[0]
        pursued.append(int(best))
        apart = (compared.end[left] - 1 <= compared.start[best]) | (compared.start[left] >= compared.end[best] - 1)
        left = left[apart]
    return sorted(pursued, key=lambda i: int(compared.start[i]))


def _largest(compared: _Comparisons, shortest: int, earliest: int, latest: int) -> int:
    """The comparison that shows the largest certain change in the same direction, around the same stretch.

    Its windows meet within the stretch, and do not reach beyond the changes before and after it.
    """
    rose = compared.rises[shortest]
    alike = np.flatnonzero(
        (compared.rises if rose else compared.falls)
        & (compared.start >= earliest)
        & (compared.end - 1 <= latest)
        & (compared.middle - 1 >= compared.start[shortest])
        & (compared.resume <= compared.end[shortest] - 1)
    )
    amount = compared.lower[alike] if rose else -compared.upper[alike]
    length = compared.end[alike] - compared.start[alike]
    return int(alike[np.lexsort((length, np.abs(compared.difference[alike]), amount))[-1]])
