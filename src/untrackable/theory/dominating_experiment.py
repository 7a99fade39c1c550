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


def repeated_splits(pair: Experiment, splits: int) -> Experiment:
    """One world against another in which something is split off `splits` times, each time as in `pair` (upper).

    Let `pair` dominate one person against two, with any reports. Split one person's reports into those of two
    people, then those of the second person again, and so on. Each step is such a pair, beside reports that stay as
    they are. If the best test of one step has power π(x) at a false positive rate of x, then a test that has rate x
    in the last world has at most π(x) in the one before it, π(π(x)) two before it, and so on. A concave curve of
    straight pieces is the ROC curve of a law with one outcome for each piece.
    """
    if splits == 1 or not pair.factors:
        return pair
    x, y = _curve(pair)
    rates, powers = x, y
    for _ in range(splits - 1):
        # The corners of π(curve) are those of the curve, and the points where it passes a corner of π.
        passed = np.interp(x, powers, rates)[(powers[0] < x) & (x < 1)]
        corners = np.unique(np.concatenate((rates, passed)))
        rates, powers = corners, np.interp(np.interp(corners, rates, powers), x, y)
    here, there = np.diff(powers, prepend=0.0), np.diff(rates, prepend=0.0)
    return Experiment([Factor(np.maximum(here, 0.0), there)], certainty="upper")


def _curve(pair: Experiment) -> tuple[FloatArray, FloatArray]:
    """The corners of the ROC curve of an experiment with one factor: false positive rates from 0 to 1, and powers.

    The first power is the mass that only the first world has.
    """
    ((factor, _),) = pair.factors
    order = np.argsort(-factor.loss, kind="stable")
    rates, powers = np.cumsum(factor.q[order]), np.cumsum(factor.p[order])
    start = float(factor.p[factor.loss == np.inf].sum())
    kept = factor.loss[order] < np.inf
    x, y = np.append(0.0, rates[kept] / rates[-1]), np.append(start, powers[kept] / powers[-1])
    return x, y


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
