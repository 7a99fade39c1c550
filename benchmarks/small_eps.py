"""The error of Deck (and of InnerProduct) at eps_report ≤ 0.3 against OUE's and the Gaussian mechanism's.

What is equal: everything that a client ever sends, one report for each of `slots` rounds, is (eps, delta)-private
for any sequence of values, with the least noise for which that is so, found from each mechanism's exact trade-off:

- Deck and InnerProduct: `slots` noisy inner products (they keep the same state and differ in which one they send);
- OUE: `slots` fresh reports of the optimised unary encoding of Wang, Blocki, Li and Jha (2017);
- Gaussian: `slots` fresh one-hot vectors with independent normal noise in every entry. Two of them are √2 apart, so
  all rounds are one Gaussian of μ = √(2·slots)/σ, and delta(eps) = Φ(μ/2 - eps/μ) - e^eps·Φ(-μ/2 - eps/μ)
  (Balle and Wang 2018).

Errors are those of one round, of a value that nobody holds.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck
from untrackable.theory import Experiment
from untrackable.theory.factor import Factor

BITS, LOUDEST = 8, 0.3
ERROR = "Error of Deck and InnerProduct, equally private, eps_report ≤ 0.3"
UNARY = Comparison(work=ERROR, peer="OUE", unit="times as large (exact)", at_most=1.03)
GAUSSIAN = Comparison(work=ERROR, peer="the Gaussian mechanism", unit="times as large (exact)", at_most=1.03)
COMPARISONS = (UNARY, GAUSSIAN)
BUDGETS = (
    (1.0, 1e-6, 4),
    (1.0, 1e-6, 30),
    (1.0, 1e-6, 365),
    (1.0, 1e-9, 365),
    (0.5, 1e-6, 730),
    (8.0, 1e-6, 730),
)


def oue_factor(eps: float) -> Factor:
    """Two values: each of their places is 1 with probability ½ where it is held, and 1/(e^eps + 1) elsewhere."""
    added = 1 / (math.exp(eps) + 1)
    there, elsewhere = np.array([0.5, 0.5]), np.array([1 - added, added])
    return Factor(np.outer(there, elsewhere).reshape(-1), np.outer(elsewhere, there).reshape(-1))


def oue_eps(eps: float, delta: float, slots: int) -> float:
    """The largest eps of one report."""

    def excess(each: float) -> float:
        return math.log(max(Experiment([(oue_factor(each), slots)]).delta(eps).upper, 1e-320) / delta)

    return largest(excess, 0.5 * eps / slots)


def oue_error(eps: float) -> float:
    """2·√(e^eps)/(e^eps - 1)."""
    return 2 * math.exp(eps / 2) / math.expm1(eps)


def gaussian_sigma(eps: float, delta: float, slots: int) -> float:
    """The least noise."""

    def excess(mu: float) -> float:
        first, second = log_ndtr(mu / 2 - eps / mu), eps + log_ndtr(-mu / 2 - eps / mu)
        return float(first + math.log(-math.expm1(second - first)) - math.log(delta))

    return math.sqrt(2 * slots) / largest(excess, 1e-2 * eps)


def largest(excess: Callable[[float], float], low: float) -> float:
    """Where an increasing function is 0."""
    high = 2 * low
    while excess(high) < 0:
        low, high = high, 2 * high
    return float(brentq(excess, low, high, xtol=1e-12))


def measure(*, small: bool = False) -> Iterator[Row]:
    """Each budget beside both, with everything exact."""
    for eps, delta, slots in BUDGETS:
        deck = Deck.for_budget(bits=BITS, slots=slots, eps=eps, delta=delta)
        if deck.eps_report > LOUDEST:
            raise ValueError("a budget allows louder reports")
        error, size = deck.accuracy(1).standard_error, f"({eps:g}, {delta:g}), {slots} rounds"
        yield UNARY.row(error / oue_error(oue_eps(eps, delta, slots)), size)
        yield GAUSSIAN.row(error / gaussian_sigma(eps, delta, slots), size)
