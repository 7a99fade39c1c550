"""Intervals are neither too wide nor too narrow: they are compared with the spread of the errors that were seen.

Bounds on errors hold for every population, so misses alone would not show a bound that is a little too small. But
where the bound on the variance is attained, a radius must be √(2 ln(2m/β)) standard deviations, for m statements at
once: no less, as Bernstein's and Hoeffding's inequalities give no less, and hardly more. Intervals of counts are
shorter: there it is the normal quantile.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2, norm

BETA = 0.2
TIMES = 600
ALARM = 1e-5
SLIGHTLY = 0.08
"""By which share a radius may be larger: Bernstein's second term, and people who attain a little less."""


def most_misses(times: int = TIMES, beta: float = BETA) -> int:
    """More misses have a probability below ALARM if each has a probability of at most beta."""
    return int(binom.isf(ALARM, times, beta))


def check_width(radius: Any, errors: NDArray[Any], *, beta: float = BETA, together: int = 1) -> None:
    """The radius is as it must be for independent errors of this spread, except with probability 2·ALARM.

    Errors may have a column for each of several radii, which need not be independent of each other. An interval 1.3
    times as wide, and one 1.3 times as narrow, is noticed for the same errors.
    """
    _check(1.0, errors / radius, beta, together)
    for factor in (1.3, 1 / 1.3):
        with pytest.raises(AssertionError):
            _check(factor, errors / radius, beta, together)


def check_promise(
    radius: Any, errors: NDArray[Any], *, beta: float = BETA, together: int = 1, counted: bool = False
) -> None:
    """The same for an error that was promised. A promise that is 20 % too small is noticed."""
    _check(1.0, errors / radius, beta, together, counted)
    with pytest.raises(AssertionError):
        _check(0.8, errors / radius, beta, together, counted)


def _check(radius: float, errors: NDArray[Any], beta: float, together: int, counted: bool = False) -> None:
    freedom = len(errors) - 1
    least, most = (math.sqrt(float(chi2.ppf(rate, freedom)) / freedom) for rate in (ALARM, 1 - ALARM))
    spread = math.sqrt(float(np.var(errors, axis=0, ddof=1).mean()))
    level = beta / together
    needed = (float(norm.isf(level / 2)) if counted else math.sqrt(2 * math.log(2 / level))) * spread
    assert needed / most <= radius <= (1 + SLIGHTLY) * needed / least
