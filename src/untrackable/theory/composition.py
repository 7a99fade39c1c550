"""Taking part several times: the same theorems serve privacy and untrackability."""

import math
from typing import NamedTuple

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor


class EpsDelta(NamedTuple):
    """(eps, delta) or (gamma, delta)."""

    eps: float
    delta: float


def basic(eps: float, delta: float, times: int) -> EpsDelta:
    """(mε, mδ)."""
    times = checks.integer("times", times, low=1)
    return EpsDelta(times * checks.non_negative("eps", eps), min(1.0, times * checks.probability("delta", delta)))


def advanced(eps: float, delta: float, times: int, slack: float) -> EpsDelta:
    """(√(2m ln(1/δ'))·ε + mε(e^ε - 1), mδ + δ').

    [NV, Theorems "Advanced composition for Differential Privacy" and "… for untrackability"], the latter with
    γ for ε: each mechanism, asked one user or two, is itself a private mechanism of that one bit.
    """
    eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
    times, slack = checks.integer("times", times, low=1), checks.open_probability("slack", slack)
    growth = times * eps * math.expm1(eps) if eps < 700 else math.inf
    total = math.sqrt(2 * times * math.log(1 / slack)) * eps + growth
    return EpsDelta(total, min(1.0, times * delta + slack))


def exact(eps: float, delta: float, times: int, target: float) -> Bracket:
    """The smallest total eps at delta = `target` that holds for every m mechanisms which are (ε, δ) each.

    Every (ε, δ) pair of worlds is dominated by randomised response that gives itself away with probability δ;
    the composition of m copies of that one is computed exactly.
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
