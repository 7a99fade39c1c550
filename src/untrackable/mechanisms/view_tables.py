"""How well the tables of views are known by reports about all views: estimates that are linear in characters.

The character of a vector v is F(v) = Σ_u f(u)·(-1)^⟨v,u⟩. A report about a view, with vectors A and answer y, is
about the characters z·A of all z other than 0, and adds (-1)^⟨z,y⟩ to each. It has the mean γ·F(v), where
γ = 1 - η·g/(g-1) for answers of g symbols that are false with probability η. Every vector that uses only bits of a
view is among them with the same probability q = (2^w-1)/(2^k-1), where k is the number of bits and w the width. So

    F̂(v) = sums(v)/(n·λ(v)),    λ(v) = Σ share·q·γ over the views that show all bits of v,

is unbiased, whatever the view that a report is about (Horvitz & Thompson 1952). A table has coarser ones within it,
and all of them use the same F̂, so they agree with each other. The weights g of the entries of a table become
coefficients ĝ(v) = 2^-k·Σ_u g(u)·(-1)^⟨v,u⟩, and Σ g·f = Σ ĝ·F.

The spread of all shares of the first entries at once: the weights of the first c entries are a step. On every
level of halves, quarters, … of the table, only the block with the step in it has a Haar coefficient, so that all
characters of the level have the same absolute coefficient. If the law of the characters depends on the level only,
as for prefixes, the spread of a step is a sum over levels.

How often reports should be about each view, so that the table that is known least well is known best: with answers
of one bit and much noise, the variance of a cell of a table of k bits is Σ 4^-k/(γ²·λ(v)) over the vectors v of
its bits other than 0, where λ(v) = Σ share/(2^k'-1) over the views of k' bits that show all bits of v. Two values
that differ in every view have different answers with probability ρ = Σ share·2^(k'-1)/(2^k'-1), and a budget keeps
γ²·ρ constant. So the smallest ρ·Σ 4^-k/λ(v) of the worst table is looked for.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.estimation.intervals import ByShare, Spread, Spreads
from untrackable.kernels.counting import walsh_hadamard_of_reals
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.randomizers.views import View as View
from untrackable.theory.accuracy import Accuracy

Places = slice | NDArray[np.int64]
"""The places of characters in the table of a view."""

_ALIKE = 1e-9
"""Variances that differ by this part of themselves are the same: it is rounding."""
_FIRST = 64
"""All weights at first. They are whole numbers, so that this is how finely they are told apart."""
_FACTORS = (2.0, 1.25, 1.08)
"""The factors by which a weight is changed: coarse ones first."""
_SWEEPS = 12
_ENOUGH = 0.9999
"""A change counts if the cost falls to this share of what it was."""
_MANY_VIEWS, _MANY_ENTRIES = 64, 1 << 14
"""Beyond this many, views are equally likely: to try other weights would take too long."""
_POWER = 32
"""The largest of several numbers is judged by the mean of this power of them, which knows of the others too."""


class Shared(NamedTuple):
    """The characters that a view and the table have in common: their places in the table and in the view's sums.

    `pairs` is share·γ·q₂, where q₂ = (2^w-1)(2^w-2)/((2^k-1)(2^k-2)) is the probability that a report is about two
    given characters at once. It is 0 if answers have one bit.
    """

    view: int
    table: Places
    own: Places
    pairs: float


@dataclass(frozen=True, eq=False)
class TableLaw:
    """For every character of a table: how often a report is about it, `seen`, and with which mean, `reach`."""

    bits: int
    seen: FloatArray
    reach: FloatArray
    shared: Sequence[Shared]
    signs: int
    """The largest number of characters that one report is about."""

    def spread(self, weights: FloatArray) -> Spread:
        """The spread of what one report adds to n·Σ g·f, with these weights g of the entries."""
        factors = self._factors(weights)
        longest = np.partition(np.abs(factors), -self.signs)[-self.signs :]
        return Spread.of_term(float(self._squares(factors).max()), 2 * float(longest.sum()))

    @cached_property
    def entry(self) -> "EntryLaw":
        """The law of one entry of the table. It is the same for every entry."""
        square, rest = self._by_difference, 0.5**self.bits
        own, others = float(square[0]) - (1 - rest) ** 2, square[1:] - rest**2
        uneven = np.ptp(others) > _ALIKE * square.max()
        least, most = (others.min(), others.max()) if uneven else (others.mean(), others.mean())
        longest = float(np.partition(self._factors(_first(self.bits)), -self.signs)[-self.signs :].sum())
        law = EntryLaw(own, float(others.mean()), float(least), float(most), 2 * longest, longest + rest)
        if not uneven:
            return law
        weights, varies = self._excess, np.append(own, others)
        variance = self._squares(self._factors(weights)) - (weights - weights.mean()) ** 2
        ratio = (variance / np.maximum(varies, _ALIKE * square.max())).max()
        error = replace(self.spread(weights), variance=float(variance.max()))
        return law._replace(error=error, ratio=float(ratio))

    def entries(self, frequencies: FloatArray) -> Spread:
        """How far each entry may be off, in a population with these estimated frequencies.

        The mean variance of the reports for entry x is Σ f(u)·variance(x + u), which the same reports tell:
        x + u is the difference of the two. Its error has the same spread for all entries.
        """
        spread, own = self.entry.spread, self.entry.spread.by_share
        if own is None or own.error is None:
            return spread
        both = walsh_hadamard_of_reals(frequencies) * walsh_hadamard_of_reals(self._excess)
        return replace(spread, by_share=replace(own, excess=walsh_hadamard_of_reals(both) / both.size))

    @cached_property
    def _by_difference(self) -> FloatArray:
        """The second moment of what a report adds to an entry, by how the sender's differs from it (exact)."""
        return self._squares(self._factors(_first(self.bits)))

    @property
    def _excess(self) -> FloatArray:
        """How far the variance is from the mean of those who hold another entry; 0 for the entry itself."""
        weights: FloatArray = self._by_difference - self._by_difference[1:].mean()
        weights[0] = 0.0
        return weights

    def _factors(self, weights: FloatArray) -> FloatArray:
        """The contribution of a report for each character: a = ĝ/λ, and 0 for the one that is known."""
        factors = walsh_hadamard_of_reals(weights) / (1 << self.bits) / self.reach
        factors[0] = 0.0
        return factors

    def _squares(self, factors: FloatArray) -> FloatArray:
        """The second moment around ĝ(0) of what a report adds, by the entry u that its sender holds (exact).

        With z and z' both other than 0, E[(-1)^⟨z+z',y⟩] is γ·(-1)^⟨z·A+z'·A,u⟩ or, if they are the same, 1. So it
        is Σ seen·a² + Σ pairs·(A(u)² - Σ a²) over the views, where A is the transform of the coefficients a that
        the view shows.
        """
        squares = np.full(factors.size, float(self.seen @ factors**2))
        for shared in self.shared:
            if shared.pairs:
                common = np.zeros(factors.size)
                common[shared.table] = factors[shared.table]
                squares += shared.pairs * (walsh_hadamard_of_reals(common) ** 2 - float(common @ common))
        return squares


