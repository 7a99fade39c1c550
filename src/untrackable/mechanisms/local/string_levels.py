"""Values of several parts, each report about one of them: what strings are discovered with, a prefix to a part."""

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
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor
from untrackable.theory.integer_losses import LossLaw

MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Levelled:
    """Draws one of `levels` parts of the value, uniformly for every report, and reports about that part.

    A value is an integer of levels·bits bits, the part of level 0 lowest. A report is that of the base, and above
    it the level. Which level it is about says nothing about the person, and is drawn anew for every execution: a
    level that stayed with a client, or was balanced over a deck, would be something to follow it by.
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
        """2^(levels·bits)."""
        return 1 << (self.levels * self.base.bits)

    @property
    def report_bits(self) -> int:
        """The report of the base, and the level."""
        return self._layout.report_bits

    @property
    def words(self) -> int:
        """Random words for a simulated report."""
        return int(getattr(self.base, "words", 2)) + 1

    @property
    def _layout(self) -> LevelLayout:
        return LevelLayout(self.base.report_bits, self.levels)

    def part(self, value: int, level: int) -> int:
        """The part of a value that a level is about."""
        return value >> self.base.bits * level & (self.base.values - 1)

    def draw(self, value: int, entropy: Entropy) -> int:
        """The level's entropy first, 8 bytes or more, then that of the base."""
        value = checks.private_integer("value", value, below=self.values)
        level = below(self.levels, entropy)
        return level << self.base.report_bits | self.base.draw(self.part(value, level), entropy)

    def simulate(self, values: NDArray[Any], rng: np.random.Generator) -> Reports:
        """One independent report for every entry; values as `local_population` gives them, with all their parts."""
        levels = rng.integers(0, self.levels, size=values.shape, dtype=np.uint64)
        positions = levels.astype(np.int64)[..., None]
        parts = np.take_along_axis(values["parts"], positions, axis=-1)[..., 0]
        return self._layout.joined(levels, self.base.simulate(parts, rng))

    def possible(self, report: int) -> bool:
        """Whether this can be a report: of a level that there is, and one of the base."""
        level, rest = divmod(report, 1 << self.base.report_bits)
        return 0 <= level < self.levels and self.base.possible(rest)

    @property
    def certainty(self) -> Certainty:
        """That of the base, for two values that differ in every part."""
        return self.base.certainty

    def privacy_factor(self) -> Factor:
        """That of the base: the level tells nothing, and the two values may differ in every part."""
        return self.base.privacy_factor()

    def integer_loss(self) -> LossLaw:
        """That of the base, for the same reason."""
        return self.base.integer_loss()

    def repeat_factor(self) -> Factor:
        """Seen twice: equal for certain. Two reports: the same level by chance, then equal as the base's are."""
        base = self.base.repeat_factor()
        equal = base.p > 0
        chances = base.q[equal] / self.levels
        return Factor([*base.p[equal], 0.0], [*chances, 1 - chances.sum()])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """Log probability of every report."""
        levels, rest = self._layout.split(reports)
        found = np.full(levels.shape, -np.inf)
        for level in range(self.levels):
            mine = levels == np.uint64(level)
            found[mine] = self.base.log_likelihood(rest[mine], self.part(value, level))
        return found - math.log(self.levels)

    def truthfulness(self) -> Truthfulness:
        """That of the base, about a prefix of the value."""
        return self.base.truthfulness()

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """Of the mean over all levels: that of the base, as every report is about some part of the value."""
        return self.base.accuracy(people, beta)

    def aggregator(self, scope: Scope) -> LevelAggregator:
        """The base's sums for every level."""
        return LevelAggregator(scope, self.base, self.levels)
