"""Privacy in a crowd: the observer sees all reports, but not who sent which. It is the shuffle model.

One person holds one of two values. There are n people, the person among them, and each sends a report.
`crowd_upper` bounds what is learned in many rounds from above, whatever the others hold. `crowd_lower` is what an
observer certainly learns if all others hold one and the same value. Plain bits have a sharper bound (`crowd_bit`),
and one-bit answers among people of whom some are secretly absent (`crowd_absent`).
A round becomes a factor whose losses are multiples of one step that all rounds have in common. Losses on a lattice
are composed in every digit, so a delta of 1e-12 is as sharp as one of 1e-3.

From above: the law of the person's report is a mixture of three parts, and everybody else's law contains the same
parts. The observer is granted the part that each report came from. Then only the numbers of reports from each part
matter:

    P(a, b, c) = M(a, b, c)/n · (q·a + (q/p)·b + q·c),    Q with a and b exchanged.

M is multinomial: n draws with the probabilities r, r and t, and the rest. This pair dominates the definition,
whatever the others hold.

The parts: let R₀ and R₁ be the laws of the two values, p their largest ratio, β their distance, q their largest
ratio to anybody's law, and α = β/(p-1). Then R₀ = pα·Q₁ + α·Q₂ + s·Q₀ and R₁ = α·Q₁ + pα·Q₂ + s·Q₀, with Q₁ =
(R₀-R₁)⁺/β, Q₂ = (R₁-R₀)⁺/β and s·Q₀ = (p·min(R₀, R₁) - max(R₀, R₁))/(p-1), which is not negative. Anybody's law is
at least max(R₀, R₁)/q = r·Q₁ + r·Q₂ + t·Q₀ with r = pα/q and t = s/q. The content of a report of one part has the
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

From below: everybody else holds one value, a third if there is one. The observer counts the reports of a few
classes and looks at one number only, D: a weighted sum of the counts, with whole weights. Nothing is bounded, so
this is a pair of worlds that exists, seen by an observer who does not look at everything. Let c₀, c₁, c₂ be the
probabilities of a class, of weight w, for the two values and the third. If the n-1 others make D = d with
probability f(d), then the two worlds make it with

    P(d) = (1 - Σ c₀)·f(d) + Σ c₀·f(d-w),    Q(d) = the same with c₁.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.theory.crowd_absent import CrowdAbsent
from untrackable.theory.crowd_bit import CrowdBit
from untrackable.theory.experiment import Certainty, Experiment, chords_factor
from untrackable.theory.factor import MACHINE_EPSILON, Factor, log_ratio

LARGEST_CROWD = 10**9
"""The largest crowd."""
RARELY = 0.01
"""The share of rounds that may have too few reports to be published."""
MARGIN = Fraction(1, 20)
"""The share of the people of a crowd that may be missing from a round, unless another is given."""
_ROUNDED_UP = 1 + 1e-9
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
    share = checks.chance("margin", margin)
    if share == 1:
        raise ValueError("margin must be below 1: nobody would take part")
    return share


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
        """The probabilities of a report of the first part (or of the second), and of the third, by anybody else."""
        share = self.distance / (self.ratio - 1)
        rest = max(0.0, 1 - share * (self.ratio + 1))
        return self.ratio * share / self.other_ratio, rest / self.other_ratio

    @property
    def largest(self) -> float:
        """The largest loss."""
        return math.log(self.ratio)

    def joined(self, other: "CrowdParts") -> "CrowdParts":
        """Parts that dominate both: the largest of each kind, because delta grows with all of them."""
        return CrowdParts(*(max(values) for values in zip(self.numbers, other.numbers, strict=True)))

    def deltas(self, people: int, gammas: FloatArray, *, sharp: bool = True) -> FloatArray:
        """Delta of one round at each gamma ≥ 0 (upper)."""
        return crowd_deltas(self, people, gammas, resolution(people, sharp=sharp))

    def shift(self, people: int) -> float:
        """The standard deviation of the loss of one round, to first order in one over the number of people.

        No loss is larger than that of one report, so neither is this.
        """
        square = 2 * self.distance * (self.ratio - 1) * self.other_ratio / self.ratio
        return min(math.sqrt(square / people), math.log(self.ratio))


@dataclass(frozen=True, slots=True)
class CrowdClasses:
    """The probabilities of classes of reports, for the two values of a person and for the value of all others.

    Only classes that the two values give different probabilities are listed.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    others: tuple[float, ...]

    @property
    def mirrored(self) -> bool:
        """Whether exchanging the two values changes nothing but the order of the classes."""
        rows = list(zip(self.first, self.second, self.others, strict=True))
        return sorted(rows) == sorted((second, first, other) for first, second, other in rows)

    def shift(self, people: int) -> float:
        """The standard deviation of the loss of one round, to first order in one over the number of people.

        No loss is larger than that of one report, so neither is this.
        """
        rows = zip(self.first, self.second, self.others, strict=True)
        square = math.fsum((first - second) ** 2 / other for first, second, other in rows)
        largest = max(math.log(first / second) for first, second in zip(self.first, self.second, strict=True))
        return min(math.sqrt(square / people), largest)