class EntryLaw(NamedTuple):
    """The law of what one report adds to n times the frequency of one entry of a table.

    `held` is its variance if the sender's value is in this entry, and `free` if it is in another one, on average
    over the others (exact; with one bit, all others have the same). `least` and `elsewhere` are the smallest and
    the largest of those (exact). `error` is the spread of an estimate of how far the others are from `free`, whose
    variance is at most `ratio` times as large; None if all have the same. `span` and the `largest` number are upper
    bounds that hold for every value; with one bit they are exact.
    """

    held: float
    free: float
    least: float
    elsewhere: float
    span: float
    largest: float
    error: Spread | None = None
    ratio: float = 0.0

    @property
    def variance(self) -> float:
        """The largest variance, whatever the value (exact)."""
        return max(self.held, self.elsewhere)

    @property
    def spread(self) -> Spread:
        """The spread of what one report adds."""
        excess = 0.0 if self.error is None else math.inf
        by_share = ByShare(self.held, self.free, self.least, self.elsewhere, excess, self.error, self.ratio)
        # Its mean is 0 or 1, and what it adds is half of its span from the mean of all entries at most.
        part = min(self.span, self.span - self.largest + 1)
        return Spread(self.variance, self.span, part, by_share=by_share, independent=True)

    def with_noise(self, sign: float, bits: int) -> "EntryLaw":
        """The law if one-bit answers that were always true have the mean `sign` instead, in a table of `bits`."""
        rest = 0.5**bits
        square, span = (self.elsewhere + rest**2) / sign**2, self.span / sign
        held, free = square - (1 - rest) ** 2, square - rest**2
        return EntryLaw(held, free, free, free, span, span / 2 + rest)


