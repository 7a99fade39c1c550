"""A crowd's round as a law of losses, with the standard library alone, rounded so that it is always an upper bound.

`crowd_counts` has the theorem: one person's two values are hidden among n people, and only the numbers of reports
of each part matter. Here the same pair of worlds is bounded by shorter sums. Let u be the number of reports of the
first two parts and d their difference, which is a sum of u fair signs. Delta at γ is the mean of

    (Y·(1+e^γ) - X·(e^γ-1))⁺/n  with  Y = (p-1)·q/(2p)·d,  X = (p+1)·q/(2p)·u + Z,  Z = q·c + e,

over n independent people. It grows with u in the law of d and falls as u grows in X, so u is put into ranges. It
is a convex function of Z, which is a sum of n-u independent numbers between 0 and q. So Z may be replaced by q
times a binomial number with the same mean (Hoeffding 1963), and that by a number on a coarse grid with the same
mean.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from untrackable.theory.integer_losses import LossLaw

_FINE = 8
"""The law has this many losses for each standard deviation of a round's loss."""
_FARTHEST = 14
"""After this many standard deviations, losses are coarser."""
_MOST_STEPS = 1 << 13
"""Losses beyond this many steps count as infinite."""
_ENOUGH = 1e-19
"""Where delta has fallen to this, larger losses are infinite too."""
_NEGLIGIBLE = 1e-22
"""The probability of numbers of reports that are left out, for each number. It is added to delta."""
_NARROW = 1 / 512
"""The numbers u of a range differ by at most this share of them, unless there are too many ranges."""
_MOST_RANGES = 96
_TOGETHER = 1 << 13
"""The number of people outside a range is rounded down to a multiple of this part of all people."""
_NODES = 24
"""The number of places on which Z may lie, for each range of u."""
_ROUNDED = 1 + 1e-7
"""A factor for the rounding errors of probabilities."""

_Table = list[float]


@lru_cache(maxsize=64)
def rounds_law(
    ratio: float, distance: float, other_ratio: float, people: int, participation: Fraction, rounds: int
) -> LossLaw:
    """So many rounds of a crowd, as `crowd_law` has one of them (upper)."""
    return crowd_law(ratio, distance, other_ratio, people, participation) ** rounds


@lru_cache(maxsize=32)
def crowd_law(ratio: float, distance: float, other_ratio: float, people: int, participation: Fraction) -> LossLaw:
    """One round of a crowd of this many enrolled people (upper).

    `ratio` is the largest ratio of the reports of two values (p), `distance` their total variation distance, and
    `other_ratio` their largest ratio to anybody's reports (q).
    """
    present = float(participation)
    variance = 2 * distance * (ratio - 1) * other_ratio / ratio * present / people
    largest = math.log(ratio)
    step = min(largest, math.sqrt(variance) / _FINE)
    positions = _positions(math.ceil(largest / step))
    gammas = [position * step for position in positions]
    deltas = _deltas(ratio, distance, other_ratio, people, present, gammas)
    if gammas[-1] >= largest:
        deltas[-1] = 0.0  # The crowd adds nothing to the ratio of two reports.
    needed = next((i for i, delta in enumerate(deltas) if delta <= _ENOUGH), len(deltas) - 1) + 1
    return LossLaw.profile(step, dict(zip(positions[:needed], deltas[:needed], strict=True)))


