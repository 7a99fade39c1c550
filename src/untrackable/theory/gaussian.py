"""Two Gaussians of distance μ: where a search for a budget starts, as sums of many small losses look like them."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from untrackable.theory.root_finding import Found, falling_root

_CLOSE = 1e-9
_START = 1e-4
"""How near a rough search goes."""
_LOWEST = 1e-18
"""Of the highest parameter, the share below which none is looked for."""
_LEAST, _MOST = 1e-280, 1 - 1e-6
"""Probabilities between which a shift can be told from them."""


def gaussian_delta(shift: float, eps: float) -> float:
    """δ(ε) of N(0, 1) against N(μ, 1): Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ)."""
    from scipy.special import log_ndtr, ndtr

    return float(ndtr(shift / 2 - eps / shift) - np.exp(eps + log_ndtr(-shift / 2 - eps / shift)))


def gaussian_shift(delta: float, eps: float) -> float:
    """The μ at which δ(ε) is `delta`."""
    from scipy.optimize import brentq

    highest = 60 + 3 * math.sqrt(eps)
    return float(brentq(lambda m: math.log(max(gaussian_delta(m, eps), 1e-300) / delta), 1e-12, highest))


def largest_parameter(
    spent: Callable[[float], float],
    guess: float,
    *,
    eps: float,
    delta: float,
    high: float,
    close: float = _CLOSE,
    rough: Callable[[float], float] | None = None,
) -> float:
    """The largest parameter up to `high` that spends at most `delta`, to within about `close`; 0 if none is seen.

    `spent` grows with the parameter, much as that of a Gaussian whose shift is proportional to it. So what is
    solved for is where ln(target/shift) passes 0, nearly a line in ln x. `rough`, about the same and quicker, only
    says where to start and how steep it is there. What is returned was seen to spend at most `delta`.
    """
    target = gaussian_shift(delta, eps)

    def left(x: float, spent: Callable[[float], float] = spent) -> float:
        """Of the shift, in logarithms: not negative exactly where at most delta is spent."""
        now = spent(x)
        found = math.log(target / gaussian_shift(min(max(now, _LEAST), _MOST), eps))
        return max(found, 0.0) if now <= delta else min(found, -_LEAST)

    def largest(left: Callable[[float], float], start: float, close: float, slope: float = 1.0) -> Found:
        return falling_root(left, start, low=_LOWEST * high, high=high, close=close, keep="below", slope=slope)

    try:
        slope = 1.0
        if rough is not None:
            guess, slope = largest(partial(left, spent=rough), guess, _START)
        return largest(left, guess, close, slope).x
    except ValueError:
        return 0.0
