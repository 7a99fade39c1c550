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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.spread import Spread
from untrackable.kernels.transform import walsh_hadamard_of_reals
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.theory.factor import FloatArray

View = tuple[int, ...]
"""The positions of the bits that a view shows, in ascending order."""
Places = slice | NDArray[np.int64]
"""Where characters are in the table of a view."""


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
        """What one report adds to n·Σ g·f, with these weights g of the entries: how far it may be from its mean.

        With z and z' both other than 0, E[(-1)^⟨z+z',y⟩] is γ·(-1)^⟨z·A+z'·A,u⟩ or, if they are the same, 1. So the
        second moment around ĝ(0) is Σ seen·a² + Σ pairs·(A(u)² - Σ a²) over the views, where a = ĝ/λ, and A is the
        transform of the coefficients a that the view shows. Nobody's value has a larger A² than the largest.
        """
        factors = walsh_hadamard_of_reals(weights) / (1 << self.bits) / self.reach
        factors[0] = 0.0
        square = float(self.seen @ factors**2)
        for shared in self.shared:
            if shared.pairs:
                common = factors[shared.table]
                largest = float((walsh_hadamard_of_reals(common) ** 2).max())
                square += shared.pairs * (largest - float(common @ common))
        longest = np.partition(np.abs(factors), -self.signs)[-self.signs :]
        return Spread.of_term(square, 2 * float(longest.sum()))

    @cached_property
    def entry(self) -> "EntryLaw":
        """That of one entry of the table. It is the same for every entry."""
        factors = 1 / (1 << self.bits) / self.reach
        factors[0] = 0.0
        square = np.full(1 << self.bits, float(self.seen @ factors**2))
        for shared in self.shared:
            if shared.pairs:
                common = np.zeros(square.size)
                common[shared.table] = factors[shared.table]
                square += shared.pairs * (walsh_hadamard_of_reals(common) ** 2 - float(common @ common))
        largest = np.partition(factors, -self.signs)[-self.signs :]
        held = float(square[0]) - (1 - 0.5**self.bits) ** 2
        return EntryLaw(
            held=held,
            free=float(square[1:].mean()) - 0.25**self.bits,
            elsewhere=float(square[1:].max()) - 0.25**self.bits,
            span=2 * float(largest.sum()),
            largest=float(largest.sum()) + 0.5**self.bits,
        )


class EntryLaw(NamedTuple):
    """What one report adds to n times the frequency of one entry of a table.

    `held` is its variance if the sender's value is in this entry, and `free` if it is in another one, on average
    over the others (exact; with one bit, all others have the same). `elsewhere` is the largest of those (exact).
    `span` and the `largest` number are upper bounds that hold for every value; with one bit they are
    exact.
    """

    held: float
    free: float
    elsewhere: float
    span: float
    largest: float

    @property
    def variance(self) -> float:
        """The largest variance, whatever the value (exact)."""
        return max(self.held, self.elsewhere)

    @property
    def spread(self) -> Spread:
        """How far what one report adds may be from its mean."""
        by_share = (self.held, self.elsewhere, 0.0)
        return Spread(self.variance, self.span, self.span, by_share=by_share, independent=True)

    def with_noise(self, sign: float, bits: int) -> "EntryLaw":
        """The law if one-bit answers that were always true have the mean `sign` instead, in a table of `bits`."""
        rest = 0.5**bits
        square, span = (self.elsewhere + rest**2) / sign**2, self.span / sign
        return EntryLaw(square - (1 - rest) ** 2, square - rest**2, square - rest**2, span, span / 2 + rest)


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
