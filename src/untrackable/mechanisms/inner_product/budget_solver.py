"""The largest privacy loss per report that a whole (eps, delta) budget allows, solved exactly."""

import math
from functools import lru_cache
from typing import Literal

from untrackable import checks
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import LARGEST_BITS, NoisyInnerProduct, checked_width
from untrackable.theory.experiment import Experiment
from untrackable.theory.gaussian import gaussian_shift, largest_parameter

Accounting = Literal["exact", "paper"]

_LARGEST_EPS_REPORT = 40.0
_EXACTLY = 100_000
"""Up to this many slots, delta is an exact sum."""
_NEAR = 0.01
"""A wider answer must reduce the standard error by more than this share to be worth it."""
QUIET = 0.03
"""If ε′ of one bit is at most this, and the widest answer is not better, then no other width is."""


def largest_eps_report(
    *,
    bits: int,
    slots: int,
    eps: float,
    delta: float,
    accounting: Accounting,
    width: int = 1,
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
    return _largest(bits, slots, eps, delta, width)


@lru_cache(maxsize=256)
def _largest(bits: int, slots: int, eps: float, delta: float, width: int) -> float:
    pure = min(math.nextafter(eps / slots, 0), _LARGEST_EPS_REPORT)
    if delta == 0:
        return pure

    def spent(eps_report: float) -> float:
        factor = NoisyInnerProduct(bits=bits, eps=eps_report, width=width).privacy_factor()
        return Experiment([(factor, slots)]).delta(eps).upper

    many, few = (rule(bits, slots, eps, delta, width) for rule in (_as_gaussian, _as_few))
    guess = max(pure, few if many < pure and few < math.inf else min(many, few))
    # The search is no finer than the engine's own bracket.
    close = 1e-9 if slots <= _EXACTLY else 1e-5
    found = largest_parameter(spent, guess, eps=eps, delta=delta, high=_LARGEST_EPS_REPORT, tolerance=close)
    return max(pure, found)


def _as_gaussian(bits: int, slots: int, eps: float, delta: float, width: int) -> float:
    """A guess for many slots: all together, they look like a Gaussian."""
    variance = NoisyInnerProduct(bits=bits, eps=1.0, width=width).differing() * 2 / (1 << width)
    return gaussian_shift(delta, eps) / math.sqrt(slots * variance)


def _as_few(bits: int, slots: int, eps: float, delta: float, width: int) -> float:
    """A guess for few slots: only the case that all tell the truth, of probability t, costs t·(1 - e^(ε-Lε′))."""
    loud = NoisyInnerProduct(bits=bits, eps=min(eps / slots + 1e-9, _LARGEST_EPS_REPORT), width=width)
    truth = float(loud.privacy_factor().p[0]) ** slots
    return (eps - math.log1p(-delta / truth)) / slots if delta < truth else math.inf


def best_base(
    *,
    bits: int,
    slots: int,
    eps: float,
    delta: float,
    accounting: Accounting,
    width: int | None = None,
) -> NoisyInnerProduct:
    """The noisy inner product that spends the budget with the smallest standard error.

    Each width has its own ε′. If several widths are within a hundredth of the best, the narrowest is taken, because
    a wider answer makes longer reports and more work for the server. While ε′ is small, all are nearly as good.
    """

    def spending(width: int) -> NoisyInnerProduct:
        eps_report = largest_eps_report(
            bits=bits,
            slots=slots,
            eps=eps,
            delta=delta,
            accounting=accounting,
            width=width,
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
    if bases[0].eps <= QUIET and errors[0] <= (1 + _NEAR) * errors[-1]:
        return bases[0]
    bases[1:1] = [spending(width) for width in range(2, widest)]
    errors = [base.accuracy(1, 0.05).standard_error for base in bases]
    return next(base for base, error in zip(bases, errors, strict=True) if error <= (1 + _NEAR) * min(errors))


def checked_base(bits: int, eps_report: float, width: int | None) -> NoisyInnerProduct:
    """The noisy inner product of these parameters. Errors about its privacy name `eps_report`."""
    return NoisyInnerProduct(bits=bits, eps=checks.epsilon("eps_report", eps_report), width=width)
