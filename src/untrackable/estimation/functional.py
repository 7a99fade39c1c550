"""The estimate of a weighted sum of frequencies, such as a mean or the share of several values together."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from untrackable.estimation.intervals import FloatArray, is_told

if TYPE_CHECKING:
    from untrackable.estimation.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Functional:
    """A weighted sum of frequencies: unbiased, in an interval that fails with probability at most `beta` (upper).

    The standard error is an upper bound too, whatever people hold. If the interval, before it is cut off at what is
    possible, is wider than nine tenths of that, the reports do not `tell` the sum.
    """

    value: float
    lower: float
    upper: float
    standard_error: float
    beta: float
    tells: bool
    certainty: str = "upper: the interval holds for every population, except with probability beta"


def functional(estimate: "Estimate", weights: ArrayLike) -> Functional:
    """Estimate Σ g(u)·f(u). If everybody holds one of the values, weights are first taken from their mean c.

    As frequencies sum to one, c + Σ (g(u) - c)·f(u) is the same sum, but of smaller weights, and so less noisy.
    """
    given = checked_weights(estimate, weights)
    if not estimate.complete and estimate.spread.only_if_complete:
        raise ValueError(estimate.spread.only_if_complete)
    centre = float(given.mean()) if estimate.complete else 0.0
    shifted = given - centre
    spread = estimate.spread.of(shifted)
    value, radius = centre + float(shifted @ estimate.frequencies), float(spread.radius(estimate.n, estimate.beta))
    least, most = float(given.min()), float(given.max())
    if not estimate.complete:
        least, most = min(0.0, least), max(0.0, most)
    lower, upper = (min(most, max(least, end)) for end in (value - radius, value + radius))
    return Functional(
        value=value,
        lower=lower,
        upper=upper,
        standard_error=float(spread.standard_error(estimate.n)),
        beta=estimate.beta,
        tells=is_told(2 * radius, most - least),
    )


def checked_weights(estimate: "Estimate", weights: ArrayLike) -> FloatArray:
    """Finite weights, one for each value of the estimate."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != estimate.frequencies.shape:
        raise ValueError(f"weights must be {estimate.frequencies.size}, one for each value, got {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError("weights must be finite")
    return given
