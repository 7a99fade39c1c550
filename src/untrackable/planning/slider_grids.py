"""Trade-offs on grids of eps and rounds, computed beforehand for the sliders: errors, people and tracking."""

import math
from dataclasses import dataclass
from typing import Any

from untrackable.checks import MOST_ROUNDS
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.ordered_catalogue import offered
from untrackable.mechanisms.wanted_figure import Terms, wanted_curve
from untrackable.planning.forecast import counted_beta, errors, reports_counted
from untrackable.planning.goals import FOREVER, LARGEST_EPS, Goals
from untrackable.planning.participation import with_participation
from untrackable.planning.plans import Option, Plan
from untrackable.planning.suitability import meeting
from untrackable.planning.tracking_check import tracking
from untrackable.progress import Progress, no_progress

_PEOPLE = 10**6
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

    An error is the largest of some terms, each a bound for every number of reports. It is None where the mechanism
    does not meet the goals; `why` is the reason. `shares` are the participations. If errors are bounds, `log` is
    ln(2/beta) of one radius, from which the number of reports follows.
    """

    name: str
    log: float | None
    shares: list[list[float]]
    terms: list[list[list[Terms] | None]]
    followed: list[list[list[float] | None]]
    why: list[list[str]]


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
    terms: list[list[list[Terms] | None]] = []
    followed: list[list[list[float] | None]] = []
    why: list[list[str]] = []
    shares: list[list[float]] = []
    log = None
    for i, one in enumerate(eps):
        terms.append([])
        followed.append([])
        why.append([])
        shares.append([])
        for number, reports in zip(rounds, held, strict=True):
            told((i + len(terms[-1]) / len(rounds)) / len(eps))
            option = made.get((one, number))
            asked = _at(goals, one, number)
            asked = with_participation(entry, asked) if option is None else option.goals
            shares[-1].append(float(asked.answered))
            try:
                mechanism = meeting(entry, asked, by_engine=False)[0] if option is None else option.mechanism
            except Unsuitable as reason:
                why[-1].append(reason.why)
                terms[-1].append(None)
                followed[-1].append(None)
                continue
            why[-1].append("")
            log = math.log(2 / counted_beta(mechanism, asked)) if goals.discovered is None else None
            terms[-1].append(_terms(mechanism, asked))
            tolerances = [asked.replace(reports=k).tolerance for k in reports]
            followed[-1].append([tracking(entry, mechanism, tolerance).upper for tolerance in tolerances])
    return Line(entry.name, log, shares, terms, followed, why)


def _terms(mechanism: Mechanism, goals: Goals) -> list[Terms]:
    """The error by the number of reports of a round. That of frequencies falls as one over the root of it."""
    share = goals.answered
    if goals.want != "frequencies":
        pooled = goals.figure if not mechanism.rounds_alike else [1] * goals.pooled
        return wanted_curve(
            mechanism,
            goals.want,
            values=goals.size,
            rounds=pooled if mechanism.independent else [goals.figure[-1]],
            beta=goals.beta,
            participation=share,
            simultaneous=goals.simultaneous,
        )
    people = _PEOPLE * goals.levels * share.denominator  # So that every level has a whole share of the reports.
    counted = goals.discovered is None
    reports = reports_counted(people, share, counted_beta(mechanism, goals)) if counted else people * share
    unit = errors(mechanism, goals, people).figure * math.sqrt(reports)
    return [Terms(unit, unit, 0.0, 0.0)]


def _at(goals: Goals, eps: float, rounds: int) -> Goals:
    """The goals at one point of the grid; if there is no last round, its figure is of that round, not the first."""
    reports = None if goals.reports is None else min(goals.reports, rounds)
    if goals.rounds == FOREVER and reports is None:
        reports = rounds
    return goals.replace(eps=eps, rounds=rounds, reports=reports)


def _numbers(most: int) -> list[int]:
    """Numbers of reports, up to as many as an observer may hold."""
    return sorted({*(max(1, round(most ** (i / (_REPORTS - 1)))) for i in range(_REPORTS)), most})
