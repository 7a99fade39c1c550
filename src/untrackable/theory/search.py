"""Monotone searches in few evaluations: for a root on the requested side, and for an integer or a real number.

An answer was always evaluated and holds, and its neighbour was seen not to.

`largest_parameter` is the largest parameter that a budget allows. It begins with two Gaussians at distance μ
(Gaussian differential privacy), because sums of many small losses look like them.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

_STEPS = 100
"""The largest number of steps that narrow a bracket."""
_FAR = 5.0
"""The longest single step, in ln x."""
_STRIDE = 1e-3
"""The first amount by which a step overshoots, in ln x, so that it passes the root."""
_SLOPES = (0.125, 8.0)
"""The smallest and the largest slope in ln x that is believed."""


class Root(NamedTuple):
    """A root x, and how steeply the function falls there in ln x."""

    x: float
    slope: float


class _Point(NamedTuple):
    x: float
    log: float
    height: float
    kept: bool


def falling_root(
    height: Callable[[float], float],
    start: float,
    *,
    low: float,
    high: float,
    tolerance: float,
    keep: Literal["below", "above"],
    slope: float = 1.0,
) -> Root:
    """The largest x with height(x) ≥ 0 (`keep` is "below"), or the smallest with height(x) ≤ 0 ("above").

    `tolerance` is the allowed error of ln x. `height` falls, ideally almost as a line in ln x with the given slope.
    The search takes secant steps until it has a bracket and then uses Chandrupatla's method. `height` may be
    infinite; that only tells on which side the root lies. ValueError if no x in [low, high] qualifies.
    """

    def evaluate(x: float) -> _Point:
        y = height(x)
        return _Point(x, math.log(x), y, y >= 0 if keep == "below" else y <= 0)

    before, here, stride = None, evaluate(min(max(start, low), high)), min(_STRIDE, tolerance / 2)
    last = high if keep == "below" else low
    while True:
        if before is not None:
            slope = _slope_between(here, before, slope)
        if here.kept and (here.x == last or (_near(here, before, tolerance) and _straight(here, before))):
            return Root(here.x, slope)
        if before is not None and before.kept != here.kept:
            return _narrow(evaluate, here, before, tolerance)
        if not here.kept and here.x == (low if keep == "below" else high):
            raise ValueError(f"there is no root in range: not even {here.x:g} is enough")
        up = here.kept == (keep == "below")
        # Going slightly farther than the secant says gets past the root. If it does not, the next step adds more.
        way = min(max(here.height / slope, -_FAR), _FAR) + (stride if up else -stride)
        stride = min(8 * stride, _FAR)
        before, here = here, evaluate(min(max(here.x * math.exp(way), low), high))


def _slope_between(here: _Point, there: _Point, otherwise: float) -> float:
    if here.log == there.log or not math.isfinite(here.height - there.height):
        return otherwise
    return min(_SLOPES[1], max(_SLOPES[0], (there.height - here.height) / (here.log - there.log)))


def _near(here: _Point, there: _Point | None, tolerance: float) -> bool:
    """Whether the line through two points has its root within `tolerance` of the first point.

    A height of exactly 0 is no evidence, since a function may be 0 on a whole interval.
    """
    if there is None or here.height == 0:
        return False
    return abs(here.height * (there.log - here.log)) <= tolerance * abs(here.height - there.height)


def _straight(here: _Point, there: _Point | None) -> bool:
    """Whether the slope is believable. On a very steep curve, a secant seems to reach the root far from it."""
    if there is None or here.log == there.log:
        return False
    return _SLOPES[0] <= (there.height - here.height) / (here.log - there.log) <= _SLOPES[1]


def _narrow(evaluate: Callable[[float], _Point], here: _Point, there: _Point, tolerance: float) -> Root:
    """Narrow a bracket and return its kept end. Inverse parabolas are used where safe (Chandrupatla 1997)."""
    share, third = _crossing(here, there), None
    for _ in range(_STEPS):
        gap = there.log - here.log
        if abs(gap) <= tolerance:
            break
        if here.kept and _near(here, there, tolerance) and _near(here, third, tolerance):
            break
        least = min(0.5, tolerance / (4 * abs(gap)))
        share += 2 * least if there.kept else -2 * least  # A little towards the kept end.
        new = evaluate(math.exp(here.log + min(1 - least, max(least, share)) * gap))
        if new.kept == here.kept:
            third = here
        else:
            third, there = there, here
        here = new
        share = inverse_parabola(*((point.log, point.height) for point in (here, there, third)))
    return Root((here if here.kept else there).x, _slope_between(here, there, 1.0))


def _crossing(here: _Point, there: _Point) -> float:
    between = here.height - there.height
    return here.height / between if math.isfinite(between) and between else 0.5


def inverse_parabola(here: tuple[float, float], there: tuple[float, float], third: tuple[float, float]) -> float:
    """The zero of the inverse parabola through three points, as a share of the way from `here` to `there`.

    If a parabola is not safe, this is one half (Chandrupatla 1997).
    """
    places, heights = zip(here, there, third, strict=True)
    if not all(map(math.isfinite, heights)) or len(set(heights)) < 3:
        return 0.5
    one, two, three = heights
    position = (places[0] - places[1]) / (places[2] - places[1])
    level = (one - two) / (three - two)
    if not (0 < level < 1 and level**2 < position and (1 - level) ** 2 < 1 - position):
        return 0.5
    way = (places[2] - places[0]) / (places[1] - places[0])
    return one / (two - one) * three / (two - three) + way * one / (three - one) * two / (three - two)


# --- integers and reals -----------------------------------------------------------------------------------

_FIRST_STEP = 1.0 / 64
_POSITIVE = 5e-324
_RESOLVED = 1e-12
"""Relative width that logarithms still tell apart."""


def smallest_integer(excess: Callable[[int], float], start: int, *, low: int, high: int) -> int:
    """The smallest integer in [low, high] with a decreasing `excess` ≤ 0, looked for around `start`.

    `excess` is best nearly a line in ln x. It may be infinite, which says no more than on which side the answer is.
    ValueError if there is none.
    """
    _, above = _turn(excess, start, low, high)
    if above > high:
        raise ValueError(f"not even {high} is enough")
    return above


def largest_integer(excess: Callable[[int], float], start: int, *, low: int, high: int) -> int:
    """The largest integer in [low, high] with an increasing `excess` ≤ 0; ValueError if there is none."""

    def falling(i: int) -> float:
        here = excess(i)
        return -here if here > 0 else max(-here, _POSITIVE)

    below, _ = _turn(falling, start, low, high)
    if below < low:
        raise ValueError(f"not even {low} is small enough")
    return below


def _turn(excess: Callable[[int], float], start: int, low: int, high: int) -> tuple[int, int]:
    """Neighbours between which a decreasing excess stops being positive; low-1 and high+1 are outside."""
    below, above, under, over = low - 1, high + 1, math.inf, -math.inf
    at, stride, step = min(max(start, low), high), _FIRST_STEP, 0
    slope, last, weights = 1.0, (0.0, math.nan), [1.0, 1.0]
    while above - below > 1:
        here, place = excess(at), math.log(at - low + 1)
        if here > 0:
            below, under, weights = at, here, [1.0, weights[1] / 2]
        else:
            above, over, weights = at, here, [weights[0] / 2, 1.0]
        if math.isfinite(here) and math.isfinite(last[1]) and place != last[0]:
            slope = min(8.0, max(0.125, (last[1] - here) / (place - last[0])))
        last, step = (place, here), step + 1
        if below < low or above > high:  # along the line, and a growing stride more
            way = min(max(here / slope, -_FAR), _FAR) + (stride if here > 0 else -stride)
            following = math.ceil((at - low + 1) * math.exp(way)) + low - 1
            stride = min(4 * stride, _FAR)
        else:
            following = (below + above) // 2
            between = under * weights[0] - over * weights[1]
            if step % 4 != 3 and 0 < between < math.inf and above - below > _RESOLVED * above:
                ends = math.log(below - low + 1), math.log(above - low + 1)
                place = ends[0] + under * weights[0] / between * (ends[1] - ends[0])
                following = math.ceil(math.exp(place)) + low - 1
        at = min(max(following, below + 1), above - 1)
    return below, above


# --- the largest parameter that a budget allows -----------------------------------------------------------

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
    """The largest parameter up to `high` whose delta, `spent`, is at most `delta`; 0 if none is slack.

    `spent` grows with the parameter x, roughly like δ(ε) of Gaussians at distance μ proportional to x. So the
    search solves ln(target/μ) = 0, which is nearly a line in ln x. `rough` is a quicker approximation of `spent`.
    It only gives the starting point and the slope. The returned parameter was evaluated and spends at most `delta`.
    It is within about `tolerance` of the largest, relatively.
    """
    target = gaussian_shift(delta, eps)

    def log_slack(x: float, spent: Callable[[float], float] = spent) -> float:
        """ln(target/μ), which is not negative exactly where at most delta is spent."""
        now = spent(x)
        slack = math.log(target / gaussian_shift(min(max(now, _LEAST), _MOST), eps))
        return max(slack, 0.0) if now <= delta else min(slack, -_LEAST)

    def largest(height: Callable[[float], float], start: float, tolerance: float, slope: float = 1.0) -> Root:
        low = _LOWEST * high
        return falling_root(height, start, low=low, high=high, tolerance=tolerance, keep="below", slope=slope)

    try:
        slope = 1.0
        if rough is not None:
            guess, slope = largest(partial(log_slack, spent=rough), guess, _ROUGH_TOLERANCE)
        return largest(log_slack, guess, tolerance, slope).x
    except ValueError:
        return 0.0
