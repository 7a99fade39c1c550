"""Values of several parts, with each report about one part. Strings are discovered by prefixes, one per part."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import LARGEST_DENSE_BITS, FloatArray, Reports, Scope
from untrackable.mechanisms.entropy import Entropy, below
from untrackable.mechanisms.local.level_aggregator import LevelAggregator
from untrackable.mechanisms.local.level_layout import LevelLayout
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd_classes import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor
from untrackable.theory.integer_losses import LossLaw

MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Levelled:
    """A value has several parts. Each report draws one of the `levels` parts at random and is about that part.

    A value is an integer of levels·bits bits, with the part of level 0 lowest. A report is the base's report of one
    part, and above it the level. The level says nothing about the person, because each report draws it anew. If a
    client kept its level, or balanced levels over a deck, an observer could use that to follow it.
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
    def report_bits(self) -> int:
        """Width of the base's report and the level."""
        return self._layout.report_bits

    @property
    def words(self) -> int:
        """The number of random words per simulated report."""
        return int(getattr(self.base, "words", 2)) + 1

    @property
    def _layout(self) -> LevelLayout:
        return LevelLayout(self.base.report_bits, self.levels)

    def part(self, value: int, level: int) -> int:
        """The part of a value at a level."""
        return value >> self.base.bits * level & (self.base.values - 1)

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The level takes entropy first, 8 bytes or more, and then the base."""
        value = checks.private_integer("value", value, below=self.values)
        level = below(self.levels, entropy)
        return level << self.base.report_bits | self.base.draw(self.part(value, level), entropy)

    def simulate(self, values: NDArray[Any], rng: np.random.Generator) -> Reports:
        """One independent report for every entry. The values come from `local_population`, with all their parts."""
        levels = rng.integers(0, self.levels, size=values.shape, dtype=np.uint64)
        positions = levels.astype(np.int64)[..., None]
        parts = np.take_along_axis(values["parts"], positions, axis=-1)[..., 0]
        return self._layout.joined(levels, self.base.simulate(parts, rng))

    def possible(self, report: int) -> bool:
        """Whether this can be a report: the level must exist, and the rest must be a report of the base."""
        level, rest = divmod(report, 1 << self.base.report_bits)
        return 0 <= level < self.levels and self.base.possible(rest)

    @property
    def certainty(self) -> Certainty:
        """The certainty of the base, for two values that differ in every part."""
        return self.base.certainty

    def privacy_factor(self) -> Factor:
        """The factor of the base, because the level reveals nothing, and two values may differ in every part."""
        return self.base.privacy_factor()

    def integer_loss(self) -> LossLaw:
        """The law of the base, for the same reason."""
        return self.base.integer_loss()

    def crowd_classes(self) -> CrowdClasses:
        """Those of the base, for values that differ in every part."""
        return self.base.crowd_classes()

    def largest_weight(self) -> float:
        """That of the base, among the reports that are about the same part."""
        return self.base.largest_weight()

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports have the same level and base report by chance."""
        base = self.base.repeat_factor()
        equal = base.p > 0
        chances = base.q[equal] / self.levels
        return Factor([*base.p[equal], 0.0], [*chances, 1 - chances.sum()])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability of every report."""
        levels, rest = self._layout.split(reports)
        total = np.full(levels.shape, -np.inf)
        for level in range(self.levels):
            mine = levels == np.uint64(level)
            total[mine] = self.base.log_likelihood(rest[mine], self.part(value, level))
        return total - math.log(self.levels)

    def truthfulness(self) -> Truthfulness:
        """That of the base, about a prefix of the value."""
        return self.base.truthfulness()

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of the mean over all levels. It is that of the base, as each report is about some part."""
        return self.base.accuracy(people, beta)

    def aggregator(self, scope: Scope) -> LevelAggregator:
        """Empty sums of the base for every level."""
        return LevelAggregator(scope, self.base, self.levels)
