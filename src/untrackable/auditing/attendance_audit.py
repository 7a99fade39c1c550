"""What attendance reveals about the people who use a mechanism: bounds from the engine, and the attack."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from untrackable.auditing.attendance_attack import AttendanceMatched
from untrackable.brackets import Bracket
from untrackable.theory.attendance import Attendance

_POINTS = 24
"""The curve is drawn at this many numbers of rounds."""
SHOWN_STAYS = (7, 30)
"""Longer stays whose recognition is shown beside the one that was asked for: a week and a month of days."""


class Stay(NamedTuple):
    """The recognition by attendance alone, if people stay at a place for this many rounds."""

    persistence: int
    recognised: Bracket


class RoundsPoint(NamedTuple):
    """The recognition by attendance alone after this many rounds."""

    rounds: int
    recognised: Bracket


@dataclass(frozen=True, slots=True, eq=False)
class Attended:
    """How well people are recognised in a crowd by the rounds they answer, and by where they answer from.

    `alone` is by attendance alone, with its `advantage`; `with_reports` is by reports and attendance together, None
    if no bound is known. `longer` has longer stays, `worst` the worst one. `curve` is `alone` after fewer rounds.
    `matched` is an attack that was carried out, None if none was asked for.
    """

    attendance: Attendance
    rounds: int
    alone: Bracket
    advantage: Bracket
    with_reports: Bracket | None
    longer: tuple[Stay, ...]
    worst: Stay
    curve: tuple[RoundsPoint, ...]
    matched: AttendanceMatched | None


def longer_stays(attendance: Attendance, rounds: int, crowd: int) -> tuple[Stay, ...]:
    """The recognition if people stay at a place for a week or a month, where these are longer than asked for."""
    stays = [stay for stay in SHOWN_STAYS if attendance.persistence < stay <= rounds]
    return tuple(Stay(stay, attendance.with_persistence(stay).recognition(rounds, crowd)) for stay in stays)


def recognition_curve(attendance: Attendance, rounds: int, crowd: int) -> tuple[RoundsPoint, ...]:
    """The recognition by attendance alone after more and more rounds."""
    numbers = sorted({*np.linspace(1, rounds, _POINTS).round().astype(int).tolist()})
    return tuple(RoundsPoint(number, attendance.recognition(number, crowd)) for number in numbers)
