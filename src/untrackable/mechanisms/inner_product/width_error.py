"""The error by which the width of an answer is chosen: that of the figure that is wanted."""

import numpy as np

from untrackable.estimation.inner_product_spread import inner_product_spread
from untrackable.estimation.symmetric_spread import WeightCounts
from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct

_BETA = 0.05
"""The probability with which an error may exceed its radius, where the budget has none."""
_STEPS = 1024
"""The numbers that stand for a longer range. Widths compare in the same way for more."""


def width_error(base: NoisyInnerProduct, budget: Budget) -> float:
    """The error radius of a frequency, of the share of the lower half of all numbers, or of the mean.

    Frequencies suit narrower answers than sums over many values, so a width that suits one may be bad for another.
    The radius of a frequency is that of one report, as the number of reports changes nothing in the comparison.
    """
    beta = budget.beta or _BETA
    if budget.want == "frequencies":
        return base.accuracy(1, beta).radius
    spread = inner_product_spread(_weights(budget), bits=base.bits, flip=base.flip.probability, width=base.width)
    if budget.participation < 1:
        spread = spread.of_sample(1.0)
    people = budget.people if budget.crowd is None else budget.crowd.people
    return float(spread.radius(max(1, round(people * budget.participation)), beta))


def _weights(budget: Budget) -> WeightCounts:
    """The weights of the wanted figure, less their mean. Values that are not used have weight 0."""
    unused = (1 << budget.bits) - budget.values
    steps = 2 if budget.want == "quantiles" else min(budget.values, _STEPS)
    counts = np.full(steps, budget.values / steps)
    return WeightCounts(np.append(np.linspace(-0.5, 0.5, steps), 0.0), np.append(counts, float(unused)))