def _first(bits: int) -> FloatArray:
    """The weights of the first entry alone."""
    weights = np.zeros(1 << bits)
    weights[0] = 1.0
    return weights


def worst_accuracy(entries: Iterable[EntryLaw], people: int, beta: float) -> Accuracy:
    """The error of an entry of the table that is known least well, from one report per person."""
    people, beta = checks.integer("people", people, low=1), checks.open_probability("beta", beta)
    entries = tuple(entries)
    worst = max(entries, key=lambda entry: entry.variance)
    return Accuracy(
        people,
        beta,
        max(float(entry.spread.radius(people, beta)) for entry in entries),
        math.sqrt(max(0.0, worst.free) / people),
        "of an entry that nobody holds, in the table that is known least well",
    )


def table_law(
    views: Sequence[View],
    bases: Sequence[NoisyInnerProduct],
    shares: Sequence[Fraction],
    mine: View,
    *,
    noise: bool = True,
) -> TableLaw:
    """The law of the characters of the table of some bits, by reports about all views.

    A view must show all these bits together. Without `noise`, it is the law of reports that are always true.
    """
    holding = _views_of_bits(tuple(views))
    near = sorted({i for bit in mine for i in holding.get(bit, ())})
    shown = set(mine)
    if not any(shown.issubset(views[i]) for i in near):
        raise ValueError("these reports are about other tables: no view shows all bits of this one together")
    size = 1 << len(mine)
    seen, reach = np.zeros(size), np.zeros(size)
    shared = []
    for i in near:
        other, base, share = views[i], bases[i], shares[i]
        common = [bit for bit in other if bit in shown]
        here, there = places(mine, common), places(other, common)
        symbols, own = 1 << base.width, 1 << base.bits
        about = share * Fraction(symbols - 1, own - 1)
        both = Fraction((symbols - 1) * (symbols - 2), max(1, (own - 1) * (own - 2)))
        seen[here] += float(about)
        sign = mean_sign(base) if noise else 1.0
        reach[here] += float(about) * sign
        shared.append(Shared(i, here, there, float(share * both) * sign))
    seen[0], reach[0] = 1.0, 1.0
    widest = max((1 << bases[part.view].width) - 1 for part in shared)
    return TableLaw(len(mine), seen, reach, shared, min(widest, size - 1))


@lru_cache(maxsize=8)
def _views_of_bits(views: tuple[View, ...]) -> dict[int, list[int]]:
    """The numbers of the views that show each bit."""
    numbers: dict[int, list[int]] = {}
    for i, view in enumerate(views):
        for bit in view:
            numbers.setdefault(bit, []).append(i)
    return numbers


def mean_sign(base: NoisyInnerProduct) -> float:
    """γ = 1 - η·g/(g-1) (exact)."""
    others = (1 << base.width) - 1
    return (others * (1 << 64) - (others + 1) * base.flip.threshold) / (others * (1 << 64))


def places(view: View, common: Sequence[int]) -> Places:
    """The places of the characters of the common bits in the table of a view, in the order of these bits."""
    positions = [view.index(bit) for bit in common]
    low, high = positions[0], positions[-1]
    if high - low + 1 == len(positions):
        return slice(0, 2 << high, 1 << low)
    table = np.zeros(1, dtype=np.int64)
    for position in positions:
        table = np.concatenate((table, table | 1 << position))
    return table


class ViewSpreads(Spreads):
    """Spreads for the entries of one table, whose frequencies are estimated to be these."""

    def __init__(self, law: TableLaw, frequencies: FloatArray) -> None:
        self._law, self._frequencies = law, frequencies

    def of(self, weights: FloatArray) -> Spread:
        padded = np.zeros(1 << self._law.bits)
        padded[: weights.size] = weights
        return self._law.spread(padded)

    def of_each(self) -> Spread:
        """The spread of every entry, with the variance in this population."""
        return self._law.entries(self._frequencies)

    def of_first(self, count: int) -> Spread:
        """All of them at once, where the law depends on the level only."""
        levels = _levels(self._law)
        return super().of_first(count) if levels is None else _of_steps(levels, count)


class _Levels(NamedTuple):
    """For the levels 1, 2, …: how often a report is about a character, with which mean, and with which other one.

    `pairs` are those of the view that shows that many of the highest bits. `signs` is the largest number of
    characters that one report is about.
    """

    seen: FloatArray
    reach: FloatArray
    pairs: FloatArray
    signs: int


