"""The deck: a client draws one noisy inner product for each round in advance, as cards, and sends each once."""

from typing import Literal, Self

from untrackable import checks
from untrackable.mechanisms.crowd_privacy import crowd_size
from untrackable.mechanisms.inner_product.budget_solver import Accounting, best_base, checked_base
from untrackable.mechanisms.inner_product.crowd_solver import best_crowd_base
from untrackable.mechanisms.inner_product.report_settings import ReportSettings
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.card_dealing import Dealt


class Deck(ReportSettings, Dealt):
    """A client draws `slots` noisy inner products in advance, its cards, and sends one card in each round.

    The cards are as private as the stored reports of `InnerProduct`. But no card is sent twice, so nobody can tell
    whether two reports come from one person. After the last card, clients stop or, with "replay", start again.
    """

    __slots__ = ()
    base: NoisyInnerProduct

    def __init__(
        self,
        *,
        bits: int,
        slots: int,
        eps_report: float,
        when_empty: Literal["stop", "replay"] = "stop",
        width: int | None = None,
    ) -> None:
        Dealt.__init__(self, checked_base(bits, eps_report, width), slots, when_empty)

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
        width: int | None = None,
    ) -> Self:
        """The deck with the largest eps_report that keeps all cards together (eps, delta)-private.

        Without a `width`, it is the one with the smallest error.
        """
        base = best_base(bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting, width=width)
        return cls(bits=bits, slots=slots, eps_report=base.eps, when_empty=when_empty, width=base.width)

    @classmethod
    def for_crowd(
        cls,
        *,
        bits: int,
        slots: int,
        people: int,
        eps: float,
        delta: float,
        share: float = 0.0,
    ) -> Self:
        """The deck with the smallest error that a crowd keeps (eps, delta)-private.

        The observer sees all reports of `people` people in every round, but not who sent which. Somebody
        who knows which reports are a person's learns far more. The error is that of a value that this `share` of
        people holds.
        """
        base = best_crowd_base(
            bits=bits,
            slots=checks.integer("slots", slots, low=1),
            people=crowd_size(people),
            eps=checks.positive("eps", eps),
            delta=checks.open_probability("delta", delta),
            share=share,
        )
        return cls(bits=bits, slots=slots, eps_report=base.eps, width=base.width)

    def __repr__(self) -> str:
        return (
            f"Deck(bits={self.bits}, slots={self.slots}, eps_report={self.eps_report!r}, "
            f"when_empty={self.when_empty!r}, width={self.width})"
        )
