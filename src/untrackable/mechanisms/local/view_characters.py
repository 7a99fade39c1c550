"""How well the table of a view is known from reports about all views: estimates that are linear in characters.

The character of a vector v is F(v) = Σ_u f(u)·(-1)^⟨v,u⟩. A report about a view, with vectors A and answer y, is
about the characters z·A of all z other than 0, and adds (-1)^⟨z,y⟩ to each. It has the mean γ·F(v), where
γ = 1 - η·g/(g-1) for answers of g symbols that are false with probability η. Every vector that uses only bits of a
view is among them with the same probability q = (2^w-1)/(2^k-1), where k is the number of bits and w the width. So

    F̂(v) = sums(v)/(n·λ(v)),    λ(v) = Σ share·q·γ over the views that show all bits of v,

is unbiased, whatever the view that a report is about (Horvitz & Thompson 1952). A table has coarser ones within it,
and all of them use the same F̂, so they agree with each other. The weights g of the entries of a table become
coefficients ĝ(v) = 2^-k·Σ_u g(u)·(-1)^⟨v,u⟩, and Σ g·f = Σ ĝ·F.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.spread import ByShare, Spread
from untrackable.kernels.transform import walsh_hadamard_of_reals
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.factor import FloatArray

View = tuple[int, ...]
"""The positions of the bits that a view shows, in ascending order."""
Places = slice | NDArray[np.int64]
"""Where characters are in the table of a view."""


_ALIKE = 1e-9
"""Variances that differ by this part of themselves are the same: it is rounding."""


class Shared(NamedTuple):
    """What a view and the table have in common: where its characters are in the table and in the view's own sums.

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
        """What one report adds to n·Σ g·f, with these weights g of the entries: how far it may be from its mean."""
        factors = self._factors(weights)
        longest = np.partition(np.abs(factors), -self.signs)[-self.signs :]
        return Spread.of_term(float(self._squares(factors).max()), 2 * float(longest.sum()))

    @cached_property
    def entry(self) -> "EntryLaw":
        """That of one entry of the table. It is the same for every entry."""
        square, rest = self._by_difference, 0.5**self.bits
        own, others = float(square[0]) - (1 - rest) ** 2, square[1:] - rest**2
        uneven = np.ptp(others) > _ALIKE * square.max()
        least, most = (others.min(), others.max()) if uneven else (others.mean(), others.mean())
        longest = float(np.partition(self._factors(_first(self.bits)), -self.signs)[-self.signs :].sum())
        found = EntryLaw(own, float(others.mean()), float(least), float(most), 2 * longest, longest + rest)
        if not uneven:
            return found
        weights, varies = self._excess, np.append(own, others)
        variance = self._squares(self._factors(weights)) - (weights - weights.mean()) ** 2
        ratio = (variance / np.maximum(varies, _ALIKE * square.max())).max()
        error = replace(self.spread(weights), variance=float(variance.max()))
        return found._replace(error=error, ratio=float(ratio))

    def entries(self, frequencies: FloatArray) -> Spread:
        """How far each entry may be off, in a population with these estimated frequencies.

        The mean variance of the reports for entry x is Σ f(u)·variance(x + u), which the same reports tell:
        x + u is the difference of the two. Its error has the same spread for all entries.
        """
        found, own = self.entry.spread, self.entry.spread.by_share
        if own is None or own.error is None:
            return found
        both = walsh_hadamard_of_reals(frequencies) * walsh_hadamard_of_reals(self._excess)
        return replace(found, by_share=replace(own, excess=walsh_hadamard_of_reals(both) / both.size))

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
        """What a report adds for each character: a = ĝ/λ, and 0 for the one that is known."""
        factors = walsh_hadamard_of_reals(weights) / (1 << self.bits) / self.reach
        factors[0] = 0.0
        return factors

    def _squares(self, factors: FloatArray) -> FloatArray:
        """The second moment around ĝ(0) of what a report adds, by the entry u that its sender holds (exact).

        With z and z' both other than 0, E[(-1)^⟨z+z',y⟩] is γ·(-1)^⟨z·A+z'·A,u⟩ or, if they are the same, 1. So it
        is Σ seen·a² + Σ pairs·(A(u)² - Σ a²) over the views, where A is the transform of the coefficients a that
        the view shows.
        """
        found = np.full(factors.size, float(self.seen @ factors**2))
        for shared in self.shared:
            if shared.pairs:
                common = np.zeros(factors.size)
                common[shared.table] = factors[shared.table]
                found += shared.pairs * (walsh_hadamard_of_reals(common) ** 2 - float(common @ common))
        return found


class EntryLaw(NamedTuple):
    """What one report adds to n times the frequency of one entry of a table.

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
        """How far what one report adds may be from its mean."""
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
    found: dict[int, list[int]] = {}
    for i, view in enumerate(views):
        for bit in view:
            found.setdefault(bit, []).append(i)
    return found


def mean_sign(base: NoisyInnerProduct) -> float:
    """γ = 1 - η·g/(g-1) (exact)."""
    others = (1 << base.width) - 1
    return (others * (1 << 64) - (others + 1) * base.flip.threshold) / (others * (1 << 64))


def places(view: View, common: Sequence[int]) -> Places:
    """Where the characters of the common bits are in the table of a view, in the order of these bits."""
    positions = [view.index(bit) for bit in common]
    low, high = positions[0], positions[-1]
    if high - low + 1 == len(positions):
        return slice(0, 2 << high, 1 << low)
    found = np.zeros(1, dtype=np.int64)
    for position in positions:
        found = np.concatenate((found, found | 1 << position))
    return found
