"""Guarantees of several mechanisms together. The same theorems serve privacy and untrackability."""

import math
from typing import NamedTuple

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor


class EpsDelta(NamedTuple):
    """A guarantee of privacy (eps, delta), or of untrackability with gamma in the place of eps."""

    eps: float
    delta: float


def basic(eps: float, delta: float, times: int) -> EpsDelta:
    """Basic composition: m mechanisms that are (ε, δ) each are (mε, mδ) together."""
    times = checks.integer("times", times, low=1)
    return EpsDelta(times * checks.non_negative("eps", eps), min(1.0, times * checks.probability("delta", delta)))


def advanced(eps: float, delta: float, times: int, slack: float) -> EpsDelta:
    """Advanced composition: m mechanisms are (√(2m ln(1/δ'))·ε + mε(e^ε - 1), mδ + δ') together; δ' is `slack`.

    [NV, Theorems "Advanced composition for Differential Privacy" and "… for untrackability"]. The second uses γ for
    ε. It holds because each mechanism is a private mechanism of one bit: whether one person sends or two.
    """
    eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
    times, slack = checks.integer("times", times, low=1), checks.open_probability("slack", slack)
    growth = times * eps * math.expm1(eps) if eps < 700 else math.inf
    total = math.sqrt(2 * times * math.log(1 / slack)) * eps + growth
    return EpsDelta(total, min(1.0, times * delta + slack))


def exact(eps: float, delta: float, times: int, target: float) -> Bracket:
    """The smallest total eps at delta = `target` that holds for any m mechanisms that are (ε, δ) each.

    Every (ε, δ) pair of worlds is dominated by randomised response that reveals its input with probability δ. This
    computes the composition of m copies of that one exactly.
    """
    eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
    times = checks.integer("times", times, low=1)
    if delta == 1:
        return Bracket.point(0.0 if target == 1 else math.inf)
    truth = (1 - delta) / (1 + math.exp(-eps))
    lie = (1 - delta) * math.exp(-eps) / (1 + math.exp(-eps))
    factor = (
        Factor([delta, truth, lie, 0.0], [0.0, lie, truth, delta], [math.inf, eps, -eps, -math.inf])
        if delta
        else Factor([truth, lie], [lie, truth], [eps, -eps])
    )
    return Experiment([(factor, times)]).gamma(target)
