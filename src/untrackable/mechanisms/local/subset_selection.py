"""Subset selection: a report is a random set of values, which contains the true one more often than any other.

Ye, Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy" (IEEE
Transactions on Information Theory, 2018); Wang et al., "Mutual Information Optimally Local Private Discrete
Distribution Estimation" (2016).
"""

import decimal
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Estimate, FloatArray, Reports, Scope
from untrackable.estimation.symmetric_spread import SymmetricSpreads, subset_spread
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.kept.kept_bits import PositionCounts
from untrackable.mechanisms.probabilities import Chance, log_ratio_upper
from untrackable.mechanisms.subsets import draw_subset, simulate_subsets
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd_classes import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor

LARGEST = 4096
_WORD = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetSelection:
    """A report is a set of `size` (d) of the `values` (k). Sets with the true value are e^eps times as likely.

    The set misses the value with probability (k-d)/(d·e^eps + k-d). Its other elements are uniform. By default the
    size is the one with the smallest variance, about k/(e^eps + 1). A report is the set as a mask, with bit i for
    value i.
    """

    values: int
    eps: float
    size: int = 0
    miss: Chance = field(init=False, repr=False)

    published = "Ye, Barg, Optimal Schemes for Discrete Distribution Estimation (IEEE Trans. Inf. Theory 2018)"

    def __post_init__(self) -> None:
        values = checks.integer("values", self.values, low=2, high=LARGEST)
        eps = checks.epsilon("eps", self.eps)
        size = checks.integer("size", self.size, low=0, high=values - 1) or best_size(values, eps)
        checks.settle(self, values=values, eps=eps, size=size, miss=_miss(values, size, eps))
        if self._odds[0] <= self._odds[1]:
            raise ValueError(
                f"eps is too small for {values} values and sets of {size}: reports reveal nothing, got {eps}"
            )

    @property
    def report_bits(self) -> int:
        """One bit for each value."""
        return self.values

    @property
    def words(self) -> int:
        """The number of words per simulated report, for randomness and working memory."""
        return 2 * self.values

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report: 8 bytes decide whether the set misses the value, and then each other element is drawn."""
        value = checks.private_integer("value", value, below=self.values)
        missed = self.miss.happens(entropy)
        others = draw_subset(self.size - (not missed), self.values - 1, entropy)
        lower = others & ((1 << value) - 1)
        return (others >> value) << (value + 1) | (not missed) << value | lower

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        """One independent report for every entry, as bytes, the lowest first."""
        held = values.reshape(-1, 1).astype(np.int64)
        missed = self.miss.simulate(rng, (held.shape[0],))
        others = np.empty((held.shape[0], self.values - 1), dtype=np.uint8)
        for rows, size in ((missed, self.size), (~missed, self.size - 1)):
            others[rows] = simulate_subsets(int(np.count_nonzero(rows)), size, self.values - 1, rng)
        bits = np.empty((held.shape[0], self.values), dtype=np.uint8)
        beside = np.arange(self.values - 1)[None, :]
        np.put_along_axis(bits, beside + (beside >= held), others, axis=1)
        np.put_along_axis(bits, held, ~missed[:, None], axis=1)
        return np.packbits(bits, axis=1, bitorder="little").reshape(*values.shape, (self.values + 7) // 8)

    def possible(self, report: int) -> bool:
        """Whether this can be a report: it must be a set of the right size."""
        return 0 <= report < 1 << self.values and report.bit_count() == self.size

    @property
    def certainty(self) -> Certainty:
        """Exact: every two values have the same factor."""
        return "exact"

    def privacy_factor(self) -> Factor:
        """The loss is ±eps if the set contains one of the two values, and 0 if it contains both or neither."""
        ours, theirs = (float(chance) for chance in self._one_of_two())
        more, less = self._odds
        eps = math.log1p((more - less) / less)
        rest = 0.0 if self.values == 2 else 1 - ours - theirs
        return Factor([ours, theirs, rest], [theirs, ours, rest], [eps, -eps, 0.0])

    def largest_loss(self) -> float:
        """The log of the odds of a set with the value and of one without it, rounded up."""
        return log_ratio_upper(*self._odds)

    def crowd_classes(self) -> CrowdClasses:
        """Sets with one of the two values, with or without the third."""
        ours, theirs = self._one_of_two()
        if self.values == 2:
            return CrowdClasses(
                *((float(a), float(b)) for a, b in ((ours, theirs), (theirs, ours), (theirs, ours)))
            )
        more, less = self._odds
        # Of the sets with the first value and without the second, this share has the third as well.
        shared = Fraction(self.size - 1, self.values - 2)
        rows = []
        for share, third in ((1 - shared, theirs), (shared, theirs * Fraction(more, less))):
            rows += [(ours * share, theirs * share, third * share), (theirs * share, ours * share, third * share)]
        first, second, others = zip(*((float(a), float(b), float(c)) for a, b, c in rows if c), strict=True)
        return CrowdClasses(first, second, others)

    def largest_weight(self) -> float:
        """(1-c)/(p-c): a set contains its sender's value with probability p, and another with c."""
        _, elsewhere, span = self._shares()
        return (1 - elsewhere) * span

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports are the same set by chance."""
        chances = self.miss.opposite().probability, self.miss.probability
        logs = self._log_sets()
        equal = [chance**2 * math.exp(-sets) for chance, sets in zip(chances, logs, strict=True)]
        losses = [sets - math.log(chance) for chance, sets in zip(chances, logs, strict=True)]
        return Factor([*chances, 0.0], [*equal, 1 - sum(equal)], [*losses, -math.inf])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability, from whether the set contains the value. A set of another size is impossible."""
        contains = (reports[..., value >> 3] >> np.uint8(value & 7) & np.uint8(1)) == 1
        chances = self.miss.opposite().probability, self.miss.probability
        inside, outside = (math.log(c) - sets for c, sets in zip(chances, self._log_sets(), strict=True))
        sized = np.bitwise_count(reports).sum(axis=-1, dtype=np.int64) == self.size
        return np.where(sized, np.where(contains, inside, outside), -np.inf)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error from one report per person. A report counts for all values in its set."""
        there, elsewhere, span = self._shares()
        return Accuracy.of_shares(people, beta, there=there, elsewhere=elsewhere, span=span)

    def aggregator(self, scope: Scope) -> "SubsetCounts":
        """Empty counts of the sets that contain each value."""
        return SubsetCounts(scope, self)

    @property
    def _odds(self) -> tuple[int, int]:
        """The odds of a set with the value against one without it, as two integers: the exact e^eps."""
        missed = self.miss.threshold
        return (_WORD - missed) * (self.values - self.size), missed * self.size

    def _one_of_two(self) -> tuple[Fraction, Fraction]:
        """The probabilities that the set contains the value but not another one, and the other way round."""
        missed, others = Fraction(self.miss.threshold, _WORD), self.values - 1
        return (1 - missed) * Fraction(self.values - self.size, others), missed * Fraction(self.size, others)

    def _log_sets(self) -> tuple[float, float]:
        """The logarithms of the numbers of sets that contain a given value, and that do not."""
        others = self.values - 1
        return math.log(math.comb(others, self.size - 1)), math.log(math.comb(others, self.size))

    def _shares(self) -> tuple[float, float, float]:
        """The probabilities that a set contains its sender's value, and another; and one over their difference."""
        there = 1 - Fraction(self.miss.threshold, _WORD)
        elsewhere = (self.size - there) / (self.values - 1)
        return float(there), float(elsewhere), float(1 / (there - elsewhere))


