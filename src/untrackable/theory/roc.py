"""The best observer's trade-off between recognising P and mistaking Q for P."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from untrackable.theory.factor import FloatArray
from untrackable.theory.losses import Ends

_LARGEST = 700.0
"""The largest gamma whose exponential is computed."""
_FARTHEST = 60.0
"""A curve's gammas end here, because larger ones change rates by less than e^-60."""


Deltas = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""A function that gives lower and upper ends of the forward divergence at many gammas."""


@dataclass(frozen=True)
class Roc:
    """The probability of recognising P, between `lower` and `upper`, if Q is mistaken for P with probability `fpr`.

    With certainty "upper", only `upper` is meaningful.
    """

    fpr: FloatArray
    lower: FloatArray
    upper: FloatArray
    certainty: Literal["exact", "upper"]


def roc_curve(deltas: Deltas, pure: Ends, corners: FloatArray | None, points: int) -> tuple[FloatArray, ...]:
    """False positive rates, and lower and upper ends of the true positive rates.

    The curve is x ↦ min over t = e^gamma ≥ 0 of delta(gamma) + t·x. delta is convex and decreasing in t, equals 1
    at t = 0, and is straight between its corners. So all corners together give the curve exactly, and any other
    gammas give a bracket.
    """
    fpr = np.linspace(0, 1, points)
    gammas = np.clip(corners, -700, 700) if corners is not None else _spread(pure, 1000)
    low, high = deltas(gammas)
    rates = np.exp(gammas)[:, None] * fpr
    upper = np.minimum(1.0, np.min(high[:, None] + rates, axis=0))
    beyond = deltas(np.array([np.inf]))[0] + rates[-1]
    if corners is not None:
        lower = np.minimum(np.min(low[:, None] + rates, axis=0), beyond)
    else:
        # Between two gammas, delta is at least its value at the larger one and t is at least that of the smaller
        # one.
        between = np.min(low[1:, None] + rates[:-1], axis=0)
        before = low[0] + (rates[0] if pure[1] < _FARTHEST else 0.0)
        lower = np.minimum(np.minimum(between, beyond), before)
    return fpr, np.minimum(np.clip(lower, fpr, 1.0), upper), upper


def best_power(deltas: Deltas, pure: Ends, fpr: float) -> Ends:
    """A bracket of the true positive rate at one false positive rate.

    It is the minimum over t = e^gamma of delta(gamma) + t·fpr, which is convex in t. So the minimum lies between
    the neighbours of the best of several points. The search repeats between these neighbours.
    """
    beyond = tuple(float(end[0]) for end in deltas(np.array([np.inf])))
    if fpr == 0:
        return beyond[0], beyond[1]
    farthest = min(_LARGEST, 1 - float(np.log(fpr)))
    lower = _lowest(lambda gammas: deltas(gammas)[0], _spread(pure, 65, farthest), fpr)[0]
    upper = min(1.0, max(fpr, _lowest(lambda gammas: deltas(gammas)[1], _spread(pure, 65, farthest), fpr)[1]))
    if farthest == _LARGEST:
        lower = beyond[0]
    return min(upper, max(fpr, lower)), upper


def _lowest(delta: Callable[[FloatArray], FloatArray], gammas: FloatArray, fpr: float) -> Ends:
    """A bracket of the minimum of delta(gamma) + e^gamma·fpr."""
    found = 0.0, 1.0
    for _ in range(3):
        deltas, rates = delta(gammas), np.exp(gammas) * fpr
        best = int(np.argmin(deltas + rates))
        near = slice(max(0, best - 1), best + 2)
        # Between two gammas, delta is at least its value at the larger one and t is at least that of the smaller
        # one.
        found = float((deltas[near][1:] + rates[near][:-1]).min()), float(deltas[best] + rates[best])
        gammas = np.linspace(gammas[near][0], gammas[near][-1], 33)
    return found


def _spread(pure: Ends, points: int, farthest: float = 0.0) -> FloatArray:
    """Gammas between the two largest losses, closer together around 0."""
    forward, backward = (min(max(_FARTHEST, farthest), max(1e-9, end)) for end in pure)
    return np.unique(
        np.concatenate((np.sinh(np.linspace(-np.arcsinh(backward), np.arcsinh(forward), points)), [0.0]))
    )
