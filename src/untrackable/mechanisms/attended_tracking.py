"""Tracking with attendance included: the observer sees which rounds come from where, and what the reports say."""

import math
from fractions import Fraction

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.theory.attendance import AMONG, Attendance
from untrackable.theory.dominating_experiment import dominating_experiment, repeated_splits
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

_CERTAIN = 0.99
"""From this probability of being recognised by attendance alone, reports make no difference that matters."""
_RARE = 1e-12
"""More reports than are counted have at most this probability."""
MISSED = 1e-9
"""The probability with which the observer is told everything instead. It is the larger one, by much."""


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
    most = most_reports(attendance, rounds) if mechanism.exchangeable else rounds
    reports = dominating_experiment(mechanism.tracking_upper(max(2, most), values=values))
    missed = MISSED if most < rounds else 0.0
    more = Factor([missed, 0.0, 1 - missed], [0.0, missed, 1 - missed])
    return seen + repeated_splits(reports, len(attendance.places) - 1) + Experiment([more], certainty="upper")


def recognition(
    mechanism: Mechanism, attendance: Attendance, rounds: int | None, *, people: int = AMONG, values: int = 1
) -> Bracket:
    """A bound on the probability of recognising a person among this many, by attendance and reports.

    Where attendance alone suffices, the reports are not looked at.
    """
    if rounds is not None and (alone := attendance.recognition(rounds, people)).lower >= _CERTAIN:
        return Bracket(alone.lower, 1.0)
    return attended_tracking(mechanism, attendance, rounds, values=values).power(1 / people)


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
