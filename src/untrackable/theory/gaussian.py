"""Two Gaussians at distance μ (Gaussian differential privacy): where budget searches start; bounds of long tails.

Sums of many small losses look like two Gaussians, so `largest_parameter` starts its search there. `tail_shift` is
one Gaussian that dominates very many quiet rounds, with the standard library alone. A quiet round has three
outcomes: the loss ε with probability ηp, -ε with ηq, where p/q = e^ε and p+q = 1, and 0 with probability 1-η. In
the other world, p and q are exchanged.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from statistics import NormalDist

import numpy as np

from untrackable.theory.search import Root, falling_root

# --- the search for a parameter ---------------------------------------------------------------------------

_TOLERANCE = 1e-9
"""The relative precision of the parameter, unless the caller asks for another."""
_ROUGH_TOLERANCE = 1e-4
"""The relative precision of the rough search that finds a starting point."""
_LOWEST = 1e-18
"""The search stops at this share of the highest parameter."""
_LEAST, _MOST = 1e-280, 1 - 1e-6
"""The range of deltas from which the distance of two Gaussians can be computed."""


def gaussian_delta(shift: float, eps: float) -> float:
    """δ(ε) of N(0, 1) against N(μ, 1), which is Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ)."""
    from scipy.special import log_ndtr, ndtr

    return float(ndtr(shift / 2 - eps / shift) - np.exp(eps + log_ndtr(-shift / 2 - eps / shift)))


def gaussian_shift(delta: float, eps: float) -> float:
    """The distance μ at which δ(ε) of N(0, 1) against N(μ, 1) is `delta`."""
    from scipy.optimize import brentq

    highest = 60 + 3 * math.sqrt(eps)
    return float(brentq(lambda m: math.log(max(gaussian_delta(m, eps), 1e-300) / delta), 1e-12, highest))


def largest_parameter(
    spent: Callable[[float], float],
    guess: float,
    *,
    eps: float,
    delta: float,
    high: float,
    tolerance: float = _TOLERANCE,
    rough: Callable[[float], float] | None = None,
) -> float:
    """The largest parameter up to `high` whose delta, `spent`, is at most `delta`; 0 if none is slack.

    `spent` grows with the parameter x, roughly like δ(ε) of Gaussians at distance μ proportional to x. So the
    search solves ln(target/μ) = 0, which is nearly a line in ln x. `rough` is a quicker approximation of `spent`.
    It only gives the starting point and the slope. The returned parameter was evaluated and spends at most `delta`.
    It is within about `tolerance` of the largest, relatively.
    """
    target = gaussian_shift(delta, eps)

    def log_slack(x: float, spent: Callable[[float], float] = spent) -> float:
        """ln(target/μ), which is not negative exactly where at most delta is spent."""
        now = spent(x)
        slack = math.log(target / gaussian_shift(min(max(now, _LEAST), _MOST), eps))
        return max(slack, 0.0) if now <= delta else min(slack, -_LEAST)

    def largest(height: Callable[[float], float], start: float, tolerance: float, slope: float = 1.0) -> Root:
        low = _LOWEST * high
        return falling_root(height, start, low=low, high=high, tolerance=tolerance, keep="below", slope=slope)

    try:
        slope = 1.0
        if rough is not None:
            guess, slope = largest(partial(log_slack, spent=rough), guess, _ROUGH_TOLERANCE)
        return largest(log_slack, guess, tolerance, slope).x
    except ValueError:
        return 0.0


# --- one Gaussian for the rounds of a tail ----------------------------------------------------------------

_GROUPS = (1, 2, 4, 8, 16, 32, 64)
"""The numbers of rounds that are bounded together."""
_RATIO, _PIECES = 4, 12
"""The tail is cut into pieces. Each ends at this multiple of the round before it; the last one has no end."""
_SUMMED = 5_000
_CLOSE = 1e-3
"""If two probabilities differ by less than this part, the difference of their quantiles would cancel."""
_quantile = NormalDist().inv_cdf


@lru_cache(maxsize=256)
def tail_shift(hit: float, scale: float, power: float, after: int, last: float) -> float:
    """μ of a Gaussian that dominates rounds after+1 … last together.

    Round t has ε = scale·t^(-power), and η is `hit`. Rounds are bounded in groups of n, which begin at rounds t,
    t+n, …; all rounds of a group count as loud as its first. Groups are independent and Gaussians compose, so μ² is
    the sum of the squares of their shifts, and these are at most (`group_slope`·ε)². The ε² of a group is at most
    the average of ε² over the n rounds that end with its first. Only the very first group has no such rounds before
    it.
    """
    variance, start = 0.0, after
    for piece in range(_PIECES):
        if start >= last:
            break
        end = last if piece == _PIECES - 1 else min(last, _RATIO * start)
        first, rest = math.pow(start + 1, -2 * power), squares(power, start + 1, end)
        loudest = scale * math.pow(start + 1, -power)
        variance += min(group_slope(hit, n, loudest) ** 2 * (first + rest / n) for n in _GROUPS)
        if end == math.inf:
            break
        start = int(end)
    return (1 + 1e-9) * scale * math.sqrt(variance)


def group_slope(hit: float, rounds: int, loudest: float) -> float:
    """A bound on μ/ε, where N(0, 1) against N(μ, 1) dominates a group of rounds with the same ε, up to `loudest`.

    What counts is S, the number of losses ε minus that of losses -ε. The trade-off curve of the group has its
    corners at the tests S ≥ k. That of the Gaussians is concave, so it is above the whole curve if it is above the
    corners; and both are their own mirror images, so those with k ≥ 1 are enough. Let F(ε) be the probability of
    S ≥ k in the one world. In the other it is F(-ε), so μ = Φ⁻¹(F(ε)) - Φ⁻¹(F(-ε)) is enough for this corner. Write
    F(±ε) = c ± d, and τ = tanh(ε/2).

    c is half of the probability of |S| ≥ k, which grows with ε: it is at least c₀, that for ε = 0, and at most ½.
    If N rounds have a loss other than 0, S = s is (1+τ)^s·(1-τ²)^((N-s)/2) times as likely as for ε = 0. So d is at
    most D(τ), the sum of ((1+τ)^s - (1-τ)^s)/2 over s ≥ k, weighed with the law for ε = 0; and D(τ)/τ grows with τ.

    Φ⁻¹(c+d) - Φ⁻¹(c-d) falls with c up to ½, because (Φ⁻¹)' is convex and has its minimum at ½, and it grows with d
    at least in proportion. So for all ε up to the loudest, with D = D(τ₀) there, and since τ ≤ ε/2,
    μ ≤ (Φ⁻¹(c₀+D) - Φ⁻¹(c₀-D))·τ/τ₀ ≤ ε·(Φ⁻¹(c₀+D) - Φ⁻¹(c₀-D))/(2τ₀).
    """
    tau = math.tanh(loudest / 2)
    largest, beyond, more = 0.0, 0.0, 0.0
    for s, mass in zip(range(rounds, 0, -1), _upper_law(hit, rounds), strict=True):
        beyond += mass
        more += mass * _odd_part(tau, s)
        if more >= beyond:
            return math.inf
        largest = max(largest, _apart(beyond, more))
    return largest / (2 * tau)


def _odd_part(tau: float, power: int) -> float:
    """((1+τ)^s - (1-τ)^s)/2, which is sinh(s·artanh τ)·(1-τ²)^(s/2), without cancellation."""
    return math.sinh(power * math.atanh(tau)) * math.pow(1 - tau * tau, power / 2) if tau < 1 else math.inf


def _apart(centre: float, distance: float) -> float:
    """Φ⁻¹(c+d) - Φ⁻¹(c-d), or a bound on it if it would cancel.

    (Φ⁻¹)' = √(2π)·exp((Φ⁻¹)²/2) is convex, so its integral is at most the length times the average of its ends.
    """
    low, high = _quantile(centre - distance), _quantile(min(centre + distance, 1 - 2**-53))
    if distance > _CLOSE * centre:
        return high - low
    return distance * math.sqrt(2 * math.pi) * (math.exp(low * low / 2) + math.exp(high * high / 2))


@lru_cache(maxsize=256)
def _upper_law(hit: float, rounds: int) -> tuple[float, ...]:
    """The probabilities of S = n, n-1, …, 1 for ε = 0."""
    law = [1.0]
    for _ in range(rounds):
        spread = [0.0, 0.0, *law, 0.0, 0.0]
        law = [hit / 2 * (spread[i] + spread[i + 2]) + (1 - hit) * spread[i + 1] for i in range(len(law) + 2)]
    return tuple(law[:rounds])


@lru_cache(maxsize=256)
def squares(power: float, after: int, last: float) -> float:
    """Σ t^(-2·power) for t = after+1 … last (upper): a few thousand terms, and an integral that bounds the rest."""
    if last <= after:
        return 0.0
    summed = int(min(last, after + _SUMMED))
    total = math.fsum(math.pow(t, -2 * power) for t in range(after + 1, summed + 1))
    falls = 2 * power - 1
    left = 1.0 if last == math.inf else -math.expm1(-falls * math.log(last / summed))
    return total + math.pow(summed, -falls) * left / falls
