"""Intervals are neither too wide nor too narrow: they are compared with the spread of the errors that were seen.

Bounds on errors hold for every population, so misses alone would not show a bound that is a little too small. But
where the bound on the variance is attained, a radius must be √(2 ln(2m/β)) standard deviations, for m statements at
once: no less, as Bernstein's and Hoeffding's inequalities give no less, and hardly more. Intervals of counts are
shorter: there it is the normal quantile. Cells of tables have that of a probability e²/2 times smaller.
"""

import math
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2, norm

BETA = 0.2
TIMES = 600
ALARM = 1e-5
SLIGHTLY = 0.08
"""By which share a radius may be larger: Bernstein's second term, and people who attain a little less."""


By = Literal["moments", "count", "Poisson"]
"""What a radius is by: Hoeffding's or Bernstein's inequality, the law of a count, or `poisson_tail`."""


def most_misses(times: int = TIMES, beta: float = BETA) -> int:
    """More misses have a probability below ALARM if each has a probability of at most beta."""
    return int(binom.isf(ALARM, times, beta))


def check_width(
    radius: Any, errors: NDArray[Any], *, beta: float = BETA, together: int = 1, by: By = "moments"
) -> None:
    """The radius is as it must be for independent errors of this spread, except with probability 2·ALARM.

    Errors may have a column for each of several radii, which need not be independent of each other. An interval 1.3
    times as wide, and one 1.3 times as narrow, is noticed for the same errors.
    """
    _check(1.0, errors / radius, beta / together, by)
    for factor in (1.3, 1 / 1.3):
        with pytest.raises(AssertionError):
            _check(factor, errors / radius, beta / together, by)


def check_promise(
    radius: Any, errors: NDArray[Any], *, beta: float = BETA, together: int = 1, by: By = "moments"
) -> None:
    """The same for an error that was promised. A promise that is 20 % too small is noticed."""
    _check(1.0, errors / radius, beta / together, by)
    with pytest.raises(AssertionError):
        _check(0.8, errors / radius, beta / together, by)


def _check(radius: float, errors: NDArray[Any], level: float, by: By) -> None:
    freedom = len(errors) - 1
    least, most = (math.sqrt(float(chi2.ppf(rate, freedom)) / freedom) for rate in (ALARM, 1 - ALARM))
    spread = math.sqrt(float(np.var(errors, axis=0, ddof=1).mean()))
    deviations = {
        "moments": math.sqrt(2 * math.log(2 / level)),
        "count": float(norm.isf(level / 2)),
        "Poisson": float(norm.isf(level / math.e**2)),
    }
    needed = deviations[by] * spread
    assert needed / most <= radius <= (1 + SLIGHTLY) * needed / least
