"""Views of a value: each report is about some bits of it only, drawn anew, and only these are paid for."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Reports, Scope
from untrackable.mechanisms.local.level_layout import LevelLayout
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import LARGEST_BITS, NoisyInnerProduct
from untrackable.mechanisms.local.view_aggregator import ViewAggregator
from untrackable.mechanisms.local.view_characters import (
    EntryLaw,
    TableLaw,
    View,
    mean_sign,
    table_law,
    worst_accuracy,
)
from untrackable.mechanisms.local.view_crowd import view_classes
from untrackable.mechanisms.local.view_reports import ViewReports, common_reports
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd_classes import CrowdClasses

MOST_VIEWS = 4096
LARGEST_VIEW = 24
"""The largest number of bits that a view shows."""
MOST_ENTRIES = 1 << 25
"""The largest number of sums of all views together, 256 MiB."""
LARGEST_PLAIN_BITS = 63
"""Values of up to this many bits are one integer in simulation; wider ones are words along a last axis."""
_LARGEST_WEIGHT = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Views(ViewReports):
    """Each report draws one of several views of the value, and is a noisy inner product of the bits that it shows.

    A value has `bits` bits, and a view is a list of positions of bits, 0 for the lowest. `weights` are the whole
    numbers that the probabilities of views are proportional to, by default all the same. A report is the answer to
    a question about the bits of the view, of `width` bits or as many as the view has, with privacy `eps`; above it
    is the number of the view.

    The table of every view can be estimated, and tables that are part of it. Reports about other views that show
    the same bits count too. Nothing else can be estimated, so nothing else is paid for.
    """

    bits: int
    views: tuple[View, ...]
    eps: float
    width: int = 1
    weights: tuple[int, ...] = ()
    bases: tuple[NoisyInnerProduct, ...] = field(init=False, repr=False, compare=False)
    ends: tuple[int, ...] = field(init=False, repr=False, compare=False)
    layout: LevelLayout = field(init=False, repr=False, compare=False)

    published = (
        "Horvitz, Thompson: A generalization of sampling without replacement from a finite universe (1952); "
        "Cormode, Kulkarni, Srivastava: Marginal release under local differential privacy (2018)"
    )

    def __post_init__(self) -> None:
        bits = checks.integer("bits", self.bits, low=1, high=LARGEST_BITS)
        views = _checked_views(self.views, bits)
        weights = tuple(self.weights) or (1,) * len(views)
        if len(weights) != len(views):
            raise ValueError(f"weights must be one number for each of {len(views)} views, got {len(weights)}")
        weights = tuple(checks.integer("a weight", weight, low=1, high=_LARGEST_WEIGHT) for weight in weights)
        width = checks.integer("width", self.width, low=1, high=min(LARGEST_WIDTH, max(map(len, views))))
        eps = checks.epsilon("eps", self.eps)
        made = {
            size: NoisyInnerProduct(bits=size, eps=eps, width=min(width, size)) for size in set(map(len, views))
        }
        bases = tuple(made[len(view)] for view in views)
        checks.settle(self, bits=bits, views=views, eps=eps, width=width, weights=weights, bases=bases)
        layout = LevelLayout(max(base.report_bits for base in bases), len(bases))
        checks.settle(self, ends=tuple(itertools.accumulate(weights)), layout=layout)

    @classmethod
    def prefixes(cls, *, bits: int, eps: float, width: int = 1, weights: Sequence[int] = ()) -> Self:
        """Views of the highest 1 … bits bits, for ordered values: ranges of 2^bits buckets, halves of them, ….

        Any range of values is a union of at most two of them at each level.
        """
        bits = checks.integer("bits", bits, low=1, high=LARGEST_VIEW)
        views = tuple(tuple(range(bits - shown, bits)) for shown in range(1, bits + 1))
        return cls(bits=bits, views=views, eps=eps, width=width, weights=tuple(weights))

    @classmethod
    def single_bits(cls, *, bits: int, eps: float) -> Self:
        """One view for each bit, for many yes/no questions at once."""
        bits = checks.integer("bits", bits, low=1, high=LARGEST_BITS)
        return cls(bits=bits, views=tuple((position,) for position in range(bits)), eps=eps)

    @property
    def values(self) -> int:
        """The number of values, 2^bits."""
        return 1 << self.bits

    @property
    def whole(self) -> int | None:
        """The number of the view that shows the whole value; None if there is none."""
        return next((i for i, view in enumerate(self.views) if len(view) == self.bits), None)

    def part(self, value: int, view: int) -> int:
        """The bits that a view shows, as one number."""
        return sum((value >> position & 1) << i for i, position in enumerate(self.views[view]))

    def simulate(self, values: NDArray[Any], rng: np.random.Generator) -> Reports:
        """One independent report for every entry. Values come from `local_population`."""
        layout, flat = self.layout, values.reshape(-1)
        chosen = self._drawn_views(flat.size, rng)
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=len(self.views)))
        joined: Reports = np.zeros(flat.size, dtype=np.uint64)
        if layout.bytes:
            joined = np.zeros((flat.size, layout.bytes), dtype=np.uint8)
        for view, (start, stop) in enumerate(itertools.pairwise([0, *ends.tolist()])):
            mine = order[start:stop]
            if mine.size:
                own = self.bases[view].simulate(self._shown(flat[mine], view), rng)
                rest = common_reports(own, layout.base_bits)
                joined[mine] = layout.joined(np.full(mine.size, view, dtype=np.uint64), rest)
        return joined.reshape(*values.shape, *joined.shape[1:])

    def _drawn_views(self, count: int, rng: np.random.Generator) -> NDArray[np.uint16]:
        if len(set(self.weights)) == 1:
            return rng.integers(0, len(self.views), size=count, dtype=np.uint16)
        drawn = rng.integers(0, self.ends[-1], size=count)
        return np.searchsorted(self.ends, drawn, side="right").astype(np.uint16)

    def _shown(self, values: NDArray[Any], view: int) -> NDArray[np.uint64]:
        """The part of each value that a view shows. Neighbouring bits are moved together."""
        shown = np.zeros(values.shape, dtype=np.uint64)
        for low, at, length in _runs(self.views[view]):
            word, shift = divmod(low, 64)
            held = values["words"][..., word] if values.dtype.names else values
            piece = held.astype(np.uint64, copy=False) >> np.uint64(shift) & np.uint64((1 << length) - 1)
            shown |= piece << np.uint64(at)
        return shown

    def table_law(self, view: int | View) -> TableLaw:
        """How well the table of a view, or of some bits that a view shows, is known by reports about all views."""
        return _table_law(self, self.shown_bits(view))

    def shown_bits(self, view: int | View) -> View:
        """The bits of a view that is given by its number, or given themselves, after checks."""
        if isinstance(view, tuple):
            return _checked_views((view,), self.bits)[0]
        return self.views[checks.integer("view", view, low=0, high=len(self.views) - 1)]

    def entry_laws(self, tables: tuple[View, ...]) -> tuple[EntryLaw, ...]:
        """How well one entry of each table of some bits is known. It is the same for every entry of a table.

        With answers of one bit, the law is that of true answers but for the noise, and is found again.
        """
        if self.width > 1:
            return tuple(_table_law(self, bits).entry for bits in tables)
        sign = mean_sign(self.bases[0])
        clear = _clear_laws(self.bits, self.views, self.weights, tables)
        return tuple(law.with_noise(sign, len(bits)) for law, bits in zip(clear, tables, strict=True))

    def crowd_classes(self) -> CrowdClasses:
        """Reports of two values that differ in every view, where everybody else holds a third value."""
        return view_classes(self.views, self.bases, self.shares())

    def largest_weight(self) -> float:
        """The largest number that one report adds to n times the frequency of an entry of a table.

        It is exact with answers of one bit, and an upper bound with wider ones.
        """
        return max(entry.largest for entry in _entry_laws(self))

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of an entry of the table that is known least well, from one report per person."""
        return worst_accuracy(_entry_laws(self), people, beta)

    def aggregator(self, scope: Scope) -> ViewAggregator:
        """Empty sums for the characters of every view."""
        return ViewAggregator(scope, self)


