"""Intervals in which frequencies lie with a stated probability, for every population."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
_TOLD = 0.9
MOST_RADIUS = _TOLD / 2
"""The largest bound on the error of a share that the reports tell."""


class Interval(NamedTuple):
    """Lower and upper ends of where frequencies lie, within [0, 1]."""

    lower: FloatArray
    upper: FloatArray


def clipped(interval: Interval) -> Interval:
    """The part of intervals within [0, 1], as no frequency is outside."""
    return Interval(*(np.clip(end, 0, 1) for end in interval))


def interval_around(frequencies: FloatArray, radius: FloatArray | float) -> Interval:
    """The interval of each frequency within [0, 1]."""
    return clipped(Interval(frequencies - radius, frequencies + radius))


def is_told(width: float, possible: float) -> bool:
    """Whether an interval of this width leaves out at least a tenth of what is possible, or nothing is unknown.

    Every output asks this before it shows a share, a mean or a quantile. For shares and means the width is
    that before the interval is cut off at what is possible. So the noise decides and not the estimate: otherwise
    reports that tell nothing would show a share now and then, namely one that is extreme by chance.
    """
    return width <= _TOLD * possible


def shares_told(radius: FloatArray | float) -> BoolArray:
    """Which shares of people the reports tell, if each may be off by its radius."""
    return np.asarray(np.asarray(radius) <= MOST_RADIUS)


def shown_share(frequency: float, lower: float, upper: float) -> float | None:
    """One share as it is shown, from its interval, which is cut off at 0 and 1: None if it is not told."""
    # At an end that is not cut off this is the radius, and if both are, it is at least a half.
    radius = max(frequency - lower, upper - frequency)
    return min(1.0, max(0.0, frequency)) if shares_told(radius) else None


def shown_shares(frequencies: FloatArray, radius: FloatArray) -> FloatArray:
    """Shares as they are shown: within [0, 1], and NaN where the reports do not tell them."""
    return np.where(shares_told(radius), np.clip(frequencies, 0, 1), np.nan)


def certain_order(lower: FloatArray, upper: FloatArray) -> list[int]:
    """Places of shares such that each comes before all that are certainly smaller: their intervals lie below.

    As far as that allows, they keep their order: only a share that is certainly smaller than another moves back.
    """
    low, high = np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)
    found = []
    for _ in range(low.size):
        chosen = int(np.argmax(high >= low.max()))
        low[chosen] = high[chosen] = -np.inf
        found.append(chosen)
    return found


def small_beta_radius(deviation: float, beta: float) -> float:
    """The radius deviation·√(ln(2/β)/2), also where 2/β is too large for a floating-point number."""
    return deviation * math.sqrt((math.log(2) - math.log(beta)) / 2)
