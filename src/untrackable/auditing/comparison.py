"""Compares all mechanisms of the catalogue at the same privacy for ever: accuracy against trackability."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.auditing.attendance_attack import AttendanceMatched, match_by_attendance
from untrackable.auditing.mechanism_audit import MOST_SIMULATED, Apart
from untrackable.brackets import Bracket
from untrackable.checks import Chance
from untrackable.mechanisms import attended_tracking
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.crowd_answer import InCrowd, in_crowd
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress, no_progress
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.attendance import HALF_AND_HALF, Attendance
from untrackable.theory.chance_of_answering import EVERY_ROUND

_MOST_VALUES = 4096
"""The largest number of values: some mechanisms have a bit for each."""
_LEAST_SECONDS = 0.05
"""About how long a mechanism takes, however few reports there are."""
FOR_EVER, THESE_ROUNDS = "private for ever", "private for these rounds only"


@dataclass(frozen=True, slots=True, eq=False)
class ComparedMechanism:
    """One mechanism: privacy, tracking, recognition in a crowd, and the errors of one round and of all rounds.

    `recognised` is by what the reports say, `attended` by reports and attendance together. `in_crowd` is privacy
    against an observer who does not know who sent which report.
    """

    name: str
    mechanism: str
    lasts: bool
    privacy: Apart
    privacy_any: Bracket
    one_report: Bracket
    tracking: Apart
    recognised: Bracket
    attended: Bracket
    noticed: Bracket
    in_crowd: InCrowd
    shift: float | None
    radius: float
    standard_error: float
    all_rounds: float

    def drawn(self, attended: bool) -> dict[str, Any]:
        """The numbers for the chart, by reports or by reports and attendance."""
        return {
            "name": self.name,
            "error": self.all_rounds,
            "recognised": (self.attended if attended else self.recognised).upper,
            "advantage": self.tracking.advantage.upper,
            "lasts": FOR_EVER if self.lasts else THESE_ROUNDS,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(NotebookTable):
    """The mechanisms at one goal. Those that are hardest to track come first, then the more accurate ones.

    Attendance counts for the order if clients do not answer every round; if they do, it is the same for all.
    `matched` is an attack by attendance alone, so it does not depend on the mechanism.
    """

    values: int
    eps: float
    delta: float
    reports: int
    people: int
    crowd: int
    attendance: Attendance
    matched: AttendanceMatched
    rows: tuple[ComparedMechanism, ...]
    left_out: dict[str, str]


def compare(
    *,
    values: int = 16,
    eps: float = 2.0,
    delta: float = 1e-6,
    reports: int = 20,
    people: int = 100_000,
    crowd: int = 1000,
    participation: Chance = EVERY_ROUND,
    places: Sequence[Chance] = HALF_AND_HALF,
    persistence: int = 1,
    progress: Progress = no_progress,
) -> Comparison:
    """Set every mechanism to the same privacy for ever, and compute how well people can be tracked.

    There are as many rounds as `reports`. If clients answer each with probability `participation` only, privacy,
    errors and recognition are of those that they answer.
    """
    values = checks.integer("values", values, low=2, high=_MOST_VALUES)
    reports = checks.integer("reports", reports, low=2, high=checks.MOST_ROUNDS)
    attendance = Attendance(participation, tuple(places), persistence)  # type: ignore[arg-type]
    if attendance.participation == 0:
        raise ValueError("participation must be above 0: nobody would answer")
    budget = Budget(
        values=values, eps=eps, delta=delta, reports=reports, people=people, participation=attendance.participation
    )
    rows, left_out = [], {}
    for entry, done in zip(CATALOGUE.values(), _shares_before(reports), strict=True):
        progress(entry.name, done)
        try:
            rows.append(_row(entry, entry.for_budget(budget), reports, budget, crowd, attendance))
        except (Unsuitable, ValueError) as error:
            left_out[entry.name] = str(error)
    by_attendance = attendance.participation < 1
    rows.sort(
        key=lambda row: (
            round((row.attended if by_attendance else row.recognised).upper, 6),
            row.all_rounds,
            row.noticed.upper,
        )
    )
    matched = match_by_attendance(attendance, rounds=reports, people=min(crowd, MOST_SIMULATED))
    asked = values, budget.eps, budget.delta, reports, budget.people, crowd, attendance
    return Comparison(*asked, matched, tuple(rows), left_out)


def _shares_before(reports: int) -> list[float]:
    """The share of all work that is done when each mechanism of the catalogue is begun."""
    seconds = [_LEAST_SECONDS + entry.seconds_per_report * reports for entry in CATALOGUE.values()]
    return [before / sum(seconds) for before in itertools.accumulate(seconds[:-1], initial=0.0)]


def _row(
    entry: Entry, mechanism: Mechanism, reports: int, budget: Budget, crowd: int, attendance: Attendance
) -> ComparedMechanism:
    rounds, half = range(1, reports + 1), range(1, reports // 2 + 1)
    when = None if entry.lasts else reports
    one = mechanism.privacy(reports=1)
    estimated = rounds if mechanism.independent else (1, reports)
    candidates, share = range(budget.values), attendance.participation
    answers = max(1, round(budget.people * share))
    errors = [mechanism.accuracy(answers, round=number, candidates=candidates) for number in estimated]
    return ComparedMechanism(
        entry.name,
        repr(mechanism),
        entry.lasts,
        Apart.of(mechanism.privacy(reports=when, participation=share), budget.delta),
        mechanism.privacy(reports=when, values="any", participation=share).gamma(budget.delta),
        Bracket(one.pure() if one.certainty == "exact" else 0.0, one.pure()),
        Apart.of(mechanism.tracking(rounds=rounds), budget.delta),
        mechanism.tracking(rounds=rounds, first=half).power(1 / crowd),
        attended_tracking.recognition(mechanism, attendance, reports, people=crowd),
        mechanism.detection(rounds=rounds, first=half).advantage(),
        in_crowd(mechanism, budget.people, reports, share, budget.delta),
        mechanism.shift(),
        errors[0].radius,
        errors[0].standard_error,
        _all_rounds(mechanism, errors),
    )


def _all_rounds(mechanism: Mechanism, errors: list[Accuracy]) -> float:
    """The standard error of all rounds with the best weights, if they are independent; else of the last round."""
    if not mechanism.independent:
        return errors[-1].standard_error
    return 1 / math.sqrt(sum(error.standard_error**-2 for error in errors))
