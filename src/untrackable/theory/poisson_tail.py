"""An upper bound on the tail of a sum of independent terms that is nearly as small as the normal tail.

Bernstein's inequality has an exponent that is right and lacks the factor in front: its radius is √(2·ln(2/β))
standard deviations, 1.4 times the normal quantile at β = 0.05. Comparison with a Poisson number has the factor, up
to e²/2.
"""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LOG_FACTOR = 2 - math.log(2)
"""ln(e²/2)"""
_HALVINGS = 60


def log_poisson_tail(deviation: FloatArray, variance: FloatArray, part: FloatArray) -> FloatArray:
    """The logarithm of an upper bound on P(S ≥ x), S a sum of independent terms with mean 0 (upper).

    The sum of their variances is at most v, and no term exceeds b > 0. Then E (S - t)₊² is for every t at most that
    of b·(Π - λ) with a Poisson number Π of mean λ = v/b². For one term: (x - t)₊² is at most the parabola through
    it with its zero at -σ²/b, for all x ≤ b, which compares it with two values, -σ²/b and b. Their distribution
    function crosses that of the centred Poisson number twice, and the first two moments are the same. Sums keep the
    order. So P(S ≥ x) is at most e²/2·P°(Π ≥ λ + x/b), where P° is the tail with straight lines between the
    logarithms at whole numbers (Pinelis 1998; Bentkus 2004).
    """
    from scipy import special

    mean = variance / part**2
    place = deviation / part + mean
    whole = np.floor(place)
    beyond = place - whole
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (
            np.where(number > 0, np.log(special.gammainc(np.maximum(number, 1.0), mean)), 0.0)
            for number in (whole, whole + 1)
        )
        between = np.where(beyond > 0, (1 - beyond) * first + beyond * second, first)
    found: FloatArray = np.minimum(0.0, LOG_FACTOR + between)
    return found


def poisson_radius(n: int, level: float, variance: FloatArray, part: FloatArray, most: FloatArray) -> FloatArray:
    """The smallest deviation of a mean of n terms at which that tail is at most `level`, or else `most`.

    One term has this variance and at most this part.
    """
    low, high = np.zeros_like(most), most
    log = math.log(level)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        outside = log_poisson_tail(n * middle, n * variance, part) <= log
        low, high = np.where(outside, low, middle), np.where(outside, middle, high)
    return high
