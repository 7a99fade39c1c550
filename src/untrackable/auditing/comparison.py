"""All mechanisms of the catalogue at the same everlasting privacy: accuracy against trackability."""

import math
from dataclasses import dataclass
from typing import Any

from untrackable.auditing.link_attack import Progress
from untrackable.auditing.mechanism_audit import Apart
from untrackable.brackets import Bracket
from untrackable.mechanisms.catalogue import CATALOGUE, Budget, Entry
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.accuracy import Accuracy

FOR_EVER, THESE_ROUNDS = "private for ever", "private for these rounds only"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One mechanism: privacy, tracking, recognition in a crowd, and the error of one round and of all together."""

    name: str
    mechanism: str
    lasts: bool
    privacy: Apart
    privacy_any: Bracket
    one_report: Bracket
    tracking: Apart
    recognised: Bracket
    noticed: Bracket
    radius: float
    standard_error: float
    all_rounds: float

    def drawn(self) -> dict[str, Any]:
        """For the picture."""
        return {
            "name": self.name,
            "error": self.all_rounds,
            "recognised": self.recognised.upper,
            "advantage": self.tracking.advantage.upper,
            "lasts": FOR_EVER if self.lasts else THESE_ROUNDS,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The catalogue at one goal, the hardest to follow first and the more accurate first among equals."""

    values: int
    eps: float
    delta: float
    reports: int
    people: int
    crowd: int
    rows: tuple[Row, ...]
    left_out: dict[str, str]


def compare(
    *,
    values: int = 16,
    eps: float = 2.0,
    delta: float = 1e-6,
    reports: int = 20,
    people: int = 100_000,
    crowd: int = 1000,
    progress: Progress = lambda what, done: None,
) -> Comparison:
    """Set every mechanism to the same everlasting privacy and ask how well its reports can be followed."""
    goal = Budget(values=values, eps=eps, delta=delta, reports=reports, people=people)
    rows, left_out = [], {}
    for done, entry in enumerate(CATALOGUE.values()):
        progress(entry.name, done / len(CATALOGUE))
        try:
            rows.append(_row(entry, entry.meeting(goal), goal, crowd))
        except ValueError as error:
            left_out[entry.name] = str(error)
    rows.sort(key=lambda row: (round(row.recognised.upper, 6), row.all_rounds))
    return Comparison(goal.values, goal.eps, goal.delta, goal.reports, goal.people, crowd, tuple(rows), left_out)


def _row(entry: Entry, mechanism: Mechanism, goal: Budget, crowd: int) -> Row:
    rounds, half = range(1, goal.reports + 1), range(1, goal.reports // 2 + 1)
    when = None if entry.lasts else goal.reports
    one = mechanism.privacy(reports=1)
    error = _accuracy(mechanism, goal, 1)
    return Row(
        entry.name,
        repr(mechanism),
        entry.lasts,
        Apart.of(mechanism.privacy(reports=when), goal.delta),
        mechanism.privacy(reports=when, values="any").gamma(goal.delta),
        Bracket(one.pure() if one.certainty == "exact" else 0.0, one.pure()),
        Apart.of(mechanism.tracking(rounds=rounds), goal.delta),
        mechanism.tracking(rounds=rounds, first=half).power(1 / crowd),
        mechanism.detection(rounds=rounds, first=half).advantage(),
        error.radius,
        error.standard_error,
        _all_rounds(mechanism, goal),
    )


def _accuracy(mechanism: Mechanism, goal: Budget, round: int) -> Accuracy:
    return mechanism.accuracy(goal.people, round=round, candidates=range(goal.values))


def _all_rounds(mechanism: Mechanism, goal: Budget) -> float:
    """The standard error of all rounds weighted best, where they are independent; of one round otherwise."""
    if not mechanism.independent:
        return _accuracy(mechanism, goal, goal.reports).standard_error
    errors = [_accuracy(mechanism, goal, r).standard_error for r in range(1, goal.reports + 1)]
    return 1 / math.sqrt(sum(error**-2 for error in errors))
