"""For a mechanism that does not meet the goals: the smallest changes of the goals with which it would."""

import contextlib
import math
from typing import NamedTuple

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.forecast import errors, people_needed
from untrackable.planning.goals import FOREVER, Goals
from untrackable.planning.rounding import counted, shown_up
from untrackable.planning.solver import solve
from untrackable.planning.tracking_check import tracking
from untrackable.theory.monotone_search import largest_integer

_FEW = 20
_EVERYTHING = 0.999
"""Tracking that is as good as certain. To tolerate that is not worth proposing."""
_SOMETHING = 0.5
"""An error that is still useful, where the goals ask for the smallest."""


class Change(NamedTuple):
    """A goal, the value that it would need, also in words, and by which factor that differs from the one asked."""

    goal: str
    value: float | str
    text: str
    times: float = math.inf


def nearest(entry: Entry, goals: Goals, reason: Unsuitable) -> tuple[Change, ...]:
    """Changes each of which would be enough alone, the smallest first."""
    found = (change._replace(times=_times(change, goals)) for change in _changes(entry, goals, reason))
    return tuple(sorted(found, key=lambda change: change.times))


def _times(change: Change, goals: Goals) -> float:
    """The factor by which a change departs from the goal; infinite where the goal is no number, or 0."""
    asked = {"people": goals.people, "eps": goals.eps, "rounds": goals.rounds, "reports": goals.observed}.get(
        change.goal, goals.tolerance.limit if change.goal == goals.tolerance.measure else None
    )
    if not isinstance(asked, int | float) or not isinstance(change.value, int | float):
        return math.inf
    return max(asked / change.value, change.value / asked) if asked and change.value else math.inf


def _changes(entry: Entry, goals: Goals, reason: Unsuitable) -> tuple[Change, ...]:
    match reason.binding:
        case "accuracy":
            return _more_accurate(entry, goals, reason)
        case "tracking":
            return _less_followed(entry, goals, reason)
        case "horizon":
            return _rounds(entry, goals) or (Change("rounds", "a number", "a last round"),)
        case "changes":
            return _unchanging(entry, goals)
    return ()


def _unchanging(entry: Entry, goals: Goals) -> tuple[Change, ...]:
    quick = goals.unknown not in ("eps", "rounds") or entry.quick
    if quick and _feasible(entry, goals.replace(changes=False)):
        return (Change("changes", "no", "a value that never changes"),)
    return ()


def _more_accurate(entry: Entry, goals: Goals, reason: Unsuitable) -> tuple[Change, ...]:
    if goals.unknown == "error":
        goals = goals.replace(error=_SOMETHING)
    found: list[Change] = []
    if goals.people is not None and reason.mechanism is not None and reason.error is not None:
        with contextlib.suppress(ValueError):  # No number of people may be enough.
            people = people_needed(reason.mechanism, goals)
            found.append(Change("people", people, f"{counted(people)} people"))
    if goals.unknown is None and entry.quick:
        found += _eps(entry, goals)
        if isinstance(goals.rounds, int):
            found += [change for change in _rounds(entry, goals) if change.value != FOREVER]
    return tuple(found)


def _eps(entry: Entry, goals: Goals) -> tuple[Change, ...]:
    try:
        eps = solve(entry, goals.replace(eps=None)).goals.eps or 0.0
    except Unsuitable:
        return ()
    return (Change("eps", eps, f"eps {shown_up(eps * (1 + 1e-6)):.3g}"),)


def _rounds(entry: Entry, goals: Goals) -> tuple[Change, ...]:
    if goals.unknown is not None:
        return ()
    try:
        rounds = solve(entry, goals.replace(rounds=None)).goals.rounds
    except Unsuitable:
        return ()
    return (
        Change(
            "rounds",
            rounds or 0,
            f"at most {rounds:,} round{'s' * (rounds != 1)}" if isinstance(rounds, int) else "rounds without end",
        ),
    )


def _less_followed(entry: Entry, goals: Goals, reason: Unsuitable) -> tuple[Change, ...]:
    made, people = reason.mechanism, goals.people
    if made is not None and people is not None and errors(made, goals, people).figure > (goals.error or 1.0):
        return ()  # It would not be accurate enough either.
    found = []
    if made is not None:
        mechanism = made
        most = min(_FEW, goals.observed or _FEW)

        def excess(reports: int) -> float:
            tolerance = goals.replace(reports=reports).tolerance
            return tracking(entry, mechanism, tolerance).upper - tolerance.limit

        reports = largest_integer(excess, 1, low=1, high=most)
        if _feasible(entry, goals.replace(reports=reports)):
            told = f"an observer who holds at most {reports} report{'s' * (reports > 1)}"
            found.append(Change("reports", reports, told))
    if reason.tracked is not None and reason.tracked.upper < _EVERYTHING:
        limit = shown_up(reason.tracked.upper, 4)
        if _feasible(entry, _tolerating(goals, limit)):
            measure = goals.tolerance.measure
            found.append(Change(measure, limit, f"{measure} {limit:.4g} to be tolerable"))
    if goals.observed is None and made is None:
        found.append(Change("reports", "a number", "an observer who holds a limited number of reports"))
    return tuple(found)


def _feasible(entry: Entry, goals: Goals) -> bool:
    """Whether these goals are met: once one is changed, another may not be."""
    try:
        solve(entry, goals)
    except Unsuitable:
        return False
    return True


def _tolerating(goals: Goals, limit: float) -> Goals:
    """The same goals with another limit on tracking."""
    limit = min(limit, 1 - 1e-9)
    if goals.matched is not None:
        return goals.replace(matched=limit)
    if goals.untrackable is not None:
        return goals.replace(untrackable=(goals.untrackable[0], limit))
    return goals.replace(advantage=limit)
