"""What an observer learns who sees the reports of a whole crowd, but not who sent which.

One person holds one of two values. There are n people, the person among them, and each sends a report. The law of
the person's report is a mixture of three parts, and everybody else's law contains the same parts. The observer is
granted the part that each report came from. Then only the numbers of reports from each part matter:

    P(a, b, c) = M(a, b, c)/n · (q·a + (q/p)·b + q·c),    Q with a and b exchanged.

M is multinomial: n draws with the probabilities r, r and t, and the rest. This pair dominates the definition,
whatever the others hold. Here its delta is bounded from above, and the bound becomes a factor that rounds multiply.

The parts: let R₀ and R₁ be the laws of the two values, p their largest ratio, β their distance, q their largest
ratio to anybody's law, and α = β/(p-1). Then R₀ = pα·Q₁ + α·Q₂ + s·Q₀ and R₁ = α·Q₁ + pα·Q₂ + s·Q₀, with Q₁ =
(R₀-R₁)⁺/β, Q₂ = (R₁-R₀)⁺/β and s·Q₀ = (p·min(R₀, R₁) - max(R₀, R₁))/(p-1), which is not negative. Anybody's law
is at least max(R₀, R₁)/q = r·Q₁ + r·Q₂ + t·Q₀ with r = pα/q and t = s/q. What a report of a part says has the
same law in both worlds. Given the numbers, those who sent something else are a random set of the others in both
worlds.

Larger p, β and q only make the worlds easier to tell apart. So the largest of each over all pairs of values, taken
one by one, are a bound for every pair. Let E = e^gamma. Delta is the mean of (ΣZ)⁺/n, where the n draws Z are
independent: q·(1-E/p) and -q·(E-1/p) with probability r each, -q·(E-1) with t, and else 0. Their mean is
1-E, whatever p, β and q are. So it suffices that they change by spreads: mass moves away from where it was, to both
sides, with the same mean. Then the mean of every convex function of a sum of them grows.
- β grows: mass leaves -q·(E-1) and 0, and goes to the two outer places.
- q grows: places move away from 0 in proportion, and mass goes to 0 so that the mean stays.
- p grows: the outer places move outward, and what they lose goes to -q·(E-1). Mass times distance from there,
  βE on the upper side and β on the lower, stays.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.theory.factor import FloatArray

LARGEST_CROWD = 10**9
"""The largest crowd."""
RARELY = 0.01
"""The share of rounds that may have too few reports to be published."""
MARGIN = Fraction(1, 20)
"""The share of the people of a crowd that may be missing from a round, unless another is given."""

_NEGLIGIBLE = 1e-20
"""The probability of numbers of reports that are left out, for each number. It is added to delta."""
_ROUNDED = 1 + 1e-9
"""A factor for the rounding errors of probabilities."""


@lru_cache(maxsize=1024)
def fewest_likely_reports(people: int, chance: Fraction) -> int:
    """The largest m such that a round has fewer than m reports with probability at most 1/100.

    Each of n people sends a report with probability c, independently: so it is a quantile of the binomial law of n
    and c (exact, but for rounding). If people differ, with c on average, a round below m is no likelier as long as
    m ≤ nc (Hoeffding 1956, theorem 4).
    """
    from scipy.special import betainc

    low, high = 0, people  # Fewer than `low` are rare enough.
    while low < high:
        middle = (low + high + 1) // 2
        # P(X < m) = P(X ≤ m-1) is the regularised incomplete beta function at 1 - c.
        if betainc(people - middle + 1, middle, float(1 - chance)) <= RARELY:
            low = middle
        else:
            high = middle - 1
    return low


def checked_margin(margin: checks.Chance) -> Fraction:
    """The share of people that may be missing, as a fraction below 1."""
    found = checks.chance("margin", margin)
    if found == 1:
        raise ValueError("margin must be below 1: nobody would take part")
    return found


class Resolution(NamedTuple):
    """Into how many ranges numbers of reports are divided.

    `ranges` are those of the first two parts together, `others` those of the third, for each range of the first.
    """

    ranges: int
    others: int


FINEST = Resolution(192, 64)
"""For small crowds, where numbers of reports vary most in proportion."""
FINE = Resolution(96, 32)
"""For large crowds."""
COARSE = Resolution(32, 12)
"""For many different rounds of large crowds. It takes a quarter of the time."""
_SMALL = 20_000
"""Up to this many people a crowd is small."""


def resolution(people: int, *, sharp: bool = True) -> Resolution:
    """A resolution at which the bound is sharp for a crowd of this size, or nearly so."""
    if people <= _SMALL:
        return FINEST if sharp else FINE
    return FINE if sharp else COARSE


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

    @property
    def numbers(self) -> tuple[float, float, float]:
        """p, β and q."""
        return self.ratio, self.distance, self.other_ratio

    @property
    def chances(self) -> tuple[float, float]:
        """What anybody else sends: a report of the first part (or of the second), and of the third."""
        share = self.distance / (self.ratio - 1)
        rest = max(0.0, 1 - share * (self.ratio + 1))
        return self.ratio * share / self.other_ratio, rest / self.other_ratio

    def shift(self, people: int) -> float:
        """The standard deviation of the loss of one round, to first order in one over the number of people.

        No loss is larger than that of one report, so neither is this.
        """
        square = 2 * self.distance * (self.ratio - 1) * self.other_ratio / self.ratio
        return min(math.sqrt(square / people), math.log(self.ratio))


def crowd_deltas(
    parts: CrowdParts, people: int, gammas: FloatArray, ranges: Resolution | None = None
) -> FloatArray:
    """Delta of one round at each gamma ≥ 0 (upper).

    Let u = a + b, d = a - b, and X the weighted sum (p+1)·q/(2p)·u + q·c. Then P and Q are M/n times X + Y and
    X - Y with Y = (p-1)·q/(2p)·d, and delta is the mean over M of (Y·(1+e^gamma) - X·(e^gamma-1))⁺/n. Given u, d is
    a sum of u fair signs. The mean grows with u in the law of d (a martingale) and falls as X grows. So numbers are
    put into ranges, of which the largest u gives the law of d and the smallest u and c give X. With fewer others
    left, c is smaller; so its law is the one that goes with the largest u of a range.
    """
    people = checks.integer("people", people, low=2, high=LARGEST_CROWD)
    tilt = np.expm1(gammas)
    slope = parts.other_ratio / parts.ratio * (parts.ratio - 1) / 2
    total = np.zeros(gammas.size)
    for end, sums, weights in _ranges(parts, people, ranges or resolution(people)):
        alpha, beta = (slope * (2 + tilt))[:, None], tilt[:, None] * sums
        least, law, above = _signs(end)
        # The smallest number of positive signs that counts, as a place in the tables.
        first = np.clip((beta / alpha + end) / 2 - least, -1, law.size - 2).astype(np.int64) + 1
        mean = law[first] * (first + least) * alpha - beta * above[first]
        total += np.maximum(0.0, mean) @ weights
    return np.minimum(1.0, total / people * _ROUNDED + 8 * _NEGLIGIBLE)


def _signs(count: int) -> tuple[int, FloatArray, FloatArray]:
    """The law of the number of positive signs among this many: the first number, its law, and P(at least).

    Numbers that are rarer than the negligible are left out; P(at least) counts them at the upper end. A number is
    (count - k)/(k + 1) times as likely as the one before it. Their sum is 1, up to the negligible.
    """
    low, high = _reach(np.array([count]), 0.5)[:, 0].tolist()
    middle = count // 2
    larger, smaller = np.arange(middle, high), np.arange(middle, low, -1)
    rising = np.cumprod((count - larger) / (larger + 1))
    falling = np.cumprod(smaller / (count - smaller + 1))
    law = np.concatenate((falling[::-1], [1.0], rising))
    law /= law.sum()
    above = np.cumsum(law[::-1])[::-1]
    return low, law, above


def _ranges(parts: CrowdParts, people: int, most: Resolution) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """The largest u of each range, the smallest X of each range within it, and their probabilities."""
    first, third = parts.chances
    weight = parts.other_ratio / parts.ratio * (parts.ratio + 1) / 2
    lows, highs, masses = (row[0] for row in _split(np.array([people]), 2 * first, most.ranges))
    rest = people - highs.astype(np.int64)
    few, _, shares = _split(rest, third / (1 - 2 * first), most.others)
    for low, left, mass, third_parts, share in zip(lows, rest, masses, few, shares, strict=True):
        if left < people:
            yield int(people - left), weight * low + parts.other_ratio * third_parts, mass * share


def _split(trials: NDArray[np.int64], chance: float, most: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Smallest, largest and probability of ranges of binomial numbers, a row for each number of trials.

    Rare numbers at both ends are left out. Rows with fewer numbers than others end in ranges without probability.
    """
    from scipy.stats import binom

    fixed = trials[:, None].astype(np.float64)
    if chance <= 0 or not trials.any():
        return np.zeros(fixed.shape), np.zeros(fixed.shape), np.ones(fixed.shape)
    if chance >= 1:
        return fixed, fixed, np.ones(fixed.shape)
    low, high = _reach(trials, chance)
    size = int(min(most, (high - low).max() + 1))
    wide = (high - low + 1)[:, None]
    spread = (_shares(size) * wide).astype(np.int64)
    edges = low[:, None] + np.where(wide <= size, np.minimum(np.arange(size + 1), wide), spread)
    # Each edge has the smaller of its two tails: P(less than it) below the mean, and -P(at least it) above.
    every = np.broadcast_to(trials[:, None], edges.shape)
    lower = edges <= every * chance
    tails = np.empty(edges.shape)
    tails[lower] = binom.cdf(edges[lower] - 1, every[lower], chance)
    tails[~lower] = -binom.sf(edges[~lower] - 1, every[~lower], chance)
    mass = np.diff(tails, axis=1) + (lower[:, :-1] & ~lower[:, 1:])
    lowest, highest = edges[:, :-1].astype(np.float64), edges[:, 1:].astype(np.float64) - 1
    return lowest, np.maximum(lowest, highest), np.maximum(mass, 0.0)


def _shares(size: int) -> FloatArray:
    """Where ranges begin and end, as shares of the whole. Those in the middle, which are likely, are narrow."""
    edges: FloatArray = (1 + np.sinh(3 * np.linspace(-1, 1, size + 1)) / np.sinh(3.0)) / 2
    return edges


def _reach(trials: NDArray[np.int64], chance: float) -> NDArray[np.int64]:
    """Numbers between which binomial numbers lie, except with the negligible probability on either side.

    By Bernstein's inequality: a deviation of x has a probability of at most exp(-x²/(2(v + x/3))).
    """
    rare, mean = -math.log(_NEGLIGIBLE), trials * chance
    far = rare / 3 + np.sqrt(rare**2 / 9 + 2 * mean * (1 - chance) * rare)
    # In world P, one of the people is the person, who may add 1 to each number.
    ends = np.maximum(0, np.floor(mean - far) - 1), np.minimum(trials, np.ceil(mean + far) + 1)
    return np.array(ends, dtype=np.int64)
