"""The largest privacy loss of one report that a budget for all reports allows.

A person's budget is spent by the composition of all reports. Their privacy loss distribution is computed exactly.
In the shuffle model an observer sees the reports of a crowd without their senders, so that each may be far louder.
The searches take any local mechanism with an `eps`, and round down.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Literal, TypeVar

import numpy as np

from untrackable import checks
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local_interface import crowd_differing, crowd_parts
from untrackable.randomizers.inner_product import LARGEST_BITS, LARGEST_WIDTH, checked_width
from untrackable.theory.crowd import Rounds, crowd_upper
from untrackable.theory.experiment import Experiment
from untrackable.theory.search import falling_root, gaussian_shift, largest_parameter

Accounting = Literal["exact", "paper"]
Base = TypeVar("Base")

LARGEST_EPS, LARGEST_CROWD_EPS = 40.0, 20.0
"""The largest eps of a report that is looked for: alone, and in a crowd."""
_EXACTLY = 100_000
"""Up to this number of slots, delta is an exact sum."""
_CLOSE, _ROUGHLY, _CROWD_CLOSE = 1e-9, 1e-5, 1e-4
"""The relative precision of eps: up to that number of slots, beyond it, and in a crowd."""
_FAINTEST, _FAINT = 1e-9, 1e-4
"""The smallest first guess of eps in a crowd, and an eps that shows how the loss of a faint report varies."""
_NEAR = 0.01
"""A wider answer must reduce the standard error by more than this share to be worth it."""
_QUIET = 0.03
"""If ε′ of one bit is at most this, and the widest answer is not better, then no other width is."""
_TRIED = 2
"""The number of reports whose eps in a crowd is solved: those whose first guess has the smallest error."""


def with_eps(base: Base, eps: float) -> Base:
    """The same local mechanism with another eps."""
    changed: Base = dataclasses.replace(base, eps=eps)  # type: ignore[type-var]
    return changed


def largest_eps_report(
    *, bits: int, slots: int, eps: float, delta: float, accounting: Accounting, width: int = 1
) -> float:
    """The largest ε′ for which `slots` noisy inner products are (eps, delta)-private, rounded down.

    `exact` solves the exact sum over what they say; `paper` is ε/(2√(2L ln(1/δ))) [NV, RNIP privacy], stated for
    ε < 1.
    """
    checks.choice("accounting", accounting, ("exact", "paper"))
    bits = checks.integer("bits", bits, low=1, high=LARGEST_BITS)
    width = checked_width(width, bits)
    slots, eps = checks.integer("slots", slots, low=1), checks.positive("eps", eps)
    if accounting == "paper":
        delta = checks.open_probability("delta", delta)
        return eps / (2 * math.sqrt(2 * slots * math.log(1 / delta)))
    delta = checks.probability("delta", delta)
    if delta == 1:
        raise ValueError("delta must be below 1, got 1: everything would be allowed")
    return largest_eps(NoisyInnerProduct(bits=bits, eps=1.0, width=width), slots, eps, delta)


@lru_cache(maxsize=256)
def largest_eps(base: Any, slots: int, eps: float, delta: float) -> float:
    """The largest eps of one report for which `slots` of them are (eps, delta)-private, rounded down.

    The factor of the two values that are easiest to tell apart is composed. The base's own eps does not count.
    """
    pure = min(math.nextafter(eps / slots, 0), LARGEST_EPS)
    if delta == 0:
        return pure

    def spent(one: float) -> float:
        return Experiment([(with_eps(base, one).privacy_factor(), slots)]).delta(eps).upper

    many, few = (rule(base, slots, eps, delta) for rule in (_as_gaussian, _as_few))
    guess = max(pure, few if many < pure and few < math.inf else min(many, few))
    # The search is no finer than the engine's own bracket.
    close = _CLOSE if slots <= _EXACTLY else _ROUGHLY
    loudest = largest_parameter(
        spent, min(guess, LARGEST_EPS), eps=eps, delta=delta, high=LARGEST_EPS, tolerance=close
    )
    return max(pure, loudest)


def _as_gaussian(base: Any, slots: int, eps: float, delta: float) -> float:
    """A guess for many slots: all together, they look like a Gaussian."""
    factor = with_eps(base, _FAINT).privacy_factor()
    variance = float(factor.p @ np.square(factor.loss)) / _FAINT**2
    return gaussian_shift(delta, eps) / math.sqrt(slots * variance)


def _as_few(base: Any, slots: int, eps: float, delta: float) -> float:
    """A guess for few slots: only the case that all tell the truth, of probability t, costs t·(1 - e^(ε-Lε′))."""
    factor = with_eps(base, min(eps / slots + 1e-9, LARGEST_EPS)).privacy_factor()
    truth = float(factor.p[np.argmax(factor.loss)]) ** slots
    return (eps - math.log1p(-delta / truth)) / slots if delta < truth else math.inf


def best_base(
    *, bits: int, slots: int, eps: float, delta: float, accounting: Accounting, width: int | None = None
) -> NoisyInnerProduct:
    """The noisy inner product that spends the budget with the smallest standard error.

    Each width has its own ε′. If several widths are within a hundredth of the best, the narrowest is taken, because
    a wider answer makes longer reports and more work for the server. While ε′ is small, all are nearly as good.
    """

    def spending(width: int) -> NoisyInnerProduct:
        eps_report = largest_eps_report(
            bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting, width=width
        )
        return NoisyInnerProduct(bits=bits, eps=eps_report, width=width)

    bits = checks.integer("bits", bits, low=1, high=LARGEST_BITS)
    if width is not None:
        return spending(width)
    widest = min(bits, LARGEST_WIDTH)
    bases = [spending(1)]
    if widest > 1:
        bases.append(spending(widest))
    errors = [base.accuracy(1, 0.05).standard_error for base in bases]
    if bases[0].eps <= _QUIET and errors[0] <= (1 + _NEAR) * errors[-1]:
        return bases[0]
    bases[1:1] = [spending(width) for width in range(2, widest)]
    errors = [base.accuracy(1, 0.05).standard_error for base in bases]
    return next(base for base, error in zip(bases, errors, strict=True) if error <= (1 + _NEAR) * min(errors))


def checked_base(bits: int, eps_report: float, width: int | None) -> NoisyInnerProduct:
    """The noisy inner product of these parameters. Errors about its privacy name `eps_report`."""
    return NoisyInnerProduct(bits=bits, eps=checks.epsilon("eps_report", eps_report), width=width)


def loudest_in_crowd(
    rounds_of: Callable[[float], Rounds],
    guess: float,
    *,
    people: int,
    eps: float,
    delta: float,
    close: float = _CROWD_CLOSE,
) -> float:
    """The largest eps of one report, up to 20, with which a crowd of this many people keeps its rounds private.

    `rounds_of` makes the rounds of such a report, and the search starts at `guess`. If that is the largest, a
    coarser bound, which takes a quarter of the time, mostly shows already that it is not too loud.
    """

    def spent(one: float, sharp: bool | None = None) -> float:
        return crowd_upper(rounds_of(one), sharp=sharp).delta(eps).upper

    if guess >= LARGEST_CROWD_EPS and spent(LARGEST_CROWD_EPS, sharp=False) <= delta:
        return LARGEST_CROWD_EPS
    loudest = largest_parameter(spent, guess, eps=eps, delta=delta, high=LARGEST_CROWD_EPS, tolerance=close)
    if loudest == 0:
        raise ValueError(f"people must be more than {people:,}: a crowd of this size does not keep this budget")
    return loudest


@lru_cache(maxsize=256)
def largest_crowd_eps(base: Any, slots: int, people: int, eps: float, delta: float) -> float:
    """The largest eps of one report, up to 20, with which a crowd keeps `slots` rounds (eps, delta)-private."""

    def rounds_of(one: float) -> Rounds:
        return {(crowd_differing(with_eps(base, one)), people): slots}

    guess = _guessed_crowd_eps(base, slots, people, eps, delta)
    return loudest_in_crowd(rounds_of, guess, people=people, eps=eps, delta=delta)


def _guessed_crowd_eps(base: Any, slots: int, people: int, eps: float, delta: float) -> float:
    """The eps of one report at which all rounds together look like a Gaussian that spends the budget.

    To first order in 1/people, the square of its shift is 2·k·β·(e^ε′-1)/people, where β is the largest distance of
    the reports of two values.
    """
    target = gaussian_shift(delta, eps) ** 2 * people / (2 * slots)

    def lacking(one: float) -> float:
        return math.log(target / (crowd_parts(with_eps(base, one)).distance * math.expm1(one)))

    try:
        return falling_root(
            lacking, 1.0, low=_FAINTEST, high=LARGEST_CROWD_EPS, tolerance=_CLOSE, keep="below", slope=2.0
        ).x
    except ValueError:
        return _FAINTEST


def best_in_crowd(guessed: Iterable[Base], solved: Callable[[Base], Base], error: Callable[[Base], float]) -> Base:
    """The report with the smallest error of those that are `solved`, which takes long, from a first guess of each.

    A guess is hardly ever too quiet. So a report whose guess has a larger error than one that is solved is not
    better, and is left out.
    """
    nearest = sorted(guessed, key=error)[:_TRIED]
    best = solved(nearest[0])
    for guess in nearest[1:]:
        if error(guess) < error(best):
            best = min(best, solved(guess), key=error)
    return best


def best_crowd_base(
    *, bits: int, slots: int, people: int, eps: float, delta: float, share: float
) -> NoisyInnerProduct:
    """The noisy inner product with the smallest error whose reports a crowd keeps (eps, delta)-private.

    The error is that of a value that this share of people holds.
    """
    bits = checks.integer("bits", bits, low=1, high=LARGEST_BITS)
    share = checks.probability("share", share)
    budget = (slots, people, eps, delta)
    plain = [NoisyInnerProduct(bits=bits, eps=1.0, width=width) for width in range(1, min(bits, LARGEST_WIDTH) + 1)]
    return best_in_crowd(
        (with_eps(base, _guessed_crowd_eps(base, *budget)) for base in plain),
        lambda guess: with_eps(guess, largest_crowd_eps(with_eps(guess, 1.0), *budget)),
        lambda base: base.held_variance(share),
    )
