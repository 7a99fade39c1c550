"""The settings of one report, for mechanisms over noisy inner products."""

from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct


class ReportSettings:
    """The settings of one report, as its noisy inner product has them."""

    __slots__ = ()
    base: NoisyInnerProduct

    @property
    def bits(self) -> int:
        """Width of a value in bits, d."""
        return self.base.bits

    @property
    def eps_report(self) -> float:
        """Privacy of one report, ε′."""
        return self.base.eps

    @property
    def width(self) -> int:
        """Width of an answer in bits, w."""
        return self.base.width
