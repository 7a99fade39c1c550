"""The spread of weighted sums over a table of a view, and of all shares of its first entries at once.

The weights of the first c entries are a step. On every level of halves, quarters, … of the table, only the block
with the step in it has a Haar coefficient, so that all characters of the level have the same absolute coefficient.
If the law of the characters depends on the level only, as for prefixes, the spread of a step is a sum over levels.
"""

from typing import NamedTuple

import numpy as np

from untrackable.estimation.spread import Spread, Spreads
from untrackable.mechanisms.local.view_characters import TableLaw
from untrackable.theory.factor import FloatArray


class ViewSpreads(Spreads):
    """Spreads for the entries of one table, whose frequencies are estimated to be these."""

    def __init__(self, law: TableLaw, frequencies: FloatArray) -> None:
        self._law, self._frequencies = law, frequencies

    def of(self, weights: FloatArray) -> Spread:
        """The spread for these weights. Entries beyond them have weight 0."""
        padded = np.zeros(1 << self._law.bits)
        padded[: weights.size] = weights
        return self._law.spread(padded)

    def of_each(self) -> Spread:
        """That of every entry, with the variance in this population."""
        return self._law.entries(self._frequencies)

    def of_first(self, count: int) -> Spread:
        """All of them at once, where the law depends on the level only."""
        levels = _levels(self._law)
        return super().of_first(count) if levels is None else _of_steps(levels, count)


class _Levels(NamedTuple):
    """For the levels 1, 2, …: how often a report is about a character, with which mean, and with which other one.

    `pairs` are those of the view that shows so many of the highest bits. `signs` is the largest number of
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
        for given, found in ((law.seen, seen), (law.reach, reach)):
            if np.ptp(given[mine]) > 0:
                return None
            found[level - 1] = given[start]
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
