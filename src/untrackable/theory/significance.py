"""Which estimates stand out from noise: p-values, and a level that controls the false discovery rate.

A p-value is an upper bound on the probability of an estimate this large for a value that nobody holds. It holds in
any population, and no p-value relies on a normal approximation.
"""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from untrackable import checks

FloatArray = NDArray[np.float64]

Dependence = Literal["positive", "any"]
"""The assumption about p-values: "positive" is independence or positive dependence, "any" is no assumption."""

_DECADES = 300
"""`radius_tail` tries failure probabilities down to 10 to the minus this power."""
_PER_DECADE = 32
"""`radius_tail` tries this number of failure probabilities per power of ten."""


def binomial_tail(counts: NDArray[np.int64], trials: int, chance: FloatArray | float) -> FloatArray:
    """P(Binomial(n, p) ≥ count), the exact p-value of a count to which n reports add with probability p each."""
    counts = np.clip(counts, 0, trials + 1)
    if isinstance(chance, float) and counts.size:
        low = int(counts.min())
        steps = np.arange(low, int(counts.max()) + 1)
        if steps.size < counts.size:  # Many counts are equal, so computing each possible count once is cheaper.
            return _binomial_tail(steps, trials, chance)[counts - low]
    return _binomial_tail(counts, trials, chance)


def _binomial_tail(counts: NDArray[np.int64], trials: int, chance: FloatArray | float) -> FloatArray:
    from scipy import special

    some = np.clip(counts, 1, trials)
    tail = special.betainc(some, trials - some + 1.0, chance)  # I_p(c, n-c+1)
    result: FloatArray = np.where(counts <= 0, 1.0, np.where(counts > trials, 0.0, tail))
    return result


def mean_tail(excess: FloatArray, people: int, span: FloatArray | float) -> FloatArray:
    """exp(-2n·(x/span)²), which bounds P(a mean of n independent terms exceeds its expectation by x).

    Each term lies in an interval of length `span` (Hoeffding 1963).
    """
    above = np.maximum(excess, 0.0) / span
    result: FloatArray = np.exp(-2.0 * people * above**2)
    return result


def radius_tail(excess: FloatArray, radius: Callable[[float], float]) -> FloatArray:
    """The smallest β of a fine grid with radius(β) ≤ x, where radius(β) fails with probability at most β."""
    largest = float(excess.max(initial=0.0))
    betas, reaches = [1.0], [0.0]
    for step in range(1, _DECADES * _PER_DECADE + 1):
        beta = 10.0 ** -(step / _PER_DECADE)
        reaches.append(radius(beta))  # The radius grows as beta falls, so this list is sorted.
        betas.append(beta)
        if reaches[-1] > largest:
            break
    reached = np.searchsorted(reaches, np.maximum(0.0, excess), side="right") - 1
    result: FloatArray = np.array(betas)[reached]
    return result


def discovery_level(p_values: Iterable[FloatArray], rate: float, *, dependence: Dependence = "positive") -> float:
    """The largest p-value to reject so that on average at most a share `rate` of the rejections is false.

    This is p_(r), the r-th smallest of all m p-values, for the largest r with p_(r) ≤ rate·r/m (Benjamini, Hochberg
    1995). It is -1 if no such r exists. That is valid for independent and for positively dependent p-values. For
    any dependence, the rate is first divided by Σ 1/i over 1 … m (Benjamini, Yekutieli 2001).
    """
    rate = checks.open_probability("rate", rate)
    checks.choice("dependence", dependence, ("positive", "any"))
    tests, candidates = 0, [np.empty(0)]
    for part in p_values:
        tests += part.size
        candidates.append(part[part <= rate])
    if dependence == "any" and tests:
        from scipy import special

        rate /= special.digamma(tests + 1.0) + np.euler_gamma
    small = np.sort(np.concatenate(candidates))
    passing = np.flatnonzero(small <= rate * np.arange(1, small.size + 1) / tests) if tests else small
    return float(small[passing[-1]]) if passing.size else -1.0
