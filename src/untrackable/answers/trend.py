"""How shares develop: each round alone, with intervals that hold for all rounds and all values at once."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.answers.answer import Answer
from untrackable.answers.number_summary import MOST_NUMBERS
from untrackable.answers.question import Question
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.change_points import Change, located_changes, round_comparisons
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import FloatArray, Interval, clipped, shown_shares
from untrackable.estimation.round_numbers import Errors, RoundNumbers
from untrackable.estimation.rounds import deviation_of, independent_rounds
from untrackable.estimation.spread import Spread


@dataclass(frozen=True, slots=True, eq=False)
class Trend:
    """The shares of some values by round: a row for each round, and a column for each value.

    All shares, those that are not shown too, lie between `lower` and `upper` at once, except with probability
    `beta` (upper). So values may be chosen after looking at the estimates. The `changes` of each value are all true
    at once, those of all values, except with probability `beta` (upper). If a client's reports are not
    `independent` from round to round, errors do not cancel, so single rounds are compared, and no longer stretches.
    """

    rounds: tuple[int, ...]
    values: tuple[Any, ...]
    beta: float
    reports: tuple[int, ...]
    frequencies: FloatArray
    lower: FloatArray
    upper: FloatArray
    standard_errors: FloatArray
    independent: bool
    changes: tuple[tuple[Change, ...], ...]

    def interval(self) -> Interval:
        """Where all true shares lie at once. The part outside [0, 1] is cut off."""
        return clipped(Interval(self.lower, self.upper))

    def shares(self) -> FloatArray:
        """The frequencies as they are shown: within [0, 1], and NaN where the reports do not tell them."""
        radius = np.maximum(self.frequencies - self.lower, self.upper - self.frequencies)
        return shown_shares(self.frequencies, radius)


def trend(
    question: Question, sums: Mapping[int, Aggregator], values: Sequence[Any], *, beta: float = 0.05
) -> Trend:
    """Estimate these values in every round, from sums as `question.prepare` returns them.

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
    return _trend(independent, numbers, estimates, values, beta)


def answered_trend(answer: Answer, values: Sequence[Any], *, beta: float = 0.05) -> Trend:
    """The same, from an answer that has an estimate of each round."""
    beta = checks.open_probability("beta", beta)
    return _trend(answer.independent, tuple(answer.rounds), answer.rounds.values(), values, beta)


def _trend(
    independent: bool,
    numbers: tuple[int, ...],
    estimates: Iterable[Estimate],
    values: Sequence[Any],
    beta: float,
) -> Trend:
    read = [_Reading.of(estimate, values, beta / len(numbers)) for estimate in estimates]
    frequencies, errors = (
        np.stack([getattr(each, name) for each in read]) for name in ("frequencies", "standard_error")
    )
    lower, upper = (np.stack([each.interval[end] for each in read]) for end in (0, 1))
    independent = independent and all(each.bounds is not None for each in read)
    changes = []
    for i in range(len(values)):
        if independent:
            bounds = _stacked([each.bounds for each in read], i)
            line = RoundNumbers(rounds=numbers, estimates=frequencies[:, i], errors=bounds, independent=True)
            changes.append(line.changes(beta, together=read[0].together))
        else:
            low, high = clipped(Interval(lower[:, i], upper[:, i]))
            compared = round_comparisons(frequencies[:, i], low, high)
            changes.append(located_changes(numbers, compared))
    reports = tuple(each.n for each in read)
    return Trend(
        numbers, tuple(values), beta, reports, frequencies, lower, upper, errors, independent, tuple(changes)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What is kept of a round's estimate: the shares of some values, and what bounds their errors.

    There are no `bounds` if hashing adds an error that all rounds share.
    """

    n: int
    together: int
    frequencies: FloatArray
    standard_error: FloatArray
    interval: Interval
    bounds: Errors | None

    @staticmethod
    def of(estimate: Estimate, values: Sequence[Any], beta: float) -> "_Reading":
        places = _places(estimate.values, values)
        return _Reading(
            estimate.n,
            estimate.statistics,
            estimate.frequencies[places],
            estimate.standard_error[places],
            replace(estimate, beta=beta).ends(places, simultaneous=True),
            None if estimate.reach is not None else _bounds(estimate, places),
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


def _stacked(rounds: list[Errors | None], value: int) -> Errors:
    """The bounds of one value in all rounds."""
    known = [each for each in rounds if each is not None]
    return Errors(
        np.array([each.squares[value] for each in known]),
        np.array([each.variances[value] for each in known]),
        np.array([each.pulls[value] for each in known]),
    )


def _places(known: Sequence[Any] | None, values: Sequence[Any]) -> list[int]:
    """Where the values are in an estimate."""
    if known is None:
        return [int(value) for value in values]
    at = {value: place for place, value in enumerate(known)}
    return [at[value] for value in values]
