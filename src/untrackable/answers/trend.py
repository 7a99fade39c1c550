"""How shares and other numbers develop: each round alone, with bands that hold for all rounds at once, and changes.

A trend of shares holds for all values together. Of other numbers (a weighted sum, a mean, a quantile, the people
who were active), `together` says of how many the statements hold at once.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from untrackable import checks
from untrackable.answers.answer import MEDIAN_AND_95, MOST_NUMBERS, Answer, Question
from untrackable.arrays import FloatArray
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import (
    Estimate,
    Invented,
    NumberEdges,
    checked_weights,
    cumulative_shares,
    held_values,
    numbered,
)
from untrackable.estimation.intervals import Interval, Spread, clipped, is_told, shown_shares
from untrackable.estimation.rounds import (
    Change,
    Errors,
    RoundNumbers,
    RoundQuantiles,
    active_people,
    deviation_of,
    independent_rounds,
    located_changes,
    round_comparisons,
)
from untrackable.notebook_view import NotebookTable

NAME = "number of people active"
"""The name of the trend of people."""


def trend(
    question: Question, sums: Mapping[int, Aggregator], values: Sequence[Any], *, beta: float = 0.05
) -> "tuple[NumberTrend, ...]":
    """The shares of these values round by round, from sums as `question.prepare` returns them.

    Each of R rounds may fail with probability beta/R, so all of them together fail with at most beta (union bound).
    This needs no independence between rounds. Sums are read one round at a time, and estimates are not kept.
    """
    beta = checks.open_probability("beta", beta)
    if not sums:
        raise ValueError("sums must be of at least one round")
    rounds = sorted(sums)
    numbers = tuple(look for number in rounds for look in question.looks_of(number))
    share = beta / len(numbers)
    each = (question.estimates(number, sums[number], share).values() for number in rounds)
    estimates = map(question.named, itertools.chain.from_iterable(each))
    independent = question.path is None and independent_rounds(question.mechanism, numbers)
    return _share_trends(question, independent, numbers, estimates, values, beta)


def share_trends(answer: Answer, values: Sequence[Any], *, beta: float = 0.05) -> "tuple[NumberTrend, ...]":
    """The same, from an answer that has an estimate of each round."""
    beta, rounds = checks.open_probability("beta", beta), answer.rounds
    return _share_trends(answer.question, answer.independent, tuple(rounds), rounds.values(), values, beta)


def _share_trends(
    question: Question,
    independent: bool,
    numbers: tuple[int, ...],
    estimates: Iterable[Estimate],
    values: Sequence[Any],
    beta: float,
) -> "tuple[NumberTrend, ...]":
    """All shares, those that are not shown too, lie in their bands at once, and all changes are true at once.

    So values may be chosen after looking at the estimates.
    """
    read = [_Reading.of(estimate, values, beta / len(numbers)) for estimate in estimates]
    frequencies, errors = (
        np.stack([getattr(each, name) for each in read]) for name in ("frequencies", "standard_error")
    )
    lower, upper = (np.stack([each.interval[end] for each in read]) for end in (0, 1))
    shares = shown_shares(frequencies, np.maximum(frequencies - lower, upper - frequencies))
    lower, upper = clipped(Interval(lower, upper))
    independent = independent and all(each.bounds is not None for each in read)
    trends = []
    for i, value in enumerate(values):
        if independent:
            known = [each.bounds for each in read if each.bounds is not None]
            parts = zip(*((one.squares[i], one.variances[i], one.pulls[i]) for one in known), strict=True)
            squares, variances, pulls = map(np.array, parts)
            bounds = Errors(squares, variances, pulls)
            line = RoundNumbers(rounds=numbers, estimates=frequencies[:, i], errors=bounds, independent=True)
            changes = line.changes(beta, together=read[0].together)
        else:
            compared = round_comparisons(frequencies[:, i], lower[:, i], upper[:, i])
            changes = located_changes(numbers, compared)
        trends.append(
            NumberTrend(
                name=question.label(value),
                rounds=numbers,
                reports=tuple(each.n for each in read),
                estimates=shares[:, i],
                standard_errors=errors[:, i],
                lower=lower[:, i],
                upper=upper[:, i],
                beta=beta,
                independent=independent,
                changes=changes,
                invented=min((fewest for each in read if (fewest := each.invented[i])), default=None),
            )
        )
    return tuple(trends)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What is kept of a round's estimate: the shares of some values, what bounds their errors, and what moves them.

    There are no `bounds` if hashing adds an error that all rounds share.
    """

    n: int
    together: int
    frequencies: FloatArray
    standard_error: FloatArray
    interval: Interval
    bounds: Errors | None
    invented: list[Invented | None]

    @staticmethod
    def of(estimate: Estimate, values: Sequence[Any], beta: float) -> "_Reading":
        places, certain = _places(estimate.values, values), replace(estimate, beta=beta)
        return _Reading(
            estimate.n,
            estimate.statistics,
            estimate.frequencies[places],
            estimate.standard_error[places],
            certain.ends(places, simultaneous=True),
            None if estimate.reach is not None else _bounds(estimate, places),
            [certain.invented([place]) for place in places],
        )


