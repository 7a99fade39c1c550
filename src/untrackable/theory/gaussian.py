"""Two Gaussians of distance μ: where a search for a budget starts, as sums of many small losses look like them."""

import math
from collections.abc import Callable

import numpy as np

_CLOSE = 1e-9
_STEPS = 60


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
    spent: Callable[[float], float], guess: float, *, eps: float, delta: float, high: float, close: float = _CLOSE
) -> float:
    """The largest parameter up to `high` that spends at most `delta`, found nearly as fast as Newton would.

    `spent` grows with the parameter, much as that of a Gaussian whose shift is proportional to it: each step asks
    for the shift that spends as much, and scales. Steps that leave the bracket seen so far bisect it instead. What
    is returned was seen to spend at most `delta`.
    """
    target = gaussian_shift(delta, eps)
    low, top, x = 0.0, math.inf, min(guess, high)
    slope, before = 1.0, (math.nan, math.nan)
    for _ in range(_STEPS):
        now = spent(x)
        low, top = (x, top) if now <= delta else (low, x)
        if low == high or (top < math.inf and top - low <= close * top):
            break
        if 1e-290 < now < 1 - 1e-6:
            left = math.log(target / gaussian_shift(now, eps))
            if before[0] != x and math.isfinite(before[1]):
                slope = min(4.0, max(0.25, (before[1] - left) / math.log(x / before[0])))
            before, step = (x, left), left / slope
        else:
            step = math.log(2) if now <= delta else -math.log(2)
        if now <= delta and step <= close:
            break
        # From above, a hair more than the step, so as to end up below.
        x = min(high, x * math.exp(step if now <= delta else min(0.0, step) - close / 2))
        if not low < x < top:
            x = (low + min(top, high)) / 2
    return low
