"""The trackability variable τ [NV, "Estimated Percentile of the Trackability Random Variable"].

τ is the largest loss met in 2⌊k/2⌋ independent trials: for each split i = 1 … ⌊k/2⌋ one stream made by two
users and one made by a single user. `absolute` takes |ln(one/two)| as the definition is printed; `signed` takes
ln(two/one), floored at 0, with which the published figure was made (docs/errata.md).
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import bdtr

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import FloatArray
from untrackable.theory.losses import World

Variant = Literal["absolute", "signed"]
_WORLDS: tuple[World, World] = ("P", "Q")
_FARTHEST = 1e9
"""Losses beyond this are called infinite."""
_HALVINGS = 200


class Trackability:
    """Exact law of τ, given the tracking experiments of the splits 1 … ⌊k/2⌋."""

    def __init__(self, experiments: Sequence[Experiment | Mixture], variant: Variant = "absolute") -> None:
        if not experiments:
            raise ValueError("experiments must not be empty")
        checks.choice("variant", variant, ("absolute", "signed"))
        if any(experiment.certainty == "upper" for experiment in experiments):
            raise TypeError("the law of τ is known of exact experiments only; some of these are upper bounds")
        self.experiments = tuple(experiments)
        self.variant = variant

    def cdf(self, tau: float) -> tuple[float, float]:
        """Bracket of the probability that τ is at most `tau`: the product over the independent trials."""
        if tau < 0:
            return 0.0, 0.0
        low = high = 1.0
        for experiment in self.experiments:
            for world in _WORLDS:
                # at most tau: loss ≥ -tau (signed), and loss ≤ tau as well (absolute)
                below = experiment._cdf(math.nextafter(-tau, -math.inf), world)
                upto = (1.0, 1.0) if self.variant == "signed" else experiment._cdf(tau, world)
                low *= max(0.0, upto[0] - below[1])
                high *= min(1.0, max(0.0, upto[1] - below[0]))
        return low, high

    def quantile(self, level: float) -> Bracket:
        """Bracket of the level-quantile of τ."""
        level = checks.open_probability("level", level)
        farthest = min(_FARTHEST, max(experiment.pure() for experiment in self.experiments))
        first, last = self._first(level, 1, farthest)[0], self._first(level, 0, farthest)[1]
        return Bracket(first, max(first, last))

    def _first(self, level: float, end: int, farthest: float) -> tuple[float, float]:
        """Where one end of the distribution function first reaches the level: just before, and there or after."""
        if self.cdf(0.0)[end] >= level:
            return 0.0, 0.0
        low, high = 0.0, 1.001 * farthest
        if self.cdf(high)[end] < level:
            return math.inf, math.inf
        # There is no point in going far below what the tables themselves leave open.
        narrow = 1e-3 * max(e._coarseness() for e in self.experiments)
        for _ in range(_HALVINGS):
            if high - low <= max(narrow, 1e-13 * high):
                break
            middle = (low + high) / 2
            low, high = (low, middle) if self.cdf(middle)[end] >= level else (middle, high)
        return low, high

    def sample(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Sorted samples of τ [NV, Algorithm 1], the trials drawn from the sufficient statistics' exact law."""
        largest = np.zeros(checks.integer("draws", draws, low=1))
        for experiment in self.experiments:
            for world in _WORLDS:
                loss = experiment.sample(rng, draws, world)
                np.maximum(largest, np.abs(loss) if self.variant == "absolute" else -loss, out=largest)
        largest.sort()
        return largest


class Interval(NamedTuple):
    """A sampled quantile and an interval that contains the true one with probability at least `level`."""

    sampled: float
    lower: float
    upper: float
    level: float


def confidence_level(draws: int, quantile: float, lower: int, upper: int) -> float:
    """P(ν_ℓ ≤ quantile < ν_v) ≥ B(v-1; n, q) - B(ℓ-1; n, q), B the binomial distribution function."""
    draws = checks.integer("draws", draws, low=1)
    quantile = checks.open_probability("quantile", quantile)
    lower = checks.integer("lower", lower, low=1, high=draws)
    upper = checks.integer("upper", upper, low=lower, high=draws)
    return float(bdtr(upper - 1, draws, quantile) - bdtr(lower - 1, draws, quantile))


def order_interval(ordered: FloatArray, quantile: float, level: float = 0.95) -> Interval:
    """The narrowest interval of order statistics, symmetric in rank about the quantile, that reaches `level`."""
    draws = ordered.size
    centre = max(1, math.ceil(quantile * draws))
    for reach in range(draws):
        low, high = max(1, centre - reach), min(draws, centre + reach)
        reached = confidence_level(draws, quantile, low, high)
        if reached >= level:
            return Interval(float(ordered[centre - 1]), float(ordered[low - 1]), float(ordered[high - 1]), reached)
        if (low, high) == (1, draws):
            break
    raise ValueError(f"{draws} draws are too few for an interval of level {level} at quantile {quantile}")
