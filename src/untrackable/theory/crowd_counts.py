"""What an observer learns who sees the reports of a whole crowd, but not who sent which.

One person holds one of two values. There are n enrolled people, the person among them. The law of the person's
report is a mixture of three parts, and everybody else's law contains the same parts. The observer is granted the
part that each report came from. Then only the numbers of reports from each part matter:

    P(a, b, c, e) = M(a, b, c, e)/n · (q·a + (q/p)·b + q·c + e),    Q with a and b exchanged.

M is multinomial: n draws with the probabilities ρr, ρr, ρt and 1-ρ, and the rest. This pair dominates the
definition, whatever the others hold. Here its delta is bounded from above, and the bound becomes a factor that
rounds multiply.

The parts: let R₀ and R₁ be the laws of the two values, p their largest ratio, β their distance, q their largest
ratio to anybody's law, and α = β/(p-1). Then R₀ = pα·Q₁ + α·Q₂ + s·Q₀ and R₁ = α·Q₁ + pα·Q₂ + s·Q₀, with Q₁ =
(R₀-R₁)⁺/β, Q₂ = (R₁-R₀)⁺/β and s·Q₀ = (p·min(R₀, R₁) - max(R₀, R₁))/(p-1), which is not negative. Anybody's law
is at least max(R₀, R₁)/q = r·Q₁ + r·Q₂ + t·Q₀ with r = pα/q and t = s/q. What a report of a part says has the
same law in both worlds. Given the numbers, those who sent something else are a random set of the others in both
worlds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from untrackable import checks
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.dominating_experiment import chords_factor
from untrackable.theory.factor import Factor, FloatArray

LARGEST_CROWD = 10**9
"""The largest crowd."""

_NEGLIGIBLE = 1e-20
"""The probability of numbers of reports that are left out, for each number. It is added to delta."""
_RANGES = 96
"""The number of reports of the first two parts is divided into at most this many ranges."""
_OTHER_RANGES = 32
"""The same for the reports of the third part, and for those who are absent."""
_SUMS = 24
"""The weighted sum of all reports is divided into at most this many ranges, for each range of the first."""
_FINE = 32
"""The grid of losses has this many points for each standard deviation of a round's loss."""
_MOST_POINTS = 4096
"""The largest number of points of that grid."""
_FARTHEST = 14
"""The grid ends after this many standard deviations."""
_ENOUGH = 1e-18
"""Where delta has fallen to this, no larger gamma is looked at."""
_ROUNDED = 1 + 1e-9
"""A factor for the rounding errors of probabilities."""


@dataclass(frozen=True, slots=True)
class CrowdParts:
    """How the reports of two values differ, and how far everybody else's reports can be from them.

    `ratio` is the largest ratio of the two laws, in both directions (p). `distance` is their total variation
    distance (β). `other_ratio` is the largest ratio of either of them to anybody's law (q).
    """

    ratio: float
    distance: float
    other_ratio: float

    def __post_init__(self) -> None:
        if not (self.ratio > 1 and 0 < self.distance <= (self.ratio - 1) / (self.ratio + 1) * (1 + 1e-12)):
            raise ValueError("the distance must be positive and fit to the ratio")
        if not self.other_ratio >= 1:
            raise ValueError("the ratio to other laws must be at least 1")

    def chances(self, participation: Fraction) -> tuple[float, float, float]:
        """What anybody else sends: a report of the first part (or of the second), of the third, or nothing."""
        share = self.distance / (self.ratio - 1)
        rest = max(0.0, 1 - share * (self.ratio + 1))
        present = float(participation)
        return present * self.ratio * share / self.other_ratio, present * rest / self.other_ratio, 1 - present

    def shift(self, people: int, participation: Fraction) -> float:
        """The standard deviation of the loss of one round, to first order in one over the number of people."""
        square = 2 * self.distance * (self.ratio - 1) * self.other_ratio / self.ratio
        return math.sqrt(square * float(participation) / people)


def crowd_factor(parts: CrowdParts, people: int, participation: Fraction = EVERY_ROUND) -> Factor:
    """One round of a crowd of this many enrolled people, as a factor that dominates it (upper)."""
    people = checks.integer("people", people, low=2, high=LARGEST_CROWD)
    step = parts.shift(people, participation) / _FINE
    largest = math.log(parts.ratio)
    points = min(_MOST_POINTS, math.ceil(largest / step), _FINE * _FARTHEST)
    gammas = np.append(np.arange(points) * step, min(largest, points * step))
    deltas = crowd_deltas(parts, people, gammas, participation)
    needed = int(np.searchsorted(-deltas, -_ENOUGH)) + 1
    gammas, deltas = gammas[:needed], deltas[:needed]
    return chords_factor(gammas, np.minimum.accumulate(deltas))


