"""For a mechanism that does not meet the goals: the smallest changes of the goals with which it would."""

import contextlib
import math
from typing import NamedTuple

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.forecast import errors, people_needed, pooling_needed
from untrackable.planning.goals import FOREVER, LARGEST_EPS, USABLE_ERROR, Goals
from untrackable.planning.participation import with_participation
from untrackable.planning.rounding import counted, shown_up
from untrackable.planning.tracking_check import tracking
from untrackable.planning.unknown_goal import solve
from untrackable.theory.monotone_search import largest_integer

_FEW = 20
_EVERYTHING = 0.999
"""Tracking that is as good as certain. To tolerate that is not worth proposing."""
_ACCURATE = ("pooled", "rounds", "people")
"""The order of changes that make figures more accurate. Others come after them."""
_ABSENT = ("participation", "one_network", "rounds")
"""The order of changes with which attendance reveals less."""


class Change(NamedTuple):
    """A goal, the value that it would need, also in words, and by which factor that differs from the one asked."""

    goal: str
    value: float | str
    text: str
    times: float = math.inf


_LAST = Change("rounds", "a number", "a last round")


def nearest(entry: Entry, goals: Goals, reason: Unsuitable) -> tuple[Change, ...]:
    """Changes each of which would be enough alone: pooling, fewer rounds, more people, and then the smallest."""
    found = (change._replace(times=_times(change, goals)) for change in _changes(entry, goals, reason))
    order = {"accuracy": _ACCURATE, "privacy": _ACCURATE, "attendance": _ABSENT}.get(reason.binding, ())
    first = {goal: place for place, goal in enumerate(order)}
    return tuple(sorted(found, key=lambda change: (first.get(change.goal, len(order)), change.times)))


def _times(change: Change, goals: Goals) -> float:
    """The factor by which a change departs from the goal; infinite where the goal is no number, or 0."""
    asked = {
        "people": goals.people,
        "eps": goals.eps,
        "rounds": goals.rounds,
        "reports": goals.observed,
        "pooled": goals.pooled,
        "largest_eps": goals.largest_eps,
        "matched_by_answer": goals.answer_limit,
        "recognition": goals.recognition,
        goals.tolerance.measure: goals.tolerance.limit,
    }.get(change.goal)
    if not isinstance(asked, int | float) or not isinstance(change.value, int | float):
        return math.inf
    return max(asked / change.value, change.value / asked) if asked and change.value else math.inf


def _changes(entry: Entry, goals: Goals, reason: Unsuitable) -> tuple[Change, ...]:
    match reason.binding:
        case "accuracy" if goals.unknown == "eps":
            return _smaller_eps(entry, goals, None)
        case "accuracy":
            return _more_accurate(entry, goals, reason)
        case "tracking":
            return _less_followed(entry, goals, reason)
        case "horizon":
            return _rounds(entry, goals) or (_LAST,)
        case "changes":
            return _unchanging(entry, goals)
        case "privacy" if reason.needed is not None:
            return _smaller_eps(entry, goals, reason.needed)
        case "answers" if goals.unknown == "eps":
            return _smaller_eps(entry, goals, None)
        case "answers":
            return _less_recognised(entry, goals)
        case "attendance":
            return _less_present(entry, goals, reason)
    return ()


def _smaller_eps(entry: Entry, goals: Goals, needed: float | None) -> tuple[Change, ...]:
    """What it takes at the largest eps that a plan goes up to; or that a larger one is allowed."""
    asked = goals.replace(eps=min(goals.largest_eps, _surely_hidden(goals)))
    found: list[Change] = []
    try:
        solve(entry, asked)
    except Unsuitable as reason:
        found += _more_accurate(entry, asked, reason, eps_too=False) if reason.binding == "accuracy" else ()
    at = f" at eps {math.floor((asked.eps or 0.0) * 100) / 100:g}"
    found = [change._replace(text=change.text + at) for change in found]
    if needed is None:
        return tuple(found)
    allowed = goals.replace(largest_eps=min(LARGEST_EPS, needed * (1 + 1e-3)))
    if entry.quick and _feasible(entry, allowed):
        shown = shown_up(needed * (1 + 1e-6))
        found.append(Change("largest_eps", shown, f"eps {shown:.3g} to be allowed"))
    return tuple(found)