def _positions(last: int) -> list[int]:
    """The multiples of the step at which delta is computed: all of the first ones, and then ever fewer."""
    found = list(range(min(last, _FINE * _FARTHEST) + 1))
    while found[-1] < min(last, _MOST_STEPS):
        found.append(min(last, found[-1] + found[-1] // 4))
    return found


def _deltas(
    ratio: float, distance: float, other_ratio: float, people: int, present: float, gammas: list[float]
) -> list[float]:
    """Delta at each gamma (upper)."""
    share = distance / (ratio - 1)
    first = present * ratio * share / other_ratio
    third = present * max(0.0, 1 - share * (ratio + 1)) / other_ratio
    others = min(1.0, (third + (1 - present) / other_ratio) / (1 - 2 * first)) if first < 0.5 else 0.0
    slope, weight = (other_ratio * (ratio + sign) / (2 * ratio) for sign in (-1, 1))
    tilts, unit = [math.expm1(gamma) for gamma in gammas], max(1, people // _TOGETHER)
    totals = [0.0] * len(gammas)
    for low, high, chance in _ranges(people, 2 * first):
        signs = _Signs(high)
        # Fewer people can only reveal more, and so a table serves several ranges.
        nodes = [
            (weight * low + other_ratio * z, mass) for z, mass in _nodes((people - high) // unit * unit, others)
        ]
        for i, tilt in enumerate(tilts):
            scale = slope * (2 + tilt)
            totals[i] += chance * scale * signs.mean_above(nodes, tilt, scale)
    rare = 4 * _NEGLIGIBLE
    return [
        min(1.0, total / people * _ROUNDED + rare * (2 + tilt)) for total, tilt in zip(totals, tilts, strict=True)
    ]


class _Signs:
    """The difference d of a number of fair signs, and the mean of what is above a number."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._low, law = _binomial(count, 0.5)
        self._above: _Table = list(accumulate(reversed(law)))[::-1]
        self._mean: _Table = [0.0, *accumulate(reversed(self._above[1:]))][::-1]

    def mean_above(self, nodes: list[tuple[float, float]], tilt: float, scale: float) -> float:
        """The mean of (d - tilt·x/scale)⁺ over all nodes x with their probabilities, in rising order.

        A difference is twice the number of positive signs, less their count.
        """
        count, start, above, mean = self._count, self._low - 1, self._above, self._mean
        total = 0.0
        for x, mass in nodes:
            limit = tilt * x / scale
            place = max(0, math.floor((count + limit) / 2) - start)
            if place >= len(above):
                break  # No difference is above the limit, and none is above a larger one.
            nearest = 2 * (place + start + 1) - count - limit
            total += mass * (2 * mean[place] + nearest * above[place])
        return total


def _ranges(trials: int, chance: float) -> Iterator[tuple[int, int, float]]:
    """Smallest number, largest number and probability of ranges of a binomial number above 0."""
    start, law = _binomial(trials, chance)
    stop = start + len(law)
    wide = max(1, math.floor(_NARROW * trials * chance), math.ceil(len(law) / _MOST_RANGES))
    for low in range(start, stop, wide):
        high = min(low + wide, stop) - 1
        if high:
            yield low, high, math.fsum(law[low - start : high - start + 1])


@lru_cache(maxsize=8)
def _nodes(trials: int, chance: float) -> list[tuple[float, float]]:
    """A coarse law that is spread more widely than a binomial number around the same mean.

    Each number is split between the two nodes beside it. The numbers that are left out count as 0.
    """
    start, law = _binomial(trials, chance)
    wide = max(1, math.ceil((len(law) - 1) / (_NODES - 1)))
    masses = [0.0] * (-(-(len(law) - 1) // wide) + 1)
    for node in range(len(masses) - 1):
        cell = law[node * wide : (node + 1) * wide]
        upper = math.fsum(mass * i for i, mass in enumerate(cell)) / wide
        masses[node] += math.fsum(cell) - upper
        masses[node + 1] += upper
    last = law[(len(masses) - 1) * wide :]
    masses[-1] += math.fsum(last)
    found = [(float(start + node * wide), mass) for node, mass in enumerate(masses) if mass > 0]
    return [(0.0, 2 * _NEGLIGIBLE), *found]


def _binomial(trials: int, chance: float) -> tuple[int, _Table]:
    """The first number and the probabilities of a binomial number, without rare ones at both ends.

    By Bernstein's inequality, a deviation of x has a probability of at most exp(-x²/(2(v + x/3))). Probabilities
    follow from each other, from the most likely number outwards, and are divided by their sum, which makes them
    larger.
    """
    if chance <= 0 or trials <= 0:
        return 0, [1.0]
    if chance >= 1:
        return trials, [1.0]
    rare, mean = -math.log(_NEGLIGIBLE), trials * chance
    far = rare / 3 + math.sqrt(rare**2 / 9 + 2 * mean * (1 - chance) * rare)
    # In the person's world, the person may add 1 to each number.
    low, high = max(0, math.floor(mean - far) - 1), min(trials, math.ceil(mean + far) + 1)
    middle, odds = min(high, max(low, math.floor((trials + 1) * chance))), chance / (1 - chance)
    up = [1.0]
    for number in range(middle, high):
        up.append(up[-1] * (trials - number) / (number + 1) * odds)
    down = [1.0]
    for number in range(middle, low, -1):
        down.append(down[-1] * number / (trials - number + 1) / odds)
    law = down[:0:-1] + up
    whole = math.fsum(law)
    return low, [mass / whole for mass in law]
