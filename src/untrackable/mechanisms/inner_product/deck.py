"""The deck: noisy inner products are drawn once, as cards, and each round sends its own card."""

from typing import Literal, Self

from untrackable.mechanisms.inner_product.budget import Accounting, best_base, checked_base
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.dealt import Dealt


class Deck(Dealt):
    """The same reports as `InnerProduct`, but each is sent once, in its own round: as private, not trackable."""

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
        """The largest eps_report whose whole state is (eps, delta)-private; the width that suits it best."""
        base = best_base(bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting, width=width)
        return cls(bits=bits, slots=slots, eps_report=base.eps, when_empty=when_empty, width=base.width)

    @property
    def bits(self) -> int:
        """Width of a value, d."""
        return self.base.bits

    @property
    def eps_report(self) -> float:
        """Privacy of one card, ε′."""
        return self.base.eps

    @property
    def width(self) -> int:
        """Bits of an answer, w."""
        return self.base.width

    def __repr__(self) -> str:
        return (
            f"Deck(bits={self.bits}, slots={self.slots}, eps_report={self.eps_report!r}, "
            f"when_empty={self.when_empty!r}, width={self.width})"
        )
