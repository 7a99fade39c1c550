"""Tracking with attendance included: the observer sees which rounds come from where, and what the reports say."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.theory.attendance import AMONG, Attendance
from untrackable.theory.dominating_experiment import dominating_experiment, repeated_splits
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor
from untrackable.theory.integer_attendance import attendance_law, recognition_upper
from untrackable.theory.integer_losses import LossLaw, composed

_CERTAIN = 0.99
"""From this probability of being recognised by attendance alone, reports make no difference that matters."""
_RARE = 1e-12
"""More reports than are counted have at most this probability."""
MISSED = 1e-9
"""The probability with which the observer is told everything instead. It is the larger one, by much."""
_INTEGER_STEP = 2.0**-8
"""The step on which attendance and reports are composed in whole numbers."""


def attended_tracking(mechanism: Mechanism, attendance: Attendance, rounds: int | None, *, values: int = 1) -> Pair:
    """One person against a different person at each place, with the same values, by attendance and reports.

    It is exact if the reports cannot be linked. Else the observer is granted that the reports are split in the
    worst way, and that there are as many of them as there may be (upper). Without a last round, everybody who
    answers from several places is recognised in the end.

    The bound holds because one pair of worlds, D, dominates the reports of every attendance that one person can
    have: fewer reports are more reports with some left out, and D dominates every split. So whatever the attendance
    is, an observer of it and of D can simulate the reports. With more places, D is split once for each further
    place. Let T be any test, β the probability of more reports than D stands for, and δ that of attendance and D at
    some gamma. Then P(T) - e^γ·Q(T) ≤ β + δ, which is at most m + (1-m)·δ if m·(1-δ) ≥ β. As m is 1,000 times β,
    this can only fail where δ is above 0.999, by less than the engine rounds up. If it matters which rounds are
    answered, and not only how many, D stands for all of them.
    """
    if attendance.one_network:
        return Experiment()
    if rounds is None:
        return Experiment([Factor([1.0, 0.0], [0.0, 1.0])])
    seen = attendance.experiment(rounds)
    if mechanism.tracking_advantage_upper(rounds) == 0:
        return seen
    most = most_linked(mechanism, attendance, rounds)
    reports = dominating_experiment(mechanism.tracking_upper(max(2, most), values=values))
    missed = MISSED if most < rounds else 0.0
    more = Factor([missed, 0.0, 1 - missed], [0.0, missed, 1 - missed])
    return seen + repeated_splits(reports, len(attendance.places) - 1) + Experiment([more], certainty="upper")


def recognition(
    mechanism: Mechanism, attendance: Attendance, rounds: int | None, *, people: int = AMONG, values: int = 1
) -> Bracket:
    """A bound on the probability of recognising a person among this many, by attendance and reports.

    Where attendance alone suffices, the reports are not looked at. `ValueError` if there are more reports than the
    engine takes, and no bound is known.
    """
    if rounds is not None and (alone := attendance.recognition(rounds, people)).lower >= _CERTAIN:
        return Bracket(alone.lower, 1.0)
    linked = rounds is not None and values == 1 and not hidden(mechanism, attendance, rounds)
    bound = recognition_by_bounds(mechanism, attendance, rounds or 1, people=people) if linked else None
    try:
        found = attended_tracking(mechanism, attendance, rounds, values=values).power(1 / people)
    except ValueError:  # The engine does not take so many reports.
        if bound is None or bound.upper == 1:
            raise
        return bound
    return found if bound is None or found.upper <= bound.upper else bound


def hidden(mechanism: Mechanism, attendance: Attendance, rounds: int) -> bool:
    """Whether the reports add nothing to what attendance reveals."""
    return attendance.one_network or mechanism.tracking_advantage_upper(rounds) == 0


def recognition_by_bounds(
    mechanism: Mechanism, attendance: Attendance, rounds: int, *, people: int = AMONG
) -> Bracket:
    """Recognition by closed forms, for people whose values never change. They cost next to nothing.

    Let x be the recognition by attendance alone. Let as many reports as may be sent tell one person from two with
    advantage a, with χ², and by likelihood ratios of at most e^g. Given the attendance, they turn the probability y
    of an event into at most y + a, y·e^g, and y + √(χ²·y), by the Cauchy-Schwarz inequality. All are concave in y,
    so recognition is at most their smallest value at x (upper). People at more than two places are told apart one
    after the other.
    """
    alone = _alone(attendance, rounds, people)
    if hidden(mechanism, attendance, rounds):
        return alone
    most, found = most_linked(mechanism, attendance, rounds), alone.upper
    apart, ratio = mechanism.tracking_advantage_upper(most), mechanism.tracking_ratio_upper(most)
    square, factor = mechanism.tracking_chi_square_upper(most), math.exp(min(ratio, math.log(people)))
    for _ in attendance.places[1:]:
        found = min(found + apart, found * factor, found + math.sqrt(square * found))
    return Bracket(alone.lower, min(1.0, found + (MISSED if most < rounds else 0.0)))


@lru_cache(maxsize=4096)
def _alone(attendance: Attendance, rounds: int, people: int) -> Bracket:
    return attendance.recognition(rounds, people)


def most_linked(mechanism: Mechanism, attendance: Attendance, rounds: int) -> int:
    """The reports that count: as many as may be sent, or all rounds if it matters which of them are answered."""
    return most_reports(attendance, rounds) if mechanism.exchangeable else rounds


def advantage_by_bounds(mechanism: Mechanism, attendance: Attendance, rounds: int) -> Bracket:
    """The advantage of the same observer over guessing, by the same closed form (upper)."""
    alone = attendance.experiment(rounds).delta(0.0)
    if hidden(mechanism, attendance, rounds):
        return alone
    most = most_linked(mechanism, attendance, rounds)
    apart = len(attendance.places[1:]) * mechanism.tracking_advantage_upper(most)
    return Bracket(alone.lower, min(1.0, alone.upper + apart + (MISSED if most < rounds else 0.0)))


def integer_recognition(
    mechanism: Mechanism,
    attendance: Attendance,
    rounds: int | None,
    law_of: Callable[[int, float], LossLaw],
    *,
    people: int = AMONG,
) -> float:
    """`recognition` in whole numbers, with the standard library alone (upper).

    `law_of` gives the law of tracking by a number of reports, on a step.
    """
    if attendance.one_network:
        return 1 / people
    if rounds is None:
        return 1.0
    seen = attendance_law(attendance.blocks(rounds), attendance.places)
    most = most_linked(mechanism, attendance, rounds)
    reports = law_of(most, _INTEGER_STEP)
    if len(attendance.places) > 2 and reports.delta(0.0) > 0:
        return 1.0  # The law is that of two people.
    law = composed((seen, reports), _INTEGER_STEP)
    return min(1.0, recognition_upper(law, people) + (MISSED if most < rounds else 0.0))


def most_reports(attendance: Attendance, rounds: int) -> int:
    """A number of reports, from all places together, that is exceeded with a probability of at most 1e-12.

    It holds for one person and for several. Of all sums of independent chances with the same mean, the binomial one
    exceeds a number above the mean most often (Hoeffding 1956), and Chernoff's bound holds for it. Where people
    stay for several rounds, all rounds that they answer are counted, wherever they are. More reports than rounds
    are never one person's, whatever they say.
    """
    independent = attendance.persistence == 1
    share = sum(attendance.places, Fraction(0)) if independent else Fraction(len(attendance.places))
    trials = rounds * len(attendance.places)
    chance = float(attendance.participation * share) / len(attendance.places)
    low, high = math.ceil(trials * chance) + 1, trials
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _tail(trials, chance, middle + 1) <= _RARE else (middle + 1, high)
    return min(low, rounds)


def _tail(trials: int, chance: float, count: int) -> float:
    """Chernoff's bound on the probability of at least this many successes."""
    if count > trials:
        return 0.0
    share = count / trials
    if share <= chance:
        return 1.0
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return math.exp(-trials * (share * math.log(share / chance) + rest))