# --- many rounds, composed --------------------------------------------------------------------------------

_POINTS = 320
"""The standard deviation of the loss of all rounds together is about this many steps."""
_FINE_STEPS = 24
"""That of a round's loss is at least this many steps of its own, which are multiples of the common one."""
_FARTHEST = 14
"""A round's gammas end after this many standard deviations."""
_ENOUGH = 1e-18
"""The smallest delta: no larger gamma is looked at."""
_BLOCK = 1024
"""More rounds than this that are alike are composed in blocks, and then the blocks with each other."""
_LOUD = 6.0
"""Blocks whose losses have a larger standard deviation than this are not made: they would tell everything."""
_FEW = 4
"""Up to this many different rounds are bounded as sharply as possible."""
_MANY = 32
"""If there are more different rounds, those that are nearly alike count as the loudest of them."""
_NEARLY = 1.05
"""Rounds are nearly alike if the largest losses of one report differ by at most this factor."""
_SEEN = 512
"""From below, only this many different rounds are looked at: those that reveal most."""
Differing = CrowdParts | CrowdBit | CrowdAbsent
"""How the reports of two values differ, and how far everybody else's can be from them."""
Rounds = Mapping[tuple[Differing, int], int]
"""The number of rounds with such reports and this number of people."""


def crowd_upper(rounds: Rounds, *, sharp: bool | None = None) -> Experiment:
    """Rounds of a crowd (upper). The bound is `sharp` where few of them differ, unless that is given."""
    if len(rounds) > _MANY:
        rounds = _nearly_alike(rounds)
    sharp = len(rounds) <= _FEW if sharp is None else sharp
    parts = [
        _Part(parts.shift(people), count, partial(_above, parts, people, sharp))
        for (parts, people), count in rounds.items()
    ]
    return _composed([_upper_blocks(part) for part in parts], "upper")


def crowd_lower(rounds: Mapping[tuple[CrowdClasses, int], int]) -> Experiment:
    """Rounds of a crowd if all others hold one value, seen in part. Delta of P from Q is a lower end."""
    parts = [
        _Part(classes.shift(people), count, partial(_below, classes, people))
        for (classes, people), count in rounds.items()
    ]
    loudest = sorted(parts, key=lambda part: -part.deviation)[:_SEEN]
    return _composed([_lower_blocks(part) for part in loudest], "exact")


class _Part(NamedTuple):
    """Rounds that are alike, or blocks of them: the standard deviation of the loss of one, and their number.

    `factor` makes one of them a factor whose losses are multiples of a step.
    """

    deviation: float
    times: int
    factor: Callable[[float], Factor]


def _composed(parts: Sequence[_Part], certainty: Certainty) -> Experiment:
    common = math.sqrt(math.fsum(part.times * part.deviation**2 for part in parts)) / _POINTS
    factors = [(part.factor(_own_step(part.deviation, common)), part.times) for part in parts]
    return Experiment(factors, certainty=certainty)


def _own_step(deviation: float, common: float) -> float:
    """The common step times a power of two: as coarse as a round of this deviation permits."""
    return common * 2.0 ** max(0, math.floor(math.log2(deviation / (_FINE_STEPS * common))))


