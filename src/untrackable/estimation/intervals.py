"""Error radii that hold with a stated probability, and the intervals around estimates.

All radii are by Hoeffding's inequality, for every population; `untrackable.theory.accuracy` has the formula.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.accuracy import mean_radius

FloatArray = NDArray[np.float64]


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


def single_interval(frequency: float, radius: float) -> tuple[float, float]:
    """The lower and upper end for one value, within [0, 1]."""
    return min(1.0, max(0.0, frequency - radius)), min(1.0, max(0.0, frequency + radius))


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
