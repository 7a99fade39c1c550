"""Tracking with attendance included: the observer sees which rounds come from where, and what the reports say."""

import math
from fractions import Fraction

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.theory.attendance import AMONG, Attendance
from untrackable.theory.dominating_experiment import dominating_experiment
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

_CERTAIN = 0.99
"""From this probability of being recognised by attendance alone, reports make no difference that matters."""
RARE = 1e-9
"""The probability of more reports than are counted. It is added to delta."""


def attended_tracking(mechanism: Mechanism, attendance: Attendance, rounds: int | None, *, values: int = 1) -> Pair:
    """One person against a different person at each place, with the same values, by attendance and reports.

    It is exact if the reports cannot be linked. Else the observer is granted that the reports are split in the
    worst way, and that there are as many of them as there may be (upper). Without a last round, everybody who
    answers from several places is recognised in the end.
    """
    if attendance.one_network:
        return Experiment()
    if rounds is None:
        return Experiment([Factor([1.0, 0.0], [0.0, 1.0])])
    seen = attendance.experiment(rounds)
    if mechanism.tracking_advantage_upper(rounds) == 0:
        return seen
    most = most_reports(attendance, rounds)
    reports = dominating_experiment(mechanism.tracking_upper(max(2, most), values=values))
    missed = RARE if most < rounds else 0.0
    more = Factor([missed, 0.0, 1 - missed], [0.0, missed, 1 - missed])
    return seen + reports + Experiment([more], certainty="upper")


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
    """A number of reports, from all places together, that is exceeded with a probability of at most 1e-9.

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
        low, high = (low, middle) if _tail(trials, chance, middle + 1) <= RARE else (middle + 1, high)
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
