"""One factor that dominates a pair of worlds known only by its deltas, so that it can be composed with others."""

import math

import numpy as np

from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.world_pair import WorldPair

_NEAREST = 0.01
"""The smallest gamma above 0 at which delta is asked for."""
_RATIO = 1.25
"""Each further gamma is this many times the one before."""
_FARTHEST = 40.0
"""No gamma beyond the first one above this is asked for."""
_NEGLIGIBLE = 1e-12
"""Once delta is at most this, no larger gamma is asked for."""


def dominating_experiment(pair: WorldPair) -> Experiment:
    """An experiment whose delta is at least that of `pair`, at every gamma and in both directions (upper).

    δ is a convex and falling function of α = e^γ. So it lies below the chords between points where it is known, and
    beyond the last point it is at most its value there. Chords with corners at α are the δ of a law. Its mass in
    world Q at each corner is the change of slope there, and its mass in P is α times as much. The larger δ of both
    directions is used, so the law looks the same with the worlds exchanged (Doroshenko et al. 2022, "connect the
    dots"; Zhu, Dong & Wang 2022).
    """
    gammas = [0.0]
    deltas = [pair.delta(0.0).upper]
    while deltas[-1] > _NEGLIGIBLE and gammas[-1] < _FARTHEST:
        gammas.append(max(_NEAREST, _RATIO * gammas[-1]))
        deltas.append(min(deltas[-1], pair.delta(gammas[-1]).upper))
    return Experiment([chords_factor(np.array(gammas), np.array(deltas))], certainty="upper")


def chords_factor(gammas: FloatArray, deltas: FloatArray) -> Factor:
    """The factor of the chords between these points. Points above the lower convex hull are left out."""
    alphas = np.exp(gammas)
    # The worlds look the same when exchanged, so δ cannot fall faster than this at 0. The upper ends of brackets
    # may.
    deltas = np.maximum(deltas, deltas[0] - (1 - deltas[0]) / 2 * (alphas - 1))
    hull: list[int] = []
    for i in range(len(alphas)):
        while len(hull) > 1 and _above_line(alphas, deltas, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    gammas, alphas, deltas = gammas[hull], alphas[hull], deltas[hull]
    slopes = np.append(np.diff(deltas) / np.diff(alphas), 0.0)
    there = np.maximum(0.0, np.diff(slopes))
    here = there * alphas[1:]
    infinite = float(deltas[-1])
    informative = math.fsum([*here, *there, infinite])
    masses = np.array([infinite, *here, max(0.0, 1 - informative), *there, 0.0])
    losses = np.array([np.inf, *gammas[1:], 0.0, *-gammas[1:], -np.inf])
    mirrored = np.array([0.0, *there, max(0.0, 1 - informative), *here, infinite])
    return Factor(masses, mirrored, losses)


def _above_line(x: FloatArray, y: FloatArray, left: int, middle: int, right: int) -> bool:
    """Whether the middle point is on or above the line through its neighbours."""
    rise, run = y[right] - y[left], x[right] - x[left]
    return bool((y[middle] - y[left]) * run >= rise * (x[middle] - x[left]))
