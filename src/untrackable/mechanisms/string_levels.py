"""Values of several parts, with each report about one part. Strings are discovered by prefixes, one per part.

Each part is a level, with sums of the base mechanism of its own: heavy hitters are found level by level.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, randomizers
from untrackable.errors import SumsError
from untrackable.estimation.aggregators import InnerProductAggregator, Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import UnknownSpread
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local_interface import integer_population
from untrackable.mechanisms.views import LayoutSums, LevelLayout, ViewReports
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd import CrowdClasses

_NO_SUMS = UnknownSpread(
    "sums over strings are not estimated: strings that begin alike share prefixes, so people who hold one of them "
    "would be counted for others, too. Each string by itself has its share and its interval"
)


class Levelled(ViewReports, randomizers.Levelled):
    """Reports about levels, with their sums, their estimates and their theory."""

    __slots__ = ()
    base: NoisyInnerProduct

    def population(self, values: ArrayLike, rounds: int, *, may_change: bool) -> NDArray[Any]:
        """Values have their parts along a last axis, and become records `parts`."""
        array = np.asarray(values)
        if array.ndim < 2 or array.shape[-1] != self.levels:
            raise ValueError(
                f"values must have their {self.levels} parts along a last axis, got shape {array.shape}"
            )
        integer_population(array[..., 0], self.base.values, rounds, may_change=may_change)
        parts = integer_population(array.reshape(-1), self.base.values, rounds, may_change=False)
        records = np.ascontiguousarray(parts, dtype=np.uint64).view([("parts", np.uint64, (self.levels,))])
        return records.reshape(array.shape[:-1])

    def simulate(self, values: NDArray[Any], rng: np.random.Generator) -> Reports:
        """One independent report for every entry. The values come from `population`, with all their parts."""
        levels = rng.integers(0, self.levels, size=values.shape, dtype=np.uint64)
        positions = levels.astype(np.int64)[..., None]
        parts = np.take_along_axis(values["parts"], positions, axis=-1)[..., 0]
        return self.layout.joined(levels, self.base.simulate(parts, rng))

    def crowd_classes(self) -> CrowdClasses:
        """The classes of the base, for values that differ in every part."""
        return self.base.crowd_classes()

    def largest_weight(self) -> float:
        """The weight in the base, among the reports that are about the same part."""
        return self.base.largest_weight()

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of the mean over all levels. It is that of the base, as each report is about some part."""
        return self.base.accuracy(people, beta)

    def aggregator(self, scope: Scope) -> "LevelAggregator":
        return LevelAggregator(scope, self.base, self.levels)


class LevelAggregator(LayoutSums):
    """One aggregate of the base for each level; `parts[i].n` is the number of reports about level i."""

    def __init__(self, scope: Scope, base: NoisyInnerProduct, levels: int) -> None:
        super().__init__(scope, LevelLayout(base.report_bits, levels))
        self._base = base
        self.parts: list[InnerProductAggregator] = self._empty()
        self.part_bits = base.bits

    takes_candidates = True

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.parts)

    @property
    def why_candidates(self) -> str:
        return (
            f"there are 2^{self.part_bits * self.levels} values, too many to estimate; "
            "`untrackable discover` finds frequent strings"
        )

    def _estimate_listed(self, n: int, beta: float, candidates: Sequence[int]) -> Estimate:
        """For every candidate, the mean over all reports, each of which is about one part of the candidate.

        The estimate is unbiased for the share of people who hold a part, averaged over parts. So it counts people
        who hold the candidate, and partly those who share some part with it. Choose candidates without looking at
        these reports, or the radii do not hold; `untrackable.discover` finds strings from the reports.
        """
        bits = self._base.bits
        largest = (1 << bits * len(self.parts)) - 1
        numbers = [checks.integer("candidate", u, low=0, high=largest) for u in candidates]
        frequencies, variance = np.zeros(len(numbers)), np.zeros(len(numbers))
        chance: np.ndarray | float | None = None
        span = np.zeros(len(numbers))
        for level, part in enumerate(self.parts):
            if part.n:
                estimate = part.estimate(beta)
                positions = np.array([u >> bits * level & ((1 << bits) - 1) for u in numbers])
                frequencies += part.n / n * estimate.frequencies[positions]
                variance += (part.n / n * estimate.standard_error[positions]) ** 2
                span, chance = estimate.span[positions], estimate.chance
        return Estimate(
            frequencies,
            n,
            beta,
            np.sqrt(variance),
            span=span,
            chance=chance,
            mixed=True,  # Some levels of another value may be those of a candidate.
            values=numbers,
            complete=False,
            spread=_NO_SUMS,
        )

    def _empty(self) -> list[InnerProductAggregator]:
        parts = (self._base.aggregator(self.scope) for _ in range(self._layout.levels))
        return [part for part in parts if isinstance(part, InnerProductAggregator)]

    def _add(self, reports: Reports) -> None:
        """Add reports level by level. If one of them is not valid, all sums are restored."""
        levels, rest = self._layout.split(reports)
        present = np.flatnonzero(np.bincount(np.minimum(levels, len(self.parts)).astype(np.int64)))
        if present.size and present[-1] == len(self.parts):
            raise self._outside()
        before = {level: copy.deepcopy(self.parts[level]) for level in present[:-1].tolist()}
        try:
            for level in present.tolist():
                self.parts[level].add(rest[levels == level])
        except ValueError:
            for level, part in before.items():
                self.parts[level] = part
            raise self._outside() from None
        self.n += levels.size

    def _merge(self, other: Self) -> None:
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine.merge(theirs)

    def addends(self) -> dict[str, NDArray[np.int64]]:
        """The addends of all levels; the number of a level stands before their names."""
        parts = {
            f"{level} {name}": addend
            for level, part in enumerate(self.parts)
            for name, addend in part.addends().items()
        }
        return {**super().addends(), **parts}

    def increase(self, name: str, start: int, by: NDArray[np.int64]) -> None:
        level, _, rest = name.partition(" ")
        if rest:
            self.parts[int(level)].increase(rest, start, by)
        else:
            super().increase(name, start, by)

    def _packed(self) -> bytes:
        """The numbers of reports and of bytes of every level, and then the sums of all levels."""
        sums = [part._packed() for part in self.parts]
        head = np.array([[part.n, len(packed)] for part, packed in zip(self.parts, sums, strict=True)], dtype="<u8")
        return head.tobytes() + b"".join(sums)

    def _add_packed(self, payload: memoryview, n: int) -> None:
        size = 16 * len(self.parts)
        if len(payload) < size:
            raise SumsError("these sums are truncated")
        head = np.frombuffer(payload[:size], dtype="<u8").reshape(-1, 2).tolist()
        if sum(count for count, _ in head) != n or sum(length for _, length in head) != len(payload) - size:
            raise SumsError("these sums do not hold as many reports or bytes as they declare")
        saved = self._empty()
        for part, (count, length) in zip(saved, head, strict=True):
            part._add_packed(payload[size : size + length], count)
            part.n = count
            size += length
        for mine, theirs in zip(self.parts, saved, strict=True):
            mine.merge(theirs)

    def _outside(self) -> ValueError:
        return ValueError(
            f"a report must be about one of {len(self.parts)} levels, and the base must be able to make it"
        )
