"""Reported signs that depend on each other, because each client reports one of its changes [SODA 2019].

The mechanism is `untrackable.mechanisms.others.one_change`, from the paper's online monitoring. Given the level,
the likelihood of a person's signs relative to fair coins is 1 + c·Σ w·s. Here s are the signs, w is the net change
over each interval, and c = β/k. The sum is linear because the client chose one of k changes.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from untrackable.theory.factor import Factor, FloatArray, response_factor

MOST_SIGNS = 64
"""The largest number of intervals with a change, on both sides together, that is treated exactly."""

_POINTS = 64
"""The number of points at which the envelope of several divergences is evaluated."""
_ERROR = 1e-12
"""A bound on the relative rounding error of the envelope's masses."""

_Table = tuple[FloatArray, FloatArray, FloatArray]
"""For every outcome: its mass with fair coins, and P - Q and Q relative to that mass."""


def sign_tracking_factor(first: int, second: int, step: float) -> Factor:
    """One person against two, where `first` and `second` intervals of the two sides have a change and c is `step`.

    Let S and S' be the sums of the signs of the two sides, with a sign positive if it agrees with the change. Then
    P ∝ 1 + c(S + S') and Q ∝ (1 + cS)(1 + cS'), so P - Q ∝ -c²SS'. Valid for c·(first + second) ≤ 1.
    """
    mass, excess, two = _meeting(first, second, step)
    with np.errstate(divide="ignore"):
        return Factor(mass * (two + excess), mass * two, np.log1p(excess / two))


def worst_sign_tracking_factor(pairs: Sequence[tuple[int, int]], step: float) -> Factor:
    """One factor that dominates the factors of all these (first, second) pairs. For one pair it is exact.

    Each δ is convex in t = e^γ - 1. So their maximum is convex, and straight lines between some of its points lie
    above it. These lines are the δ of a factor whose outcomes have the points as P/Q - 1 and the changes of slope
    as their masses in Q. With more than `MOST_SIGNS` signs, the factor is randomised response with the largest
    loss.
    """
    if len(pairs) == 1:
        return sign_tracking_factor(*pairs[0], step)
    if max(a + b for a, b in pairs) > MOST_SIGNS:
        ends = [_loss(s * a, r * b, step) for a, b in pairs for s in (-1, 1) for r in (-1, 1)]
        return response_factor(max(abs(loss) for loss in ends))
    tables = [_meeting(a, b, step) for a, b in pairs]
    less, below = _envelope([(mass, -excess, two) for mass, excess, two in tables])
    more, above = _envelope(tables)
    points = np.concatenate((-less[::-1], [0.0], more))
    mass = np.concatenate((below[::-1], [max(0.0, 1 - below.sum() - above.sum())], above))
    with np.errstate(divide="ignore"):
        return Factor(mass * (1 + points), mass, np.log1p(points), error=_ERROR)


def _envelope(tables: Sequence[_Table]) -> tuple[FloatArray, FloatArray]:
    """The points t > 0 and the masses at them, of the factor that dominates E[(P - Q) - t·Q]⁺ of every table."""
    farthest = max(float((excess / two).max()) for _, excess, two in tables)
    points = farthest * np.linspace(0, 1, _POINTS + 1) ** 2  # Most of the mass lies near 0.
    heights = np.max([_excesses(table, points) for table in tables], axis=0)
    heights[-1] = 0.0
    slopes = np.append(np.diff(heights) / np.diff(points), 0.0)
    return points[1:], np.maximum(0.0, np.diff(slopes))


def _excesses(table: _Table, points: FloatArray) -> FloatArray:
    mass, excess, two = table
    return np.array([mass @ np.maximum(0.0, excess - t * two) for t in points])


def _meeting(first: int, second: int, step: float) -> _Table:
    """The table of one pair of sides, with one outcome for each pair of sums of signs."""
    (x, fair), (y, coins) = _sums(first), _sums(second)
    mass, excess = np.outer(fair, coins), -(step**2) * np.outer(x, y)
    two = np.outer(1 + step * x, 1 + step * y)
    return mass.ravel(), excess.ravel(), two.ravel()


def _sums(signs: int) -> tuple[FloatArray, FloatArray]:
    """The possible sums of this number of fair signs, and their probabilities."""
    plus = np.arange(signs + 1.0)
    ways = gammaln(signs + 1) - gammaln(plus + 1) - gammaln(signs - plus + 1)
    return 2 * plus - signs, np.exp(ways - signs * np.log(2))


def _loss(x: int, y: int, step: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log1p(-(step**2) * x * y / ((1 + step * x) * (1 + step * y))))
