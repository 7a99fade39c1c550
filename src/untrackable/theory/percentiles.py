"""The trackability variable τ [NV, "Estimated Percentile of the Trackability Random Variable"].

τ is the largest loss in 2⌊k/2⌋ independent trials. For each split i = 1 … ⌊k/2⌋ there are two trials: one stream of
two people, and one stream of a single person. The variant `absolute` uses |ln(one/two)|, the printed definition.
The variant `signed` uses ln(two/one), at least 0, with which the published figure was made (docs/errata.md).
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.brackets import Bracket
from untrackable.theory.experiment import FARTHEST_LOSS, Experiment, Mixture, first_true
from untrackable.theory.factor import WORLDS

Variant = Literal["absolute", "signed"]
"""Which loss τ is the largest of: |ln(one/two)|, or ln(two/one) and at least 0."""


class Trackability:
    """The exact law of τ, given the tracking experiments of the splits 1 … ⌊k/2⌋."""

    def __init__(self, experiments: Sequence[Experiment | Mixture], variant: Variant = "absolute") -> None:
        if not experiments:
            raise ValueError("experiments must not be empty")
        checks.choice("variant", variant, ("absolute", "signed"))
        if any(experiment.certainty == "upper" for experiment in experiments):
            raise TypeError("experiments must be exact to have a law of τ; some of these are upper bounds")
        self.experiments = tuple(experiments)
        self.variant = variant

    def cdf(self, tau: float) -> tuple[float, float]:
        """A bracket of the probability that τ is at most `tau`, which is a product over the independent trials."""
        if tau < 0:
            return 0.0, 0.0
        low = high = 1.0
        for experiment in self.experiments:
            for world in WORLDS:
                # A trial stays at most tau if loss ≥ -tau, and for the absolute variant loss ≤ tau as well.
                below = experiment._cdf(math.nextafter(-tau, -math.inf), world)
                upto = (1.0, 1.0) if self.variant == "signed" else experiment._cdf(tau, world)
                low *= max(0.0, upto[0] - below[1])
                high *= min(1.0, max(0.0, upto[1] - below[0]))
        return low, high

    def quantile(self, level: float) -> Bracket:
        """A bracket of the quantile of τ at this level."""
        level = checks.open_probability("level", level)
        farthest = min(FARTHEST_LOSS, max(experiment.pure() for experiment in self.experiments))
        first, last = self._first(level, 1, farthest)[0], self._first(level, 0, farthest)[1]
        return Bracket(first, max(first, last))

    def _first(self, level: float, end: int, farthest: float) -> tuple[float, float]:
        """A narrow interval in which one end of the distribution function first reaches the level."""
        if self.cdf(0.0)[end] >= level:
            return 0.0, 0.0
        # Going far below the tables' own error would gain nothing.
        narrow = 1e-3 * max(e._coarseness() for e in self.experiments)
        return first_true(
            lambda tau: self.cdf(tau)[end] >= level, 0.0, 1.001 * farthest, narrow=narrow, relative=1e-13
        )

    def sample(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Sorted samples of τ [NV, Algorithm 1], with trials drawn from the exact law of the statistic."""
        largest = np.zeros(checks.integer("draws", draws, low=1))
        for experiment in self.experiments:
            for world in WORLDS:
                loss = experiment.sample(rng, draws, world)
                np.maximum(largest, np.abs(loss) if self.variant == "absolute" else -loss, out=largest)
        largest.sort()
        return largest


class QuantileInterval(NamedTuple):
    """A sampled quantile, and an interval that contains the true quantile with probability at least `level`."""

    sampled: float
    lower: float
    upper: float
    level: float


def confidence_level(draws: int, quantile: float, lower: int, upper: int) -> float:
    """The lower bound B(v-1; n, q) - B(ℓ-1; n, q) on the probability that order statistics enclose a quantile.

    ν_ℓ ≤ quantile < ν_v holds with at least this probability. n is the number of draws, q the quantile's level, ℓ
    and v are the ranks `lower` and `upper`, and B is the binomial distribution function.
    """
    draws = checks.integer("draws", draws, low=1)
    quantile = checks.open_probability("quantile", quantile)
    lower = checks.integer("lower", lower, low=1, high=draws)
    upper = checks.integer("upper", upper, low=lower, high=draws)
    from scipy.special import bdtr

    return float(bdtr(upper - 1, draws, quantile) - bdtr(lower - 1, draws, quantile))


def order_interval(ordered: FloatArray, quantile: float, level: float = 0.95) -> QuantileInterval:
    """The narrowest interval of order statistics that reaches `level`, with ranks symmetric about the quantile."""
    draws = ordered.size
    centre = max(1, math.ceil(quantile * draws))
    for reach in range(draws):
        low, high = max(1, centre - reach), min(draws, centre + reach)
        reached = confidence_level(draws, quantile, low, high)
        if reached >= level:
            return QuantileInterval(
                float(ordered[centre - 1]), float(ordered[low - 1]), float(ordered[high - 1]), reached
            )
        if (low, high) == (1, draws):
            break
    raise ValueError(f"{draws} draws are too few for an interval of level {level} at quantile {quantile}")
