"""Signs that hang together because one change among several was chosen to be told [SODA 2019, online monitoring].

Given the level, the likelihood of a user's signs relative to fair coins is 1 + c·Σ w·s, with c = β/k and w the net
change over each interval: linear, as the chosen change is one of k. See `untrackable.mechanisms.others.one_change`.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from untrackable.theory.factor import Factor, FloatArray, response_factor

MOST_SIGNS = 64
"""Intervals with a change, on both sides together, up to which all ways to divide them are looked at."""

_POINTS = 64
_ERROR = 1e-12

_Table = tuple[FloatArray, FloatArray, FloatArray]


def meeting_factor(first: int, second: int, step: float) -> Factor:
    """One user against two, where so many intervals of each side have a change; c is `step`.

    With S and S' the sums of the signs of the two sides, each taken as positive if it agrees with the change,
    P ∝ 1 + c(S + S') and Q ∝ (1 + cS)(1 + cS'), so that P - Q ∝ -c²SS'. Needs c·(first + second) ≤ 1.
    """
    mass, excess, two = _meeting(first, second, step)
    with np.errstate(divide="ignore"):
        return Factor(mass * (two + excess), mass * two, np.log1p(excess / two))


def worst_meeting_factor(pairs: Sequence[tuple[int, int]], step: float) -> Factor:
    """One factor that dominates all of these; the factor itself if there is one pair only.

    δ is convex in t = e^γ - 1, so the largest of several is, and straight lines between some of its points lie
    above it. They are the δ of a factor whose outcomes have the points as P/Q - 1, and whose masses in Q are the
    changes of slope there. With very many signs: randomised response of the largest loss.
    """
    if len(pairs) == 1:
        return meeting_factor(*pairs[0], step)
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
    """Points beyond 0, and the masses there, of the largest E[(P - Q) - t·Q]⁺ over the tables."""
    farthest = max(float((excess / two).max()) for _, excess, two in tables)
    points = farthest * np.linspace(0, 1, _POINTS + 1) ** 2  # closer together about 0, where most of the mass is
    heights = np.max([_excesses(table, points) for table in tables], axis=0)
    heights[-1] = 0.0
    slopes = np.append(np.diff(heights) / np.diff(points), 0.0)
    return points[1:], np.maximum(0.0, np.diff(slopes))


def _excesses(table: _Table, points: FloatArray) -> FloatArray:
    mass, excess, two = table
    return np.array([mass @ np.maximum(0.0, excess - t * two) for t in points])


def _meeting(first: int, second: int, step: float) -> _Table:
    """Of every pair of sums: the fair coins' mass, P - Q and Q relative to it."""
    (x, fair), (y, coins) = _sums(first), _sums(second)
    mass, excess = np.outer(fair, coins), -(step**2) * np.outer(x, y)
    two = np.outer(1 + step * x, 1 + step * y)
    return mass.ravel(), excess.ravel(), two.ravel()


def _sums(signs: int) -> tuple[FloatArray, FloatArray]:
    """The sums of so many fair signs, and their probabilities."""
    plus = np.arange(signs + 1.0)
    ways = gammaln(signs + 1) - gammaln(plus + 1) - gammaln(signs - plus + 1)
    return 2 * plus - signs, np.exp(ways - signs * np.log(2))


def _loss(x: int, y: int, step: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log1p(-(step**2) * x * y / ((1 + step * x) * (1 + step * y))))
