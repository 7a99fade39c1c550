"""The loudest noisy inner products that a crowd hides within a budget: all alike, or noisier with every round."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.mechanisms.crowd_privacy import crowd_parts
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import LARGEST_BITS, NoisyInnerProduct
from untrackable.mechanisms.loudest_in_crowd import best_in_crowd, loudest_in_crowd
from untrackable.theory.crowd_rounds import Rounds
from untrackable.theory.factor import FloatArray
from untrackable.theory.gaussian import gaussian_shift

LARGEST_EPS_REPORT = 20.0
_FADING_CLOSE = 3e-3
"""The relative precision of the eps of the first of several rounds that differ. One answer takes seconds."""


def best_crowd_base(
    *, bits: int, slots: int, people: int, eps: float, delta: float, share: float
) -> NoisyInnerProduct:
    """The noisy inner product with the smallest error whose reports a crowd keeps (eps, delta)-private.

    The error is that of a value that this share of people holds.
    """
    bits = checks.integer("bits", bits, low=1, high=LARGEST_BITS)
    share = checks.probability("share", share)
    widths = range(1, min(bits, LARGEST_WIDTH) + 1)
    asked = (slots, people, eps, delta)

    def error(base: NoisyInnerProduct) -> float:
        return base.held_variance(share)

    guessed = [NoisyInnerProduct(bits=bits, eps=guessed_eps_report(bits, w, *asked), width=w) for w in widths]

    def solved(base: NoisyInnerProduct) -> NoisyInnerProduct:
        found = largest_crowd_eps_report(bits, base.width, *asked)
        return NoisyInnerProduct(bits=bits, eps=found, width=base.width)

    return best_in_crowd(guessed, solved, error)


def guessed_eps_report(bits: int, width: int, slots: int, people: int, eps: float, delta: float) -> float:
    """The eps_report at which all rounds together look like a Gaussian that spends the budget.

    To first order in 1/people, the square of its shift is 2·ρ·k·β·(e^ε′-1)/people, and β = d·(e^ε′-1)/(e^ε′+2^w-1).
    """
    differ = NoisyInnerProduct(bits=bits, eps=1.0, width=width).differing()
    level = gaussian_shift(delta, eps) ** 2 * people / (2 * slots * differ)
    raised = (level + math.sqrt(level**2 + 4 * level * (1 << width))) / 2
    return min(math.log1p(raised), LARGEST_EPS_REPORT)


@lru_cache(maxsize=256)
def largest_crowd_eps_report(
    bits: int,
    width: int,
    slots: int,
    people: int,
    eps: float,
    delta: float,
    most: float = LARGEST_EPS_REPORT,
) -> float:
    """The largest eps_report, up to `most`, with which the crowd keeps all rounds (eps, delta)-private."""

    def rounds_of(eps_report: float) -> Rounds:
        return {(crowd_parts(NoisyInnerProduct(bits=bits, eps=eps_report, width=width)), people): slots}

    guess = guessed_eps_report(bits, width, slots, people, eps, delta)
    found = loudest_in_crowd(rounds_of, guess, eps=eps, delta=delta, most=most)
    if found == 0:
        raise ValueError(f"people must be more than {people:,}: so small a crowd does not keep this budget")
    return found


def best_fading(
    *,
    bits: int,
    rounds: int,
    people: int,
    eps: float,
    delta: float,
    power: float,
    share: float,
) -> tuple[float, int]:
    """The eps of the first round, and the width, of fading reports that a crowd keeps (eps, delta)-private.

    They have the smallest error in the last round. The width is the one that a Gaussian of all rounds suggests.
    """
    times: FloatArray = np.power(np.arange(1.0, rounds + 1), -power)

    def base(scale: float, width: int, time: float) -> NoisyInnerProduct:
        return NoisyInnerProduct(bits=bits, eps=scale * time, width=width)

    target = gaussian_shift(delta, eps) ** 2 * people / 2
    guesses = {width: _loudest(width, bits, times, target) for width in range(1, min(bits, LARGEST_WIDTH) + 1)}
    best = min(guesses, key=lambda width: base(guesses[width], width, times[-1]).held_variance(share))
    rounds_of = [(lambda scale, time=time: base(scale, best, time)) for time in times.tolist()]
    return loudest_scale(rounds_of, guesses[best], people, eps, delta), best


def loudest_scale(
    rounds: Sequence[Callable[[float], Any]],
    guess: float,
    people: int,
    eps: float,
    delta: float,
) -> float:
    """The largest scale with which a crowd keeps rounds (eps, delta)-private; each makes its base of the scale."""

    def rounds_of(scale: float) -> Rounds:
        return Counter((crowd_parts(base(scale)), people) for base in rounds)

    found = loudest_in_crowd(
        rounds_of,
        guess,
        eps=eps,
        delta=delta,
        most=LARGEST_EPS_REPORT,
        close=_FADING_CLOSE,
    )
    if found == 0:
        raise ValueError(f"people must be more than {people:,}: so small a crowd does not keep this budget")
    return found


def _loudest(width: int, bits: int, times: FloatArray, target: float) -> float:
    """The eps of the first round at which Σ β·(e^eps-1) of all rounds, which is the Gaussian's, is the target."""
    differ = NoisyInnerProduct.share_of_lists(bits, width)

    def excess(scale: float) -> float:
        raised = np.expm1(scale * times)
        return float(np.sum(differ * raised**2 / (raised + (1 << width)))) - target

    from scipy.optimize import brentq

    if excess(LARGEST_EPS_REPORT) <= 0:
        return LARGEST_EPS_REPORT
    return float(brentq(excess, 1e-9, LARGEST_EPS_REPORT))
