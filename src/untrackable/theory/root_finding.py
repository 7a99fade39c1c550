"""The root of a falling function, found in few evaluations and always on the requested side."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

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
        found = height(x)
        return _Point(x, math.log(x), found, found >= 0 if keep == "below" else found <= 0)

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
    """Where the inverse parabola through three points passes 0, as a share of the way from `here` to `there`.

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
