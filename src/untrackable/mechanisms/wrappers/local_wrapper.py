"""Mechanisms that are built on a local one: what all of them answer by asking their base."""

from collections.abc import Sequence
from typing import Any

from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.local_interface import IntegerLocal, Local, TruthfulLocal
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.integer_losses import LossLaw

LARGEST_SLOTS = 1 << 53
"""More would not be counted exactly."""


class LocalWrapper(Mechanism):
    """Sends reports of a local mechanism, its base."""

    __slots__ = ()
    base: Local

    @property
    def report_bits(self) -> int:
        """Width of a report."""
        return self.base.report_bits

    @property
    def capacity(self) -> int:
        """The values of the base."""
        return self.base.values

    @property
    def publications(self) -> str:
        """Where the mechanism and its base come from."""
        return "; ".join(filter(None, (self.published, getattr(self.base, "published", ""))))

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """That of one report of the base."""
        return self.base.accuracy(people, beta)

    def truthfulness(self) -> Truthfulness | None:
        """That of one report of the base, if the base can say."""
        return self.base.truthfulness() if isinstance(self.base, TruthfulLocal) else None

    def independent_errors(self, values: int) -> int:
        """Every value of the base that an encoded value can be; of one bit, the two errors are the same."""
        if isinstance(self.base, NoisyInnerProduct) and self.base.bits == 1:
            return 1
        return min(self.base.values, 1 << (values - 1).bit_length())

    def _integer_loss(self) -> LossLaw | None:
        """What one report of the base reveals, in whole numbers, if the base can say."""
        return self.base.integer_loss() if isinstance(self.base, IntegerLocal) else None

    def _words(self) -> int:
        return getattr(self.base, "words", 2)


def local_base(base: object) -> Local:
    """A local mechanism to build on, checked."""
    if isinstance(base, Mechanism) or not isinstance(base, Local):
        raise TypeError(
            "base must be a local mechanism, such as RandomizedResponse or NoisyInnerProduct, "
            f"not {type(base).__name__}"
        )
    return base
