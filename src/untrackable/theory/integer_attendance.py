"""Attendance in whole numbers: the law of its loss and how well people are recognised, on the safe side."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from untrackable.theory.attendance import seen_laws
from untrackable.theory.chance_of_answering import log_of
from untrackable.theory.integer_losses import LONGEST, LossLaw, composed, log_ratio, mixed

_FINER = 32
"""The step of a law is this part of the loss of one stay that is seen."""
_STEP = 2.0**-8
"""The step on which different stays are composed."""
_NARROWER = 60
"""The number of steps of the search for the best gamma. Each makes the interval a third smaller."""
_DEVIATIONS = 12
"""Total losses this many standard deviations above their mean are still finite."""


def attendance_law(stays: Iterable[tuple[Fraction, int]], places: Sequence[Fraction]) -> LossLaw:
    """The law of ln(one person/several people) if one person answers; for (chance, count) pairs of stays.

    It bounds the observer's success in recognising one person, and says nothing about the other direction.
    """
    return composed((_equal_stays(chance, count, tuple(places)) for chance, count in stays if chance), _STEP)


@lru_cache(maxsize=32)
def _equal_stays(chance: Fraction, count: int, places: tuple[Fraction, ...]) -> LossLaw:
    """Several stays with the same chance. Kept, because a process may run many clients of one campaign."""
    return _one_stay(chance, places, count) ** count


def _one_stay(chance: Fraction, places: Sequence[Fraction], count: int) -> LossLaw:
    """The law of one stay. If there are very many stays, its step is coarse enough for all of them together."""
    one, several = seen_laws(chance, places)
    found = [(p, p / q) for p, q in zip(one, several, strict=True) if p]
    ratios = [ratio for _, ratio in found if ratio != 1]
    if not ratios:
        return LossLaw.nothing()
    losses = [(float(p), log_of(ratio)) for p, ratio in found]
    mean, square = (math.fsum(p * loss**power for p, loss in losses) for power in (1, 2))
    reach = count * mean + _DEVIATIONS * math.sqrt(count * square)
    step = max(log_of(max(ratios)) / _FINER, reach / LONGEST)
    return mixed((Fraction(1), _outcome(p, ratio).on(step)) for p, ratio in found)


def _outcome(mass: Fraction, ratio: Fraction) -> LossLaw:
    """One outcome of this probability, as a part of a law."""
    if ratio == 1:
        return LossLaw.of(Fraction(0), {0: mass})
    if ratio > 1:
        return LossLaw.of(log_ratio(ratio.numerator, ratio.denominator), {1: mass})
    return LossLaw.of(log_ratio(ratio.denominator, ratio.numerator), {-1: mass})


@lru_cache(maxsize=32)
def recognition_upper(law: LossLaw, people: int) -> float:
    """A bound on the probability of recognising a person among this many: the least of e^gamma/people + delta.

    It holds for every gamma. Delta is a convex function of e^gamma, so a search by thirds finds the least.
    """

    def bound(ratio: float) -> float:
        return ratio / people * (1 + 1e-12) + law.delta(math.log(ratio))

    low, high = 1.0, float(people)
    for _ in range(_NARROWER):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) <= bound(right) else (left, high)
    return min(1.0, bound(low), bound(high))
