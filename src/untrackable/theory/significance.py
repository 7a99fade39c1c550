"""What stands out from noise: p-values of estimates where nobody holds the value, and false discovery rates.

All p-values are upper bounds on P(estimate at least this large) for a value of frequency zero, in any population;
none rests on a normal approximation.
"""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from untrackable import checks

FloatArray = NDArray[np.float64]

Dependence = Literal["positive", "any"]
"""What is assumed of the p-values: independent or positively dependent, or nothing."""

_DECADES = 300
_PER_DECADE = 32


def binomial_tail(counts: NDArray[np.int64], trials: int, chance: FloatArray | float) -> FloatArray:
    """P(Binomial(n, p) ≥ count), exactly, for counts to which each of n reports adds with the same chance."""
    counts = np.clip(counts, 0, trials + 1)
    if isinstance(chance, float) and counts.size:
        low = int(counts.min())
        steps = np.arange(low, int(counts.max()) + 1)
        if steps.size < counts.size:  # few different counts
            return _binomial_tail(steps, trials, chance)[counts - low]
    return _binomial_tail(counts, trials, chance)


def _binomial_tail(counts: NDArray[np.int64], trials: int, chance: FloatArray | float) -> FloatArray:
    from scipy import special

    some = np.clip(counts, 1, trials)
    tail = special.betainc(some, trials - some + 1.0, chance)  # I_p(c, n-c+1)
    result: FloatArray = np.where(counts <= 0, 1.0, np.where(counts > trials, 0.0, tail))
    return result


def mean_tail(excess: FloatArray, people: int, span: FloatArray | float) -> FloatArray:
    """exp(-2n·(x/span)²): a mean of n independent terms of this span exceeds its own mean by x (Hoeffding 1963)."""
    above = np.maximum(excess, 0.0) / span
    result: FloatArray = np.exp(-2.0 * people * above**2)
    return result


def radius_tail(excess: FloatArray, radius: Callable[[float], float]) -> FloatArray:
    """The least β of a fine grid with radius(β) ≤ x, for any radius that fails with probability at most β."""
    largest = float(excess.max(initial=0.0))
    betas, reaches = [1.0], [0.0]
    for step in range(1, _DECADES * _PER_DECADE + 1):
        beta = 10.0 ** -(step / _PER_DECADE)
        reaches.append(radius(beta))  # rising
        betas.append(beta)
        if reaches[-1] > largest:
            break
    reached = np.searchsorted(reaches, np.maximum(0.0, excess), side="right") - 1
    result: FloatArray = np.array(betas)[reached]
    return result


def discovery_level(p_values: Iterable[FloatArray], rate: float, *, dependence: Dependence = "positive") -> float:
    """The largest p-value to reject for, on average, at most a share `rate` of the rejected hypotheses to be true.

    The r smallest of m p-values are, which are given in any number of parts, r being the most with p_(r) ≤ rate·r/m
    (Benjamini, Hochberg 1995); -1 if none is. That holds for independent and for positively dependent p-values; for
    any dependence the rate is divided by Σ 1/i over 1 … m (Benjamini, Yekutieli 2001).
    """
    rate = checks.open_probability("rate", rate)
    checks.choice("dependence", dependence, ("positive", "any"))
    tests, few = 0, [np.empty(0)]
    for part in p_values:
        tests += part.size
        few.append(part[part <= rate])
    if dependence == "any" and tests:
        from scipy import special

        rate /= special.digamma(tests + 1.0) + np.euler_gamma
    small = np.sort(np.concatenate(few))
    passing = np.flatnonzero(small <= rate * np.arange(1, small.size + 1) / tests) if tests else small
    return float(small[passing[-1]]) if passing.size else -1.0