def _less_recognised(entry: Entry, goals: Goals) -> tuple[Change, ...]:
    """A smaller eps, or that people may be recognised by their answers."""
    if goals.unknown == "eps" or goals.eps is None or not entry.quick:
        return ()
    smaller = _surely_hidden(goals)
    if smaller < goals.eps and _feasible(entry, goals.replace(eps=smaller)):
        return (Change("eps", smaller, f"eps {math.floor(smaller * 100) / 100:g}"),)
    return ()


def _surely_hidden(goals: Goals) -> float:
    """An eps at which people are surely not recognised by their answers, beside the tracking that is tolerated."""
    times = (goals.answer_limit - goals.delta - goals.tolerance.advantage_limit) * goals.crowd
    return math.log(max(1.1, times))


def _less_present(entry: Entry, goals: Goals, reason: Unsuitable) -> tuple[Change, ...]:
    """Rounds that are answered less often, from one network only, or that are fewer."""
    found = _one_network(entry, goals)
    chosen = with_participation(entry, goals.replace(participation=None))
    if goals.participation is not None and _feasible(entry, chosen):
        found.append(Change("participation", str(chosen.answered), f"a participation of {chosen.answered}"))
    if goals.rounds == FOREVER or entry.quick:
        found += _rounds(entry, goals) or ([_LAST] if goals.rounds == FOREVER else [])
    if reason.tracked is not None and reason.tracked.upper < _EVERYTHING:
        limit = shown_up(reason.tracked.upper)
        if _feasible(entry, goals.replace(recognition=limit)):
            found.append(Change("recognition", limit, f"recognition {limit:.3g} to be tolerable"))
    return tuple(found)


def _one_network(entry: Entry, goals: Goals) -> list[Change]:
    """That clients answer from one network only, so that they need not leave out rounds."""
    if goals.attendance_counts and _feasible(entry, goals.replace(one_network=True)):
        return [Change("one_network", "yes", "clients that answer from one network only")]
    return []


def _unchanging(entry: Entry, goals: Goals) -> tuple[Change, ...]:
    quick = goals.unknown not in ("eps", "rounds") or entry.quick
    if quick and _feasible(entry, goals.replace(changes=False)):
        return (Change("changes", "no", "a value that never changes"),)
    return ()


def _more_accurate(entry: Entry, goals: Goals, reason: Unsuitable, *, eps_too: bool = True) -> tuple[Change, ...]:
    if goals.unknown == "error":
        goals = goals.replace(error=USABLE_ERROR)
    asked = with_participation(entry, goals)
    found: list[Change] = _pooled(asked, reason)
    if goals.people is not None and reason.mechanism is not None and reason.error is not None:
        with contextlib.suppress(ValueError):  # No number of people may be enough.
            people = people_needed(reason.mechanism, asked)
            found.append(Change("people", people, f"{counted(people)} people"))
    if goals.crowd_eps is not None:
        return tuple([change for change in found if change.goal != "people"] + _larger_crowd(entry, goals))
    if goals.unknown is None and entry.quick:
        found += _eps(entry, goals) if eps_too else ()
        found += _one_network(entry, goals)
        if isinstance(goals.rounds, int):
            found += [change for change in _rounds(entry, goals) if change.value != FOREVER]
    return tuple(found)


def _larger_crowd(entry: Entry, goals: Goals) -> list[Change]:
    """More people, who also hide louder reports."""
    try:
        people = solve(entry, goals.replace(people=None, error=goals.error or USABLE_ERROR)).goals.people or 0
    except (Unsuitable, ValueError):
        return []
    return [Change("people", people, f"{counted(people)} people")]


def _pooled(goals: Goals, reason: Unsuitable) -> list[Change]:
    """More rounds pooled for one figure, if rounds are independent."""
    if reason.mechanism is None or goals.people is None or goals.error is None:
        return []
    try:
        pooled = pooling_needed(reason.mechanism, goals)
    except ValueError:
        return []
    return [Change("pooled", pooled, f"{pooled:,} rounds pooled for one figure")]


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

        reports = largest_integer(excess, 1, low=1, high=most) if excess(1) <= 0 else 0
        if reports and _feasible(entry, goals.replace(reports=reports)):
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
