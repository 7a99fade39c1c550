"""Trade-offs on grids of eps and rounds, computed beforehand for the sliders: errors, people and tracking."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from untrackable.checks import MOST_ROUNDS
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.ordered_catalogue import offered
from untrackable.mechanisms.wanted_figure import Terms, wanted_curve
from untrackable.planning.forecast import counted, errors, reports_counted
from untrackable.planning.goals import FOREVER, LARGEST_EPS, LARGEST_PEOPLE, Goals
from untrackable.planning.participation import with_participation
from untrackable.planning.plans import Option, Plan
from untrackable.planning.suitability import meeting
from untrackable.planning.tracking_check import tracking
from untrackable.progress import Progress, no_progress

_PEOPLE = 10**6
_NUMBERS = (100, 316, 1000, 3162, 10**4, 10**5, 10**6, 10**8, 10**10, 10**12, LARGEST_PEOPLE)
"""Numbers of people for which errors are computed. The more people, the better errors follow one over the root."""
_ROUNDING = 1e-10
_EPS = (1 / 4, 1 / 2, 1, 2, 4)
_ROUNDS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2)
_MOST_LINES = 6
_REPORTS = 9
_LARGEST = 1000
"""Rounds up to which a grid is drawn, apart from the plan's own: more would take minutes."""
_ENDLESS = 64
"""Rounds around which a grid is drawn if there is no last round: the promise is about the first figure."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One mechanism on the grids: errors by [eps][rounds], and the goals' measure of tracking by reports.

    `errors` are None where the mechanism does not meet the goals; `why` is the reason. `shares` are the
    participations. The reports of so many `counted` rounds are one count. If errors are bounds, `log` is ln(2/beta)
    of one radius, from which the number of reports follows.
    """

    name: str
    log: float | None
    counted: int
    shares: list[list[float]]
    errors: list[list["Errors | None"]]
    followed: list[list[list[float] | None]]
    why: list[list[str]]


class Knot(NamedTuple):
    """The error of so many reports."""

    reports: float
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """The error for any number of reports.

    It is the largest of some terms, each a bound for every number. Or it is known at `knots`, from few reports to
    many, and between them at most on the straight line over one over the root of the number.
    """

    terms: list[Terms]
    knots: list[Knot]


@dataclass(frozen=True, slots=True, eq=False)
class Grids:
    """The numbers that the sliders choose from; `start` is where the plan's own goals are.

    Errors are upper bounds, or if `predicted` predictions.
    """

    eps: list[float]
    rounds: list[int]
    reports: list[list[int]]
    lines: list[Line]
    measure: str
    limit: float
    predicted: bool
    start: dict[str, Any]


def grids(plan: Plan, progress: Progress = no_progress) -> Grids:
    """The grids around a plan's answer."""
    best = plan.recommended
    goals = best.goals.replace(participation=plan.goals.participation) if best else plan.goals
    centre = goals.eps or 1.0
    eps = [centre * factor for factor in _EPS if centre * factor <= LARGEST_EPS]
    own = goals.rounds if isinstance(goals.rounds, int) else goals.pooled
    middle = max(goals.pooled, min(own if isinstance(goals.rounds, int) else _ENDLESS, _LARGEST))
    steps = {max(goals.pooled, round(middle * f)) for f in _ROUNDS if middle * f <= 2 * _LARGEST}
    rounds = sorted(r for r in {*steps, own} if r <= MOST_ROUNDS)
    held = [_numbers(min(goals.reports or r, r)) for r in rounds]
    lines = []
    chosen = _chosen(plan)
    for done, entry in enumerate(chosen):
        made = {(o.goals.eps, o.goals.rounds): o for o in plan.options if o.name == entry.name}

        def told(part: float, done: int = done) -> None:
            progress("grids", (done + part) / len(chosen))

        lines.append(_line(entry, goals, eps, rounds, held, made, told))
    start = {
        "people": goals.people or _PEOPLE,
        "error": goals.error or (best.error_upper if best else 0.1),
        "eps": eps.index(centre),
        "rounds": rounds.index(own),
    }
    measure, limit = goals.tolerance.measure, goals.tolerance.limit
    return Grids(eps, rounds, held, lines, measure, limit, goals.discovered is not None, start)


def _chosen(plan: Plan) -> list[Entry]:
    """The best option, the mechanisms that all are compared with, and the best others, one of each kind."""
    best: dict[str, Option] = {}
    for option in plan.options:
        best.setdefault(option.mechanism.to_json()["mechanism"], option)
    entries = offered(plan.goals.want)
    always = [e.name for e in entries.values() if e.reference and (plan.goals.size == 2 or not e.yes_no)]
    names = [option.name for option in best.values()]
    return [entries[name] for name in list(dict.fromkeys([*names[:1], *always, *names]))[:_MOST_LINES]]