def _nearly_alike(rounds: Rounds) -> Rounds:
    """Fewer rounds that dominate these: those of the same number of people and nearly the same parts are joined."""
    joined: dict[tuple[Differing, int], int] = {}
    for kind, people in {(type(parts), people) for parts, people in rounds}:
        own = [key for key in rounds if (type(key[0]), key[1]) == (kind, people)]
        own.sort(key=lambda key: -key[0].largest)
        while own:
            limit = own[0][0].largest / _NEARLY
            group = [key for key in own if key[0].largest >= limit]
            own = own[len(group) :]
            alike: list[Any] = [parts for parts, _ in group]
            largest = reduce(lambda one, two: one.joined(two), alike)
            joined[largest, people] = joined.get((largest, people), 0) + sum(rounds[key] for key in group)
    return joined


@lru_cache(maxsize=256)
def _above(parts: Differing, people: int, sharp: bool, step: float) -> Factor:
    """One round as a factor on a lattice that dominates it."""
    gammas = _gammas(parts.shift(people), parts.largest, step)
    deltas = parts.deltas(people, gammas, sharp=sharp)
    return _chords(gammas, np.where(gammas < parts.largest, deltas, 0.0))


def _gammas(deviation: float, largest: float, step: float) -> FloatArray:
    """Multiples of the step, as far as losses go."""
    farthest = _FARTHEST * (deviation + step) + deviation**2
    return np.arange(math.ceil(min(largest, farthest) / step) + 1, dtype=np.float64) * step


def _chords(gammas: FloatArray, deltas: FloatArray) -> Factor:
    needed = int(np.searchsorted(-deltas, -_ENOUGH)) + 1
    return chords_factor(gammas[:needed], np.minimum.accumulate(deltas[:needed]))


def _upper_blocks(part: _Part) -> _Part:
    """Many rounds in blocks, with a few more rounds where blocks do not divide them evenly."""
    blocks = math.ceil(part.times / _BLOCK)
    size = math.ceil(part.times / blocks)
    deviation = part.deviation * math.sqrt(size)
    if blocks == 1 or deviation > _LOUD:
        return part
    together = _composed([part._replace(times=size)], "upper")

    def factor(step: float) -> Factor:
        gammas = _gammas(deviation, math.inf, step)
        return _chords(gammas, np.array([together._delta(float(gamma), "forward")[1] for gamma in gammas]))

    return _upper_blocks(_Part(deviation, blocks, factor))


@lru_cache(maxsize=256)
def _below(classes: CrowdClasses, people: int, step: float) -> Factor:
    """One round as a factor on a lattice that it dominates."""
    return on_lattice(*counted_outcomes(classes, people), step)


def _lower_blocks(part: _Part) -> _Part:
    """Many rounds in blocks, with a few rounds less where blocks do not divide them evenly."""
    blocks = math.ceil(part.times / _BLOCK)
    size = part.times // blocks
    deviation = part.deviation * math.sqrt(size)
    if blocks == 1 or deviation > _LOUD:
        return part
    table = _composed([part._replace(times=size)], "exact")._table
    masses = np.maximum(0.0, table.p * (1 - table.mass_error) - table.lost_mass)
    factor = partial(on_lattice, masses, table.loss - table.loss_error)
    return _lower_blocks(_Part(deviation, blocks, factor))


# --- one round from above: the numbers of reports from each part ------------------------------------------


class Resolution(NamedTuple):
    """The number of ranges into which numbers of reports are divided.

    `ranges` are those of the first two parts together, `others` those of the third, for each range of the first.
    """

    ranges: int
    others: int


_NEGLIGIBLE = 1e-20
"""The probability of numbers of reports that are left out, for each number. It is added to delta."""
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
    return np.minimum(1.0, total / people * _ROUNDED_UP + 8 * _NEGLIGIBLE)


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
    """The ends of ranges, as shares of the whole. Ranges in the middle, which are likely, are narrow."""
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


# --- one round from below: a weighted sum of the counts of classes ----------------------------------------

