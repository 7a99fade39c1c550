"""A mean from one noisy bit: the number is rounded at random to one end of its range, and then told with noise."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import BitAggregator, Estimate, FloatArray, Reports, Scope
from untrackable.estimation.spread import LinearSpreads, Spread
from untrackable.mechanisms.entropy import Entropy, below
from untrackable.mechanisms.probabilities import Chance, flip_chance, flip_eps, flip_eps_upper
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy, mean_radius
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor

MOST_VALUES = 1 << 32
_WORD = 1 << 64
_LINE = 1e-9
"""Weights are on a line if they are off it by at most this share of their range."""
ONLY_THE_MEAN = "one noisy bit of each number tells the mean only: no frequencies, no quantiles, and no other sums"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneBitMean:
    """A report is one bit: 1 with probability u/(values-1) for a value u, and then flipped with 1/(e^eps + 1).

    The rounding is drawn for every report, and nothing but the report is kept: a kept rounding would be a bit to
    follow people by. Only the mean can be estimated. Values stand for numbers at equal distances.
    """

    values: int
    eps: float
    flip: Chance = field(init=False, repr=False)

    tells_shares = False
    published = "Duchi, Jordan, Wainwright: Local privacy and statistical minimax rates (2013); Ding et al. (2017)"

    def __post_init__(self) -> None:
        values = checks.integer("values", self.values, low=2, high=MOST_VALUES)
        checks.settle(self, values=values, eps=checks.epsilon("eps", self.eps))
        checks.settle(self, flip=flip_chance(self.eps))

    @property
    def report_bits(self) -> int:
        """One bit."""
        return 1

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The rounding takes 8 bytes of entropy or more, and then the noise 8 bytes."""
        value = checks.private_integer("value", value, below=self.values)
        rounded = below(self.values - 1, entropy) < value
        return int(rounded ^ self.flip.happens(entropy))

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        """One independent report for every entry."""
        rounded = rng.integers(0, self.values - 1, size=values.shape, dtype=np.uint64) < values
        return (rounded ^ self.flip.simulate(rng, values.shape)).astype(np.uint64)

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""
        return report in (0, 1)

    @property
    def certainty(self) -> Certainty:
        """Exact: it is attained by the lowest and the highest value."""
        return "exact"

    def privacy_factor(self) -> Factor:
        """The loss is ±eps for the two ends of the range. Values between them are mixtures, and reveal less."""
        lie, eps = self.flip.probability, flip_eps(self.flip)
        return Factor([1 - lie, lie], [lie, 1 - lie], [eps, -eps])

    def differing_exact(self) -> Fraction:
        """1: the two ends of the range are always rounded to different bits."""
        return Fraction(1)

    def largest_loss(self) -> float:
        """ln((1-η)/η), for the two ends of the range, rounded up."""
        return flip_eps_upper(self.flip)

    def repeat_factor(self) -> Factor:
        """One report sent twice, against two reports that are equal by chance (upper, for all values).

        A value reports its rarer bit with a probability m between η and ½. For an observer who allows e^γ, one
        report seen twice stands out by at most 1 - e^γ/2 as long as both bits do, and by m(1 - e^γ·m) when only the
        rarer one does. This factor is at least as far apart: 1 - e^γ/2 at first, and then ½(1 - e^γ·η). Two reports
        differ with probability 2m(1-m), at most ½.
        """
        lie = self.flip.probability
        losses = [-math.log(lie), -math.log1p(-lie), -math.inf]
        return Factor([0.5, 0.5, 0.0], [0.5 * lie, 0.5 * (1 - lie), 0.5], losses)

    @property
    def repeat_certainty(self) -> Certainty:
        """Upper: how well a repeated report is recognised depends on the value."""
        return "upper"

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability of every report."""
        one = self._one(value)
        return np.log(np.where(np.equal(reports, 1), one, 1 - one))

    def _one(self, value: int) -> float:
        """The probability of a report of 1."""
        lie, place = self.flip.probability, value / (self.values - 1)
        return lie + (1 - 2 * lie) * place

    def truthfulness(self) -> Truthfulness:
        """A report answers whether the number is above a random one, which is not sent along."""
        return Truthfulness("question", 1 - self.flip.probability, 0.5)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of the mean, as a share of the range from the lowest to the highest value."""
        span = self._span()
        return Accuracy(
            checks.integer("people", people, low=1),
            beta,
            mean_radius(people, beta, span=span),
            span / (2 * math.sqrt(people)),
            "of the mean, as a share of the range, whatever people hold (upper)",
        )

    def _span(self) -> float:
        """1/(1-2η), the difference that one bit makes to n times the mean, as a share of the range."""
        return _WORD / (_WORD - 2 * self.flip.threshold)

    def aggregator(self, scope: Scope) -> "MeanAggregator":
        """Empty sums of reported bits."""
        lie = self.flip.probability
        return MeanAggregator(scope, values=self.values, truth=1 - lie, lie=lie)


class MeanAggregator(BitAggregator):
    """How many reported bits are 1. They tell the mean of the numbers, and nothing else."""

    def __init__(self, scope: Scope, *, values: int, truth: float, lie: float) -> None:
        super().__init__(scope, truth=truth, lie=lie)
        self._values = values

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """An estimate of which only the mean means something: its frequencies may be anything from 0 to 1.

        As if everybody held one of the two ends, with the right mean.
        """
        mean = (self.ones / n - self._lie) / (self._truth - self._lie)
        frequencies = np.zeros(self._values)
        frequencies[0], frequencies[-1] = 1 - mean, mean
        unknown = np.broadcast_to(np.inf, frequencies.shape)
        return Estimate(
            frequencies,
            n,
            beta,
            unknown,
            span=np.broadcast_to(1 / (self._truth - self._lie), frequencies.shape),
            deviation=unknown,
            spread=LinearSpreads(self._spread),
        )

    def _spread(self, weights: FloatArray) -> Spread:
        """That of weights on a line over all values; others cannot be estimated."""
        line = np.linspace(weights[0], weights[-1], weights.size)
        reach = abs(float(weights[-1] - weights[0]))
        if weights.size != self._values or np.abs(weights - line).max() > _LINE * max(reach, 1e-300):
            raise ValueError(ONLY_THE_MEAN)
        span = reach / (self._truth - self._lie)
        return Spread.of_term(span**2 / 4, span)
