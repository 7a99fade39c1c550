"""An upper bound on the tail of a sum of independent terms that is nearly as small as the normal tail.

Bernstein's inequality has an exponent that is right and lacks the factor in front: its radius is √(2·ln(2/β))
standard deviations, 1.39 times the normal quantile at β = 0.05. Comparison with a Poisson number has the factor, up
to e²/2, and its radius is 1.24 times the normal quantile there.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_STEPS = 3
_HALVINGS = 22
_STEP = 0.01
"""Between the logarithms of means for which radii are computed."""
_TOGETHER = 16
"""Radii that are computed at once, because shares near by ask for means near by."""
_LEAST, _MOST = 1e-6, 1e5
"""Between them is the mean of the Poisson number, so that its moments are known well.

A term may be said to vary more or to be larger than it is.
"""
_FAR = -600.0
"""Where the logarithm is less, Chernoff's bound takes over, as moments would be too small to be told from 0."""


def log_poisson_tail(deviation: FloatArray, variance: FloatArray, part: FloatArray) -> FloatArray:
    """The logarithm of an upper bound on P(S ≥ x), S a sum of independent terms with mean 0 (upper).

    The sum of their variances is at most v, and no term exceeds b > 0. Then E (S - t)₊² is for every t at most that
    of b·(Π - λ) with a Poisson number Π of mean λ = v/b². For one term: (x - t)₊² is at most the parabola through
    it with its zero at -σ²/b, for all x ≤ b, which compares it with two values, -σ²/b and b. Their distribution
    function crosses that of the centred Poisson number twice, and the first two moments are the same. Sums keep the
    order. So P(S ≥ x) is at most E (b·(Π - λ) - t)₊²/(x - t)² for every t < x (Pinelis 1998; Bentkus 2004).

    The best t is where x - t is the ratio of the second moment to the first. If x is at most b, that is known. Else
    it is approached from where it would be for a tail that falls as Chernoff's bound does, until no whole number is
    between the two: then it is a ratio.
    """
    part = np.maximum(part, np.sqrt(variance / _MOST))
    mean = np.maximum(variance / part**2, _LEAST)
    off = np.maximum(deviation / part, _LEAST)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.where(off > 1, mean + off - np.maximum(1.0, 2 / np.log1p(off / mean)), mean - mean / off)
        for _ in range(_STEPS):
            tail, first, second = _excess(start, mean)
            left = mean + off - start
            best, whole = start + (left * first - second) / (left * tail - first), np.ceil(start)
            best = np.where((best > whole - 1) & (best <= whole), best, mean + off - second / first)
            start = np.where((off > 1) & (first > 0), best, start)
        found = np.log(_excess(start, mean)[2]) - 2 * np.log(mean + off - start)
        chernoff = off - (mean + off) * np.log1p(off / mean)
    found = np.where(found > _FAR, found, chernoff)
    return np.where(deviation > 0, np.minimum(0.0, found), 0.0)


def poisson_radius(n: int, level: float, variance: FloatArray, part: FloatArray, most: FloatArray) -> FloatArray:
    """A deviation of a mean of n terms at which that tail is at most `level`, or else `most` (upper).

    One term has this variance and at most this part. In parts, the smallest such deviation depends on the mean of
    the Poisson number alone. It grows with the mean, and less than in proportion. So two means near by, for which
    it is known, bound it from above, by at most a quarter of the step between them.
    """
    part = np.maximum(part, np.sqrt(n * variance / _MOST))
    mean = np.maximum(n * variance / part**2, _LEAST)
    place = np.floor(np.log(mean) / _STEP).astype(np.int64)
    below = _radii(level, place) * mean / np.exp(_STEP * place)
    found: FloatArray = np.minimum(most, np.minimum(below, _radii(level, place + 1)) * part / n)
    return found


def _radii(level: float, places: NDArray[np.int64]) -> FloatArray:
    """The radius, in parts, for the means e^(step·place)."""
    known, (needed, back) = _known(level), np.unique(places, return_inverse=True)
    if any(place not in known for place in needed.tolist()):
        blocks = np.unique(needed // _TOGETHER)
        missing = (blocks[:, None] * _TOGETHER + np.arange(_TOGETHER)).ravel()
        missing = missing[[place not in known for place in missing.tolist()]]
        mean, log = np.exp(_STEP * missing), math.log(level)
        low, high = np.zeros(missing.size), np.sqrt(-2 * mean * log) - log / 3  # Bernstein's is never smaller.
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = log_poisson_tail(middle, mean, np.ones(missing.size)) <= log
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        known.update(zip(missing.tolist(), high.tolist(), strict=True))
    radii: FloatArray = np.array([known[place] for place in needed.tolist()])[back]
    return radii.reshape(places.shape)


@lru_cache(maxsize=64)
def _known(_level: float) -> dict[int, float]:
    """The radii that are known for a level, by place."""
    return {}


def _excess(start: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P(Π ≥ t), and the first two moments of (Π - t)₊, for a Poisson number Π and a number t (exact, rounded)."""
    from scipy import special

    least, off = np.maximum(np.ceil(start), 0.0), mean - start
    number = np.maximum(least, 1.0)
    tail = np.where(least > 0, special.gammainc(number, mean), 1.0)
    below = np.where(least > 0, np.exp(number * np.log(mean) - mean - special.gammaln(number)), 0.0)
    return tail, below + off * tail, (mean + off**2) * tail + below * (least - mean + 2 * off)