_LARGEST_WEIGHT = 6
"""The largest weight of a class."""
_MOST_POINTS = 1 << 22
"""The largest number of sums whose probabilities are computed."""
_RARE = 1e-18
"""The probability of sums that are left out, on both sides together."""
_FINE = 50
"""Sums are put into ranges. There are this many for each standard deviation."""
_DISTINCT = 1e-3
"""Ranges whose rounding errors are larger than this share of the difference of the two worlds are joined."""
_ROUNDED = 1e-12
"""The relative rounding error of a probability, besides that of a Fourier transform."""
_BINOMIAL = 1e-10
"""The relative error of a binomial probability."""


class _Others(NamedTuple):
    """The law of the sum over the others, on consecutive places, its standard deviation, and its errors.

    `relative` bounds the relative error of a mass, and `noise` the Euclidean norm of the absolute errors of all.
    """

    law: FloatArray
    deviation: float
    relative: float
    noise: float


def counted_outcomes(classes: CrowdClasses, people: int) -> tuple[FloatArray, FloatArray]:
    """The evidence of the weighted sum of counts of one round: probabilities in world P, and losses (lower).

    Both are rounded down, so delta of P from Q is never too large, alone or composed with other rounds.
    """
    people = checks.integer("people", people, low=2)
    weights = _weights(classes, people - 1)
    count = _binomial if np.count_nonzero(weights) == 1 else _signed_steps
    others = count(classes, weights, people - 1)
    reach = int(np.abs(weights).max())
    one, two = (
        _with_person(others.law, weights, np.array(chances), reach) for chances in (classes.first, classes.second)
    )
    return _by_ranges(one, two, others)


def _weights(classes: CrowdClasses, others: int) -> NDArray[np.int64]:
    """Whole weights of the classes that tell the worlds apart nearly as well as any.

    The best weights are proportional to (c₀-c₁)/c₂. If the classes are not mirrored, one class is counted alone.
    """
    gain = np.subtract(classes.first, classes.second)
    chances = np.array(classes.others)
    ideal = gain / chances

    def score(weights: NDArray[np.int64]) -> float:
        spread = float(weights**2 @ chances) - float(weights @ chances) ** 2
        return float(weights @ gain) ** 2 / spread if spread > 0 else 0.0

    if not classes.mirrored:
        alone = np.eye(gain.size, dtype=np.int64) * np.sign(ideal).astype(np.int64)
        return max(alone, key=score)
    tried = [np.rint(size * ideal / np.abs(ideal).max()).astype(np.int64) for size in range(1, _LARGEST_WEIGHT + 1)]
    fitting = [w for w in tried if _points(w, chances, others) <= _MOST_POINTS]
    return max(fitting or tried[:1], key=score)


def _far(weights: NDArray[np.int64], chances: FloatArray, others: int) -> int:
    """A distance from its mean that the sum exceeds with the rare probability only, by Bernstein's inequality."""
    rare, largest = math.log(2 / _RARE), float(np.abs(weights).max())
    variance = others * float(weights**2 @ chances)
    linear = rare * largest / 3
    return math.ceil(linear + math.sqrt(linear**2 + 2 * rare * variance)) + 1


def _points(weights: NDArray[np.int64], chances: FloatArray, others: int) -> int:
    """The number of places on a circle on which the sum hardly ever meets itself."""
    return 1 << (2 * _far(weights, chances, others) + 2).bit_length()


def _binomial(classes: CrowdClasses, weights: NDArray[np.int64], others: int) -> _Others:
    """The law of the number of reports of the only class that counts."""
    from scipy.stats import binom

    counted = int(np.flatnonzero(weights)[0])
    sign, chance = int(weights[counted]), classes.others[counted]
    far, mean = _far(weights, np.array(classes.others), others), others * chance
    low, high = max(0, math.floor(mean) - far), min(others, math.ceil(mean) + far)
    law = binom.pmf(np.arange(low, high + 1), others, chance)
    deviation = math.sqrt(mean * (1 - chance))
    return _Others(law[::sign], deviation, _BINOMIAL, _RARE)


