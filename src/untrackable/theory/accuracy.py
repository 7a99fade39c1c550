"""How far an estimated frequency can be from the true one: radii, intervals, p-values and projection.

Radii and intervals hold with probability 1 - β over the clients' randomness, for every population, so they are
upper bounds and not approximations. Where a report counts for a value with one of two known probabilities, they
invert the law of the count (`count_interval`); else they follow from Hoeffding's inequality. Functions with
`printed` in their name give the formula that [NV] prints. It is twice as large as the paper's own proofs show, and
eight times as large in Bitwise's main text; see docs/errata.md.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.arrays import FloatArray


class Accuracy(NamedTuple):
    """How far one value's estimated frequency is from the truth in one round of `people` reports.

    `radius` is an upper bound that fails with probability at most `beta`, for any values that people hold.
    `standard_error` is exact under the condition that `given` names, usually a value that nobody holds. `deviation`
    is s in Hoeffding's radius s·√(ln(2/β)/2), by which rounds of different noise are pooled; infinite if they never
    are.
    """

    people: int
    beta: float
    radius: float
    standard_error: float
    given: str = "of a value that nobody holds"
    deviation: float = math.inf

    @staticmethod
    def of(people: int, beta: float, *, span: float, variance: float) -> "Accuracy":
        """Accuracy from one report's contribution: its span, and its variance for a value its sender lacks."""
        radius, error = mean_radius(people, beta, span=span), math.sqrt(variance / people)
        return Accuracy(people, beta, radius, error, deviation=span / math.sqrt(people))

    @staticmethod
    def of_shares(
        people: int, beta: float, *, there: float, elsewhere: float, span: float | None = None
    ) -> "Accuracy":
        """Accuracy of the estimate (share - elsewhere)/(there - elsewhere) of a value's frequency.

        `there` is the probability that a report of somebody with the value counts for it, and `elsewhere` the
        probability that any other report does. The radius is that of the widest `count_interval` of all shares that
        people may hold, and so also holds for everybody's share if those who report are a random sample. `span` is
        1/(there - elsewhere), given where the two are so close that it would be rounded.
        """
        span = 1 / abs(there - elsewhere) if span is None else span
        radius = span * _widest_count_radius(people, beta, (there, elsewhere))
        deviation = span / math.sqrt(people)
        error = deviation * math.sqrt(elsewhere * (1 - elsewhere))
        return Accuracy(people, beta, radius, error, deviation=deviation)


def mean_radius(people: int, beta: float, *, span: float = 1.0, statistics: int = 1) -> float:
    """Radius span·√(ln(2m/β)/(2n)) for m means at once, each of n independent terms of this span [NV, Chernoff]."""
    people = checks.integer("people", people, low=1)
    beta = checks.open_probability("beta", beta)
    return span * math.sqrt((math.log(2 / beta) + math.log(statistics)) / (2 * people))


# --- the interval of a count ------------------------------------------------------------------------------

_LARGEST_TILT = 1e12
"""Larger tilts of a law gain nothing, and would overflow."""
_MOST_STEPS, _CLOSE = 50, 1e-9
"""Steps of Newton's method, and the change, in standard deviations of a count, at which it ends."""
_MANY = 1e10
"""The variance from which on a binomial density is rounded too much, and the normal one is as good."""
_NEAR_WORST = np.linspace(-1, 1, 17)
"""The search for the widest interval: counts around the one of the largest variance."""
_MOST_REPORTS = 10**14
"""More reports cannot be told apart in floating-point numbers."""
_BETWEEN = 1.001
"""Between two such counts, the interval is less than this many times as wide."""


