"""Two Gaussians of distance μ: where a search for a budget starts, as sums of many small losses look like them."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

_CLOSE = 1e-9
_START = 1e-4
"""How near a rough search goes."""
_STEPS = 60
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

    `spent` grows with the parameter, much as that of a Gaussian whose shift is proportional to it. So what is solved
    for is where ln(target/shift) passes 0, nearly a line in ln x: by secants until there is a bracket, then by
    Chandrupatla's method. `rough`, about the same and quicker, only says where to start and how steep it is there.
    What is returned was seen to spend at most `delta`.
    """
    target = gaussian_shift(delta, eps)

    def seen(x: float, spent: Callable[[float], float] = spent) -> _Seen:
        now = spent(x)
        left = math.log(target / gaussian_shift(min(max(now, _LEAST), _MOST), eps))
        return _Seen(x, math.log(x), max(left, 0.0) if now <= delta else min(left, -_LEAST), now <= delta)

    slope = 1.0
    if rough is not None:
        found, slope = _searched(partial(seen, spent=rough), min(guess, high), slope, high, _START)
        guess = found or guess
    return _searched(seen, min(guess, high), slope, high, close)[0]


def _searched(
    seen: Callable[[float], "_Seen"], x: float, slope: float, high: float, close: float
) -> tuple[float, float]:
    """The largest that is within the budget, and the slope there."""
    before, here = None, seen(x)
    for _ in range(_STEPS):
        if here.within and (here.x == high or here.left <= close * slope):
            return here.x, slope
        if before is not None and before.within != here.within:
            return _narrowed(seen, here, before, close)
        if before is not None and before.log != here.log:
            slope = _slope(here, before)
        # From above, a hair more than the step, so as to end up below.
        step = max(-1.0, here.left / slope - close / 2) if not here.within else min(1.0, here.left / slope)
        before, here = here, seen(min(high, here.x * math.exp(step)))
    return (here.x if here.within else 0.0), slope


def _slope(here: "_Seen", there: "_Seen") -> float:
    return min(4.0, max(0.25, (there.left - here.left) / (here.log - there.log)))


class _Seen(NamedTuple):
    """A parameter, its logarithm, what is left of the budget there, and whether that is anything."""

    x: float
    log: float
    left: float
    within: bool


def _narrowed(
    seen: Callable[[float], _Seen], here: _Seen, there: _Seen, close: float
) -> tuple[float, float]:
    """The lower end of a bracket once it is narrow (Chandrupatla 1997): inverse parabolas where they are safe."""
    share = here.left / (here.left - there.left)
    for _ in range(_STEPS):
        gap = there.log - here.log
        if abs(gap) <= close or (here.within and here.left * abs(gap) <= close * abs(here.left - there.left)):
            break
        least = min(0.5, close / (4 * abs(gap)))
        share += 2 * least if there.within else -2 * least  # a hair towards the lower end, so as to end up below
        new = seen(math.exp(here.log + min(1 - least, max(least, share)) * gap))
        if new.within == here.within:
            third = here
        else:
            third, there = there, here
        here = new
        place = (here.log - there.log) / (third.log - there.log)
        height = (here.left - there.left) / (third.left - there.left) if third.left != there.left else math.nan
        share = 0.5
        if height**2 < place and (1 - height) ** 2 < 1 - place:
            parabola = here.left / (there.left - here.left) * third.left / (there.left - third.left)
            share = parabola + (third.log - here.log) / (there.log - here.log) * here.left / (
                third.left - here.left
            ) * there.left / (third.left - there.left)
    return (here if here.within else there).x, _slope(here, there)
