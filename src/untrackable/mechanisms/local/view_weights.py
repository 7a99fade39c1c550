"""How often reports should be about each view, so that the table that is known least well is known best.

With answers of one bit and much noise, the variance of a cell of a table of k bits is Σ 4^-k/(γ²·λ(v)) over the
vectors v of its bits other than 0, where λ(v) = Σ share/(2^k'-1) over the views of k' bits that show all bits of v.
Two values that differ in every view have different answers with probability ρ = Σ share·2^(k'-1)/(2^k'-1), and a
budget keeps γ²·ρ constant. So the smallest ρ·Σ 4^-k/λ(v) of the worst table is looked for.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from untrackable.mechanisms.local.view_characters import View
from untrackable.theory.factor import FloatArray

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
                    if (found := cost.of(tried)) < _ENOUGH * least:
                        weights, least = tried, found
            if least == before:
                break
    return (1,) * len(views) if len(set(weights)) == 1 else tuple(weights.tolist())


class _Cost:
    """The variance of a cell of the worst table, times ρ, for any weights of the views."""

    def __init__(self, views: tuple[View, ...], shown: tuple[View, ...]) -> None:
        masks = [_mask(view) for view in views]
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


def _mask(bits: View) -> int:
    return sum(1 << bit for bit in bits)


def _vectors(bits: View) -> Iterator[int]:
    """All vectors of these bits but 0, as masks."""
    for number in range(1, 1 << len(bits)):
        yield sum(1 << bit for i, bit in enumerate(bits) if number >> i & 1)
