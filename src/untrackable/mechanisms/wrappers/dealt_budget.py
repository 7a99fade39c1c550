"""The loudest deck of any local mechanism that has one eps, for a budget of all cards: alone, or in a crowd."""

import dataclasses
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.mechanisms.crowd_privacy import crowd_parts, crowd_size
from untrackable.mechanisms.loudest_in_crowd import loudest_in_crowd
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.local_wrapper import local_base
from untrackable.theory.crowd_rounds import Rounds
from untrackable.theory.experiment import Experiment
from untrackable.theory.gaussian import gaussian_shift, largest_parameter
from untrackable.theory.root_finding import falling_root

LARGEST_EPS = 40.0
LARGEST_CROWD_EPS = 20.0
_FAINT = 1e-4
_CLOSE = 1e-9
_FAINTEST, _GUESSED = 1e-9, 1e-3
"""The smallest first guess of eps in a crowd, and its relative precision."""


def dealt_for_budget(base: Any, *, slots: int, eps: float, delta: float) -> Dealt:
    """The deck of this base with the largest eps of a card that keeps all cards together (eps, delta)-private.

    The base's own eps does not count. The factor of the two values that are easiest to tell apart is used as it is.
    """
    slots, eps = checks.integer("slots", slots, low=1), checks.positive("eps", eps)
    delta = checks.open_probability("delta", delta)
    found = largest_eps(_quiet(base), slots, eps, delta)
    return Dealt(with_eps(base, found), slots)


def dealt_for_crowd(base: Any, *, slots: int, people: int, eps: float, delta: float) -> Dealt:
    """The deck of this base with the largest eps of a card that a crowd keeps (eps, delta)-private.

    The observer sees all reports of `people` people in every round, but not who sent which. Somebody who
    knows which reports are a person's learns far more.
    """
    slots, eps = checks.integer("slots", slots, low=1), checks.positive("eps", eps)
    delta = checks.open_probability("delta", delta)
    found = largest_crowd_eps(_quiet(base), slots, crowd_size(people), eps, delta)
    return Dealt(with_eps(base, found), slots)


def with_eps(base: Any, eps: float) -> Any:
    """The same base with another eps."""
    return dataclasses.replace(base, eps=eps)


def _quiet(base: Any) -> Any:
    """The base with an eps of 1, after checks: so that answers are found again, whatever its eps was."""
    local_base(base)
    return with_eps(base, 1.0)


@lru_cache(maxsize=256)
def largest_eps(base: Any, slots: int, eps: float, delta: float) -> float:
    """The largest eps of one report at which all together spend the budget, rounded down."""

    def spent(one: float) -> float:
        return Experiment([(with_eps(base, one).privacy_factor(), slots)]).delta(eps).upper

    pure = min(math.nextafter(eps / slots, 0), LARGEST_EPS)
    guess = gaussian_shift(delta, eps) / math.sqrt(slots * _variance(base))
    found = largest_parameter(
        spent, min(max(pure, guess), LARGEST_EPS), eps=eps, delta=delta, high=LARGEST_EPS, tolerance=_CLOSE
    )
    return max(pure, found)


@lru_cache(maxsize=256)
def largest_crowd_eps(base: Any, slots: int, people: int, eps: float, delta: float) -> float:
    """The largest eps of one report, up to 20, with which a crowd keeps all rounds private."""

    def rounds_of(one: float) -> Rounds:
        return {(crowd_parts(with_eps(base, one)), people): slots}

    target = gaussian_shift(delta, eps) ** 2 * people / (2 * slots)
    guess = _guessed(lambda one: crowd_parts(with_eps(base, one)).distance * math.expm1(one), target)
    found = loudest_in_crowd(rounds_of, guess, eps=eps, delta=delta, most=LARGEST_CROWD_EPS)
    if found == 0:
        raise ValueError(f"people must be more than {people:,}: so small a crowd does not keep this budget")
    return found


def _guessed(loudness: Callable[[float], float], target: float) -> float:
    """The eps at which reports are as loud as the target, or else the largest one.

    The loudness of a report is d·(e^ε-1), where d is the largest distance of the reports of two values. To first
    order in 1/people, k rounds together look like a Gaussian, and the square of its shift is 2k/people times that.
    """

    def lacking(eps: float) -> float:
        return math.log(target / loudness(eps))

    try:
        return falling_root(
            lacking, 1.0, low=_FAINTEST, high=LARGEST_CROWD_EPS, tolerance=_GUESSED, keep="below", slope=2.0
        ).x
    except ValueError:
        return _FAINTEST


def _variance(base: Any) -> float:
    """The variance of the loss of a faint report, divided by the square of its eps."""
    factor = with_eps(base, _FAINT).privacy_factor()
    return float(factor.p @ np.square(factor.loss)) / _FAINT**2
