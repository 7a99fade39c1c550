"""What a mechanism will deliver: the error of a published figure, and how many people that takes."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from untrackable.encodings.asked_tables import AskedTables
from untrackable.errors import NotEstimable
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.table_spreads import cell_spreads
from untrackable.mechanisms.wanted_figure import WantedError, wanted_error
from untrackable.planning.goals import FOREVER, LARGEST_PEOPLE, Goals
from untrackable.theory.accuracy import Accuracy, mean_radius
from untrackable.theory.monotone_search import smallest_integer

_MOST_ROUNDS = 4096
"""Rounds of different errors that are computed one by one."""
_MOST_POOLED = 4096
"""Rounds that are pooled at most for one figure, if there is no last round."""
_SURELY = 3
"""Standard errors above the threshold at which a string is nearly always found."""


class Predicted(NamedTuple):
    """Errors of one value or of all at once, as the goals ask: upper bounds that fail with probability beta.

    `one_round` is of one round alone, `figure` of the pooled rounds that are published together. Both are of the
    last rounds, where they are largest, or of the first if there is no last round.
    """

    one_round: float
    figure: float


def errors(mechanism: Mechanism, goals: Goals, people: int) -> Predicted:
    """The errors that can be promised for so many people, who answer each round with the goals' participation.

    They are of the frequencies among all people, whether or not they answered.
    """
    if goals.discovered is not None:
        return _thresholds(mechanism, goals, people)
    if goals.want != "frequencies":
        return _wanted(mechanism, goals, people)
    if goals.asked is not None:
        return table_errors(mechanism, goals, goals.asked, people)
    beta = radius_beta(mechanism, goals)
    if reports_counted(people, goals.answered, beta) == 0:
        return Predicted(math.inf, math.inf)

    def of_round(round: int, count: int = 1, beta: float = beta) -> Accuracy:
        reports = reports_counted(people * count, goals.answered, beta)
        try:
            return mechanism.accuracy(reports, beta=beta, round=round, candidates=range(goals.size))
        except NotEstimable:
            raise Unsuitable("values", "Its reports cannot tell so many answers apart.") from None

    if not mechanism.rounds_alike:
        rounds = goals.figure if mechanism.independent else _rounds(goals)
        radii = [of_round(r) for r in rounds]
        one = max(found.radius for found in radii)
        return Predicted(one, pooled(radii) if mechanism.independent else one)
    # Rounds that depend on each other gain nothing: each must hold, with its part of beta.
    pool = of_round(1, goals.pooled) if mechanism.independent else of_round(1, beta=beta / goals.pooled)
    return Predicted(of_round(1).radius, pool.radius)


def _wanted(mechanism: Mechanism, goals: Goals, people: int) -> Predicted:
    """The errors of a mean, or of shares up to a number."""
    reports = reports_counted(people, goals.answered, goals.beta)
    if reports == 0:
        return Predicted(math.inf, math.inf)
    last = goals.figure[-1] if not mechanism.rounds_alike else 1
    pooled = goals.figure if not mechanism.rounds_alike else [1] * goals.pooled
    one = _wanted_error(mechanism, goals, [last], reports).radius
    if len(pooled) == 1 or not mechanism.independent:
        return Predicted(one, one)
    return Predicted(one, _wanted_error(mechanism, goals, pooled, reports).radius)


def _wanted_error(mechanism: Mechanism, goals: Goals, rounds: Sequence[int], reports: int) -> WantedError:
    return wanted_error(
        mechanism,
        goals.want,
        values=goals.size,
        rounds=rounds,
        reports=reports,
        beta=goals.beta,
        participation=goals.answered,
        simultaneous=goals.simultaneous,
    )


def table_errors(mechanism: Mechanism, goals: Goals, asked: AskedTables, people: int) -> Predicted:
    """The errors of all cells of all tables at once, or of the one that is known least well."""
    statistics = asked.cells if goals.simultaneous else 1
    beta = goals.beta / statistics

    def of_round(round: int, count: int) -> float:
        reports = reports_counted(people * count, goals.answered, beta)
        if reports == 0:
            return math.inf
        return float(np.max(cell_spreads(mechanism, asked.shown, round).radius(reports, beta)))

    one = of_round(goals.figure[-1], 1)
    if goals.pooled == 1 or not mechanism.independent:
        return Predicted(one, one)
    if mechanism.rounds_alike:
        return Predicted(one, of_round(1, goals.pooled))
    # Rounds of different noise are pooled by their spans, as in `Rounds.pooled`.
    reports = reports_counted(people, goals.answered, beta)
    if reports == 0:
        return Predicted(one, math.inf)
    spans = np.array([cell_spreads(mechanism, asked.shown, round).span for round in goals.figure])
    widest = float(np.max((spans**-2.0).sum(axis=0) ** -0.5))
    return Predicted(one, widest * math.sqrt(math.log(2 / beta) / (2 * reports)))


def standard_error(mechanism: Mechanism, goals: Goals) -> float:
    """Of one round: the last, or the first if there is no last one.

    It is exact for a value that nobody holds. For a mean, quantiles and cells of tables it is an upper bound.
    """
    sent = max(1, round((goals.people or 1) * goals.answered / goals.levels))
    if goals.want != "frequencies":
        return _wanted_error(mechanism, goals, [goals.figure[-1]], sent).standard_error
    if goals.asked is not None:
        cells = cell_spreads(mechanism, goals.asked.shown, goals.figure[-1])
        return float(np.max(cells.standard_error(sent)))
    return mechanism.accuracy(sent, round=goals.figure[-1], candidates=range(goals.size)).standard_error


def radius_beta(mechanism: Mechanism, goals: Goals) -> float:
    """The probability with which the error of one value may exceed its radius."""
    return goals.beta / (mechanism.independent_errors(goals.size) if goals.simultaneous else 1)


def counted_beta(mechanism: Mechanism, goals: Goals) -> float:
    """The probability for which the number of reports is counted: that of one value, or of the wanted figure."""
    return radius_beta(mechanism, goals) if goals.want == "frequencies" else goals.beta


def reports_counted(people: int, participation: Fraction, beta: float) -> int:
    """The number of reports whose radius holds if each of n people answers with probability r; 0 if none does.

    Given N reports, an error above t has a probability of at most 2·exp(-Nu), with u = 2t²/span². That covers who
    answers, too: those who do are drawn without replacement (Hoeffding 1963, theorem 4; for terms with noise of
    their own, Maclaurin's inequality). On average over N, exp(-Nu) is (1 - r(1 - exp(-u)))^n. This is β/2 for one
    u, and ln(2/β)/u reports have the radius that belongs to it. That is a little less than n·r. Radii that invert
    the law of a count are smaller, and so is their u, for which this number of reports is smaller than need be.
    """
    if participation == 1:
        return people
    share = -math.expm1(math.log(beta / 2) / people) / float(participation)
    return math.floor(math.log(2 / beta) / -math.log1p(-share)) if share < 1 else 0


def _thresholds(mechanism: Mechanism, goals: Goals, people: int) -> Predicted:
    """The frequency from which on a string is found, if each level has its share of the reports.

    A bucket stands out of all buckets of its level by the simultaneous radius, and with three standard errors more
    it nearly always does. The search weighs all levels together, so it does better.
    """
    rounds = goals.pooled if mechanism.independent else 1
    found = [
        mechanism.accuracy(
            max(1, math.floor(people * number * goals.answered / goals.levels)), beta=goals.beta / goals.size
        )
        for number in (1, rounds)
    ]
    one, figure = (accuracy.radius + _SURELY * accuracy.standard_error for accuracy in found)
    return Predicted(one, figure)


def pooled(rounds: list[Accuracy]) -> float:
    """The radius of independent rounds of different noise, weighted by one over the variance of an unheld value.

    It is √(Σ w²·s²)·√(ln(2/β)/2) with deviations s and Σ w = 1, as in `Rounds.pooled`.
    """
    if len(rounds) == 1:
        return rounds[0].radius
    weights = [found.standard_error**-2 for found in rounds]
    spread = math.fsum((w * found.deviation) ** 2 for w, found in zip(weights, rounds, strict=True))
    return math.sqrt(spread) / math.fsum(weights) * mean_radius(1, rounds[0].beta)


def people_needed(mechanism: Mechanism, goals: Goals, *, most: int = LARGEST_PEOPLE) -> int:
    """The fewest people with whom the figure's error is as small as the goals ask; ValueError above `most`."""
    error = goals.error or 1.0
    many = math.ceil(10**6 / goals.answered)
    guess = errors(mechanism, goals, many).figure

    def excess(people: int) -> float:
        return math.log(errors(mechanism, goals, people).figure / error)

    start = max(1, math.ceil(many * (guess / error) ** 2))  # Errors fall as one over the root.
    return smallest_integer(excess, start, low=1, high=most)


def pooling_needed(mechanism: Mechanism, goals: Goals) -> int:
    """The fewest pooled rounds with which the figure's error is as small as the goals ask.

    ValueError if all rounds are too few, or if rounds are not independent, so that pooling gains nothing.
    """
    if not mechanism.independent:
        raise ValueError("pooling gains nothing, because a client's rounds are not independent")
    error, people = goals.error or 1.0, goals.people or 1
    most = goals.rounds if isinstance(goals.rounds, int) else _MOST_POOLED

    def excess(pooled: int) -> float:
        return math.log(errors(mechanism, goals.replace(pooled=pooled), people).figure / error)

    return smallest_integer(excess, goals.pooled, low=goals.pooled, high=most)


def report_bytes(mechanism: Mechanism) -> int:
    """Payload of one report."""
    return (mechanism.report_bits + 7) // 8


def _rounds(goals: Goals) -> Iterable[int]:
    if goals.rounds == FOREVER or goals.rounds is None:
        return range(1, 2)
    return range(1, min(goals.rounds, _MOST_ROUNDS) + 1)
