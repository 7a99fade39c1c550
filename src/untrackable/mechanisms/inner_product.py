"""Report Noisy Inner Product and Deck: stored and dealt executions of the noisy inner product."""

import math
from typing import Literal, Self

from untrackable import checks
from untrackable.mechanisms.dealt import Dealt
from untrackable.mechanisms.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.stored import Stored
from untrackable.theory.experiment import Experiment
from untrackable.theory.gaussian import gaussian_shift, largest_parameter

Accounting = Literal["exact", "paper"]

_LARGEST_EPS_REPORT = 40.0
_EXACTLY = 100_000
"""Slots up to which delta is an exact sum."""


class InnerProduct(Stored):
    """RNIP [NV]: L noisy inner products are kept, one of them drawn at random is sent."""

    __slots__ = ()
    base: NoisyInnerProduct

    def __init__(self, *, bits: int, slots: int, eps_report: float) -> None:
        Stored.__init__(self, _base(bits, eps_report), slots)

    @classmethod
    def for_budget(
        cls, *, bits: int, slots: int, eps: float, delta: float, accounting: Accounting = "exact"
    ) -> Self:
        """The largest eps_report whose whole state is (eps, delta)-private."""
        eps_report = largest_eps_report(bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting)
        return cls(bits=bits, slots=slots, eps_report=eps_report)

    @property
    def bits(self) -> int:
        """Width of a value, d."""
        return self.base.bits

    @property
    def eps_report(self) -> float:
        """Privacy of one stored execution, ε′."""
        return self.base.eps

    def __repr__(self) -> str:
        return f"InnerProduct(bits={self.bits}, slots={self.slots}, eps_report={self.eps_report!r})"


class Deck(Dealt):
    """The same cards as `InnerProduct`, dealt one a round: as private for ever, and nothing to follow."""

    __slots__ = ()
    base: NoisyInnerProduct

    def __init__(
        self, *, bits: int, slots: int, eps_report: float, when_empty: Literal["stop", "replay"] = "stop"
    ) -> None:
        Dealt.__init__(self, _base(bits, eps_report), slots, when_empty)

    @classmethod
    def for_budget(
        cls,
        *,
        bits: int,
        slots: int,
        eps: float,
        delta: float,
        accounting: Accounting = "exact",
        when_empty: Literal["stop", "replay"] = "stop",
    ) -> Self:
        """The largest eps_report whose whole state is (eps, delta)-private."""
        eps_report = largest_eps_report(bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting)
        return cls(bits=bits, slots=slots, eps_report=eps_report, when_empty=when_empty)

    @property
    def bits(self) -> int:
        """Width of a value, d."""
        return self.base.bits

    @property
    def eps_report(self) -> float:
        """Privacy of one card, ε′."""
        return self.base.eps

    def __repr__(self) -> str:
        return (
            f"Deck(bits={self.bits}, slots={self.slots}, eps_report={self.eps_report!r}, "
            f"when_empty={self.when_empty!r})"
        )


def largest_eps_report(*, bits: int, slots: int, eps: float, delta: float, accounting: Accounting) -> float:
    """The largest ε′ for which `slots` noisy inner products are (eps, delta)-private, rounded down.

    `exact` solves the exact binomial sum; `paper` is ε/(2√(2L ln(1/δ))) [NV, RNIP privacy], stated for ε < 1.
    """
    checks.choice("accounting", accounting, ("exact", "paper"))
    slots, eps = checks.integer("slots", slots, low=1), checks.positive("eps", eps)
    if accounting == "paper":
        delta = checks.open_probability("delta", delta)
        return eps / (2 * math.sqrt(2 * slots * math.log(1 / delta)))
    delta = checks.probability("delta", delta)
    if delta == 1:
        raise ValueError("delta must be below 1, got 1: everything would be allowed")
    pure = min(math.nextafter(eps / slots, 0), _LARGEST_EPS_REPORT)
    if delta == 0:
        return pure

    def spent(eps_report: float) -> float:
        factor = NoisyInnerProduct(bits=bits, eps=eps_report).privacy_factor()
        return Experiment([(factor, slots)]).delta(eps).upper

    share = slots * NoisyInnerProduct(bits=bits, eps=1.0).differing()
    guess = max(pure, gaussian_shift(delta, eps) / math.sqrt(share))
    close = 1e-9 if slots <= _EXACTLY else 1e-6  # no finer than the engine's own bracket
    found = largest_parameter(spent, guess, eps=eps, delta=delta, high=_LARGEST_EPS_REPORT, close=close)
    return max(pure, found)


def _base(bits: int, eps_report: float) -> NoisyInnerProduct:
    return NoisyInnerProduct(bits=bits, eps=checks.epsilon("eps_report", eps_report))
