"""How much of a privacy budget is spent, as one number that can be compared with what a person allows."""

import math
from collections.abc import Callable
from typing import NamedTuple

from untrackable.theory.root_finding import falling_root

_LARGEST = 64.0
"""Beyond this eps, nothing is left to protect."""
_SMALLEST = 1e-3
"""What is spent is not resolved below this eps."""
_CLOSE = 5e-4
"""The answer is off by less than a thousandth of itself, to the safe side."""

_SMALLEST_LEFT = 1e-3
"""Less than this part of a budget counts as nothing left."""
_STEPS_LEFT = 10
"""How often the interval of what is left is halved: the answer is less than a hundredth too small."""


class Spent(NamedTuple):
    """What all campaigns together spend (upper): for somebody who knows whose reports are whose, and in a crowd.

    `recognition` is how often an observer of two places recognises the person among 1,000.
    """

    eps: float
    crowd_eps: float
    recognition: float


class Left(NamedTuple):
    """The eps of a further campaign that is accepted for certain, alone and in a crowd (lower).

    Its delta must be at most half of the policy's. A campaign of many quiet rounds may take more than that.
    """

    eps: float
    crowd_eps: float


def spent_eps(delta_at: Callable[[float], float], allowed: float, delta: float) -> float:
    """The smallest eps at which no more than `delta` is spent (upper); infinity beyond all that is looked at.

    `delta_at` gives the delta of all campaigns together at an eps, and falls as eps grows. If the eps that is
    `allowed` is enough, the answer is not above it.
    """

    def excess(eps: float) -> float:
        """It falls about as ln(1/eps), because ln(delta) is about -c·eps²."""
        found = delta_at(eps)
        if found == 0 or not 0 < delta < 1:
            return -math.inf if found <= delta else math.inf
        return math.log(found / delta) / (2 * math.log(1 / delta))

    end = allowed if delta_at(allowed) <= delta else max(allowed, _LARGEST)
    smallest = min(_SMALLEST, end)
    try:
        found = falling_root(excess, end, low=smallest, high=end, tolerance=_CLOSE, keep="above").x
    except ValueError:
        return math.inf
    return 0.0 if found == smallest and delta_at(0.0) <= delta else found


def left_eps(fits: Callable[[float], bool], allowed: float) -> float:
    """The largest eps up to `allowed` that still fits (lower); 0 if none does."""
    if fits(allowed):
        return allowed
    low, high = math.log(allowed * _SMALLEST_LEFT), math.log(allowed)
    if not fits(math.exp(low)):
        return 0.0
    for _ in range(_STEPS_LEFT):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(math.exp(middle)) else (low, middle)
    return math.exp(low)
