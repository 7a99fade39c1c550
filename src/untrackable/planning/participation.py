"""How often clients may answer, so that the rounds that they answer do not give people away."""

import dataclasses
import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from untrackable.brackets import Bracket
from untrackable.mechanisms import attended_tracking
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.goals import FOREVER, Goals
from untrackable.theory.attendance import AMONG, Attendance, largest_participation
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.monotone_search import smallest_integer

_FORGIVEN = 1 + 1e-6
"""The share by which a bracket may be above the limit: the engine resolves no less."""
_QUIET = 1e-6
"""An eps of one report with which a mechanism can always be made. What links its reports does not depend on it."""
_SELDOM = 10**5
"""Nobody is asked to answer less than one round out of this many."""
STAYS = (7, 30)
"""The lengths of stays for which recognition is shown beside that of the goals."""


class Recognised(NamedTuple):
    """How well people are recognised among 1,000 by reports and attendance, and the advantage of that observer.

    `recognition` and `advantage` are for the goals' persistence, the others for people who stay at a place for 7 or
    30 rounds, or for as many as give them away best, which is `worst_stay`.
    """

    recognition: Bracket
    advantage: Bracket
    stays_of_7: Bracket
    stays_of_30: Bracket
    worst: Bracket
    worst_stay: int


def with_participation(entry: Entry, goals: Goals) -> Goals:
    """The goals with the largest participation 1/n that this mechanism keeps within the recognition.

    If there is none, `check_recognition` says so of the goals that are returned.
    """
    if goals.participation is not None:
        return goals
    if not goals.attendance_counts or not isinstance(goals.rounds, int):
        return goals.replace(participation=EVERY_ROUND)
    first = _by_attendance(goals.rounds, goals.recognition, goals.attendance)
    asked = goals.replace(participation=first)
    mechanism = _made(entry, asked)
    if mechanism is None or goals.changes or attended_tracking.hidden(mechanism, asked.attendance, goals.rounds):
        return asked  # If values may change, reports that can be linked mostly do not suit anyway.
    rounds, attending = goals.rounds, asked.attendance

    def excess(number: int) -> float:
        seldom = dataclasses.replace(attending, participation=Fraction(1, number))
        found = attended_tracking.recognition_by_bounds(mechanism, seldom, rounds).upper
        return math.log(found / (goals.recognition * _FORGIVEN))

    if excess(first.denominator) <= 0 or excess(_SELDOM) > 0:
        return asked
    number = smallest_integer(excess, first.denominator, low=first.denominator, high=_SELDOM)
    return goals.replace(participation=Fraction(1, number))


@lru_cache(maxsize=4096)
def _by_attendance(rounds: int, recognition: float, attendance: Attendance) -> Fraction:
    """The largest participation for which attendance alone stays within the recognition, or else a tiny one."""
    try:
        return largest_participation(
            rounds, recognition, places=attendance.places, persistence=attendance.persistence
        )
    except ValueError:
        return Fraction(1, _SELDOM)


def _made(entry: Entry, goals: Goals) -> Mechanism | None:
    """The mechanism that the goals lead to, as far as it matters for tracking; None if it does not suit them."""
    try:
        if entry.set_for_report is not None:
            return entry.for_report(dataclasses.replace(goals.budget, eps=math.inf), _QUIET, 1)
        return entry.for_budget(goals.budget)
    except Unsuitable:
        return None


def check_recognition(mechanism: Mechanism, goals: Goals) -> None:
    """`Unsuitable` if people are recognised more often than the goals allow."""
    if goals.answered < 1 and len(mechanism.takes(goals.figure[-1])) > 1:
        raise Unsuitable(
            "attendance", "Its estimates add up several rounds, so clients would have to answer every round."
        )
    if not goals.attendance_counts:
        return
    limit = f"{goals.recognition:.4g}"
    if goals.rounds == FOREVER:
        why = "Without a last round, people are recognised in the end by the rounds that they answer."
        raise Unsuitable("attendance", why, mechanism=mechanism)
    found = _recognition(mechanism, goals, goals.attendance)
    if found.upper <= goals.recognition * _FORGIVEN:
        return
    if attended_tracking.hidden(mechanism, goals.attendance, _last(goals)):
        why = (
            f"The rounds that people answer give them away: recognition among {AMONG:,} is at least "
            f"{found.lower:.3g}, and {limit} is tolerable."
        )
    else:
        why = (
            "Reports and attendance together give people away: no bound keeps recognition "
            f"among {AMONG:,} within {limit}."
        )
    raise Unsuitable("attendance", why, mechanism=mechanism, tracked=found)


def recognised(mechanism: Mechanism, goals: Goals) -> Recognised:
    """How well people are recognised, for the goals' persistence and for longer stays."""
    attending = goals.attendance
    if attending.one_network or not isinstance(goals.rounds, int):
        found = Bracket.point(1 / AMONG if attending.one_network else 1.0)
        advantage = Bracket.point(0.0 if attending.one_network else 1.0)
        return Recognised(found, advantage, found, found, found, attending.persistence)
    stay = _worst_stay(attending.with_persistence(1), goals.rounds)
    week, month, worst = (
        _recognition(mechanism, goals, attending.with_persistence(length)) for length in (*STAYS, stay)
    )
    found = _recognition(mechanism, goals, attending)
    return Recognised(found, _advantage(mechanism, goals), week, month, worst, stay)


def _advantage(mechanism: Mechanism, goals: Goals) -> Bracket:
    rounds, attending = _last(goals), goals.attendance
    if not goals.changes or mechanism.follows_changes:
        return attended_tracking.advantage_by_bounds(mechanism, attending, rounds)
    try:
        return attended_tracking.attended_tracking(mechanism, attending, rounds, values=goals.size).delta(0.0)
    except ValueError:  # No bound is known.
        return Bracket(attending.experiment(rounds).delta(0.0).lower, 1.0)


@lru_cache(maxsize=256)
def _worst_stay(attendance: Attendance, rounds: int) -> int:
    return attendance.worst_persistence(rounds)[0]


def _recognition(mechanism: Mechanism, goals: Goals, attendance: Attendance) -> Bracket:
    """Recognition by a closed form where values do not change, and by the engine where they do."""
    rounds = _last(goals)
    if not goals.changes or mechanism.follows_changes:
        return attended_tracking.recognition_by_bounds(mechanism, attendance, rounds)
    try:
        return attended_tracking.recognition(mechanism, attendance, rounds, values=goals.size)
    except ValueError:  # No bound is known.
        return Bracket(attendance.recognition(rounds).lower, 1.0)


def _last(goals: Goals) -> int:
    return goals.rounds if isinstance(goals.rounds, int) else 1