def _bounds(estimate: Estimate, places: list[int]) -> Errors:
    """What bounds the errors of shares: their deviations, and if it is known the variance of what a report adds."""
    alone = Errors.of_deviations(deviation_of(estimate)[places])
    if estimate.frequencies.size > MOST_NUMBERS:
        return alone
    spreads: list[Spread] = []
    for place in places:
        weights = np.zeros(estimate.frequencies.size)
        weights[place] = 1.0
        try:
            spreads.append(estimate.spread.of(weights))
        except ValueError:  # It is not known.
            return alone
    known = Errors.of(spreads, [estimate.n] * len(spreads))
    if known.bias is not None or known.failure or (estimate.spread.only_if_complete and not estimate.complete):
        return alone
    return replace(known, squares=np.minimum(alone.squares, known.squares))


def _places(known: Sequence[Any] | None, values: Sequence[Any]) -> list[int]:
    """Where the values are in an estimate."""
    if known is None:
        return [int(value) for value in values]
    at = {value: place for place, value in enumerate(known)}
    return [at[value] for value in values]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NumberTrend(NotebookTable):
    """A number round by round, such as the share of a value.

    The true numbers of all rounds lie between `lower` and `upper` at once, except with probability `beta` (upper).
    The `changes` are all true at once, except with probability `beta` (upper). If a client's reports are not
    `independent` from round to round, errors do not cancel, so single rounds are compared, and no longer stretches.
    Standard errors are estimated for shares, upper for weighted sums, and not known for quantiles. The `unit` is
    empty if numbers have none, and None for shares of people. A share, mean or quantile that the reports of a round
    cannot tell has no estimate (NaN), nor has a quantile of which it is not certain that anybody holds it.
    `invented` is the fewest invented reports in one round that move a share as far as its band reaches there.
    """

    name: str
    rounds: tuple[int, ...]
    reports: tuple[int, ...]
    estimates: FloatArray
    standard_errors: FloatArray | None
    lower: FloatArray
    upper: FloatArray
    beta: float
    independent: bool
    changes: tuple[Change, ...]
    quantile: float | None = None
    unit: str | None = None
    invented: Invented | None = None


def sum_trend(
    answer: Answer, weights: ArrayLike, *, name: str, beta: float = 0.05, together: int = 1
) -> NumberTrend:
    """A weighted sum of frequencies, round by round, such as the share of several values together."""
    beta, together = checks.open_probability("beta", beta), checks.integer("together", together, low=1)
    estimates = list(answer.rounds.values())
    given = checked_weights(estimates[0], weights)
    if not estimates[0].complete and (reason := estimates[0].spread.only_if_complete):
        raise ValueError(reason)
    centre = float(given.mean()) if estimates[0].complete else 0.0
    sums = np.array([centre + float((given - centre) @ estimate.frequencies) for estimate in estimates])
    bounds = Errors.of([e.spread.of(given - centre) for e in estimates], [e.n for e in estimates])
    ends = [*given, *([] if estimates[0].complete else [0.0])]
    line = RoundNumbers(
        rounds=tuple(answer.rounds),
        estimates=sums,
        errors=bounds,
        independent=_independent(answer, bounds),
        lowest=min(ends),
        highest=max(ends),
    )
    lower, upper = line.band(beta, together=together)
    return NumberTrend(
        name=name,
        estimates=sums,
        standard_errors=np.sqrt(bounds.variances),
        lower=lower,
        upper=upper,
        unit="",
        **_about_rounds(answer, line, beta, together),
    )


def _about_rounds(
    answer: Answer, line: RoundNumbers | RoundQuantiles, beta: float, together: int
) -> dict[str, Any]:
    """What a trend says of its rounds, and its changes."""
    changes = line.changes(beta, together=together)
    reports = tuple(estimate.n for estimate in answer.rounds.values())
    return {
        "rounds": line.rounds,
        "reports": reports,
        "beta": beta,
        "independent": line.independent,
        "changes": changes,
    }


