"""The spread of LOLOHA's reports: exact where every seed can be tried, else for hash values that are uniform."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread
from untrackable.estimation.symmetric_spread import WeightCounts
from untrackable.mechanisms.kept.seed_collisions import Hashes


class SeedTable:
    """The symbol of every value for every seed, and so the law of one report."""

    def __init__(
        self, hashes: Hashes, values: int, symbols: int, seed_bits: int, there: float, weights: FloatArray | None
    ) -> None:
        """`weights` corrects counts for collisions, as in `SeedCollisions`."""
        seeds = np.arange(1 << seed_bits, dtype=np.uint64)[:, None]
        self._symbol = hashes(seeds, np.arange(values, dtype=np.uint64)[None, :]).astype(np.int64)
        self._there, self._symbols, self._weights = there, symbols, weights

    def spread(self, weights: FloatArray) -> Spread:
        """A report adds the sum of the weights of the values that its seed hashes to its symbol, up to a constant.

        All seeds are equally likely, so mean, variance and span are exact. Without a correction for collisions, the
        largest difference between the mean and the weight of the value held is the bias.
        """
        given = np.zeros(self._symbol.shape[1])
        given[: weights.size] = weights
        constant = 0.0
        if self._weights is None:
            gap = self._there - 1 / self._symbols
            moves, constant = given / gap, given.sum() / self._symbols / gap
        else:
            moves = given @ self._weights
        cell = self._symbol + self._symbols * np.arange(len(self._symbol))[:, None]
        size = len(self._symbol) * self._symbols
        counted = np.bincount(cell.reshape(-1), np.broadcast_to(moves, cell.shape).reshape(-1), minlength=size)
        added = counted.astype(np.float64) - constant
        mean, square = self._means(added, cell), self._means(added**2, cell)
        bias = 0.0 if self._weights is not None else float(np.abs(mean - given).max())
        span = float(np.ptp(added))
        return Spread(float((square - mean**2).max()), span, span, bias)

    def _means(self, added: FloatArray, cell: NDArray[np.int64]) -> FloatArray:
        """The mean of something that depends on seed and symbol, if the sender holds each of the values."""
        other = (1 - self._there) / (self._symbols - 1)
        found: FloatArray = other * added.sum() / len(cell) + (self._there - other) * added[cell].mean(axis=0)
        return found


def shared_hashes(
    alone: Callable[[WeightCounts], Spread], n: int, seed_bits: int, failure: float
) -> Callable[[WeightCounts], Spread]:
    """The spread of n clients who each draw one of 2^b uniform hash functions, from that of clients with their own.

    Clients who share a function depend on each other. By Hölder's inequality, c of them have moments as if each
    counted c times. Σ c² over functions is n + 2·(pairs who share one). There are n(n-1)/2^(b+1) pairs on average,
    so by Markov's inequality at most 2/`failure` times as many, except with probability failure/2. And except with
    failure/2, no function is shared by more than `most` clients, by the union bound over all sets of clients.
    """
    functions = 2.0**seed_bits
    more = 1 + (n - 1) / functions / (failure / 2)
    most = 1
    while most < n and _log_choose(n, most + 1) - most * math.log(functions) > math.log(failure / 2):
        most += 1

    def spread(given: WeightCounts) -> Spread:
        found = alone(given)
        return Spread(more * found.variance, math.sqrt(more) * found.span, most * found.part, failure=failure)

    return spread


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
