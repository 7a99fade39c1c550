"""The spread of noisy inner products: the variance is exact, by Parseval's identity."""

from functools import partial

import numpy as np

from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread
from untrackable.estimation.symmetric_spread import SymmetricSpreads, WeightCounts


def inner_product_spreads(*, bits: int, flip: FloatArray | float, width: int) -> SymmetricSpreads:
    """The spreads for any weights."""
    return SymmetricSpreads(2.0**bits, partial(inner_product_spread, bits=bits, flip=flip, width=width))


def inner_product_spread(given: WeightCounts, *, bits: int, flip: FloatArray | float, width: int) -> Spread:
    """The spread for answers of w = `width` bits about values of d = `bits` bits, false with probability `flip`.

    Let c be the weights less their mean over all N = 2^d values, and C their transform. A report (A, y) adds
    scale·Σ_z (-1)^(z·y)·C(z·A) over the non-zero words z of w bits. Of the products of two such terms, s - 1
    = 2^w - 1 are squares C(v)², each with mean N·Σc²/(N-1). The other (s-1)(s-2) are of two different vectors and
    have mean ρ·(N²·c(x)² - N·Σc²)/((N-1)(N-2)) if the sender holds x, where ρ = gap/(s-1) is the bias of a parity
    of the answer. The mean of what is added is c(x), so the variance is exact. What is added is also s·scale times
    the sum of c over the N/s values that agree with the report, which bounds the span.

    `flip` may be an array that broadcasts with the sums: a column of rounds gives a row of spreads for each.
    """
    symbols, values = 1 << width, 2.0**bits
    gap = symbols - 1 - symbols * np.asarray(flip)
    scale = (1 - 1 / values) / gap
    centred = given.weights - given.total / values
    squares = given.squares - given.total**2 / values
    second = (symbols - 1) * squares * values / (values - 1)
    if width > 1:
        pairs = values * (values * centred**2 - squares) / ((values - 1) * (values - 2))
        second = second + gap[..., np.newaxis] * (symbols - 2) * pairs
    variance = given.worst(scale[..., np.newaxis] ** 2 * second - centred**2)
    return Spread.of_term(variance, symbols * scale * given.reach_of_sets(values / symbols))
