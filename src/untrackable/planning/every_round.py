"""What everybody in every round would give instead of one turn: where that is better, and how each mechanism does.

Everybody answers every round, so there is no sample, but a person's budget is divided over all rounds. It wins at
large eps only. Attendance gives people away then, whatever the reports say.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from untrackable.errors import UntrackableError
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.planning.answer_widths import widths
from untrackable.planning.goals import LARGEST_EPS, Goals
from untrackable.planning.longer_looks import path_report
from untrackable.progress import Progress, no_progress
from untrackable.theory.experiment import Experiment
from untrackable.theory.turns import survey_variance

DELTA = 1e-6
"""The probability that eps does not hold, which reports in every round need and one turn does not."""
_QUIETEST, _LOUDEST = 1e-3, 30.0
"""The range of eps of one of the reports."""
_HALVINGS = 30


class EveryRound(NamedTuple):
    """A mechanism for every round, at the plan's eps and delta 1e-6: its error in the last round, or why not.

    It is exact, of an answer of the typical share or, where that is not known, of an answer that nobody gives.
    `linked` says whether its reports can be linked by what they say.
    """

    name: str
    standard_error: float | None
    linked: bool
    why: str = ""


def better_from(goals: Goals) -> float | None:
    """The eps from which on a `Deck` has a smaller standard error of a round than one turn (exact, but for 0.1 %).

    None if there is none up to 64, or if other figures than frequencies of one answer are asked for.
    """
    rounds, people = goals.rounds or goals.pooled, goals.people or 1
    if rounds == 1 or goals.want != "frequencies" or goals.asked is not None or goals.discovered is not None:
        return None
    share, turns = goals.typical_share(goals.size), goals.with_looks()

    def excess(width: int, eps_report: float) -> tuple[float, float]:
        """The eps of a whole deck, and by how much its variance exceeds that of one turn at this eps."""
        card = NoisyInnerProduct(bits=goals.width, eps=eps_report, width=width)
        eps = Experiment([(card.privacy_factor(), rounds)]).gamma(DELTA).upper
        alone = min(eps / (goals.wipes + 1), _LOUDEST)
        return eps, card.held_variance(share) / people - min(_variance(turn, alone, share) for turn in turns)

    found = [eps for width in widths(goals.width, _QUIETEST) if (eps := _crossing(width, excess)) <= LARGEST_EPS]
    return min(found, default=None)


def _variance(turn: Goals, eps: float, share: float) -> float:
    """The variance of a round with one turn, by a report of this eps about so many looks."""
    people, bits = turn.people or 1, turn.width
    if (turn.looks or 1) > 1:
        noise = path_report(turn, eps).law.noise(share)
    else:
        reports = (NoisyInnerProduct(bits=bits, eps=eps, width=width) for width in widths(bits, eps))
        noise = min(report.held_variance(share) for report in reports)
    return survey_variance(noise, share, max(1.0, float(people * turn.turns.chance)), people)


def _crossing(width: int, excess: Callable[[int, float], tuple[float, float]]) -> float:
    """The eps at which the excess becomes negative; infinite if it does not."""
    low, high = math.log(_QUIETEST), math.log(_LOUDEST)
    if excess(width, math.exp(high))[1] > 0:
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(width, math.exp(middle))[1] > 0 else (low, middle)
    return float(excess(width, math.exp(high))[0])


def every_round(goals: Goals, *, progress: Progress = no_progress) -> tuple[EveryRound, ...]:
    """All mechanisms of the catalogue at the goals' people, rounds and eps, the smallest error first."""
    if goals.want != "frequencies" or goals.asked is not None or goals.discovered is not None:
        raise ValueError("mechanisms for every round are compared for frequencies of one answer only")
    budget = Budget(
        values=goals.size,
        eps=goals.eps or 1.0,
        delta=DELTA,
        reports=goals.rounds or goals.pooled,
        people=goals.people or 1,
    )
    share, found, rounds = goals.typical_share(goals.size), [], goals.rounds or goals.pooled
    for done, entry in enumerate(CATALOGUE.values()):
        progress(entry.name, done / len(CATALOGUE))
        try:
            mechanism = entry.for_budget(budget)
            last = 1 if mechanism.rounds_alike else rounds
            error = mechanism.held_error(budget.people, share=share, round=last)
            if error is None:
                found_error = mechanism.accuracy(budget.people, round=last, candidates=range(goals.size))
                error = found_error.standard_error
            found.append(EveryRound(entry.name, error, not mechanism.independent))
        except (UntrackableError, ValueError) as reason:
            found.append(EveryRound(entry.name, None, False, str(reason)))
    return tuple(sorted(found, key=lambda row: (row.standard_error is None, row.standard_error or 0.0)))
