"""Report Noisy Inner Product [NV]: noisy inner products are stored, and one drawn at random is sent."""

from typing import Self

from untrackable.mechanisms.inner_product.budget import Accounting, best_base, checked_base
from untrackable.mechanisms.interface import Values
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.stored import Stored
from untrackable.theory.integer_losses import LossLaw
from untrackable.theory.integer_slots import slot_tracking, slots_of_changing_values, slots_seen


class InnerProduct(Stored):
    """RNIP [NV]: L noisy inner products are kept, one of them drawn at random is sent."""

    __slots__ = ()
    base: NoisyInnerProduct

    def __init__(self, *, bits: int, slots: int, eps_report: float, width: int | None = None) -> None:
        Stored.__init__(self, checked_base(bits, eps_report, width), slots)

    @classmethod
    def for_budget(
        cls,
        *,
        bits: int,
        slots: int,
        eps: float,
        delta: float,
        accounting: Accounting = "exact",
        width: int | None = None,
    ) -> Self:
        """The largest eps_report whose whole state is (eps, delta)-private; the width that suits it best."""
        base = best_base(bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting, width=width)
        return cls(bits=bits, slots=slots, eps_report=base.eps, width=base.width)

    def integer_privacy(self, reports: int | None, *, values: Values, step: float) -> LossLaw:
        """The distinct slots among so many draws; with values that change, a slot seen twice reveals everything."""
        shown = slots_seen if values == "fixed" else slots_of_changing_values
        return shown(self.base.integer_loss(), self.slots, reports)

    def integer_tracking(self, reports: int, *, values: int, step: float) -> LossLaw:
        """A slot on both sides."""
        return slot_tracking(self.slots, reports)

    @property
    def bits(self) -> int:
        """Width of a value, d."""
        return self.base.bits

    @property
    def eps_report(self) -> float:
        """Privacy of one stored execution, ε′."""
        return self.base.eps

    @property
    def width(self) -> int:
        """Bits of an answer, w."""
        return self.base.width

    def __repr__(self) -> str:
        return (
            f"InnerProduct(bits={self.bits}, slots={self.slots}, eps_report={self.eps_report!r}"
            f", width={self.width})"
        )
