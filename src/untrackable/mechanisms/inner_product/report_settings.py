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

    def held_error(self, people: int, *, share: float) -> float:
        """The standard error of a value that this share of the people who report holds, given who does (exact).

        With a share of 0 it is that of a value that nobody holds, as in `accuracy`. Reports of those who hold a
        value are noisy too, so a value that many hold has a larger error if answers are wide.
        """
        return self.base.held_error(people, share)
