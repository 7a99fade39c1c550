"""Compares all mechanisms of the catalogue at the same privacy for ever: accuracy against trackability."""

import math
from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.auditing.mechanism_audit import Apart
from untrackable.brackets import Bracket
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress, no_progress
from untrackable.theory.accuracy import Accuracy

_MOST_VALUES = 4096
"""The largest number of values: some mechanisms have a bit for each."""
FOR_EVER, THESE_ROUNDS = "private for ever", "private for these rounds only"


@dataclass(frozen=True, slots=True, eq=False)
class ComparedMechanism:
    """One mechanism: privacy, tracking, recognition in a crowd, and the errors of one round and of all rounds."""

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
        """The numbers for the chart."""
        return {
            "name": self.name,
            "error": self.all_rounds,
            "recognised": self.recognised.upper,
            "advantage": self.tracking.advantage.upper,
            "lasts": FOR_EVER if self.lasts else THESE_ROUNDS,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The mechanisms at one goal. Those that are hardest to track come first, then the more accurate ones."""

    values: int
    eps: float
    delta: float
    reports: int
    people: int
    crowd: int
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
    progress: Progress = no_progress,
) -> Comparison:
    """Set every mechanism to the same privacy for ever, and compute how well people can be tracked."""
    values = checks.integer("values", values, low=2, high=_MOST_VALUES)
    reports = checks.integer("reports", reports, low=2)
    budget = Budget(values=values, eps=eps, delta=delta, reports=reports, people=people)
    rows, left_out = [], {}
    for done, entry in enumerate(CATALOGUE.values()):
        progress(entry.name, done / len(CATALOGUE))
        try:
            rows.append(_row(entry, entry.for_budget(budget), reports, budget, crowd))
        except (Unsuitable, ValueError) as error:
            left_out[entry.name] = str(error)
    rows.sort(key=lambda row: (round(row.recognised.upper, 6), row.all_rounds, row.noticed.upper))
    return Comparison(values, budget.eps, budget.delta, reports, budget.people, crowd, tuple(rows), left_out)


def _row(entry: Entry, mechanism: Mechanism, reports: int, budget: Budget, crowd: int) -> ComparedMechanism:
    rounds, half = range(1, reports + 1), range(1, reports // 2 + 1)
    when = None if entry.lasts else reports
    one = mechanism.privacy(reports=1)
    estimated = rounds if mechanism.independent else (1, reports)
    candidates = range(budget.values)
    errors = [mechanism.accuracy(budget.people, round=round, candidates=candidates) for round in estimated]
    return ComparedMechanism(
        entry.name,
        repr(mechanism),
        entry.lasts,
        Apart.of(mechanism.privacy(reports=when), budget.delta),
        mechanism.privacy(reports=when, values="any").gamma(budget.delta),
        Bracket(one.pure() if one.certainty == "exact" else 0.0, one.pure()),
        Apart.of(mechanism.tracking(rounds=rounds), budget.delta),
        mechanism.tracking(rounds=rounds, first=half).power(1 / crowd),
        mechanism.detection(rounds=rounds, first=half).advantage(),
        errors[0].radius,
        errors[0].standard_error,
        _all_rounds(mechanism, errors),
    )


def _all_rounds(mechanism: Mechanism, errors: list[Accuracy]) -> float:
    """The standard error of all rounds with the best weights, if they are independent; else of the last round."""
    if not mechanism.independent:
        return errors[-1].standard_error
    return 1 / math.sqrt(sum(error.standard_error**-2 for error in errors))
