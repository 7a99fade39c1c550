"""The common part of mechanisms that are built on a local one, their base."""

from collections.abc import Sequence
from typing import Any

from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.local_interface import Local, TruthfulLocal, WeightedLocal
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy

LARGEST_SLOTS = 1 << 53
"""The largest number of slots. Larger numbers cannot be counted exactly in floating point."""


class LocalWrapper(Mechanism):
    """A mechanism that sends reports of a local mechanism, its base."""

    __slots__ = ()
    base: Local

    @property
    def report_bits(self) -> int:
        """Width of a report."""
        return self.base.report_bits

    @property
    def capacity(self) -> int:
        """The number of values of the base."""
        return self.base.values

    @property
    def publications(self) -> str:
        """Where the mechanism and its base come from."""
        return "; ".join(filter(None, (self.published, getattr(self.base, "published", ""))))

    @property
    def tells_shares(self) -> bool:
        """Whether reports of the base tell more than a mean."""
        return getattr(self.base, "tells_shares", True)

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """The accuracy of one report of the base."""
        return self.base.accuracy(people, beta)

    def truthfulness(self) -> Truthfulness | None:
        """That of one report of the base, if the base can say."""
        return self.base.truthfulness() if isinstance(self.base, TruthfulLocal) else None

    def held_error(self, people: int, *, share: float, round: int = 1) -> float | None:
        """That of one report of the base by each person, if the base can say."""
        return self.base.held_error(people, share) if isinstance(self.base, NoisyInnerProduct) else None

    def shift(self, *, round: int = 1) -> float | None:
        """That of one report of the base, if the base can say."""
        return self.base.largest_weight() if isinstance(self.base, WeightedLocal) else None

    def independent_errors(self, values: int) -> int:
        """One error for every value of the base. With one bit, both values have the same error."""
        if isinstance(self.base, NoisyInnerProduct) and self.base.bits == 1:
            return 1
        return min(self.base.values, 1 << (values - 1).bit_length())

    def _words(self) -> int:
        return getattr(self.base, "words", 2)


def local_base(base: object) -> Local:
    """The local mechanism to build on, after checks."""
    if isinstance(base, Mechanism) or not isinstance(base, Local):
        raise TypeError(
            "base must be a local mechanism, such as RandomizedResponse or NoisyInnerProduct, "
            f"not {type(base).__name__}"
        )
    return base