def _signed_steps(classes: CrowdClasses, weights: NDArray[np.int64], others: int) -> _Others:
    """The law of a sum of mirrored steps, from its Fourier transform (1 - 2·Σc₂·sin²(wt/2))^(n-1), which is real.

    Errors are those of an FFT relative to the 2-norm. The exponent is accurate in every digit that matters.
    """
    chances = np.array(classes.others)
    points = _points(weights, chances, others)
    turn = np.pi / points * np.arange(points // 2 + 1)
    lost = np.zeros(turn.size)
    for weight, chance in zip(weights, chances, strict=True):
        lost += 2 * chance * np.sin(weight * turn) ** 2
    with np.errstate(divide="ignore"):
        logs = np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), np.log(np.abs(1 - lost)))
    spectrum = np.exp(others * logs)
    if others % 2:
        spectrum = np.where(lost > 1, -spectrum, spectrum)
    law = np.fft.fftshift(np.fft.irfft(spectrum, n=points))
    norm = float(np.linalg.norm(law))
    deviation = math.sqrt(others * float(weights**2 @ chances))
    noise = 16 * MACHINE_EPSILON * math.log2(points) * norm + _RARE
    return _Others(np.maximum(law, 0.0), deviation, _ROUNDED, noise)


def _with_person(law: FloatArray, weights: NDArray[np.int64], chances: FloatArray, reach: int) -> FloatArray:
    """The law of the sum with the person, whose report has each class with this probability."""
    total = np.zeros(law.size + 2 * reach)
    total[reach : reach + law.size] = (1 - float(chances.sum())) * law
    for weight, chance in zip(weights, chances, strict=True):
        total[reach + weight : reach + weight + law.size] += chance * law
    return total


def _by_ranges(one: FloatArray, two: FloatArray, others: _Others) -> tuple[FloatArray, FloatArray]:
    """Both laws by ranges of sums. Ranges at both ends that rounding errors would blur are joined."""
    size = max(1, math.floor(others.deviation / _FINE))
    starts = np.arange(0, one.size, size)
    width: float | FloatArray = math.sqrt(size)
    p, q = np.add.reduceat(one, starts), np.add.reduceat(two, starts)
    clear = np.abs(p - q) * _DISTINCT > 2 * (others.noise * width + others.relative * np.minimum(p, q))
    (sharp,) = np.nonzero(clear)
    if sharp.size:
        keep = np.append(0, starts[sharp[0] + 1 : sharp[-1] + 1]) if sharp[-1] > sharp[0] else starts[:1]
        sizes = np.diff(np.append(keep, one.size))
        p, q, width = np.add.reduceat(one, keep), np.add.reduceat(two, keep), np.sqrt(sizes)
    error = others.noise * width + others.relative * np.maximum(p, q)
    least = np.maximum(0.0, p - error)
    loss = log_ratio(least, q + error)
    return least, loss


def on_lattice(masses: FloatArray, losses: FloatArray, step: float) -> Factor:
    """Outcomes joined, and some of them divided at random, so that all losses are multiples of the step (lower).

    Outcomes are taken by falling loss. Each multiple is given as many of them as make it the loss of all of them
    together. What an observer sees in this way follows from the outcomes. What is left at the end, and what the
    masses lack of 1, gets a smaller loss.
    """
    seen = masses > 0
    order = np.argsort(-losses[seen], kind="stable")
    mass, loss = masses[seen][order], losses[seen][order] / step
    cells: dict[int, float] = {}
    cell, excess = math.floor(loss[0]), 0.0
    for left, value in zip(mass.tolist(), loss.tolist(), strict=True):
        while left:
            # The cell takes outcomes of smaller loss until its surplus, P - e^(cell·step)·Q, is used up.
            surplus = -math.expm1((cell - value) * step)
            taken = left if surplus >= 0 or left * -surplus <= excess else excess / -surplus
            cells[cell] = cells.get(cell, 0.0) + taken
            left -= taken
            excess = max(0.0, excess + taken * surplus)
            if left:
                cell, excess = min(cell - 1, math.floor(value)), 0.0
    lowest = min(cells)
    cells[lowest - 1] = max(0.0, 1 - math.fsum(mass.tolist()))
    places = np.array(sorted(cells))
    here = np.array([cells[place] for place in places.tolist()])
    there = here * np.exp(-places * step)
    return Factor(here / here.sum(), there / there.sum(), places * step)
