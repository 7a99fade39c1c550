"""Where a falling function passes 0: few evaluations, and an answer that was seen to be on the asked-for side."""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

_STEPS = 100
_FAR = 5.0
"""How far a step may go at once, in ln x."""
_STRIDE = 1e-3
_SLOPES = (0.125, 8.0)


class Found(NamedTuple):
    """Where it is, and how steeply the function falls there, in ln x."""

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
    close: float,
    keep: Literal["below", "above"],
    slope: float = 1.0,
) -> Found:
    """The largest x with height(x) ≥ 0 (`below`), or the smallest with height(x) ≤ 0 (`above`), to within `close`.

    `height` falls, best nearly as a line in ln x of the given slope: secants until there is a bracket, then
    Chandrupatla's method. It may be infinite, which says no more than on which side the root is. ValueError if no x
    in [low, high] will do.
    """

    def seen(x: float) -> _Point:
        found = height(x)
        return _Point(x, math.log(x), found, found >= 0 if keep == "below" else found <= 0)

    before, here, stride = None, seen(min(max(start, low), high)), min(_STRIDE, close / 2)
    last = high if keep == "below" else low
    while True:
        if before is not None:
            slope = _slope(here, before, slope)
        if here.kept and (here.x == last or (_near(here, before, close) and _straight(here, before))):
            return Found(here.x, slope)
        if before is not None and before.kept != here.kept:
            return _narrowed(seen, here, before, close)
        if not here.kept and here.x == (low if keep == "below" else high):
            raise ValueError(f"not even {here.x:g} is enough")
        up = here.kept == (keep == "below")
        # A hair more than the step, so as to get across; ever more, if that was not enough.
        way = min(max(here.height / slope, -_FAR), _FAR) + (stride if up else -stride)
        stride = min(8 * stride, _FAR)
        before, here = here, seen(min(max(here.x * math.exp(way), low), high))


def _slope(here: _Point, there: _Point, otherwise: float) -> float:
    if here.log == there.log or not math.isfinite(here.height - there.height):
        return otherwise
    return min(_SLOPES[1], max(_SLOPES[0], (there.height - here.height) / (here.log - there.log)))


def _near(here: _Point, there: _Point | None, close: float) -> bool:
    """Whether the line through two points passes 0 within `close` of the first; of a level 0 it says nothing."""
    if there is None or here.height == 0:
        return False
    return abs(here.height * (there.log - here.log)) <= close * abs(here.height - there.height)


def _straight(here: _Point, there: _Point | None) -> bool:
    """Whether the slope is one to expect: the line through a steep curve seems to be at its root far from it."""
    if there is None or here.log == there.log:
        return False
    return _SLOPES[0] <= (there.height - here.height) / (here.log - there.log) <= _SLOPES[1]


def _narrowed(seen: Callable[[float], _Point], here: _Point, there: _Point, close: float) -> Found:
    """The kept end of a bracket once it is narrow (Chandrupatla 1997): inverse parabolas where they are safe."""
    share, third = _crossing(here, there), None
    for _ in range(_STEPS):
        gap = there.log - here.log
        if abs(gap) <= close:
            break
        if here.kept and _near(here, there, close) and _near(here, third, close):  # by both lines
            break
        least = min(0.5, close / (4 * abs(gap)))
        share += 2 * least if there.kept else -2 * least  # a hair towards the kept end, so as to be on that side
        new = seen(math.exp(here.log + min(1 - least, max(least, share)) * gap))
        if new.kept == here.kept:
            third = here
        else:
            third, there = there, here
        here = new
        share = _parabola(here, there, third)
    return Found((here if here.kept else there).x, _slope(here, there, 1.0))


def _crossing(here: _Point, there: _Point) -> float:
    between = here.height - there.height
    return here.height / between if math.isfinite(between) and between else 0.5


def _parabola(here: _Point, there: _Point, third: _Point) -> float:
    """Where x as a parabola in the height passes 0, as a share of the way from here to there; or half."""
    heights = here.height, there.height, third.height
    if not all(map(math.isfinite, heights)) or len(set(heights)) < 3:
        return 0.5
    place = (here.log - there.log) / (third.log - there.log)
    level = (here.height - there.height) / (third.height - there.height)
    if not (level**2 < place and (1 - level) ** 2 < 1 - place):
        return 0.5
    one, two, three = heights
    way = (third.log - here.log) / (there.log - here.log)
    return one / (two - one) * three / (two - three) + way * one / (three - one) * two / (three - two)
