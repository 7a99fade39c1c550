"""Recognition by attendance and reports together: which rounds come from where, and what the reports say."""

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory import attendance
from untrackable.theory.attendance import AMONG
from untrackable.theory.dominating_experiment import dominating_experiment


def recognition(mechanism: Mechanism, rounds: int, *, people: int = AMONG) -> Bracket:
    """A bound on the probability of recognising somebody who answers every round, from two places at random.

    Let x be the recognition by attendance alone. A stranger whose rounds fit is told apart by the reports. One pair
    of worlds dominates all splits of the reports between the two places, and its power is concave. So recognition
    is at most its power at a false positive rate of x (upper), and x itself if reports cannot be linked (exact).
    """
    alone = attendance.recognition(rounds, people)
    if alone.lower == 1 or mechanism.tracking_advantage_upper(rounds) == 0:
        return alone
    reports = dominating_experiment(mechanism.tracking_upper(rounds))
    return Bracket(alone.lower, max(alone.upper, reports.power(alone.upper).upper))
