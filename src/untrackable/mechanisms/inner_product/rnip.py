"""Report Noisy Inner Product [NV]: a client stores noisy inner products and sends a random one in each round."""

from typing import Self

from untrackable.mechanisms.inner_product.budget_solver import Accounting, best_base, checked_base
from untrackable.mechanisms.inner_product.report_settings import ReportSettings
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.stored import Stored


class InnerProduct(ReportSettings, Stored):
    """RNIP [NV]: a client stores `slots` noisy inner products of its value and sends a random one in each round.

    A noisy inner product is a random vector with its inner product with the value, which may be a lie. All stored
    reports together are private, so privacy lasts for ever. Two reports can be linked once a slot is sent twice.
    """

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
        """The mechanism with the largest eps_report that keeps its whole state (eps, delta)-private.

        Without a `width`, it is the one with the smallest error.
        """
        base = best_base(bits=bits, slots=slots, eps=eps, delta=delta, accounting=accounting, width=width)
        return cls(bits=bits, slots=slots, eps_report=base.eps, width=base.width)

    def __repr__(self) -> str:
        return (
            f"InnerProduct(bits={self.bits}, slots={self.slots}, eps_report={self.eps_report!r}"
            f", width={self.width})"
        )
