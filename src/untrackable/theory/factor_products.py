"""Properties of several repeated factors that are known before their joint law is computed."""

import math
from collections.abc import Sequence

import numpy as np

from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.losses import World

RepeatedFactor = tuple[Factor, int]
"""A factor, and how many times it is observed independently."""

WORLDS: tuple[World, World] = ("P", "Q")
"""The two worlds that an observer tries to tell apart."""
MACHINE_EPSILON = float(np.finfo(np.float64).eps)
"""The distance from 1 to the next larger float."""
SYMMETRY_ERROR = 2 * MACHINE_EPSILON
"""Masses of a factor and its mirror image may differ by this share and still count as equal."""


def total_mass_error(factors: Sequence[RepeatedFactor]) -> float:
    """The relative error of a product of the factors' masses."""
    return sum(count * factor.error for factor, count in factors)


def finite_masses(factor: Factor, world: World) -> FloatArray:
    """The masses, in one world, of the outcomes that both worlds can produce."""
    return (factor.p if world == "P" else factor.q)[factor.finite]


def one_sided_masses(factors: Sequence[RepeatedFactor]) -> tuple[float, float]:
    """The probabilities in P and in Q that some factor shows an outcome that only that world can produce."""
    p_only = q_only = 0.0
    for factor, count in factors:
        p_only = _at_least_once(p_only, float(factor.p[factor.loss == np.inf].sum()), count)
        q_only = _at_least_once(q_only, float(factor.q[factor.loss == -np.inf].sum()), count)
    return p_only, q_only


def is_symmetric(factors: Sequence[RepeatedFactor]) -> bool:
    """Whether every factor looks the same with its worlds exchanged, up to the last digits of its masses.

    Then the law in one world gives the law in the other, with a relative error of `SYMMETRY_ERROR` for each draw.
    """
    return all(
        np.array_equal(f.loss, -f.loss[::-1]) and bool(np.all(np.abs(f.p - f.q[::-1]) <= SYMMETRY_ERROR * f.p))
        for f, _ in factors
    )


def _at_least_once(before: float, chance: float, count: int) -> float:
    """The probability of an event of probability `before`, or of any of `count` independent events."""
    if count > 1 and chance < 1:
        chance = -math.expm1(count * math.log1p(-chance))
    return before + chance - before * chance
