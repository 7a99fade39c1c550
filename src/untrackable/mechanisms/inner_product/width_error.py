"""The error by which the width of an answer is chosen: that of the figure that is wanted."""

import numpy as np

from untrackable.estimation.inner_product_spread import inner_product_spread
from untrackable.estimation.symmetric_spread import WeightCounts
from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct

_BETA = 0.05
"""The probability with which an error may exceed its radius, where the budget has none."""
_MOST_NUMBERS = 4096
"""For more numbers, as many stand for all: widths compare in the same way."""


def width_error(base: NoisyInnerProduct, budget: Budget) -> float:
    """The error radius of a frequency, of the shares up to all numbers, or of the mean.

    Frequencies suit narrower answers than sums over many values, so a width that suits one may be bad for another.
    """
    beta = budget.beta or _BETA
    people = budget.people if budget.crowd is None else budget.crowd.people
    reports = max(1, round(people * budget.participation))
    if budget.want == "frequencies":
        return base.accuracy(reports, beta).radius
    numbers = min(budget.values, _MOST_NUMBERS)
    weights = _weights(budget, numbers)
    spread = inner_product_spread(weights, bits=base.bits, flip=base.flip.probability, width=base.width)
    if budget.participation < 1:
        spread = spread.of_sample(1.0)
    statistics = numbers - 1 if budget.want == "quantiles" else 1
    return float(np.max(spread.radius(reports, beta, statistics=statistics)))


def _weights(budget: Budget, numbers: int) -> WeightCounts:
    """The weights of the wanted figure, less their mean. Values that are not used have weight 0."""
    unused = float((1 << budget.bits) - budget.values)
    if budget.want == "mean":
        counts = np.full(numbers, budget.values / numbers)
        return WeightCounts(np.append(np.linspace(-0.5, 0.5, numbers), 0.0), np.append(counts, unused))
    share = np.arange(1, numbers) / numbers
    weights = np.stack((1 - share, -share, np.zeros(share.size)), axis=-1)
    sizes = (budget.values * share, budget.values * (1 - share), np.full(share.size, unused))
    return WeightCounts(weights, np.stack(sizes, axis=-1))