def count_interval(
    counts: FloatArray,
    n: int,
    beta: float,
    *,
    elsewhere: FloatArray | float,
    span: FloatArray | float,
    sampled: bool,
) -> tuple[FloatArray, FloatArray]:
    """The interval of the share f of a value if this many of n independent reports count for it.

    A report counts with probability q = `elsewhere`, or with p = q + 1/span if its sender holds the value.
    Each end fails with probability at most β/2. Ends may lie outside [0, 1].

    The count is a sum of n independent indicators with the mean n·m, m = q + (p-q)·f. Beyond n·m ± 1, neither tail
    is heavier than that of Binomial(n, m) (Hoeffding 1956, theorem 4), so m lies in the interval of Clopper and
    Pearson. This is also true of everybody's share if senders are drawn at random: the number of holders among them
    is hypergeometric, whose generating function has real roots only, so that the count is still such a sum.

    If those who report are everybody (not `sampled`), the count is Bin(h, p) + Bin(n-h, q) with h = n·f. Its
    variance is smaller than the binomial by n·f(1-f)(p-q)². Then every h is excluded too for which `_log_tail` is
    below β/2.
    """
    if np.ndim(span) == 0 and counts.size > 1:  # Many counts are equal.
        counts, places = np.unique(counts, return_inverse=True)
        ends = _count_interval(counts, n, beta / 2, elsewhere, span, sampled)
        return ends[0][places], ends[1][places]
    return _count_interval(counts, n, beta / 2, elsewhere, span, sampled)


def _count_interval(
    counts: FloatArray,
    n: int,
    level: float,
    elsewhere: FloatArray | float,
    span: FloatArray | float,
    sampled: bool,
) -> tuple[FloatArray, FloatArray]:
    rest = n - counts
    lower = (_least_chance(counts, n, level) - elsewhere) * span
    upper = (1 - _least_chance(rest, n, level) - elsewhere) * span
    if sampled:
        return lower, upper
    share, there = (counts / n - elsewhere) * span, elsewhere + 1 / span
    fewest = _fewest_holders(counts, n, level, lower, share, there, elsewhere)
    # Those without the value are the holders of its opposite, for which all other reports count.
    fewest_others = _fewest_holders(rest, n, level, 1 - upper, 1 - share, 1 - elsewhere, 1 - there)
    return np.maximum(lower, fewest / n), np.minimum(upper, 1 - fewest_others / n)


@lru_cache(maxsize=4096)
def _widest_count_radius(n: int, beta: float, chances: tuple[float, float]) -> float:
    """How far either end of `count_interval`, divided by the span, is from the estimate, for any population.

    The variance of a count is largest where its share of the reports is nearest to one half.
    """
    n, beta = checks.integer("people", n, low=1), checks.open_probability("beta", beta)
    if n > _MOST_REPORTS:  # Radii fall at least as one over the root.
        return _widest_count_radius(_MOST_REPORTS, beta, chances) * math.sqrt(_MOST_REPORTS / n)
    worst = n * min(max(chances), max(min(chances), 0.5))
    near = worst + math.sqrt(n * math.log(2 / beta)) / 2 * _NEAR_WORST
    counts = np.clip(near, n * min(chances), n * max(chances))
    lower, upper = count_interval(counts, n, beta, elsewhere=0.0, span=1.0, sampled=True)
    return _BETWEEN * float(np.maximum(counts / n - lower, upper - counts / n).max())


def _least_chance(counts: FloatArray, n: int, level: float) -> FloatArray:
    """The largest m with P(Binomial(n, m) ≥ c) ≤ `level` (Clopper and Pearson 1934), and at most (c-1)/n.

    The tail is the distribution function of Beta(c, n-c+1). Its logarithm is concave in ln m, so every step of
    Newton's method ends at or below the m that is looked for.
    """
    from scipy import special

    c = np.maximum(counts, 1.0)
    z, rest = -special.ndtri(level), n - c
    wilson = (c + z**2 / 2 - z * np.sqrt(c * rest / n + z**2 / 4)) / (n + z**2)
    log, scale, many = np.log(wilson), special.betaln(c, rest + 1), c * rest / n > _MANY
    for _ in range(_MOST_STEPS):
        m = np.exp(log)
        tail = special.betainc(c, rest + 1, m)
        normal = np.log(n * m / (2 * math.pi * np.maximum(1 - m, 1 / n))) / 2 - special.ndtri(tail) ** 2 / 2
        density = np.where(many, normal, c * log + special.xlog1py(rest, -m) - scale)
        step = (np.log(tail) - math.log(level)) * tail * np.exp(-density)
        log = log - step
        if np.max(np.abs(step) * np.sqrt(c), initial=0.0) < _CLOSE:
            break
    return np.where(counts > 0, np.minimum(np.exp(log), (c - 1) / n), 0.0)


