"""Values of several parts, with each report about one part. Strings are discovered by prefixes, one per part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import LARGEST_DENSE_BITS, Reports, Scope
from untrackable.mechanisms.local.level_aggregator import LevelAggregator
from untrackable.mechanisms.local.level_layout import LevelLayout
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.view_reports import ViewReports
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd_classes import CrowdClasses

MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Levelled(ViewReports):
    """A value has several parts. Each report draws one of the `levels` parts at random and is about that part.

    A value is an integer of levels·bits bits, with the part of level 0 lowest. The parts are views of it that have
    no bit in common, all of one size, so each level has sums of its own.
    """

    base: NoisyInnerProduct
    levels: int

    def __post_init__(self) -> None:
        if not isinstance(self.base, NoisyInnerProduct):
            raise TypeError(f"base must be a NoisyInnerProduct, not {type(self.base).__name__}")
        checks.integer("bits of the base", self.base.bits, low=1, high=LARGEST_DENSE_BITS)
        checks.settle(self, levels=checks.integer("levels", self.levels, low=1, high=MOST_LEVELS))

    @property
    def values(self) -> int:
        """The number of values, 2^(levels·bits)."""
        return 1 << (self.levels * self.base.bits)

    @property
    def bases(self) -> tuple[NoisyInnerProduct, ...]:
        """The same base for every level."""
        return (self.base,) * self.levels

    @property
    def weights(self) -> tuple[int, ...]:
        """All levels are equally likely."""
        return (1,) * self.levels

    @property
    def ends(self) -> Sequence[int]:
        """1, 2, … levels."""
        return range(1, self.levels + 1)

    @property
    def layout(self) -> LevelLayout:
        """The level is above the report of the base."""
        return LevelLayout(self.base.report_bits, self.levels)

    def part(self, value: int, level: int) -> int:
        """The part of a value at a level."""
        return value >> self.base.bits * level & (self.base.values - 1)

    def simulate(self, values: NDArray[Any], rng: np.random.Generator) -> Reports:
        """One independent report for every entry. The values come from `local_population`, with all their parts."""
        levels = rng.integers(0, self.levels, size=values.shape, dtype=np.uint64)
        positions = levels.astype(np.int64)[..., None]
        parts = np.take_along_axis(values["parts"], positions, axis=-1)[..., 0]
        return self.layout.joined(levels, self.base.simulate(parts, rng))

    def crowd_classes(self) -> CrowdClasses:
        """Those of the base, for values that differ in every part."""
        return self.base.crowd_classes()

    def largest_weight(self) -> float:
        """That of the base, among the reports that are about the same part."""
        return self.base.largest_weight()

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of the mean over all levels. It is that of the base, as each report is about some part."""
        return self.base.accuracy(people, beta)

    def aggregator(self, scope: Scope) -> LevelAggregator:
        """Empty sums of the base for every level."""
        return LevelAggregator(scope, self.base, self.levels)
