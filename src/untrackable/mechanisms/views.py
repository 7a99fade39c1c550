"""Views of a value: each report is about some bits of it only, drawn for every report, and only these are paid for.

It is a frequency oracle with subsampling of questions, under local differential privacy: the view is drawn, and
the report is a noisy inner product of the bits that the view shows. `view_tables` says how well the tables of all
views are known by such reports.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, randomizers
from untrackable.arrays import FloatArray, Words
from untrackable.estimation.aggregators import Aggregator, Reports, Scope, wide_rows
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import Spread
from untrackable.kernels.counting import add_answers, add_view_signs, possible_view_reports, walsh_hadamard_of_reals
from untrackable.mechanisms import inner_product
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local_interface import Truthfulness, integer_population
from untrackable.mechanisms.view_tables import (
    EntryLaw,
    TableLaw,
    View,
    ViewSpreads,
    mean_sign,
    table_law,
    worst_accuracy,
)
from untrackable.randomizers.inner_product import LARGEST_BITS
from untrackable.randomizers.views import LARGEST_VIEW, checked_views
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor

if TYPE_CHECKING:
    from untrackable.mechanisms.divided import Divided

LARGEST_PLAIN_BITS = 63
"""Values of up to this many bits are one integer in simulation; wider ones are words along a last axis."""
_WORD = 64
_LEVEL_BYTES = 3
"""The number of bytes that a level can reach into."""


@dataclass(frozen=True, slots=True)
class LevelLayout:
    """The layout of a report of `base_bits` bits with one of `levels` levels in the bits above it.

    Reports are integers or, above 64 bits, bytes along the last axis of an array.
    """

    base_bits: int
    levels: int

    @property
    def report_bits(self) -> int:
        """The width of report and level together."""
        return self.base_bits + (self.levels - 1).bit_length()

    @property
    def bytes(self) -> int:
        """The number of bytes of a report with its level; 0 if both fit into a word of 64 bits."""
        return -(-self.report_bits // 8) if self.report_bits > _WORD else 0

    def rows(self, reports: Reports) -> Reports:
        """An array of reports with one axis, or two if each is bytes. Their content is checked later."""
        if not self.bytes:
            # A negative number becomes a word that is too large.
            kind = np.int64 if reports.dtype.kind == "i" else np.uint64
            return reports.astype(kind, copy=False).view(np.uint64).reshape(-1)
        return wide_rows(reports, self.bytes)

    def joined(self, levels: Words, rest: Reports) -> Reports:
        """These reports with these levels above them."""
        if not self.bytes:
            return rest | levels << np.uint64(self.base_bits)
        joined = np.zeros((*levels.shape, self.bytes + _LEVEL_BYTES), dtype=np.uint8)
        if self.base_bits <= _WORD:
            rest = rest.astype("<u8")[..., None].view(np.uint8)
        size = -(-self.base_bits // 8)
        joined[..., :size] = rest[..., :size]
        position, shift = divmod(self.base_bits, 8)
        above = levels << np.uint64(shift)
        for i in range(_LEVEL_BYTES):
            joined[..., position + i] |= (above >> np.uint64(8 * i) & np.uint64(0xFF)).astype(np.uint8)
        return joined[..., : self.bytes]

    def split(self, reports: Reports) -> tuple[Words, Reports]:
        """The levels, and the reports without them. Surplus bits make a level too large, and then it is refused."""
        if not self.bytes:
            mask = np.uint64((1 << self.base_bits) - 1)
            words = reports.astype(np.uint64, copy=False)
            # With 64 bits in the report there is one level, and NumPy cannot shift by 64.
            levels = words >> np.uint64(self.base_bits) if self.base_bits < _WORD else np.zeros_like(words)
            return levels, words & mask
        position, shift = divmod(self.base_bits, 8)
        size = -(-self.base_bits // 8)
        above = np.zeros(reports.shape[:-1], dtype=np.uint64)
        # If there is only one level, it has no bits.
        for i in range(min(_LEVEL_BYTES, self.bytes - position)):
            above |= reports[..., position + i].astype(np.uint64) << np.uint64(8 * i)
        room = max(size, _WORD // 8)
        rest = np.zeros((*reports.shape[:-1], room), dtype=np.uint8)
        rest[..., :size] = reports[..., :size]
        if shift:
            rest[..., position] &= np.uint8((1 << shift) - 1)
        levels = above >> np.uint64(shift)
        if self.base_bits <= _WORD:
            return levels, rest.view("<u8")[..., 0].astype(np.uint64, copy=False)
        return levels, rest


class ViewReports(randomizers.ViewReports):
    """The theory that mechanisms have in common whose report is about one view of the value."""

    __slots__ = ()

    certainty: ClassVar[Certainty] = "exact"
    """Some two values differ in every view, and every base has the same factor for all its values."""
    bases: tuple[NoisyInnerProduct, ...]

    @property
    def layout(self) -> LevelLayout:
        """The layout of a report: the view is above the longest report of a base."""
        return LevelLayout(self.base_bits, len(self.bases))

    @property
    def words(self) -> int:
        return max(base.words for base in self.bases) + 1

    def shares(self) -> tuple[Fraction, ...]:
        """The probability of each view (exact)."""
        total = sum(self.weights)
        return tuple(Fraction(weight, total) for weight in self.weights)

    def _grouped(self) -> Iterator[tuple[NoisyInnerProduct, Fraction, int]]:
        """Each base with the probability of its view, and how many views have both."""
        for (base, share), number in Counter(zip(self.bases, self.shares(), strict=True)).items():
            yield base, share, number

    def differing_exact(self) -> Fraction:
        """The probability that two values that differ in every view have different answers."""
        return sum(
            (share * number * base.differing_exact() for base, share, number in self._grouped()), Fraction(0)
        )

    def differing(self) -> float:
        """The probability as a float."""
        return float(self.differing_exact())

    def privacy_factor(self) -> Factor:
        """The mixture of the factors of all views, for two values that differ in every one.

        For other values, an observer learns nothing from the views in which they look alike, so this dominates.
        """
        mixed = [(base.privacy_factor(), float(share * number)) for base, share, number in self._grouped()]
        if len(mixed) == 1:
            return mixed[0][0]
        return Factor(
            np.concatenate([share * factor.p for factor, share in mixed]),
            np.concatenate([share * factor.q for factor, share in mixed]),
            np.concatenate([factor.loss for factor, _ in mixed]),
        ).merged()

    def repeat_factor(self) -> Factor:
        p: list[float] = []
        q: list[float] = []
        losses: list[float] = []
        for base, share, number in self._grouped():
            factor, chance = base.repeat_factor(), float(share)
            equal = factor.p > 0
            p.extend(number * chance * factor.p[equal])
            q.extend(number * chance**2 * factor.q[equal])
            losses.extend(factor.loss[equal] - math.log(chance))
        return Factor([*p, 0.0], [*q, 1 - math.fsum(q)], [*losses, -math.inf])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        views, rest = self.layout.split(reports)
        total = np.full(views.shape, -np.inf)
        for view, (base, share) in enumerate(zip(self.bases, self.shares(), strict=True)):
            mine = views == np.uint64(view)
            if mine.any():
                own, fitting = own_reports(rest[mine], base)
                logs = np.full(fitting.shape, -np.inf)
                logs[fitting] = base.log_likelihood(own[fitting], self.part(value, view)) + math.log(share)
                total[mine] = logs
        return total

    def truthfulness(self) -> Truthfulness:
        """The mean over views: an answer is right unless it is flipped, and pure noise is right by chance."""
        truths = [(float(share * number), base.truthfulness()) for base, share, number in self._grouped()]
        own, noise = (math.fsum(share * getattr(one, name) for share, one in truths) for name in ("own", "noise"))
        return Truthfulness("question", own, noise)


class Views(ViewReports, randomizers.Views):
    """Reports about views, with their sums, their estimates and their theory.

    The table of every view can be estimated, and tables that are part of it. Reports about other views that show
    the same bits count too. Nothing else can be estimated, so nothing else is paid for.
    """

    __slots__ = ()

    base_type = NoisyInnerProduct
    published = (
        "Horvitz, Thompson: A generalization of sampling without replacement from a finite universe (1952); "
        "Cormode, Kulkarni, Srivastava: Marginal release under local differential privacy (2018)"
    )

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
    def whole(self) -> int | None:
        """The number of the view that shows the whole value; None if there is none."""
        return next((i for i, view in enumerate(self.views) if len(view) == self.bits), None)

    def population(self, values: ArrayLike, rounds: int, *, may_change: bool) -> NDArray[Any]:
        """Values that are wider than a word have their words along a last axis, the lowest first.

        They become records `words`.
        """
        if self.bits <= LARGEST_PLAIN_BITS:
            return integer_population(values, self.values, rounds, may_change=may_change)
        array = np.asarray(values, dtype=np.uint64)
        size = -(-self.bits // 64)
        if array.ndim < 2 or array.shape[-1] != size:
            raise ValueError(f"values must have their {size} words along a last axis, got shape {array.shape}")
        highest = 1 << (self.bits - 1) % 64 + 1
        integer_population(array[..., -1], highest, rounds, may_change=may_change)
        records = np.ascontiguousarray(array).view([("words", np.uint64, (size,))])
        return records.reshape(array.shape[:-1])

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
        if not isinstance(view, tuple):
            return _table_law(self, self.views[checks.integer("view", view, low=0, high=len(self.views) - 1)])
        return _table_law(self, checked_views((view,), self.bits)[0])

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

    def aggregator(self, scope: Scope) -> "ViewAggregator":
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


def _runs(view: View) -> Iterable[tuple[int, int, int]]:
    """The lowest bit, its place in the view, and the number of neighbouring bits, within words of 64 bits."""
    start = 0
    for i in range(1, len(view) + 1):
        if i == len(view) or view[i] != view[i - 1] + 1 or view[i] % 64 == 0:
            yield view[start], start, i - start
            start = i


def own_reports(rest: Reports, base: NoisyInnerProduct) -> tuple[Reports, NDArray[np.bool_]]:
    """Reports of a base from a layout with room for longer ones, and which of them are not too long.

    `LevelLayout.split` gives the reports as words, or as rows of at least 8 bytes.
    """
    if rest.ndim == 1:
        words = rest.astype(np.uint64, copy=False)
        # NumPy cannot shift by 64.
        return words, words >> np.uint64(base.report_bits - 1) <= 1
    used, last = base.report_bits % 8, (base.report_bits - 1) // 8
    fitting: NDArray[np.bool_] = np.logical_not(rest[:, last + 1 :].any(axis=1))
    if used:
        fitting &= rest[:, last] >> np.uint8(used) == 0
    size = inner_product.report_bytes(base.bits, base.width)
    if size:
        return rest[:, :size], fitting
    return np.ascontiguousarray(rest[:, :8]).view("<u8")[:, 0].astype(np.uint64, copy=False), fitting


def common_reports(reports: Reports, base_bits: int) -> Reports:
    """Reports of a base in a layout of `base_bits` bits: words, or rows of bytes with zeros above."""
    if base_bits <= 64:
        return reports
    if reports.ndim == 1:
        reports = reports.astype("<u8")[:, None].view(np.uint8)
    wide = np.zeros((reports.shape[0], max(8, -(-base_bits // 8))), dtype=np.uint8)
    wide[:, : reports.shape[1]] = reports
    return wide


def view_classes(
    views: Sequence[View], bases: Sequence[NoisyInnerProduct], shares: Sequence[Fraction]
) -> CrowdClasses:
    """The classes of reports about all views that can be counted, for what an observer of a crowd certainly learns.

    One person holds the value 0 or the value with all bits set, which differ in every view. Everybody else holds a
    third value. A view shows some of its bits set and some not, and then three values that differ; or it shows one
    of the other two values. Views of this second kind count only in pairs, one of each kind, so that exchanging the
    two values changes nothing.
    """
    value = third_value(views)
    apart: dict[NoisyInnerProduct, Fraction] = defaultdict(Fraction)
    shared: dict[NoisyInnerProduct, Fraction] = defaultdict(Fraction)
    alike: dict[tuple[NoisyInnerProduct, Fraction], list[int]] = {}
    for view, base, share in zip(views, bases, shares, strict=True):
        shown = sum(value >> position & 1 for position in view)
        if 0 < shown < len(view):
            other, same = base.third_answers()
            apart[base] += share * other
            shared[base] += share * same
        else:
            alike.setdefault((base, share), [0, 0])[shown > 0] += 1
    for (base, share), counts in alike.items():
        for kind in (apart, shared):
            kind[base] += min(counts) * share * base.differing_exact()
    rows = []
    for base in apart:
        truth, lie = base.chances()
        for mass, third in ((float(apart[base]), lie), (float(shared[base]), truth)):
            if mass:
                rows += [(mass * one, mass * two, mass * third) for one, two in ((truth, lie), (lie, truth))]
    first, second, others = zip(*(rows or _of_one_view(bases[0], shares[0])), strict=True)
    return CrowdClasses(first, second, others)


def _of_one_view(base: NoisyInnerProduct, share: Fraction) -> list[tuple[float, float, float]]:
    """The classes of one view that shows the second value to everybody else."""
    truth, lie = base.chances()
    differ = float(share * base.differing_exact())
    return [(differ * truth, differ * lie, differ * lie), (differ * lie, differ * truth, differ * truth)]


def third_value(views: Sequence[View]) -> int:
    """A value of which most views show some bits set and some not. Bits are set where fewer are set so far."""
    bits: dict[int, int] = {}
    for view in sorted(views, key=len, reverse=True):
        for position in view:
            beside = [bits[other] for other in view if other in bits] or list(bits.values())
            bits.setdefault(position, int(2 * sum(beside) < len(beside)))
    return sum(bit << position for position, bit in bits.items())


class LayoutSums(Aggregator):
    """Sums of reports that are integers, or bytes, in the layout of a level and a report of a base."""

    def __init__(self, scope: Scope, layout: LevelLayout) -> None:
        super().__init__(scope)
        self._layout, self._bytes, self._limits = layout, layout.bytes, (0, (1 << layout.report_bits) - 1)

    def _checked(self, reports: Reports) -> Reports:
        return self._layout.rows(reports)


class ViewAggregator(LayoutSums):
    """For every view and every vector of its bits, the sum of the signs of the answers about it.

    `sums` has the entries of one view after those of another. The estimate of a table pools all views that show the
    same bits. The number of entries is that of the views' tables, whatever the number of bits.
    """

    _sums = ("sums",)

    def __init__(self, scope: Scope, mechanism: "Views | Divided") -> None:
        super().__init__(scope, mechanism.layout)
        self._mechanism = mechanism
        self._sizes = np.array([base.values for base in mechanism.bases], dtype=np.int64)
        ends = np.cumsum(self._sizes)
        self._starts = ends - self._sizes
        # The kernel that counts takes a power of two. The last entries may stay 0.
        self.sums = np.zeros(1 << int(ends[-1] - 1).bit_length(), dtype=np.int64)

    def table(self, view: int | View, beta: float = 0.05) -> Estimate:
        """The frequency of each entry of a view's table: of each number that its bits can be.

        The view is given by its number, or as bits that some view shows together. Tables of different views agree
        where they show the same bits.
        """
        n, beta = self._counted(), checks.open_probability("beta", beta)
        law = self._mechanism.table_law(view)
        return _estimated(self._frequencies(law, n), n, beta, law)

    def entry_spreads(self, tables: tuple[View, ...]) -> list[Spread]:
        """How far an entry of each table of some bits may be off. It does not depend on the reports."""
        return [law.spread for law in self._mechanism.entry_laws(tables)]

    def _frequencies(self, law: TableLaw, n: int) -> FloatArray:
        counted = np.zeros(1 << law.bits, dtype=np.int64)
        for shared in law.shared:
            start = self._starts[shared.view]
            counted[shared.table] += self.sums[start : start + self._sizes[shared.view]][shared.own]
        counted[0] = n  # Entry 0 of a view is never counted: the character of no bits is 1.
        return walsh_hadamard_of_reals(counted / law.reach) / (n * counted.size)

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        whole = self._mechanism.whole
        if whole is None:
            raise ValueError(
                "these reports are about tables of some bits each, not about whole values: estimate a table instead"
            )
        return self.table(whole, beta)

    def _possible(self, reports: Reports) -> None:
        if self._mechanism.width > 1:
            self._by_view(reports)
        elif not possible_view_reports(*self._narrow(reports)):
            raise self._outside()

    def _add(self, reports: Reports) -> None:
        if self._mechanism.width == 1:
            if not add_view_signs(self.sums, *self._narrow(reports)):
                raise self._outside()
        else:
            self._add_rows(self._by_view(reports))
        self.n += reports.shape[0]

    def _add_rows(self, reports: list[tuple[int, Words]]) -> None:
        for view, rows in reports:
            start = self._starts[view]
            add_answers(self.sums[start : start + self._sizes[view]], rows, self._mechanism.bases[view].width)

    def _narrow(self, reports: Reports) -> tuple[NDArray[np.uint64], int, NDArray[np.int64], NDArray[np.int64]]:
        return reports.astype(np.uint64, copy=False), self._layout.base_bits, self._starts, self._sizes

    def _by_view(self, reports: Reports) -> list[tuple[int, Words]]:
        """The reports about each view, after checks."""
        views, rest = self._layout.split(reports)
        if views.size and int(views.max()) >= self._sizes.size:
            raise self._outside()
        order = np.argsort(views.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(views.astype(np.int64), minlength=self._sizes.size))
        by_view = []
        for view, (start, stop) in enumerate(itertools.pairwise([0, *ends.tolist()])):
            if start == stop:
                continue
            own, fitting = own_reports(rest[order[start:stop]], self._mechanism.bases[view])
            if not fitting.all():
                raise self._outside()
            by_view.append(self._rows_of(view, own))
        return by_view

    def _rows_of(self, view: int, own: Reports) -> tuple[int, Words]:
        """The view, and the words of reports about it, after checks."""
        base = self._mechanism.bases[view]
        rows = inner_product.rows_of(own, base.bits, base.width)
        vectors, _ = inner_product.columns_of(rows, base.bits, base.width)
        if not inner_product.all_independent(vectors, base.width):
            raise self._outside()
        return view, rows

    def _outside(self) -> ValueError:
        return ValueError(
            f"a report must be about one of {self._sizes.size} views, and its base must be able to make it"
        )


def _estimated(frequencies: FloatArray, n: int, beta: float, law: TableLaw) -> Estimate:
    """The estimate of all entries of a table."""
    entry, spreads = law.entry, ViewSpreads(law, frequencies)
    own = spreads.of_each().by_share
    held = np.clip(frequencies, 0, 1)
    variance = held * entry.held + (1 - held) * entry.free
    if own is not None and own.error is not None:
        variance += np.clip(own.excess, entry.least - entry.free, entry.elsewhere - entry.free)
    error = np.sqrt(np.maximum(0.0, variance) / n)
    return Estimate(
        frequencies,
        n,
        beta,
        error,
        span=np.broadcast_to(entry.span, frequencies.shape),
        statistics=int(law.bits == 1),  # The errors of the two entries of a bit are the same number.
        spread=spreads,
    )
