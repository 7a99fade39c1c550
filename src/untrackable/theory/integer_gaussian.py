"""A Gaussian shift in whole numbers, and rounds that fade, whose tail it bounds."""

import math
from collections.abc import Sequence
from fractions import Fraction

from untrackable.theory.integer_losses import LossLaw, composed

_REACH = 9
"""Standard deviations beyond which the loss counts as infinite."""
_CELLS = 8
"""A Gaussian is cut into cells this many times finer than the step that it is then put on,"""
_FINEST = 1 << 11
"""but not finer than this part of its standard deviation."""
_SPREAD = 1 << 8
"""The step is no less than this part of the standard deviation of all losses together."""


def with_gaussian_tail(laws: Sequence[LossLaw], shift: float, step: float, *, spread: float) -> LossLaw:
    """Losses seen one by one and a Gaussian shift, all together; on this step or a coarser one.

    `spread` is about the standard deviation of all of them.
    """
    step = max(step, spread / _SPREAD)
    moved = [law.on(step) for law in laws]
    return composed([*moved, gaussian(shift, step)] if shift else moved, step)


def gaussian(shift: float, step: float) -> LossLaw:
    """N(μ²/2, μ²), the law of the loss of N(0, 1) against N(μ, 1), in cells that count at their upper ends."""
    cell = max(step / _CELLS, shift / _FINEST)
    centre = shift**2 / 2
    low, high = (math.floor((centre + sign * _REACH * shift) / cell) for sign in (-1, 1))

    def beyond(position: int) -> tuple[float, float]:
        """Twice the probability below a cell's lower end, and above it, each to full relative precision."""
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