def _fewest_holders(
    counts: FloatArray,
    n: int,
    level: float,
    lower: FloatArray,
    share: FloatArray,
    there: FloatArray | float,
    elsewhere: FloatArray | float,
) -> FloatArray:
    """The fewest holders that do not make a count this large too unlikely, between `lower` and `share` of n.

    Fewer holders make it less likely. So whichever number is excluded, all smaller ones are.
    """
    left = np.clip(np.ceil(n * share), 0, n)
    excluded = np.minimum(np.clip(np.floor(n * lower), 0, n), left) - 1
    while np.any(left - excluded > 1):
        middle = np.floor((left + excluded) / 2)
        unlikely = _log_tail(np.maximum(middle, 0), counts, n, there, elsewhere) <= math.log(level)
        unlikely &= middle >= 0
        excluded, left = np.where(unlikely, middle, excluded), np.where(unlikely, left, middle)
    return left


def _log_tail(
    holders: FloatArray, counts: FloatArray, n: int, there: FloatArray | float, elsewhere: FloatArray | float
) -> FloatArray:
    """The logarithm of an upper bound on P(S ≥ c) for S = Bin(h, p) + Bin(n-h, q), close to the normal tail.

    Under the law that is tilted by x = e^θ, θ > 0, S has the mean c and a variance v. P(S ≥ c) is
    M(θ)·e^(-θc)·E[x^-(S-c); S ≥ c], with M the moment generating function. No value of a sum of independent
    indicators is likelier than e^-v·I₀(v): for one of them the squared characteristic function at t is 1 -
    2p(1-p)(1 - cos t), at most e^(-2p(1-p)(1 - cos t)). So the expectation is at most e^-v·I₀(v)/(1 - 1/x), and 1.
    """
    from scipy import special

    p, q, others = there, elsewhere, n - holders
    # (n-c)·pq·x² + b·x - c·(1-p)(1-q) = 0
    square, absolute = p * q * (n - counts), counts * (1 - p) * (1 - q)
    linear = holders * p * (1 - q) + others * q * (1 - p) - counts * (p * (1 - q) + q * (1 - p))
    root = np.sqrt(linear**2 + 4 * square * absolute)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = np.where(linear > 0, 2 * absolute / (linear + root), (root - linear) / (2 * square))
        tilt = np.clip(np.nan_to_num(tilt, nan=_LARGEST_TILT), 1.0, _LARGEST_TILT)
        mine, theirs = p * tilt / (1 - p + p * tilt), q * tilt / (1 - q + q * tilt)
        variance = holders * mine * (1 - mine) + others * theirs * (1 - theirs)
        beyond = np.minimum(0.0, np.log(special.i0e(variance)) - np.log1p(-1 / tilt))
    logs = holders * np.log1p(p * (tilt - 1)) + others * np.log1p(q * (tilt - 1)) - counts * np.log(tilt)
    return np.asarray(logs + beyond)


# --- the mechanisms of [NV] -------------------------------------------------------------------------------


def _bitwise_scale(eps_state: float, eps_report: float) -> float:
    """(e^ε₁+1)(e^ε₂+1)/((e^ε₁-1)(e^ε₂-1)), the factor between Bitwise's share of ones and the frequency."""
    return _inverse_tanh(eps_state) * _inverse_tanh(eps_report)