def _line(
    entry: Entry,
    goals: Goals,
    eps: list[float],
    rounds: list[int],
    held: list[list[int]],
    made: dict[tuple[Any, Any], Option],
    told: Any,
) -> Line:
    """One mechanism; `made` are the options that the plan has set already, by eps and rounds."""
    found: list[list[Errors | None]] = []
    followed: list[list[list[float] | None]] = []
    why: list[list[str]] = []
    shares: list[list[float]] = []
    log, rounds_counted = None, 1
    for i, one in enumerate(eps):
        found.append([])
        followed.append([])
        why.append([])
        shares.append([])
        for number, reports in zip(rounds, held, strict=True):
            told((i + len(found[-1]) / len(rounds)) / len(eps))
            option = made.get((one, number))
            asked = _at(goals, one, number)
            asked = with_participation(entry, asked) if option is None else option.goals
            shares[-1].append(float(asked.answered))
            try:
                mechanism = meeting(entry, asked, by_engine=False)[0] if option is None else option.mechanism
            except Unsuitable as reason:
                why[-1].append(reason.why)
                found[-1].append(None)
                followed[-1].append(None)
                continue
            why[-1].append("")
            rounds_counted, beta = counted(mechanism, asked)
            log = math.log(2 / beta) if goals.discovered is None else None
            found[-1].append(_errors(mechanism, asked))
            tolerances = [asked.replace(reports=k).tolerance for k in reports]
            followed[-1].append([tracking(entry, mechanism, tolerance).upper for tolerance in tolerances])
    return Line(entry.name, log, rounds_counted, shares, found, followed, why)


def _errors(mechanism: Mechanism, goals: Goals) -> Errors:
    """The error by the number of reports that are one count."""
    if goals.want == "frequencies":
        return Errors([], _knots(mechanism, goals))
    pooled = goals.figure if not mechanism.rounds_alike else [1] * goals.pooled
    terms = wanted_curve(
        mechanism,
        goals.want,
        values=goals.size,
        rounds=pooled if mechanism.independent else [goals.figure[-1]],
        beta=goals.beta,
        participation=goals.answered,
        simultaneous=goals.simultaneous,
    )
    return Errors(terms, [])


def _knots(mechanism: Mechanism, goals: Goals) -> list[Knot]:
    """The errors of frequencies, for the plan's own number of people and others.

    They are usually convex over one over the root of the number of reports. Where they are not, as of few reports
    whose error is nearly as large as it can be, fewer reports stand for more of them.
    """
    rounds, beta = counted(mechanism, goals)
    share = goals.answered

    def knot(people: int) -> Knot | None:
        reports = people * share if goals.discovered is not None else reports_counted(people * rounds, share, beta)
        error = errors(mechanism, goals, people).figure if reports else math.inf
        return Knot(float(reports), error) if math.isfinite(error) else None

    people = sorted({*_NUMBERS, goals.people or _PEOPLE})
    known = {found.reports: (number, found) for number in people if (found := knot(number)) is not None}
    knots = [found for _, found in list(known.values())[:1]]
    for (few, first), (many, last) in pairwise(known.values()):
        middle = knot(round(few * (2 / (1 + math.sqrt(few / many))) ** 2))  # Half way over one over the root.
        if middle is not None and middle.error > error_between(first, last, middle.reports) * (1 + _ROUNDING):
            knots += [Knot(middle.reports, first.error), middle, Knot(last.reports, middle.error)]
        knots.append(last)
    return knots


def error_between(first: Knot, last: Knot, reports: float) -> float:
    """The error on the straight line between two knots."""
    start, end = 1 / math.sqrt(first.reports), 1 / math.sqrt(last.reports)
    share = (start - 1 / math.sqrt(reports)) / (start - end)
    return first.error + share * (last.error - first.error)


def _at(goals: Goals, eps: float, rounds: int) -> Goals:
    """The goals at one point of the grid; if there is no last round, its figure is of that round, not the first."""
    reports = None if goals.reports is None else min(goals.reports, rounds)
    if goals.rounds == FOREVER and reports is None:
        reports = rounds
    return goals.replace(eps=eps, rounds=rounds, reports=reports)


def _numbers(most: int) -> list[int]:
    """Numbers of reports, up to as many as an observer may hold."""
    return sorted({*(max(1, round(most ** (i / (_REPORTS - 1)))) for i in range(_REPORTS)), most})
