"""Whether a mechanism, set for the goals, keeps what they ask for: privacy, tracking, and attendance.

The number of people and the error play no part here. Parameters follow from privacy, rounds and tracking alone.
"""

import contextlib
import dataclasses
from fractions import Fraction
from functools import lru_cache

from untrackable.brackets import Bracket, at_least
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism, Pair, Values
from untrackable.planning.crowd_view import in_crowd, surely_hidden
from untrackable.planning.goals import Goals
from untrackable.planning.other_answers import ToldApart, told_apart
from untrackable.planning.participation import check_recognition
from untrackable.planning.tracking_check import tracking

_FORGIVEN = 1 + 1e-9
"""The share by which floating point may exceed a goal."""
_SEARCHED = 40
"""Reports up to which the engine is asked about values that change."""


def meeting(entry: Entry, goals: Goals, *, by_engine: bool = True) -> tuple[Mechanism, Bracket]:
    """The mechanism set for the goals, and its tracking in their measure; or `Unsuitable`.

    Without `by_engine` it is set by bounds alone, which is quicker. With it, reports may be louder. If that is too
    loud for another goal, the bound decides. What a crowd hides is set by the engine anyway.
    """
    mechanism = entry.for_budget(goals.budget)
    if by_engine and not goals.changes and goals.crowd_eps is None:
        louder = entry.for_budget(dataclasses.replace(goals.budget, by_engine=True))
        if louder != mechanism:
            with contextlib.suppress(Unsuitable):
                return louder, checked(entry, louder, goals)
    return mechanism, checked(entry, mechanism, goals)


def checked(entry: Entry, mechanism: Mechanism, goals: Goals) -> Bracket:
    """Its tracking in the goals' measure, if privacy, tracking and attendance meet the goals; or `Unsuitable`."""
    _check_changes_known(mechanism, goals)
    if goals.changes and everlasting(mechanism, goals).delta(goals.eps or 0.0).upper > goals.delta:
        raise Unsuitable(
            "changes", "Going back to an earlier answer is visible, so this is private for one value only."
        )
    tracked = tracking(entry, mechanism, goals.tolerance)
    if goals.changes:
        tracked = _of_changing(mechanism, goals, tracked)
    if tracked.upper > goals.tolerance.limit:
        raise trackable(mechanism, tracked, goals)
    check_recognition(mechanism, goals)
    _check_crowd(mechanism, goals)
    if goals.answer_limit < 1:
        matched = apart_by_answers(mechanism, goals, tracked, limit=goals.answer_limit).matched
        if matched.upper > goals.answer_limit:
            raise _recognisable(mechanism, matched, goals)
    return tracked


def _check_crowd(mechanism: Mechanism, goals: Goals) -> None:
    """`Unsuitable` if a crowd does not hide the reports as the goals ask.

    A coarser bound mostly shows that it does, and is known already from setting the mechanism.
    """
    if goals.crowd_eps is None or surely_hidden(mechanism, goals, goals.crowd_eps):
        return
    found = in_crowd(mechanism, goals)
    if found.eps is None:
        raise Unsuitable("crowd", f"{found.why[:1].upper()}{found.why[1:]}.", mechanism=mechanism)
    if found.eps.upper > goals.crowd_eps * _FORGIVEN:
        why = (
            f"In a crowd of {found.people:,}, eps would be {found.eps.upper:.4g}, and {goals.crowd_eps:g} is asked."
        )
        raise Unsuitable("crowd", why, mechanism=mechanism)


def apart_by_answers(mechanism: Mechanism, goals: Goals, tracked: Bracket, *, limit: float = 0.0) -> ToldApart:
    """How well people with different answers are told apart, if their answers stay the same.

    A bound is enough if it is within the limit.
    """
    held = goals.reports if mechanism.independent else None
    privacy = _privacy(mechanism, held, "fixed", goals.answered)
    return told_apart(mechanism, privacy, goals.tolerance, tracked, limit=limit)


def _recognisable(mechanism: Mechanism, matched: Bracket, goals: Goals) -> Unsuitable:
    """People stand out by their answers, because eps is too large."""
    eps, limit = goals.eps or 0.0, f"{goals.answer_limit:.4g}"
    if matched.lower > goals.answer_limit:
        why = f"matched among {goals.crowd:,} is at least {matched.lower:.4g}, and {limit} is tolerable."
    else:
        why = f"at eps = {eps:.4g}, no bound keeps matched among {goals.crowd:,} within {limit}."
    return Unsuitable("answers", f"People with different answers can be told apart: {why}", mechanism=mechanism)


def everlasting(mechanism: Mechanism, goals: Goals) -> Pair:
    """The privacy of all reports ever; of all rounds, where that is known to be better for changing values."""
    always = _privacy(mechanism, None, goals.secret, goals.answered)
    if goals.changes and isinstance(goals.rounds, int) and always.delta(goals.eps or 0.0).upper > goals.delta:
        return _privacy(mechanism, goals.rounds, "any", goals.answered)
    return always


@lru_cache(maxsize=4)
def _privacy(mechanism: Mechanism, reports: int | None, values: Values, participation: Fraction) -> Pair:
    """Kept for a moment: it is asked about more than once in a row, and its tables are large."""
    return mechanism.privacy(reports=reports, values=values, participation=participation)


def _check_changes_known(mechanism: Mechanism, goals: Goals) -> None:
    """`Unsuitable` if no bound is known for values that change. This is asked first, as it costs nothing."""
    many = goals.observed is None or goals.observed > _SEARCHED
    if goals.changes and many and not _as_if_fixed(mechanism, goals):
        why = "Going back to an earlier answer is visible, and how much that tells is not known."
        raise Unsuitable("changes", why)


def _as_if_fixed(mechanism: Mechanism, goals: Goals) -> bool:
    """Whether values that change are no easier to follow than a fixed one, for the stated observer."""
    return mechanism.follows_changes or (goals.observed is not None and goals.observed < 4)


def _of_changing(mechanism: Mechanism, goals: Goals, fixed: Bracket) -> Bracket:
    """Tracking by the states of several values, which may show more than that of one."""
    if _as_if_fixed(mechanism, goals):
        return fixed
    try:
        pair = mechanism.tracking_upper(goals.observed or 0, values=goals.size)
    except ValueError as error:
        raise Unsuitable("changes", f"How well changes can be followed is not known: {error}.") from None
    return Bracket(fixed.lower, max(fixed.upper, goals.tolerance.of(pair).upper))


def trackable(mechanism: Mechanism, tracked: Bracket, goals: Goals) -> Unsuitable:
    """An observer can follow people better than is tolerable, or nothing rules it out."""
    measure, limit = goals.tolerance.measure, f"{goals.tolerance.limit:.4g}"
    if tracked.lower > goals.tolerance.limit:
        least = at_least(tracked.lower, 4)
        why = f"Its reports can be followed: {measure} is at least {least}, and {limit} is tolerable."
    else:
        held = "any number of reports" if goals.observed is None else f"{goals.observed:,} reports"
        why = f"For an observer who holds {held}, no bound keeps {measure} within {limit}."
    return Unsuitable("tracking", why, mechanism=mechanism, tracked=tracked)
