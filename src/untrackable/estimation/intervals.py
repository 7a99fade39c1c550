"""Error radii that hold with a stated probability, and the intervals around estimates.

All radii are by Hoeffding's inequality, for every population; `untrackable.theory.accuracy` has the formula.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.accuracy import mean_radius

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
_TOLD = 0.9
MOST_RADIUS = _TOLD / 2
"""The largest bound on the error of a share that the reports tell."""


class Interval(NamedTuple):
    """Lower and upper ends of where frequencies lie, within [0, 1]."""

    lower: FloatArray
    upper: FloatArray


class Radii(NamedTuple):
    """How far each frequency may be from the truth: one value chosen beforehand, and all values at once (upper)."""

    single: FloatArray
    simultaneous: FloatArray


def interval_around(frequencies: FloatArray, radius: FloatArray) -> Interval:
    """The interval of each frequency. The part outside [0, 1] is cut off, as no frequency is there."""
    interval = Interval(frequencies - radius, frequencies + radius)
    for end in interval:
        np.clip(end, 0, 1, out=end)
    return interval


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


def radii_of_means(
    span: FloatArray | float, n: int, beta: float, size: tuple[int, ...], *, statistics: int
) -> Radii:
    """Radii of means of n independent terms of a given span, `statistics` of which are bounded at once."""
    return Radii(
        scaled(span, mean_radius(n, beta), size), scaled(span, mean_radius(n, beta, statistics=statistics), size)
    )


def radii_of_deviations(deviation: FloatArray, beta: float, *, statistics: int) -> Radii:
    """Radii deviation·√(ln(2m/β)/2), where m statistics are bounded at once."""
    return Radii(deviation * mean_radius(1, beta), deviation * mean_radius(1, beta, statistics=statistics))


def small_beta_radius(deviation: float, beta: float) -> float:
    """The radius deviation·√(ln(2/β)/2), also where 2/β is too large for a floating-point number."""
    return deviation * math.sqrt((math.log(2) - math.log(beta)) / 2)


def scaled(span: FloatArray | float, by: float, size: tuple[int, ...]) -> FloatArray:
    """An array of span·by, which takes no memory of its own if all entries are the same."""
    return np.broadcast_to(np.asarray(span, dtype=np.float64) * by, size)
