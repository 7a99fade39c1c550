"""One product of factors for a pair of worlds of which only deltas are known, so that it can be composed."""

import math

import numpy as np

from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.queries import Queries

_RATIO = 1.25
_NEAREST, _FARTHEST = 0.01, 40.0
"""Gammas that are looked at: 0, and from the first of these to the second, or to where delta is as good as 0."""
_NEGLIGIBLE = 1e-12


def dominating(pair: Queries) -> Experiment:
    """An experiment whose delta, in both directions, is at every gamma at least that of a pair of worlds (upper).

    δ as a function of α = e^γ is convex and falls, so it is below the chords between points at which it is known,
    and beyond the last one below that. Chords with corners at α are the δ of a law that has the change of slope
    there as its mass in world Q, and α times as much in P; the larger of both directions is taken, so that the law
    looks the same when worlds are exchanged (Doroshenko et al. 2022, "connect the dots"; Zhu, Dong & Wang 2022).
    """
    gammas = [0.0]
    deltas = [pair.delta(0.0).upper]
    while deltas[-1] > _NEGLIGIBLE and gammas[-1] < _FARTHEST:
        gammas.append(max(_NEAREST, _RATIO * gammas[-1]))
        deltas.append(min(deltas[-1], pair.delta(gammas[-1]).upper))
    return Experiment([_chords(np.array(gammas), np.array(deltas))], certainty="upper")


def _chords(gammas: FloatArray, deltas: FloatArray) -> Factor:
    """The factor of these points, those above the lower convex hull left out."""
    alphas = np.exp(gammas)
    # Exchanged worlds look alike, so the slope at 0 is at least this; brackets of delta may have made it steeper.
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
    gives_away = float(deltas[-1])
    told = math.fsum([*here, *there, gives_away])
    masses = np.array([gives_away, *here, max(0.0, 1 - told), *there, 0.0])
    losses = np.array([np.inf, *gammas[1:], 0.0, *-gammas[1:], -np.inf])
    mirrored = np.array([0.0, *there, max(0.0, 1 - told), *here, gives_away])
    return Factor(masses, mirrored, losses)


def _above_line(x: FloatArray, y: FloatArray, left: int, middle: int, right: int) -> bool:
    """Whether a point is on or above the line through its neighbours."""
    rise, run = y[right] - y[left], x[right] - x[left]
    return bool((y[middle] - y[left]) * run >= rise * (x[middle] - x[left]))
