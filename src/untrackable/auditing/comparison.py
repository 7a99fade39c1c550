"""Compares all mechanisms of the catalogue, and one turn, at the same privacy for ever: accuracy and tracking."""

import math
from dataclasses import dataclass, replace
from typing import Any

from untrackable import checks
from untrackable.auditing.attacks import AttendanceMatched, match_by_attendance
from untrackable.auditing.audit import MOST_SIMULATED, Apart, pure_bracket
from untrackable.brackets import Bracket
from untrackable.mechanisms import interface
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import InCrowd, Mechanism, in_crowd
from untrackable.mechanisms.local import Fresh
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress, no_progress
from untrackable.randomizers.inner_product import LARGEST_WIDTH
from untrackable.settings.catalogue import EVERY_ROUND, Entry
from untrackable.settings.demands import Budget, Unsuitable
from untrackable.theory.experiment import Experiment
from untrackable.theory.search import smallest_integer
from untrackable.theory.turns import recognition_upper, survey_variance

_MOST_VALUES = 4096
"""The largest number of values: some mechanisms have a bit for each."""
_LEAST_SECONDS = 0.05
"""About how long a mechanism takes, however few reports there are."""
ONE_TURN = "one turn"
"""The name of the row in which each person answers once, in a round that their device draws in secret."""
LARGEST_EPS = 60.0
"""Up to this eps it is looked for whether everybody in every round would be better than one turn."""
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

    def drawn(self) -> dict[str, Any]:
        """The numbers for the chart."""
        return {
            "name": self.name,
            "error": self.all_rounds,
            "recognised": self.recognised.upper,
            "advantage": self.tracking.advantage.upper,
            "lasts": FOR_EVER if self.lasts else THESE_ROUNDS,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(NotebookTable):
    """The mechanisms and one turn, at one goal. The hardest to follow come first, then the more accurate ones.

    In the row "one turn" each person answers once. In all others everybody answers every round. `matched` is an
    attack on these by attendance alone, so it does not depend on the mechanism. `share` is the share for which the
    error of one turn is stated: a round hears a sample of the people. From `every_round_from` on, an eps, a deck
    that everybody answers in every round has the smaller error of a round (upper); None if no such eps was found.
    """

    values: int
    eps: float
    delta: float
    reports: int
    people: int
    crowd: int
    share: float
    matched: AttendanceMatched
    every_round_from: float | None
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
    """Set every mechanism to the same privacy for ever, and compute how well people can be tracked.

    There are as many rounds as `reports`. Everybody answers all of them, or, in the row "one turn", one of them.
    """
    values = checks.integer("values", values, low=2, high=_MOST_VALUES)
    reports = checks.integer("reports", reports, low=2, high=checks.MOST_ROUNDS)
    budget = Budget(values=values, eps=eps, delta=delta, reports=reports, people=people)
    rows, left_out = [_turn_row(budget, reports, crowd)], {}
    seconds = [_LEAST_SECONDS + entry.seconds_per_report * reports for entry in EVERY_ROUND.values()]
    for number, entry in enumerate(EVERY_ROUND.values()):
        progress(entry.name, sum(seconds[:number]) / sum(seconds))
        try:
            rows.append(_row(entry, entry.for_budget(budget), reports, budget, crowd))
        except (Unsuitable, ValueError) as error:
            left_out[entry.name] = str(error)
    rows.sort(
        key=lambda row: (
            row.name != ONE_TURN,
            round(row.recognised.upper, 6),
            row.all_rounds,
            row.noticed.upper,
        )
    )
    matched = match_by_attendance(rounds=reports, people=min(crowd, MOST_SIMULATED))
    asked = values, budget.eps, budget.delta, reports, budget.people, crowd, _share(values)
    return Comparison(*asked, matched, _every_round_from(budget, reports), tuple(rows), left_out)


def _row(entry: Entry, mechanism: Mechanism, reports: int, budget: Budget, crowd: int) -> ComparedMechanism:
    rounds, half = range(1, reports + 1), range(1, reports // 2 + 1)
    when = None if entry.lasts else reports
    estimated = rounds if mechanism.independent else (1, reports)
    candidates = range(budget.values)
    errors = [mechanism.accuracy(budget.people, round=number, candidates=candidates) for number in estimated]
    all_rounds = errors[-1].standard_error
    if mechanism.independent:  # With the best weights.
        all_rounds = 1 / math.sqrt(sum(error.standard_error**-2 for error in errors))
    return ComparedMechanism(
        entry.name,
        repr(mechanism),
        entry.lasts,
        Apart.of(mechanism.privacy(reports=when), budget.delta),
        mechanism.privacy(reports=when, values="any").gamma(budget.delta),
        pure_bracket(mechanism.privacy(reports=1)),
        Apart.of(mechanism.tracking(rounds=rounds), budget.delta),
        mechanism.tracking(rounds=rounds, first=half).power(1 / crowd),
        interface.recognition(mechanism, reports, people=crowd),
        mechanism.detection(rounds=rounds, first=half).advantage(),
        in_crowd(mechanism, budget.people, reports, budget.delta),
        mechanism.shift(),
        errors[0].radius,
        errors[0].standard_error,
        all_rounds,
    )


def _turn_row(budget: Budget, rounds: int, crowd: int) -> ComparedMechanism:
    """Each person answers once: there are no two reports to link, and no report after a change of value."""
    base, heard = _loudest_report(budget), max(1, budget.people // rounds)
    mechanism = Fresh(base)
    privacy, shift = Apart.of(mechanism.privacy(reports=1), budget.delta), mechanism.shift()
    return ComparedMechanism(
        ONE_TURN,
        repr(mechanism),
        True,
        privacy,
        privacy.gamma,
        privacy.pure,
        Apart.of(Experiment(), budget.delta),
        Bracket.point(1 / crowd),
        Bracket(1 / crowd, recognition_upper(crowd)),
        Bracket.point(0.0),
        in_crowd(mechanism, heard, 1, budget.delta),
        None if shift is None else shift * budget.people / heard,
        mechanism.accuracy(heard).radius,
        _error(base, budget, heard),
        _error(base, budget, budget.people),
    )


def _loudest_report(budget: Budget) -> NoisyInnerProduct:
    """The most accurate single report that has the eps of the budget, with delta 0."""
    widths = range(1, min(budget.bits, LARGEST_WIDTH) + 1)
    bases = [NoisyInnerProduct(bits=budget.bits, eps=budget.eps, width=width) for width in widths]
    return min(bases, key=lambda base: _error(base, budget, budget.people))


def _error(base: NoisyInnerProduct, budget: Budget, heard: int) -> float:
    """The standard error of a share if this many of the people are heard: of the noise, and of the sample."""
    share = _share(budget.values)
    return math.sqrt(survey_variance(base.held_variance(share), share, heard, budget.people))


def _share(values: int) -> float:
    return 0.5 if values == 2 else 0.05


def _every_round_from(budget: Budget, rounds: int) -> float | None:
    """The smallest eps, rounded up to a tenth, at which a deck's error of a round is below that of one turn."""
    heard = max(1, budget.people // rounds)

    def excess(tenths: int) -> float:
        louder = replace(budget, eps=tenths / 10)
        deck: Any = EVERY_ROUND["deck"].for_budget(louder)
        card = NoisyInnerProduct(bits=deck.bits, eps=deck.eps_report, width=deck.width)
        return math.log(_error(card, louder, budget.people) / _error(_loudest_report(louder), louder, heard))

    try:
        return smallest_integer(excess, round(10 * budget.eps), low=1, high=round(10 * LARGEST_EPS)) / 10
    except ValueError:
        return None
