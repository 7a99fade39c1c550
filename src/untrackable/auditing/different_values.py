"""How well people with different values can be followed: a bound for all who know how common values are."""

import math

import numpy as np

from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.theory.factor import FloatArray

_GAMMAS = (0.0, *(0.01 * 1.2**i for i in range(48)))
"""Where delta of one value against another is asked for. Between them it is below the chord, over e^γ."""
_VALUES = 8
"""People hold at most this many different values, unless the caller says how common values are."""
_STEPS = 400
"""The number of likelihood ratios that are tried for the best bound."""


def zipf_weights(mechanism: Mechanism) -> list[float]:
    """The weights 1, 1/2, 1/3, … of a few values, the most common first."""
    return [1 / rank for rank in range(1, min(mechanism.capacity or _VALUES, _VALUES) + 1)]


def matched_upper(
    mechanism: Mechanism, reports: int, weights: FloatArray, rates: tuple[float, ...]
) -> list[Bracket]:
    """Bounds on the power of every test of one person against two, at these false positive rates.

    Values have the probabilities `weights`, and the observer has `reports` reports from each of two places. P is
    one person at both places, P' are two people with the same value, Q are two people with random values. Tell the
    observer the first person's value u. Then P' against Q is the law P(u) of `reports` reports against the mixture
    of the laws of all values v, w(u)·P(u) + Σ w(v)·P(v). For α·w(u) < 1, its δ at α = e^γ is
    (1 - α·w(u))·δ'(α·(1 - w(u))/(1 - α·w(u))), where δ' is that of P(u) against the mixture of all others, and at
    most that of the two values that are easiest to tell apart. For other α it is 0. A test with rate x has a power
    of at most y = δ(α) + α·x against P', for every α, and against P at most what tracking allows at rate y.
    """
    pair = mechanism.privacy(reports=reports)
    alphas = np.exp(_GAMMAS)
    deltas = np.array([pair.delta(gamma).upper for gamma in _GAMMAS])
    linked = None if mechanism.independent else _halves(mechanism, reports)
    return [Bracket(0.0, _power(alphas, deltas, weights[weights > 0], rate, linked)) for rate in rates]


def _halves(mechanism: Mechanism, reports: int) -> Pair:
    """Tracking with this many reports on each side, of the value that is easiest to track."""
    if not mechanism.values_alike:
        return mechanism.worst_tracking(2 * reports)
    return mechanism.tracking(rounds=range(1, 2 * reports + 1), first=range(1, reports + 1))


def _power(alphas: FloatArray, deltas: FloatArray, weights: FloatArray, rate: float, linked: Pair | None) -> float:
    tried = np.exp(np.linspace(0.0, math.log(1 / rate), _STEPS))
    kinds, counts = np.unique(weights, return_counts=True)
    rest = 1 - np.outer(tried, kinds)
    with np.errstate(divide="ignore"):
        ratio = np.where(rest > 0, tried[:, None] * (1 - kinds) / np.maximum(rest, 1e-300), np.inf)
    # Beyond the last point, δ' is at most its value there.
    apart = np.interp(ratio, alphas, deltas) * np.maximum(rest, 0.0)
    same_value = min(1.0, float(((apart * (kinds * counts)).sum(axis=1) + tried * rate).min()))
    return same_value if linked is None or same_value == 1 else linked.power(same_value).upper
