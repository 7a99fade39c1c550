"""Several repeated factors together: what can be said of them before any law is computed."""

import math
from collections.abc import Sequence

import numpy as np

from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.losses import World

Counted = tuple[Factor, int]

WORLDS: tuple[World, World] = ("P", "Q")
UNIT = float(np.finfo(np.float64).eps)
ALIKE = 2 * UNIT


def errors_of(factors: Sequence[Counted]) -> float:
    """Relative error that the factors' own masses bring along."""
    return sum(count * factor.error for factor, count in factors)


def masses_of(factor: Factor, world: World) -> FloatArray:
    """Of the outcomes that both worlds can produce."""
    return (factor.p if world == "P" else factor.q)[factor.finite]


def only_masses(factors: Sequence[Counted]) -> tuple[float, float]:
    """Masses at infinite loss: outcomes that only one of the worlds can produce, in any factor."""
    p_only = q_only = 0.0
    for factor, count in factors:
        p_only = _at_least_once(p_only, float(factor.p[factor.loss == np.inf].sum()), count)
        q_only = _at_least_once(q_only, float(factor.q[factor.loss == -np.inf].sum()), count)
    return p_only, q_only


def mirrored(factors: Sequence[Counted]) -> bool:
    """Whether every factor looks the same with its worlds exchanged, to the last digit but one of its masses.

    Then one world's law is that of both, with a relative error of at most `ALIKE` for each draw.
    """
    return all(
        np.array_equal(f.loss, -f.loss[::-1]) and bool(np.all(np.abs(f.p - f.q[::-1]) <= ALIKE * f.p))
        for f, _ in factors
    )


def _at_least_once(before: float, chance: float, count: int) -> float:
    """Probability of an event of probability `before`, or of any of `count` independent ones."""
    if count > 1 and chance < 1:
        chance = -math.expm1(count * math.log1p(-chance))
    return before + chance - before * chance
