"""A Gaussian shift in whole numbers. It bounds the later rounds of a mechanism that fades."""

import math
from collections.abc import Sequence
from fractions import Fraction

from untrackable.theory.integer_losses import LONGEST, LossLaw, composed

_REACH = 9
"""Losses beyond this many standard deviations count as infinite."""
_CELLS = 8
"""A Gaussian is first cut into cells that are this many times finer than the step of the result."""
_FINEST = 1 << 11
"""But a cell is never finer than this part of the standard deviation."""
_DEVIATIONS = 7
"""Total losses up to this many standard deviations above their mean, and a little more, stay finite."""


def with_gaussian_tail(laws: Sequence[LossLaw], shift: float, *, variance: float, loudest: float) -> LossLaw:
    """The composition of some laws and a Gaussian shift, on the finest step on which hardly any loss is infinite.

    `variance` is about that of all losses together, which have a mean of half as much. `loudest` is the largest
    loss of one law.
    """
    step = (variance / 2 + _DEVIATIONS * math.sqrt(variance) + 2 * loudest) / LONGEST
    moved = [law.on(step) for law in laws]
    return composed([*moved, gaussian(shift, step)] if shift else moved, step)


def gaussian(shift: float, step: float) -> LossLaw:
    """The law of the loss of N(0, 1) against N(μ, 1), which is N(μ²/2, μ²). Each cell counts at its upper end."""
    cell = max(step / _CELLS, shift / _FINEST)
    centre = shift**2 / 2
    low, high = (math.floor((centre + sign * _REACH * shift) / cell) for sign in (-1, 1))

    def beyond(position: int) -> tuple[float, float]:
        """Twice the probability below and above a cell's lower end, each to full relative precision."""
        far = (position * cell - centre) / (shift * math.sqrt(2))
        return math.erfc(-far), math.erfc(far)

    positions = {}
    before = beyond(low)
    for position in range(low, high + 1):
        after = beyond(position + 1)
        side = 0 if after[0] < after[1] else 1
        mass = abs(after[side] - before[side]) / 2 + max(before[side], after[side]) * 2.0**-46
        positions[position + 1] = Fraction(mass)
        before = after
    positions[low] = Fraction(beyond(low)[0])
    return LossLaw.of(Fraction(cell), positions, infinite=Fraction(before[1])).on(step)