class SubsetCounts(PositionCounts):
    """Counts of the sets that contain each value."""

    def __init__(self, scope: Scope, local: SubsetSelection) -> None:
        super().__init__(scope, local.values, (local.values,))
        self._local = local

    def _checked(self, reports: Reports) -> Reports:
        rows = super()._checked(reports)
        if np.any(np.bitwise_count(rows).sum(axis=1, dtype=np.int64) != self._local.size):
            raise ValueError(f"a report must be a set of {self._local.size} values")
        return rows

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """(share of sets that contain the value - elsewhere)/(there - elsewhere), which is unbiased."""
        there, elsewhere, span = self._local._shares()
        frequencies = (self.counts / n - elsewhere) * span
        held = np.clip(frequencies, 0, 1)
        variance = held * there * (1 - there) + (1 - held) * elsewhere * (1 - elsewhere)
        error = span * np.sqrt(variance / n)
        m = self._local
        rule = partial(subset_spread, values=m.values, size=m.size, there=there, elsewhere=elsewhere)
        spread = SymmetricSpreads(m.values, rule)
        return Estimate(frequencies, n, beta, error, span=np.full(m.values, span), chance=elsewhere, spread=spread)


def best_size(values: int, eps: float) -> int:
    """The size with the smallest variance: k/(e^eps + 1), rounded up or down."""
    ideal = values / (math.exp(min(eps, 700.0)) + 1)
    sizes = {min(values - 1, max(1, rounded)) for rounded in (math.floor(ideal), math.ceil(ideal))}
    return min(sorted(sizes), key=lambda size: _variance(values, size, eps))


def _variance(values: int, size: int, eps: float) -> float:
    """The variance of one report's contribution to the estimate of a value that its sender does not hold."""
    there = size / (size + (values - size) * math.exp(-eps))
    elsewhere = (size - there) / (values - 1)
    # The gap is there - elsewhere, written so that it does not cancel.
    gap = there * (values - size) * -math.expm1(-eps) / (values - 1)
    return elsewhere * (1 - elsewhere) / gap**2


def _miss(values: int, size: int, eps: float) -> Chance:
    """The chance that a set misses the value, (k-d)/(d·e^eps + k-d), rounded up."""
    with decimal.localcontext(prec=60):
        odds = size * decimal.Decimal(min(eps, 100.0)).exp() + values - size
        return Chance(math.ceil((values - size) * Fraction(_WORD) / Fraction(odds)))