def bitwise_radius(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """Bitwise's radius: `_bitwise_scale` times √(ln(2/β)/(2n))."""
    return _bitwise_scale(eps_state, eps_report) * mean_radius(people, beta)


def bitwise_radius_printed(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """Bitwise's radius as printed: `_bitwise_scale` times √(2 ln(2/β)/n) [NV, Theorem "bitwise accuracy"]."""
    return 2 * bitwise_radius(eps_state, eps_report, people, beta)


def bitwise_radius_printed_simple(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """Bitwise's radius as printed in short: (ε₁+2)(ε₂+2)/(ε₁ε₂)·√(32 ln(2/β)/n) [NV, main text and corollary]."""
    eps_state, eps_report = checks.positive("eps_state", eps_state), checks.positive("eps_report", eps_report)
    scale = (eps_state + 2) * (eps_report + 2) / (eps_state * eps_report)
    return 8 * scale * mean_radius(people, beta)


def inner_product_scale(bits: int, eps_report: float, width: int = 1) -> float:
    """(2^d-1)/2^d·(e^ε'+g-1)/((g-1)(e^ε'-1)) with g = 2^w, the factor that turns a mean into the frequency of u.

    With one vector v and bit b per report (w = 1), the mean is that of (-1)^(⟨v,u⟩⊕b). With w vectors, each report
    adds g-1 to the mean if its answer is the one that u gives, and -1 otherwise.
    """
    bits = checks.integer("bits", bits, low=1)
    share = -math.expm1(-bits * math.log(2))
    if width == 1:
        return share * _inverse_tanh(eps_report)
    others = (1 << width) - 1
    return share * (1 + others * math.exp(-eps_report)) / (others * -math.expm1(-eps_report))


def inner_product_variance(bits: int, eps_report: float, width: int = 1) -> float:
    """Variance of one report's contribution to the estimate of a value that its sender does not hold.

    Such a report counts for the value with probability c = (1-m)/g, where m = 2^-d/scale, and then adds g·scale.
    The variance is scale²·g²·c·(1-c) = scale²·(1-m)·(g-1+m).
    """
    scale = inner_product_scale(bits, eps_report, width)
    mean = 0.5**bits / scale
    return scale**2 * (1 - mean) * ((1 << width) - 1 + mean)


def inner_product_radius(
    bits: int, eps_report: float, people: int, beta: float, *, simultaneous: bool = True
) -> float:
    """RNIP's radius: the scale times 2√(ln(2^(d+1)/β)/(2n)) for all values at once.

    With `simultaneous` False it is the scale times 2√(ln(2/β)/(2n)), for one value chosen beforehand.
    """
    span = 2 * inner_product_scale(bits, eps_report)
    return mean_radius(people, beta, span=span, statistics=1 << bits if simultaneous else 1)


def inner_product_radius_printed(bits: int, eps_report: float, people: int, beta: float) -> float:
    """RNIP's radius as printed: (2^d-1)/2^(d-1)·(e^ε'+1)/(e^ε'-1)·√(2 ln(2^(d+1)/β)/n) [NV, "RNIP accuracy"]."""
    return 2 * inner_product_radius(bits, eps_report, people, beta)


def inner_product_radius_printed_simple(bits: int, eps_report: float, people: int, beta: float) -> float:
    """RNIP's radius as printed in short: (ε'+2)/ε'·√(8 ln(2^(d+1)/β)/n) [NV, Corollary]."""
    eps_report = checks.positive("eps_report", eps_report)
    return (eps_report + 2) / eps_report * 4 * _log_radius(bits, people, beta)


def inner_product_eps_printed(bits: int, radius: float, people: int, beta: float) -> float:
    """ε' = 2√(2 ln(2^(d+1)/β))/(α√n - √(2 ln(2^(d+1)/β))) for a radius α [NV, "Parameter Selection"].

    It solves (ε'+2)/ε'·√(2 ln(2^(d+1)/β)/n) = α. The paper's corollary has √8 where this has √2.
    """
    root = 2 * _log_radius(bits, people, beta)
    if checks.positive("radius", radius) <= root:
        raise ValueError(f"radius must be above {root:.3g} for {people} people, got {radius}")
    return 2 * root / (radius - root)


class ParameterSelection(NamedTuple):
    """The result of [NV, "Parameter Selection"]: eps', the slots, and the untrackability delta for k reports."""

    eps_report: float
    slots: int
    delta: float


def inner_product_selection(
    bits: int,
    eps: float,
    delta: float,
    radius: float,
    people: int,
    beta: float,
    reports: int,
    *,
    printed: bool,
) -> ParameterSelection:
    """Choose RNIP's parameters: the radius α determines ε', then ε' the slots L, then L the tracking bound k²/L.

    With `printed`, ε' = (4/α)·√(2 ln(2^(d+1)/β)/n). This is at least `inner_product_eps_printed` for
    α > 2√(2 ln(2^(d+1)/β)/n). Otherwise ε' is the smallest whose sharp radius is α. Either way,
    L = ⌊ε²/(8ε'² ln(1/δ))⌋. The term L²/2^d of the tracking bound is left out, as in the printed summary.
    """
    eps, radius = checks.positive("eps", eps), checks.positive("radius", radius)
    delta = checks.open_probability("delta", delta)
    reports = checks.integer("reports", reports, low=1)
    root = _log_radius(bits, people, beta) * math.sqrt(2)  # √(ln(2^(d+1)/β)/n)
    if printed:
        eps_report = 4 / radius * math.sqrt(2) * root
    else:
        needed = radius / (2 * -math.expm1(-bits * math.log(2)) * root / math.sqrt(2))
        if needed <= 1:
            raise ValueError(f"radius {radius} cannot be reached by {people} people at any eps_report")
        eps_report = 2 * math.atanh(1 / needed)
    slots = math.floor(eps**2 / (8 * eps_report**2 * math.log(1 / delta)))
    return ParameterSelection(eps_report, slots, min(1.0, reports**2 / slots) if slots else 1.0)


def _log_radius(bits: int, people: int, beta: float) -> float:
    """√(ln(2^(d+1)/β)/(2n))."""
    return mean_radius(people, beta, statistics=1 << checks.integer("bits", bits, low=1))


def _inverse_tanh(eps: float) -> float:
    return 1 / math.tanh(checks.positive("eps", eps) / 2)


# --- exact bounds for a probability, from hits and trials (Clopper and Pearson 1934) ----------------------


def lower_bound(hits: ArrayLike, trials: ArrayLike, error: float) -> NDArray[np.float64]:
    """A one-sided bound: for every true probability, it is too large with probability at most `error`."""
    from scipy.special import betaincinv

    h, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        bound = betaincinv(np.maximum(h, 1e-300), n - h + 1, error)
    return np.where(h > 0, bound, 0.0)


def upper_bound(hits: ArrayLike, trials: ArrayLike, error: float) -> NDArray[np.float64]:
    """A one-sided bound: for every true probability, it is too small with probability at most `error`."""
    h, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    return 1.0 - lower_bound(n - h, n, error)


def clopper_pearson(hits: float, trials: int, level: float) -> tuple[float, float]:
    """A two-sided interval that contains the true probability with probability at least `level`."""
    level = checks.open_probability("level", level)
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"hits must be between 0 and trials, and trials at least 1; got {hits} of {trials}")
    tail = (1 - level) / 2
    return float(lower_bound(hits, trials, tail)), float(upper_bound(hits, trials, tail))


class Share(NamedTuple):
    """A share of hits among trials (sampled), with its two-sided Clopper-Pearson interval."""

    hits: int
    trials: int
    sampled: float
    lower: float
    upper: float

    @staticmethod
    def of(hits: int, trials: int, level: float) -> "Share":
        """The share and its interval at this level."""
        lower, upper = clopper_pearson(hits, trials, level)
        return Share(int(hits), int(trials), hits / trials, lower, upper)


@dataclass(frozen=True, slots=True)
class Matched:
    """A share or an area (sampled), with its confidence interval."""

    people: int
    sampled: float
    lower: float
    upper: float
    level: float


# --- p-values: which estimates stand out from noise -------------------------------------------------------

Dependence = Literal["positive", "any"]
"""The assumption about p-values: "positive" is independence or positive dependence, "any" is no assumption."""
_DECADES = 300
"""`radius_tail` tries failure probabilities down to 10 to the minus this power."""
_PER_DECADE = 32
"""`radius_tail` tries this number of failure probabilities per power of ten."""


def binomial_tail(counts: NDArray[np.int64], trials: int, chance: FloatArray | float) -> FloatArray:
    """P(Binomial(n, p) ≥ count), the exact p-value of a count to which n reports add with probability p each.

    A p-value here is an upper bound on the probability of an estimate this large for a value that nobody holds. It
    holds in any population, and none relies on a normal approximation.
    """
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
    return np.where(counts <= 0, 1.0, np.where(counts > trials, 0.0, tail))


def mean_tail(excess: FloatArray, people: int, span: FloatArray | float) -> FloatArray:
    """exp(-2n·(x/span)²), which bounds P(a mean of n independent terms exceeds its expectation by x).

    Each term lies in an interval of length `span` (Hoeffding 1963).
    """
    above = np.maximum(excess, 0.0) / span
    return np.exp(-2.0 * people * above**2)


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
    return np.array(betas)[reached]


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


def nearest_frequencies(point: FloatArray, *, complete: bool = True) -> FloatArray:
    """Euclidean projection onto {x ≥ 0, Σx = 1}, or onto {x ≥ 0, Σx ≤ 1} if not all values are listed.

    It is max(0, point - t), where t makes the sum one: t = (Σ_{i≤r} p_i - 1)/r over the r largest entries, for the
    largest r whose r-th entry stays positive (Duchi, Shalev-Shwartz, Singer, Chandra 2008, Figure 1). The true
    frequencies lie in this convex set, so the projection is never farther from them than the point was.
    """
    point = np.asarray(point, dtype=np.float64)
    if point.ndim != 1 or not point.size or not np.all(np.isfinite(point)):
        raise ValueError(f"point must be a vector of finite numbers, at least one, got shape {point.shape}")
    positive: FloatArray = np.maximum(point, 0.0)
    if not complete and positive.sum() <= 1:
        return positive
    largest = np.sort(point)[::-1]
    below = largest - largest[0]  # Subtracting the largest entry first avoids cancellation.
    excess = (np.cumsum(below) - 1) / np.arange(1, point.size + 1)
    kept = int(np.flatnonzero(below > excess)[-1])
    nearest: FloatArray = np.maximum(point - largest[0] - excess[kept], 0.0)
    nearest /= nearest.sum()
    return nearest


# --- the tail of a sum of independent terms, nearly as small as the normal tail ---------------------------

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
"""Below this logarithm, Chernoff's bound takes over, as moments would be too small to be told from 0."""


def _log_poisson_tail(deviation: FloatArray, variance: FloatArray, part: FloatArray) -> FloatArray:
    """The logarithm of an upper bound on P(S ≥ x), S a sum of independent terms with mean 0 (upper).

    Bernstein's inequality has the right exponent and lacks the factor in front: its radius is √(2·ln(2/β)) standard
    deviations, 1.39 times the normal quantile at β = 0.05. Comparison with a Poisson number has the factor, up to
    e²/2, and its radius is 1.24 times the normal quantile there.

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
        log_tail = np.log(_excess(start, mean)[2]) - 2 * np.log(mean + off - start)
        chernoff = off - (mean + off) * np.log1p(off / mean)
    log_tail = np.where(log_tail > _FAR, log_tail, chernoff)
    return np.where(deviation > 0, np.minimum(0.0, log_tail), 0.0)


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
    return np.asarray(np.minimum(most, np.minimum(below, _radii(level, place + 1)) * part / n))


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
            enough = _log_poisson_tail(middle, mean, np.ones(missing.size)) <= log
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
