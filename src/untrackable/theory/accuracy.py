"""How far an estimated frequency can be from the true one.

The radii follow from Hoeffding's inequality. They hold with probability 1 - β over the clients' randomness, for
every population, so they are upper bounds and not approximations. Functions with `printed` in their name give the
formula that [NV] prints. It is twice as large as the paper's own proofs show, and eight times as large in Bitwise's
main text; see docs/errata.md.
"""

import math
from typing import NamedTuple

from untrackable import checks


class Accuracy(NamedTuple):
    """How far one value's estimated frequency is from the truth in one round of `people` reports.

    `radius` is an upper bound that fails with probability at most `beta`, for any values that people hold.
    `standard_error` is exact under the condition that `given` names, usually a value that nobody holds.
    """

    people: int
    beta: float
    radius: float
    standard_error: float
    given: str = "of a value that nobody holds"

    @staticmethod
    def of(people: int, beta: float, *, span: float, variance: float) -> "Accuracy":
        """Accuracy from one report's contribution: its span, and its variance for a value its sender lacks."""
        return Accuracy(people, beta, mean_radius(people, beta, span=span), math.sqrt(variance / people))

    @staticmethod
    def of_shares(people: int, beta: float, *, there: float, elsewhere: float) -> "Accuracy":
        """Accuracy of the estimate (share - elsewhere)/(there - elsewhere) of a value's frequency.

        `there` is the probability that a report of somebody with the value counts for it, and `elsewhere` the
        probability that any other report does.
        """
        span = 1 / abs(there - elsewhere)
        return Accuracy.of(people, beta, span=span, variance=span**2 * elsewhere * (1 - elsewhere))


def mean_radius(people: int, beta: float, *, span: float = 1.0, statistics: int = 1) -> float:
    """Radius span·√(ln(2m/β)/(2n)) for m means at once, each of n independent terms of this span [NV, Chernoff]."""
    people = checks.integer("people", people, low=1)
    beta = checks.open_probability("beta", beta)
    return span * math.sqrt((math.log(2 / beta) + math.log(statistics)) / (2 * people))


def bitwise_scale(eps_state: float, eps_report: float) -> float:
    """(e^ε₁+1)(e^ε₂+1)/((e^ε₁-1)(e^ε₂-1)), the factor between Bitwise's share of ones and the frequency."""
    return _inverse_tanh(eps_state) * _inverse_tanh(eps_report)


def bitwise_radius(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """Bitwise's radius: `bitwise_scale` times √(ln(2/β)/(2n))."""
    return bitwise_scale(eps_state, eps_report) * mean_radius(people, beta)


def bitwise_radius_printed(eps_state: float, eps_report: float, people: int, beta: float) -> float:
    """Bitwise's radius as printed: `bitwise_scale` times √(2 ln(2/β)/n) [NV, Theorem "bitwise accuracy"]."""
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
    log_values = bits * math.log(2) if simultaneous else 0.0
    beta = checks.open_probability("beta", beta)
    people = checks.integer("people", people, low=1)
    return span * math.sqrt((math.log(2 / beta) + log_values) / (2 * people))


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
    bits, people = checks.integer("bits", bits, low=1), checks.integer("people", people, low=1)
    beta = checks.open_probability("beta", beta)
    return math.sqrt(((bits + 1) * math.log(2) - math.log(beta)) / (2 * people))


def _inverse_tanh(eps: float) -> float:
    return 1 / math.tanh(checks.positive("eps", eps) / 2)
