"""How often clients may answer each of several campaigns, so that attendance in all of them gives nobody away."""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

from untrackable.accounting.attended_rounds import AttendedRounds, recognition
from untrackable.accounting.client_check import ATTENDANCE_STEP
from untrackable.errors import NoPlan
from untrackable.planning.goals import Goals
from untrackable.theory.attendance import AMONG, Attendance, largest_participation
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.monotone_search import smallest_real

_SELDOM = 10**4
"""The largest factor by which clients answer less often than they would answer one campaign alone."""
_CLOSE = 5e-3
_OFTEN = 10
"""A share above one in this many is given in hundredths, and a smaller one as one in a whole number."""


def answered_together(questions: Sequence[Goals]) -> list[Goals]:
    """The goals with a participation each: as often as alone, divided by the smallest factor that all need.

    With the factor, the recognition of all campaigns together is within that of the goals, which all questions have
    in common. A participation that is given stays as it is.
    """
    counted = [goals for goals in questions if goals.attendance_counts]
    if not counted:
        return [_every_round(goals) for goals in questions]
    limit = counted[0].recognition
    if any(not isinstance(goals.rounds, int) for goals in questions):
        raise NoPlan(
            "without a last round, people are recognised in the end by the rounds that they answer: give a number "
            "of rounds, or let people answer from one network only (one_network)"
        )
    alone = [_alone(goals, limit) for goals in questions]

    def shares(factor: float) -> list[Goals]:
        return [
            goals if goals.participation is not None else goals.replace(participation=_share(number * factor))
            for goals, number in zip(questions, alone, strict=True)
        ]

    def excess(factor: float) -> float:
        return math.log(_recognised(shares(factor)) / limit)

    if excess(1.0) <= 0:
        return shares(1.0)
    try:
        return shares(smallest_real(excess, float(len(questions)), low=1.0, high=_SELDOM, close=_CLOSE))
    except ValueError:
        raise NoPlan(
            "the rounds that people answer give them away: no participation keeps the recognition by all questions "
            f"together among {AMONG:,} people within {limit:g}. What helps: fewer questions or rounds, or answers "
            "from one network only (one_network)"
        ) from None


def _every_round(goals: Goals) -> Goals:
    return goals if goals.participation is not None else goals.replace(participation=EVERY_ROUND)


def _alone(goals: Goals, limit: float) -> int:
    """One in how many rounds a client may answer if the question were the only one."""
    attending, rounds = goals.attendance, goals.rounds if isinstance(goals.rounds, int) else 1
    try:
        share = largest_participation(rounds, limit, places=attending.places, persistence=attending.persistence)
    except ValueError:
        return _SELDOM
    return share.denominator


def _share(number: float) -> Fraction:
    """At most one in this many, as a fraction that people can read."""
    if number > _OFTEN:
        return Fraction(1, math.ceil(number))
    return Fraction(math.floor(100 / number), 100)


def _recognised(questions: Sequence[Goals]) -> float:
    """The recognition by attendance in all campaigns together, as a client's ledger computes it (upper)."""
    attended = [AttendedRounds(_anywhere(goals), int(goals.rounds or 1), 0) for goals in questions]
    return recognition(attended, (), ATTENDANCE_STEP)


def _anywhere(goals: Goals) -> Attendance:
    return dataclasses.replace(goals.attendance, one_network=False)