def mean_trend(answer: Answer, *, beta: float = 0.05, together: int = 1) -> NumberTrend:
    """The mean number, round by round.

    If numbers are in buckets, the band covers every position within them. Estimates and changes are those of the
    mean that there would be if each number were in the middle of its bucket.
    """
    edges = _numbers(answer)
    if not np.isfinite([*edges.lower, *edges.upper]).all():
        raise ValueError("there is no bound on the mean: numbers out of range count as one value")
    low, middle, high = (
        sum_trend(answer, weights, name="mean", beta=beta, together=together)
        for weights in (edges.lower, (edges.lower + edges.upper) / 2, edges.upper)
    )
    possible = float(edges.upper[-1] - edges.lower[0])
    estimates = _told(middle.estimates, high.upper - low.lower, possible)
    return replace(middle, estimates=estimates, lower=low.lower, upper=high.upper, unit=_unit(answer))


def quantile_trend(answer: Answer, quantile: float, *, beta: float = 0.05, together: int = 1) -> NumberTrend:
    """The number that a share `quantile` of the people is at or below, round by round.

    If numbers are in buckets, the estimate is the middle of a bucket, and the band ends at edges of buckets. There
    is an estimate only if it is certain that somebody holds it, or the band has one value only.
    """
    beta, together = checks.open_probability("beta", beta), checks.integer("together", together, low=1)
    quantile = checks.open_probability("quantile", quantile)
    edges = _numbers(answer)
    estimates = [numbered(estimate)[0] for estimate in answer.rounds.values()]
    bounds = Errors.of([e.spread.of_first(edges.lower.size) for e in estimates], [e.n for e in estimates])
    line = RoundQuantiles(
        rounds=tuple(answer.rounds),
        quantile=quantile,
        shares=np.stack([cumulative_shares(estimate) for estimate in estimates]),
        errors=bounds,
        low=edges.lower,
        high=edges.upper,
        independent=_independent(answer, bounds),
    )
    first, last = line.band(beta, together=together)
    share = beta / len(estimates)
    held = np.stack([held_values(replace(estimate, beta=share)) for estimate in estimates])
    known = (first == last) | held[np.arange(first.size), line.places()]
    return NumberTrend(
        name="quantile",
        quantile=quantile,
        estimates=np.where(known, _told(line.estimates(), last - first + 1, edges.lower.size), np.nan),
        standard_errors=None,
        lower=edges.lower[first],
        upper=edges.upper[last],
        unit=_unit(answer),
        **_about_rounds(answer, line, beta, together),
    )


def number_trends(
    answer: Answer, quantiles: Sequence[float] = MEDIAN_AND_95, *, beta: float = 0.05
) -> tuple[NumberTrend, ...]:
    """Mean and quantiles, as far as these reports can tell them; none if values are not numbers.

    Their bands and changes hold together.
    """
    if answer.encoding is None or not answer.encoding.ordered or answer.encoding.values > MOST_NUMBERS:
        return ()
    asked: list[Callable[..., NumberTrend]] = [
        mean_trend,
        *(partial(quantile_trend, quantile=q) for q in quantiles),
    ]
    trends = []
    for each in asked:
        try:
            trends.append(each(answer, beta=beta, together=len(asked)))
        except ValueError:  # There is no bound on the numbers, or none is known for the error.
            continue
    return tuple(trends)


def _numbers(answer: Answer) -> NumberEdges:
    """The numbers that values stand for."""
    return numbered(next(iter(answer.rounds.values())))[1]


def _told(estimates: FloatArray, left: ArrayLike, possible: float) -> FloatArray:
    """The estimates of the rounds whose bands leave out enough of what is possible, and NaN for the others."""
    told = [is_told(float(each), possible) for each in np.asarray(left)]
    return np.where(told, estimates, np.nan)


def _unit(answer: Answer) -> str:
    """The unit of the numbers, empty if they have none."""
    unit: str = getattr(answer.encoding, "unit", "")
    return unit


def _independent(answer: Answer, errors: Errors) -> bool:
    """Whether rounds are independent, and share no bias."""
    return errors.bias is None and answer.independent


def people_trend(answer: Answer, *, beta: float = 0.05) -> NumberTrend:
    """The people who were active in each round.

    Each of R rounds may fail with probability beta/R. Changes are between rounds whose bands lie apart.
    """
    beta = checks.open_probability("beta", beta)
    rounds, reports = tuple(answer.rounds), tuple(estimate.n for estimate in answer.rounds.values())
    people = [active_people([n], answer.question.turns, beta / len(rounds)) for n in reports]
    estimates, lower, upper = (np.array([each[i] for each in people]) for i in range(3))
    return NumberTrend(
        name=NAME,
        rounds=rounds,
        reports=reports,
        estimates=estimates,
        standard_errors=None,
        lower=lower,
        upper=upper,
        beta=beta,
        independent=False,
        changes=located_changes(rounds, round_comparisons(estimates, lower, upper)),
        unit="",
    )
