"""Trade-offs computed beforehand, at grids of eps and rounds: errors, people and tracking, for the sliders."""

import math
from dataclasses import dataclass
from typing import Any

from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.families import FAMILIES, Family
from untrackable.planning.forecast import errors
from untrackable.planning.goals import FOREVER, LARGEST_EPS, LARGEST_ROUNDS, Goals
from untrackable.planning.plans import Plan, Progress
from untrackable.planning.refusal import Cannot

_PEOPLE = 10**6
_EPS = (1 / 4, 1 / 2, 1, 2, 4)
_ROUNDS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2)
_ALWAYS = ("deck", "fading", "rnip", "memoized")
_MOST_LINES = 6
_REPORTS = 9
_LARGEST = 1000
"""Rounds up to which a grid is drawn, the plan's own apart: beyond, the pictures would take minutes."""
_ENDLESS = 64
"""Rounds around which a grid is drawn where there is no last one: the promise is about the first figure."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One mechanism on the grids: error·√people by [eps][rounds], and the goals' measure of tracking by reports.

    None where it does not do it, `why` there being the reason.
    """

    name: str
    units: list[list[float | None]]
    followed: list[list[list[float] | None]]
    why: list[list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Grids:
    """What the sliders choose from; `start` are the places of the plan's own goals.

    Errors are upper bounds, or with `predicted` predictions.
    """

    eps: list[float]
    rounds: list[int]
    reports: list[list[int]]
    lines: list[Line]
    measure: str
    limit: float
    predicted: bool
    start: dict[str, Any]


def grids(plan: Plan, progress: Progress = lambda what, done: None) -> Grids:
    """Around a plan's answer."""
    best = plan.recommended
    goals = best.goals if best else plan.goals
    centre = goals.eps or 1.0
    eps = [centre * factor for factor in _EPS if centre * factor <= LARGEST_EPS]
    own = goals.rounds if isinstance(goals.rounds, int) else goals.pooled
    middle = max(goals.pooled, min(own if isinstance(goals.rounds, int) else _ENDLESS, _LARGEST))
    steps = {max(goals.pooled, round(middle * f)) for f in _ROUNDS if middle * f <= 2 * _LARGEST}
    rounds = sorted(r for r in {*steps, own} if r <= LARGEST_ROUNDS)
    held = [_numbers(min(goals.reports or r, r)) for r in rounds]
    lines = []
    chosen = _chosen(plan)
    for done, family in enumerate(chosen):
        made = {(o.goals.eps, o.goals.rounds): o.mechanism for o in plan.options if o.name == family.name}

        def told(part: float, done: int = done) -> None:
            progress("grids", (done + part) / len(chosen))

        lines.append(_line(family, goals, eps, rounds, held, made, told))
    start = {
        "people": goals.people or _PEOPLE,
        "error": goals.error or (best.error_upper if best else 0.1),
        "eps": eps.index(centre),
        "rounds": rounds.index(own),
    }
    return Grids(eps, rounds, held, lines, goals.measure, goals.limit, goals.discovered is not None, start)


def _chosen(plan: Plan) -> list[Family]:
    """The best option, those that are always drawn, and the best others, one of each kind."""
    names = [option.name for option in plan.options[:1]]
    kinds: set[type] = set()
    for option in plan.options:
        if type(option.mechanism) not in kinds:
            names.append(option.name)
        kinds.add(type(option.mechanism))
    always = (*_ALWAYS, "bitwise") if plan.goals.size == 2 else _ALWAYS
    names = list(dict.fromkeys([*names[:1], *always, *names]))[:_MOST_LINES]
    return [family for name in names for family in FAMILIES if family.name == name]


def _line(
    family: Family,
    goals: Goals,
    eps: list[float],
    rounds: list[int],
    held: list[list[int]],
    made: dict[tuple[Any, Any], Mechanism],
    told: Any,
) -> Line:
    """One mechanism; `made` is what the plan has by eps and rounds."""
    units: list[list[float | None]] = []
    followed: list[list[list[float] | None]] = []
    why: list[list[str]] = []
    people = _PEOPLE * goals.levels  # whole shares
    for i, one in enumerate(eps):
        units.append([])
        followed.append([])
        why.append([])
        for number, reports in zip(rounds, held, strict=True):
            told((i + len(units[-1]) / len(rounds)) / len(eps))
            asked = _at(goals, one, number)
            try:
                mechanism = made.get((one, number)) or family.meeting(asked)[0]
            except Cannot as cannot:
                why[-1].append(cannot.why)
                units[-1].append(None)
                followed[-1].append(None)
                continue
            why[-1].append("")
            units[-1].append(errors(mechanism, asked, people).figure * math.sqrt(people))
            followed[-1].append([family.track(mechanism, asked.replace(reports=k)).upper for k in reports])
    return Line(family.name, units, followed, why)


def _at(goals: Goals, eps: float, rounds: int) -> Goals:
    """At one place of the grid; with no horizon, figures there are of that round and not of the first."""
    reports = None if goals.reports is None else min(goals.reports, rounds)
    if goals.rounds == FOREVER and reports is None:
        reports = rounds
    return goals.replace(eps=eps, rounds=rounds, reports=reports)


def _numbers(most: int) -> list[int]:
    """Numbers of reports up to the most that an observer may hold."""
    return sorted({*(max(1, round(most ** (i / (_REPORTS - 1)))) for i in range(_REPORTS)), most})
