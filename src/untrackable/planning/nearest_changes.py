"""For a mechanism that cannot do it: the nearest changes of the goals with which it could."""

import math
from typing import NamedTuple

from untrackable.brackets import Bracket
from untrackable.planning.families import Family
from untrackable.planning.forecast import errors, people_needed
from untrackable.planning.goals import FOREVER, Goals
from untrackable.planning.monotone_search import largest_integer
from untrackable.planning.refusal import Cannot
from untrackable.planning.solver import solve

_QUICK = ("deck", "fading", "bitwise")
"""Those for which eps and rounds are solved for in no time."""
_FEW = 20
_EVERYTHING = 0.999
"""Tracking that is as good as certain: to tolerate that is no change worth naming."""
_SOMETHING = 0.5
"""An error that still says something, where the goals ask for the smallest."""


class Change(NamedTuple):
    """One goal, what it would have to be, and how many times that is more or less than was asked for."""

    goal: str
    value: float | str
    text: str
    times: float = math.inf


def nearest(family: Family, goals: Goals, cannot: Cannot) -> tuple[Change, ...]:
    """Changes that each make it feasible on their own, the smallest first."""
    found = (change._replace(times=_times(change, goals)) for change in _changes(family, goals, cannot))
    return tuple(sorted(found, key=lambda change: change.times))


def _times(change: Change, goals: Goals) -> float:
    """By what factor it departs from the goal; infinite where that is no number, or was 0."""
    asked = {"people": goals.people, "eps": goals.eps, "rounds": goals.rounds, "reports": goals.observed}.get(
        change.goal, goals.limit if change.goal == goals.measure else None
    )
    if not isinstance(asked, int | float) or not isinstance(change.value, int | float):
        return math.inf
    return max(asked / change.value, change.value / asked) if asked and change.value else math.inf


def _changes(family: Family, goals: Goals, cannot: Cannot) -> tuple[Change, ...]:
    match cannot.binding:
        case "accuracy":
            return _more_accurate(family, goals, cannot)
        case "tracking":
            return _less_followed(family, goals, cannot)
        case "horizon":
            return _rounds(family, goals) or (Change("rounds", "a number", "a last round"),)
        case "changes":
            return _unchanging(family, goals)
    return ()


def _unchanging(family: Family, goals: Goals) -> tuple[Change, ...]:
    quick = goals.unknown not in ("eps", "rounds") or family.name in _QUICK
    if quick and _feasible(family, goals.replace(changes=False)):
        return (Change("changes", "no", "a value that never changes"),)
    return ()


def _more_accurate(family: Family, goals: Goals, cannot: Cannot) -> tuple[Change, ...]:
    if goals.unknown == "error":
        goals = goals.replace(error=_SOMETHING)
    found: list[Change] = []
    if goals.people is not None and cannot.mechanism is not None and isinstance(cannot.facts.get("error"), float):
        try:
            people = people_needed(cannot.mechanism, goals)
            found.append(Change("people", people, f"{counted(people)} people"))
        except ValueError:
            pass
    if goals.unknown is None and family.name in _QUICK:
        found += _eps(family, goals)
        if isinstance(goals.rounds, int):
            found += [change for change in _rounds(family, goals) if change.value != FOREVER]
    return tuple(found)


def _eps(family: Family, goals: Goals) -> tuple[Change, ...]:
    try:
        eps = solve(family, goals.replace(eps=None)).goals.eps or 0.0
    except Cannot:
        return ()
    return (Change("eps", eps, f"eps {rounded_up(eps * (1 + 1e-6), 3):.3g}"),)


def _rounds(family: Family, goals: Goals) -> tuple[Change, ...]:
    if goals.unknown is not None:
        return ()
    try:
        rounds = solve(family, goals.replace(rounds=None)).goals.rounds
    except Cannot:
        return ()
    return (
        Change(
            "rounds",
            rounds or 0,
            f"at most {rounds:,} round{'s' * (rounds != 1)}" if isinstance(rounds, int) else "no limit",
        ),
    )


def _less_followed(family: Family, goals: Goals, cannot: Cannot) -> tuple[Change, ...]:
    made, people = cannot.mechanism, goals.people
    if made is not None and people is not None and errors(made, goals, people).figure > (goals.error or 1.0):
        return ()  # nor is it accurate enough
    tracked: Bracket | None = cannot.facts.get("tracked")
    found = []
    if cannot.mechanism is not None:
        mechanism = cannot.mechanism
        most = min(_FEW, goals.observed or _FEW)

        def excess(reports: int) -> float:
            return family.track(mechanism, goals.replace(reports=reports)).upper - goals.limit

        reports = largest_integer(excess, 1, low=1, high=most)
        if _feasible(family, goals.replace(reports=reports)):
            told = f"an observer who holds at most {reports} report{'s' * (reports > 1)}"
            found.append(Change("reports", reports, told))
    if tracked is not None and tracked.upper < _EVERYTHING:
        limit = rounded_up(tracked.upper, 4)
        if _feasible(family, _tolerating(goals, limit)):
            found.append(Change(goals.measure, limit, f"{goals.measure} {limit:.4g}"))
    if goals.observed is None and cannot.mechanism is None:
        found.append(Change("reports", "a number", "an observer who holds a limited number of reports"))
    return tuple(found)


def _feasible(family: Family, goals: Goals) -> bool:
    """Whether all goals are met once one is changed: others may bind then."""
    try:
        solve(family, goals)
    except Cannot:
        return False
    return True


def _tolerating(goals: Goals, limit: float) -> Goals:
    """The same goals, but for how well people may be followed."""
    limit = min(limit, 1 - 1e-9)
    if goals.matched is not None:
        return goals.replace(matched=limit)
    if goals.untrackable is not None:
        return goals.replace(untrackable=(goals.untrackable[0], limit))
    return goals.replace(advantage=limit)


def rounded_up(number: float, digits: int) -> float:
    """To so many significant digits, and no smaller."""
    if number <= 0:
        return number
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(number)))
    return math.ceil(number * scale * (1 - 1e-12)) / scale


def counted(number: float) -> str:
    """A count for people, rounded up: 4.1 million."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{rounded_up(number / size, 3):.3g} {word}" if number < 999 * size else f"{number:.2e}"
    return f"{math.ceil(number):,}"
