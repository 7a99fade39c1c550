"""How far an estimated frequency can be from the true one.

The radii hold with probability 1 - β over the clients' randomness, for every population, by Hoeffding's
inequality: they are upper bounds, not approximations. `printed` forms are those of [NV], twice as large (in
Bitwise's main text, eight times and in another form) as its own proofs give; see docs/errata.md.
"""

import math
from typing import NamedTuple

from untrackable import checks


class Accuracy(NamedTuple):
    """How far one value's estimated frequency is from the truth, one round of `people` reports.

    `radius` is an upper bound that fails with probability at most `beta`, whatever people hold; `standard_error` is
    exact under what `given` says, for most a value that nobody holds: the noise that all have at least about.
    """

    people: int
    beta: float
    radius: float
    standard_error: float
    given: str = "of a value that nobody holds"

    @staticmethod
    def of(people: int, beta: float, *, span: float, variance: float) -> "Accuracy":
        """From the span of what one report adds, and its variance for a value that its sender does not hold."""
        return Accuracy(people, beta, mean_radius(people, beta, span=span), math.sqrt(variance / people))

    @staticmethod
    def of_shares(people: int, beta: float, *, there: float, elsewhere: float) -> "Accuracy":
        """Of an estimate (share - elsewhere)/(there - elsewhere), from the probabilities that a report counts."""
        span = 1 / abs(there - elsewhere)
        return Accuracy.of(people, beta, span=span, variance=span**2 * elsewhere * (1 - elsewhere))


def mean_radius(people: int, beta: float, *, span: float = 1.0, statistics: int = 1) -> float:
    """Span·√(ln(2m/β)/(2n)): n independent terms of the given span, m statistics at once [NV, Chernoff]."""
    people = checks.integer("people", people, low=1)
    beta = checks.open_probability("beta", beta)
    return span * math.sqrt((math.log(2 / beta) + math.log(statistics)) / (2 * people))


def bitwise_scale(eps_state: float, eps_report: float) -> float:
    """(e^ε₁+1)(e^ε₂+1)/((e^ε₁-1)(e^ε₂-1)): what turns the share of ones into the frequency."""
    return _inverse_tanh(eps_state) * _inverse_tanh(eps_report)


def bitwise_radius(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """The scale times √(ln(2/β)/(2n))."""
    return bitwise_scale(eps_state, eps_report) * mean_radius(people, beta)


def bitwise_radius_printed(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """The scale times √(2 ln(2/β)/n) [NV, Theorem "bitwise accuracy"]."""
    return 2 * bitwise_radius(eps_state, eps_report, people, beta)


def bitwise_radius_printed_simple(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """(ε₁+2)(ε₂+2)/(ε₁ε₂)·√(32 ln(2/β)/n) [NV, main text and corollary]."""
    eps_state, eps_report = checks.positive("eps_state", eps_state), checks.positive("eps_report", eps_report)
    scale = (eps_state + 2) * (eps_report + 2) / (eps_state * eps_report)
    return 8 * scale * mean_radius(people, beta)


def inner_product_scale(bits: int, eps_report: float, width: int = 1) -> float:
    """(2^d-1)/2^d·(e^ε'+g-1)/((g-1)(e^ε'-1)), g = 2^w: what turns a mean into the frequency of u.

    The mean is that of (-1)^(⟨v,u⟩⊕b) for one vector and bit; for w of them, of g-1 where the answer is that of u
    and -1 elsewhere.
    """
    bits = checks.integer("bits", bits, low=1)
    share = -math.expm1(-bits * math.log(2))
    if width == 1:
        return share * _inverse_tanh(eps_report)
    others = (1 << width) - 1
    return share * (1 + others * math.exp(-eps_report)) / (others * -math.expm1(-eps_report))


def inner_product_variance(bits: int, eps_report: float, width: int = 1) -> float:
    """Variance of one report's part in the estimate of a value that its sender does not hold.

    A report counts for such a value with chance c = (1-m)/g, m = 2^-d/scale, and adds g·scale then: the variance is
    scale²·g²·c·(1-c) = scale²·(1-m)·(g-1+m).
    """
    scale = inner_product_scale(bits, eps_report, width)
    mean = 0.5**bits / scale
    return scale**2 * (1 - mean) * ((1 << width) - 1 + mean)


def inner_product_radius(
    bits: int, eps_report: float, people: int, beta: float, *, simultaneous: bool = True
) -> float:
    """The scale times 2√(ln(2^(d+1)/β)/(2n)), or with ln(2/β) for one value chosen beforehand."""
    span = 2 * inner_product_scale(bits, eps_report)
    log_values = bits * math.log(2) if simultaneous else 0.0
    beta = checks.open_probability("beta", beta)
    people = checks.integer("people", people, low=1)
    return span * math.sqrt((math.log(2 / beta) + log_values) / (2 * people))


def inner_product_radius_printed(bits: int, eps_report: float, people: int, beta: float) -> float:
    """(2^d-1)/2^(d-1)·(e^ε'+1)/(e^ε'-1)·√(2 ln(2^(d+1)/β)/n) [NV, Theorem "RNIP accuracy"]."""
    return 2 * inner_product_radius(bits, eps_report, people, beta)


def inner_product_radius_printed_simple(bits: int, eps_report: float, people: int, beta: float) -> float:
    """(ε'+2)/ε'·√(8 ln(2^(d+1)/β)/n) [NV, Corollary]."""
    eps_report = checks.positive("eps_report", eps_report)
    return (eps_report + 2) / eps_report * 4 * _log_radius(bits, people, beta)


def inner_product_eps_printed(bits: int, radius: float, people: int, beta: float) -> float:
    """2√(2 ln(2^(d+1)/β))/(α√n - √(2 ln(2^(d+1)/β))) [NV, "Parameter Selection"].

    It solves (ε'+2)/ε'·√(2 ln(2^(d+1)/β)/n) = α, with √2 where the corollary has √8.
    """
    root = 2 * _log_radius(bits, people, beta)
    if checks.positive("radius", radius) <= root:
        raise ValueError(f"radius must be above {root:.3g} for {people} people, got {radius}")
    return 2 * root / (radius - root)


class Selection(NamedTuple):
    """What [NV, "Parameter Selection"] arrives at: eps' and slots, and delta of untrackability for k reports."""

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
) -> Selection:
    """Accuracy α gives ε', ε' gives L, L gives k²/L.

    Printed: ε' = (4/α)·√(2 ln(2^(d+1)/β)/n), at least `inner_product_eps_printed` for α > 2√(2 ln(2^(d+1)/β)/n).
    Otherwise the smallest ε' whose sharp radius is α. In both, L = ⌊ε²/(8ε'² ln(1/δ))⌋ and the tracking bound is
    k²/L, its L²/2^d left out as in the printed summary.
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
    return Selection(eps_report, slots, min(1.0, reports**2 / slots) if slots else 1.0)


def _log_radius(bits: int, people: int, beta: float) -> float:
    """√(ln(2^(d+1)/β)/(2n))."""
    bits, people = checks.integer("bits", bits, low=1), checks.integer("people", people, low=1)
    beta = checks.open_probability("beta", beta)
    return math.sqrt(((bits + 1) * math.log(2) - math.log(beta)) / (2 * people))


def _inverse_tanh(eps: float) -> float:
    return 1 / math.tanh(checks.positive("eps", eps) / 2)
