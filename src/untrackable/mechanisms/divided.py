"""Reports about all parts of a value at once, each with its part of eps: several questions, divided.

By sequential composition the parts of eps add up, so a person's eps is that of all parts together.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from untrackable import checks, randomizers
from untrackable.arrays import FloatArray, Words
from untrackable.estimation.aggregators import Reports, Scope, row_words
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local_interface import Truthfulness
from untrackable.mechanisms.view_tables import EntryLaw, TableLaw, View, table_law, worst_accuracy
from untrackable.mechanisms.views import LevelLayout, ViewAggregator
from untrackable.randomizers.divided import checked_sizes, checked_weights, shares, starts
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor


class Divided(randomizers.Divided):
    """Reports about all parts, with their sums, their estimates and their theory.

    By default the parts have all the same weight, and the best widths. The table of every part can be estimated.
    """

    __slots__ = ()
    bases: tuple[NoisyInnerProduct, ...]

    base_type = NoisyInnerProduct
    certainty: ClassVar[Certainty] = "exact"
    """Some two values differ in every part."""
    published = "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis (2006)"

    def __init__(
        self, *, sizes: Sequence[int], eps: float, weights: Sequence[int] = (), widths: Sequence[int] = ()
    ) -> None:
        sizes = checked_sizes(sizes)
        weights = checked_weights(weights or (1,) * len(sizes), sizes)
        if not widths:
            each = zip(sizes, shares(checks.epsilon("eps", eps), weights), strict=True)
            widths = [NoisyInnerProduct(bits=bits, eps=share).width for bits, share in each]
        super().__init__(sizes=sizes, eps=eps, weights=weights, widths=tuple(widths))

    @property
    def layout(self) -> LevelLayout:
        """The layout of a report."""
        return LevelLayout(self.report_bits, 1)

    @property
    def views(self) -> tuple[View, ...]:
        """The bits of each part."""
        return tuple(
            tuple(range(start, start + size)) for start, size in zip(starts(self.sizes), self.sizes, strict=True)
        )

    @property
    def width(self) -> int:
        """The number of bits of the widest answer."""
        return max(self.widths)

    @property
    def whole(self) -> None:
        """No part shows the whole value."""
        return

    @property
    def words(self) -> int:
        """The number of random words per simulated report, and of working memory."""
        return sum(base.words for base in self.bases) + self.report_bits // 8

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        flat, columns = values.reshape(-1).astype(np.uint64, copy=False), []
        for base, start in zip(self.bases, starts(self.sizes), strict=True):
            shown = flat >> np.uint64(start) & np.uint64(base.values - 1)
            own = _bytes(base.simulate(shown, rng))
            columns.append(np.unpackbits(own, axis=1, count=base.report_bits, bitorder="little"))
        joined = _packed(np.hstack(columns))
        return joined.reshape(*values.shape, *joined.shape[1:])

    def split(self, reports: Reports) -> list[Reports]:
        """The reports about each part, from words or rows of bytes."""
        rows, own, start = _bytes(reports), [], 0
        for base in self.bases:
            stop = start + base.report_bits
            bits = np.unpackbits(rows[:, start // 8 : -(-stop // 8)], axis=1, bitorder="little")
            own.append(_packed(bits[:, start % 8 :][:, : base.report_bits]))
            start = stop
        return own

    def privacy_factor(self) -> Factor:
        """The product of all parts' factors, for two values that differ in every part. It dominates all others."""
        return _product([base.privacy_factor() for base in self.bases])

    def crowd_classes(self) -> CrowdClasses:
        """The classes of the part with the largest eps: less is learned from it than from all parts (lower)."""
        return max(self.bases, key=lambda base: base.eps).crowd_classes()

    def repeat_factor(self) -> Factor:
        return _product([base.repeat_factor() for base in self.bases])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        shape = reports.shape[:-1] if self.layout.bytes else reports.shape
        split = self.split(self.layout.rows(reports))
        logs = (
            base.log_likelihood(own, part)
            for base, own, part in zip(self.bases, split, self.parts(value), strict=True)
        )
        return np.asarray(sum(logs)).reshape(shape)

    def truthfulness(self) -> Truthfulness:
        """How often the answers about all parts are right."""
        parts = [base.truthfulness() for base in self.bases]
        return Truthfulness("question", math.prod(one.own for one in parts), math.prod(one.noise for one in parts))

    def table_law(self, view: int | View) -> TableLaw:
        """How well the table of a part, given by its number, or of some of its bits is known."""
        return _table_law(self, view if isinstance(view, tuple) else self.views[view])

    def entry_laws(self, tables: tuple[View, ...]) -> tuple[EntryLaw, ...]:
        """How well one entry of each table is known. It is the same for every entry of a table."""
        return tuple(_table_law(self, bits).entry for bits in tables)

    def largest_weight(self) -> float:
        """The largest number that one report adds to n times the frequency of an entry of a table (upper)."""
        return max(entry.largest for entry in self.entry_laws(self.views))

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of an entry of the table that is known least well, from one report per person."""
        return worst_accuracy(self.entry_laws(self.views), people, beta)

    def aggregator(self, scope: Scope) -> "DividedAggregator":
        return DividedAggregator(scope, self)


class DividedAggregator(ViewAggregator):
    """The sums of the answers about every part. A report counts for all of them."""

    _mechanism: Divided

    def _possible(self, reports: Reports) -> None:
        self._by_view(reports)

    def _add(self, reports: Reports) -> None:
        self._add_rows(self._by_view(reports))
        self.n += reports.shape[0]

    def _by_view(self, reports: Reports) -> list[tuple[int, Words]]:
        if self._mechanism.layout.split(reports)[0].any():
            raise self._outside()
        return [self._rows_of(view, own) for view, own in enumerate(self._mechanism.split(reports))]

    def _outside(self) -> ValueError:
        return ValueError(
            f"a report must have {self._mechanism.report_bits} bits, with a report of its base for every part"
        )


def _product(factors: Sequence[Factor]) -> Factor:
    """Several independent observations as one."""

    def both(one: Factor, other: Factor) -> Factor:
        p, q = (np.outer(a, b).reshape(-1) for a, b in ((one.p, other.p), (one.q, other.q)))
        return Factor(p, q, np.add.outer(one.loss, other.loss).reshape(-1)).merged()

    return reduce(both, factors)


@lru_cache(maxsize=64)
def _table_law(mechanism: Divided, bits: View) -> TableLaw:
    """A report is about every part, so each has the probability 1."""
    return table_law(mechanism.views, mechanism.bases, (Fraction(1),) * len(mechanism.bases), bits)


def _bytes(reports: Reports) -> NDArray[np.uint8]:
    """A row of bytes for each report, the lowest first."""
    if reports.ndim == 1:
        reports = np.ascontiguousarray(reports, dtype="<u8")[:, None]
    return reports.view(np.uint8)


def _packed(bits: NDArray[np.uint8]) -> Reports:
    """Reports of these bits as words, or as bytes if they are wider."""
    rows = np.packbits(bits, axis=1, bitorder="little")
    return rows if bits.shape[1] > 64 else row_words(rows)[:, 0]