def crowd_deltas(parts: CrowdParts, people: int, gammas: FloatArray, participation: Fraction) -> FloatArray:
    """Delta of one round at each gamma ≥ 0 (upper).

    Let u = a + b, d = a - b, and X the weighted sum (p+1)·q/(2p)·u + q·c + e. Then P and Q are M/n times X + Y and
    X - Y with Y = (p-1)·q/(2p)·d, and delta is the mean over M of (Y·(1+e^gamma) - X·(e^gamma-1))⁺/n. Given u, d is
    a sum of u fair signs. The mean grows with u in the law of d (a martingale) and falls as X grows. So numbers are
    put into ranges, of which the largest u gives the law of d and the smallest u, c and e give X. With fewer others
    left, c and e are smaller; so their laws are those that go with the largest u and c of a range.
    """
    tilt = np.expm1(gammas)
    slope = parts.other_ratio / parts.ratio * (parts.ratio - 1) / 2
    total = np.zeros(gammas.size)
    for end, sums, weights in _ranges(parts, people, participation):
        alpha, beta = (slope * (2 + tilt))[:, None], tilt[:, None] * sums
        least, law, above = _signs(end)
        # The smallest number of positive signs that counts, as a place in the tables.
        first = np.clip((beta / alpha + end) / 2 - least, -1, law.size - 2).astype(np.int64) + 1
        mean = law[first] * (first + least) * alpha - beta * above[first]
        total += np.maximum(0.0, mean) @ weights
    return np.minimum(1.0, total / people * _ROUNDED + 8 * _NEGLIGIBLE)


def _signs(count: int) -> tuple[int, FloatArray, FloatArray]:
    """The law of the number of positive signs among this many: the first number, its law, and P(at least).

    Numbers that are rarer than the negligible are left out; P(at least) counts them at the upper end.
    """
    from scipy.stats import binom

    low, high = _reach(count, 0.5)
    numbers = np.arange(low, high + 1)
    law = binom.pmf(numbers, count, 0.5)
    above = np.cumsum(law[::-1])[::-1]
    return low, law, above


def _ranges(
    parts: CrowdParts, people: int, participation: Fraction
) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """The largest u of each range, the smallest X of each range within it, and their probabilities."""
    first, third, absent = parts.chances(participation)
    weight = parts.other_ratio / parts.ratio * (parts.ratio + 1) / 2
    for low, high, mass in zip(*_split(people, 2 * first, _RANGES), strict=True):
        rest = people - int(high)
        sums, masses = [], []
        for few, many, share in zip(*_split(rest, third / (1 - 2 * first), _OTHER_RANGES), strict=True):
            gone = min(1.0, absent / (1 - 2 * first - third)) if absent else 0.0
            out, _, part = _split(rest - int(many), gone, _OTHER_RANGES)
            sums.append(weight * low + parts.other_ratio * few + out)
            masses.append(mass * share * part)
        if high:
            yield int(high), *_collapsed(np.concatenate(sums), np.concatenate(masses))


def _split(trials: int, chance: float, most: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Smallest, largest and probability of ranges of a binomial number. Rare numbers at both ends are left out."""
    from scipy.stats import binom

    if chance <= 0 or trials == 0:
        return np.zeros(1), np.zeros(1), np.ones(1)
    if chance >= 1:
        return np.full(1, float(trials)), np.full(1, float(trials)), np.ones(1)
    low, high = _reach(trials, chance)
    edges = np.unique(np.linspace(low, high + 1, min(most, high - low + 1) + 1).astype(np.int64))
    below, above = binom.cdf(edges - 1, trials, chance), binom.sf(edges - 1, trials, chance)
    mass = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    lowest, highest = (numbers.astype(np.float64) for numbers in (edges[:-1], edges[1:] - 1))
    return lowest, highest, np.maximum(mass, 0.0).astype(np.float64)


def _reach(trials: int, chance: float) -> tuple[int, int]:
    """Numbers between which a binomial number lies, except with the negligible probability on either side.

    By Bernstein's inequality: a deviation of x has a probability of at most exp(-x²/(2(v + x/3))).
    """
    rare, mean = -math.log(_NEGLIGIBLE), trials * chance
    far = rare / 3 + math.sqrt(rare**2 / 9 + 2 * mean * (1 - chance) * rare)
    # In world P, one of the people is the person, who may add 1 to each number.
    return max(0, math.floor(mean - far) - 1), min(trials, math.ceil(mean + far) + 1)


def _collapsed(sums: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most `_SUMS` ranges of sums, each with its smallest sum and its probability."""
    if sums.size <= _SUMS:
        return sums, masses
    edges = np.linspace(sums.min(), sums.max(), _SUMS + 1)
    place = np.clip(np.searchsorted(edges, sums, side="right") - 1, 0, _SUMS - 1)
    total = np.bincount(place, masses, minlength=_SUMS).astype(np.float64)
    smallest: FloatArray = np.full(_SUMS, np.inf)
    np.minimum.at(smallest, place, sums)
    seen = total > 0
    return smallest[seen], total[seen]
