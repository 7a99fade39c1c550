"""What all the seeds of LOLOHA together do to an estimate, where they are few enough to try every one.

A report counts for value v with probability a if its sender holds v. If the sender holds another value u, it counts
with b + (a-b)·c(u, v), where b = (1-a)/(g-1) and c(u, v) is the share of seeds that hash u and v to one symbol. For
hash values that are uniform and independent, c is 1/g on average, and the usual estimate takes it to be 1/g. Over
few seeds it is not: the estimate of v is off by (c(u, v) - 1/g)·g/(g-1) for each share of people who hold u.

With all c known, the expected shares are M·f, with M = b + (a-b)·c and c(v, v) = 1. So M⁻¹ times the shares is
unbiased, if the seeds tell all values apart.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import FloatArray

Hashes = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.uint64]]

_MOST_WORK = 1 << 29
"""The largest product of seeds, symbols and squared values for which every seed is tried."""
_MOST_CELLS = 1 << 23
_WIDEST = 3.0
"""A correction that makes a report's influence more than this times larger is not worth it."""


@dataclass(frozen=True)
class SeedCollisions:
    """The exact correction for a set of seeds, or how far the uncorrected estimate may be off.

    `weights` is M⁻¹, None if the seeds cannot tell the values apart well. `span` is by how much one report moves
    each estimate, `second` the mean square of what a report of each value (column) adds to each estimate (row), and
    `bias` the largest error of an uncorrected estimate that collisions can cause (exact).
    """

    weights: FloatArray | None
    span: FloatArray
    second: FloatArray
    bias: float

    @property
    def others(self) -> FloatArray:
        """The variance of what a report adds to the estimate of a value that its sender does not hold."""
        found: FloatArray = self.second[~np.eye(len(self.second), dtype=bool)]
        return found


def seeds_can_be_tried(values: int, symbols: int, seed_bits: int) -> bool:
    """Whether there are few enough seeds to try every one."""
    cells = values * symbols << seed_bits
    return seed_bits <= 20 and cells <= _MOST_CELLS and cells * values <= _MOST_WORK


def seed_collisions(hashes: Hashes, values: int, symbols: int, seed_bits: int, there: float) -> SeedCollisions:
    """Try every seed. `there` is the probability that a report counts for the value that its sender holds."""
    seeds = np.arange(1 << seed_bits, dtype=np.uint64)[:, None]
    table = hashes(seeds, np.arange(values, dtype=np.uint64)[None, :])
    # A column for every pair of a seed and a symbol: the values for which such a report counts.
    counted = (table.T[:, :, None] == np.arange(symbols, dtype=np.uint64)).reshape(values, -1).astype(np.float64)
    together = counted @ counted.T / len(seeds)
    other = (1 - there) / (symbols - 1)
    expected = other + (there - other) * together
    apart = ~np.eye(values, dtype=bool)
    bias = float(np.abs(together - 1 / symbols)[apart].max()) * symbols / (symbols - 1)
    usual = 1 / (there - 1 / symbols)
    if np.linalg.cond(expected) < 1e6:
        weights = np.linalg.inv(expected)
        moves = weights @ counted
        span = np.ptp(moves, axis=1)
        if span.max() <= _WIDEST * usual:
            # A report of u has each seed equally often, and a symbol with probability a if it is u's, else b.
            squares = moves**2
            second = (squares.sum(axis=1)[:, None] * other + (there - other) * (squares @ counted.T)) / len(seeds)
            return SeedCollisions(weights, span, second, bias)
    return SeedCollisions(None, np.full(values, usual), np.zeros((values, values)), bias)