def _levels(law: TableLaw) -> _Levels | None:
    """The law of each level; None if characters of one level have different laws."""
    seen, reach, pairs = (np.zeros(law.bits) for _ in range(3))
    for level in range(1, law.bits + 1):
        start = 1 << (law.bits - level)
        mine = slice(start, None, 2 * start)
        for given, kept in ((law.seen, seen), (law.reach, reach)):
            if np.ptp(given[mine]) > 0:
                return None
            kept[level - 1] = given[start]
    for shared in law.shared:
        if shared.pairs:
            if not isinstance(shared.table, slice) or shared.table.stop != 1 << law.bits:
                return None
            pairs[law.bits - shared.table.step.bit_length()] += shared.pairs
    return _Levels(seen, reach, pairs, law.signs)


def _of_steps(levels: _Levels, count: int) -> Spread:
    """The spread of the share of the first c of `count` entries less c/count of all of them, for c = 1, 2, ….

    In a block of two halves of size B with x = c mod 2B entries before the step, the halves differ from their mean
    by d = min(x, 2B - x)/(2B). The N/(2B) characters of the level have coefficients of size 2B/N·d. All entries end
    with a step too, of height c/count, in the same block or in another one.
    """
    whole = 1 << levels.seen.size
    first = np.arange(1, count)
    height = first / count
    square, longest, path, energy = (np.zeros(first.size) for _ in range(4))
    for level, (seen, reach, pairs) in enumerate(zip(*levels[:3], strict=True)):
        block = whole >> level
        step = np.minimum(first % block, block - first % block) / block
        end = height * (min(count % block, block - count % block) / block)
        together = first // block == count // block
        size = np.where(together, np.abs(step - end), np.maximum(step, end))
        squares = np.where(together, size**2, step**2 + end**2) * block / whole
        square += seen * squares / reach**2
        longest = np.maximum(longest, np.where(together, size, step + end) * block / whole / reach)
        # The largest sum of the characters that a view shows is attained along one path from the whole table down.
        path, energy = path + size / reach, energy + squares / reach**2
        square += pairs * (path**2 - energy)
    return Spread.of_term(square, 2 * levels.signs * longest)


@lru_cache(maxsize=64)
def tuned_weights(views: tuple[View, ...], shown: tuple[View, ...]) -> tuple[int, ...]:
    """Weights of views for tables of the bits `shown`, found by changing one weight at a time."""
    if len(views) > _MANY_VIEWS or sum(1 << len(bits) for bits in shown) > _MANY_ENTRIES:
        return (1,) * len(views)
    cost = _Cost(views, shown)
    weights = np.full(len(views), _FIRST)
    least = cost.of(weights)
    for factor in _FACTORS:
        for _ in range(_SWEEPS):
            before = least
            for i in range(len(views)):
                for change in (factor, 1 / factor):
                    tried = weights.copy()
                    tried[i] = max(1, round(weights[i] * change))
                    if (cost_now := cost.of(tried)) < _ENOUGH * least:
                        weights, least = tried, cost_now
            if least == before:
                break
    return (1,) * len(views) if len(set(weights)) == 1 else tuple(weights.tolist())


class _Cost:
    """The variance of a cell of the worst table, times ρ, for any weights of the views."""

    def __init__(self, views: tuple[View, ...], shown: tuple[View, ...]) -> None:
        masks = [sum(1 << bit for bit in view) for view in views]
        about = np.array([1 / ((1 << len(view)) - 1) for view in views])
        rows = {
            vector: row for row, vector in enumerate(dict.fromkeys(v for bits in shown for v in _vectors(bits)))
        }
        seen = [[not vector & ~mask for mask in masks] for vector in rows]
        self._reach: FloatArray = np.array(seen) * about
        self._differ: FloatArray = about * np.array([1 << len(view) - 1 for view in views], dtype=np.float64)
        self._tables = [([rows[vector] for vector in _vectors(bits)], 0.25 ** len(bits)) for bits in shown]

    def of(self, weights: FloatArray) -> float:
        """The cost of these weights."""
        shares = weights / weights.sum()
        noise = 1 / (self._reach @ shares)
        variances = np.array([scale * noise[rows].sum() for rows, scale in self._tables])
        largest = float(variances.max())
        mean = float(np.mean((variances / largest) ** _POWER) ** (1 / _POWER))
        return float(self._differ @ shares) * largest * mean


def _vectors(bits: View) -> Iterator[int]:
    """All vectors of these bits but 0, as masks."""
    for number in range(1, 1 << len(bits)):
        yield sum(1 << bit for i, bit in enumerate(bits) if number >> i & 1)
