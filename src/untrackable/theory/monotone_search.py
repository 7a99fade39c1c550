"""Monotone searches that keep a bracket: the answer holds, and the next one was seen not to."""

import math
from collections.abc import Callable

from untrackable.theory.root_finding import falling_root

_STRIDE = 1.0 / 64
_FAR = 5.0
"""How far a step may go at once, in ln x."""
_POSITIVE = 5e-324
_RESOLVED = 1e-12
"""Relative width that logarithms still tell apart."""
_CLOSE = 1e-7
"""Relative width at which a search for a real number ends."""


def smallest_integer(excess: Callable[[int], float], start: int, *, low: int, high: int) -> int:
    """The smallest integer in [low, high] with a decreasing `excess` ≤ 0, looked for around `start`.

    As with `smallest_real`, `excess` is best nearly a line in ln x. It may be infinite, which says no more than on
    which side the answer is. ValueError if there is none.
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
    at, stride, step = min(max(start, low), high), _STRIDE, 0
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
    return falling_root(excess, start, low=low, high=high, tolerance=close, keep="above", slope=slope).x
