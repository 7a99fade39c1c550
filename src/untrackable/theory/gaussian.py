"""Two Gaussians at distance μ. Sums of many small losses look like them, so a search for a budget starts here."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from untrackable.theory.root_finding import Root, falling_root

_TOLERANCE = 1e-9
"""The relative precision of the parameter, unless the caller asks for another."""
_ROUGH_TOLERANCE = 1e-4
"""The relative precision of the rough search that finds a starting point."""
_LOWEST = 1e-18
"""The search stops at this share of the highest parameter."""
_LEAST, _MOST = 1e-280, 1 - 1e-6
"""The range of deltas from which the distance of two Gaussians can be computed."""


def gaussian_delta(shift: float, eps: float) -> float:
    """δ(ε) of N(0, 1) against N(μ, 1), which is Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ)."""
    from scipy.special import log_ndtr, ndtr

    return float(ndtr(shift / 2 - eps / shift) - np.exp(eps + log_ndtr(-shift / 2 - eps / shift)))


def gaussian_shift(delta: float, eps: float) -> float:
    """The distance μ at which δ(ε) of N(0, 1) against N(μ, 1) is `delta`."""
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
    tolerance: float = _TOLERANCE,
    rough: Callable[[float], float] | None = None,
) -> float:
    """The largest parameter up to `high` whose delta, `spent`, is at most `delta`; 0 if none is found.

    `spent` grows with the parameter x, roughly like δ(ε) of Gaussians at distance μ proportional to x. So the
    search solves ln(target/μ) = 0, which is nearly a line in ln x. `rough` is a quicker approximation of `spent`.
    It only gives the starting point and the slope. The returned parameter was evaluated and spends at most `delta`.
    It is within about `tolerance` of the largest, relatively.
    """
    target = gaussian_shift(delta, eps)

    def log_slack(x: float, spent: Callable[[float], float] = spent) -> float:
        """ln(target/μ), which is not negative exactly where at most delta is spent."""
        now = spent(x)
        found = math.log(target / gaussian_shift(min(max(now, _LEAST), _MOST), eps))
        return max(found, 0.0) if now <= delta else min(found, -_LEAST)

    def largest(slack: Callable[[float], float], start: float, tolerance: float, slope: float = 1.0) -> Root:
        low = _LOWEST * high
        return falling_root(slack, start, low=low, high=high, tolerance=tolerance, keep="below", slope=slope)

    try:
        slope = 1.0
        if rough is not None:
            guess, slope = largest(partial(log_slack, spent=rough), guess, _ROUGH_TOLERANCE)
        return largest(log_slack, guess, tolerance, slope).x
    except ValueError:
        return 0.0
