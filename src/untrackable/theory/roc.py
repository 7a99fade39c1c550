"""The best distinguisher's trade-off: recognising P against mistaking Q for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from untrackable.theory.factor import FloatArray
from untrackable.theory.losses import Ends

_FARTHEST = 60.0
"""Gammas beyond this change rates by less than e^-60."""


@dataclass(frozen=True)
class Roc:
    """How often P is recognised, between `lower` and `upper`, when Q is mistaken for it with probability `fpr`.

    With certainty "upper" only `upper` says anything.
    """

    fpr: FloatArray
    lower: FloatArray
    upper: FloatArray
    certainty: Literal["exact", "upper"]


def roc_curve(
    delta: Callable[[float], Ends], pure: Ends, corners: FloatArray | None, points: int
) -> tuple[FloatArray, ...]:
    """False positive rates, and brackets of the true positive rates.

    The curve is x ↦ min over t = e^gamma ≥ 0 of delta(gamma) + t·x. delta is convex and decreasing in t, 1 at
    t = 0, and straight between its corners; so all corners together give it exactly, and any gammas bracket it.
    """
    fpr = np.linspace(0, 1, points)
    if corners is not None:
        gammas = np.clip(corners, -700, 700)
    else:
        forward, backward = (min(_FARTHEST, max(1e-9, end)) for end in pure)
        gammas = np.unique(np.concatenate((np.linspace(-backward, forward, 400), [0.0])))
    ends = np.array([delta(float(gamma)) for gamma in gammas])
    rates = np.exp(gammas)[:, None] * fpr
    upper = np.minimum(1.0, np.min(ends[:, 1, None] + rates, axis=0))
    beyond = delta(np.inf)[0] + rates[-1]
    if corners is not None:
        lower = np.minimum(np.min(ends[:, 0, None] + rates, axis=0), beyond)
    else:
        # Between two gammas delta is at least its value at the larger, and t at least that of the smaller.
        between = np.min(ends[1:, 0, None] + rates[:-1], axis=0)
        before = ends[0, 0] + (rates[0] if pure[1] < _FARTHEST else 0.0)
        lower = np.minimum(np.minimum(between, beyond), before)
    return fpr, np.minimum(np.clip(lower, fpr, 1.0), upper), upper
