"""Monotone searches that keep a bracket: the answer holds, and the next one was seen not to."""

import math
from collections.abc import Callable

_STRIDE = 1.0 / 64
_FAR = 5.0
"""How far a step may go at once, in ln x."""
_STRETCH = 1e-3
_CLOSE = 1e-7
"""Relative width at which a search for a real number ends."""


def smallest_integer(holds: Callable[[int], bool], start: int, *, low: int, high: int) -> int:
    """The smallest integer in [low, high] from which on `holds`, looked for around `start`; ValueError if none."""
    _, above = _turn(holds, start, low, high)
    if above > high:
        raise ValueError(f"not even {high} is enough")
    return above


def largest_integer(holds: Callable[[int], bool], start: int, *, low: int, high: int) -> int:
    """The largest integer in [low, high] up to which `holds`; ValueError if there is none."""
    below, _ = _turn(lambda i: not holds(i), start, low, high)
    if below < low:
        raise ValueError(f"not even {low} is small enough")
    return below


def _turn(later: Callable[[int], bool], start: int, low: int, high: int) -> tuple[int, int]:
    """Neighbours between which a condition that holds from somewhere on begins; low-1 and high+1 are outside."""
    below, above = low - 1, high + 1
    at = min(max(start, low), high)
    step = max(1, int(at * _STRIDE))
    while above - below > 1:
        if later(at):
            above = at
            seen, at = below >= low, at - step
        else:
            below = at
            seen, at = above <= high, at + step
        step *= 4
        if seen or not below < at < above:  # both sides are known, or the end of the range is near
            at = (below + above) // 2 if seen else min(max(at, below + 1), above - 1)
    return below, above


def smallest_real(
    excess: Callable[[float], float],
    start: float,
    *,
    low: float,
    high: float,
    close: float = _CLOSE,
    slope: float = 1.0,
) -> float:
    """The smallest x in [low, high] with a decreasing `excess(x)` ≤ 0, to within `close` and on the safe side.

    `excess` is best a logarithm that is nearly a line in ln x, falling as `slope`·ln x: then a few steps do.
    ValueError if there is none.
    """
    x = min(max(start, low), high)
    lower: tuple[float, float] | None = None
    upper: tuple[float, float] | None = None
    stride = _STRETCH
    while lower is None or upper is None:
        at = excess(x)
        if at > 0:
            lower = (x, at)
            if x == high:
                raise ValueError(f"not even {high:g} is enough")
            x = min(high, x * math.exp(min(at / slope, _FAR) + stride))
        else:
            upper = (x, at)
            if x == low:
                return low
            x = max(low, x * math.exp(max(at / slope, -_FAR) - stride))
        stride *= 3
    return _narrowed(excess, lower, upper, close)


def _narrowed(
    excess: Callable[[float], float], lower: tuple[float, float], upper: tuple[float, float], close: float
) -> float:
    """The upper end of a bracket once it is narrow: the Illinois method on ln x, with a bisection now and then."""
    weights = [1.0, 1.0]
    for step in range(200):
        if upper[0] - lower[0] <= close * upper[0]:
            break
        share = 0.5
        if step % 4 != 3 and upper[1] < 0:
            above, below = lower[1] * weights[0], -upper[1] * weights[1]
            share = above / (above + below)
        x = lower[0] * (upper[0] / lower[0]) ** min(1 - 1e-9, max(1e-9, share))
        # A hair towards the other end, so that the bracket closes from both sides.
        x = min(max(x, lower[0] * (1 + close / 4)), upper[0] * (1 - close / 4))
        at = excess(x)
        if at > 0:
            lower, weights = (x, at), [1.0, weights[1] / 2]
        else:
            upper, weights = (x, at), [weights[0] / 2, 1.0]
    return upper[0]