@lru_cache(maxsize=2)
def _table_law(mechanism: Views, bits: View) -> TableLaw:
    """Kept for a moment: a table may be large, and is asked about more than once in a row."""
    return table_law(mechanism.views, mechanism.bases, mechanism.shares(), bits)


@lru_cache(maxsize=16)
def _clear_laws(
    bits: int, views: tuple[View, ...], weights: tuple[int, ...], tables: tuple[View, ...]
) -> tuple[EntryLaw, ...]:
    """The laws of entries if answers of one bit are always true."""
    made = Views(bits=bits, views=views, eps=1.0, weights=weights)
    return tuple(table_law(views, made.bases, made.shares(), table, noise=False).entry for table in tables)


@lru_cache(maxsize=64)
def _entry_laws(mechanism: Views) -> frozenset[EntryLaw]:
    """The laws of the entries of all tables. Tables of the same law are counted once."""
    return frozenset(mechanism.entry_laws(mechanism.views))


def _checked_views(given: Iterable[Iterable[int]], bits: int) -> tuple[View, ...]:
    views = tuple(
        tuple(checks.integer("a position in a view", position, low=0, high=bits - 1) for position in view)
        for view in given
    )
    if not 1 <= len(views) <= MOST_VIEWS:
        raise ValueError(f"there must be between 1 and {MOST_VIEWS} views, got {len(views)}")
    for view in views:
        if not 1 <= len(view) <= LARGEST_VIEW or any(low >= high for low, high in itertools.pairwise(view)):
            raise ValueError(f"a view must be between 1 and {LARGEST_VIEW} different positions in ascending order")
    if len(set(views)) < len(views):
        raise ValueError("views must be different; weights say how often each is drawn")
    if sum(1 << len(view) for view in views) > MOST_ENTRIES:
        raise ValueError(f"the tables of all views must have at most {MOST_ENTRIES:,} entries together")
    return views


def _runs(view: View) -> Iterable[tuple[int, int, int]]:
    """The lowest bit, its place in the view, and the number of neighbouring bits, within words of 64 bits."""
    start = 0
    for i in range(1, len(view) + 1):
        if i == len(view) or view[i] != view[i - 1] + 1 or view[i] % 64 == 0:
            yield view[start], start, i - start
            start = i
