"""Spreads of mechanisms that treat all values alike: they depend on how many values have each weight only."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread, Spreads


@dataclass(frozen=True, slots=True, eq=False)
class WeightCounts:
    """Weights, and how many values have each, along the last axis. There may be a row for each of several sums."""

    weights: FloatArray
    counts: FloatArray

    @property
    def total(self) -> FloatArray:
        """Σ g(u) over all values, with an axis left for the weights."""
        return self._sum(self.weights)

    @property
    def squares(self) -> FloatArray:
        """Σ g(u)² over all values, with an axis left for the weights."""
        return self._sum(self.weights**2)

    @property
    def size(self) -> FloatArray:
        """The largest |g(u)|."""
        return self.worst(np.abs(self.weights))

    @property
    def reach(self) -> FloatArray:
        """The largest weight less the smallest."""
        return self.worst(self.weights) + self.worst(-self.weights)

    def worst(self, each: FloatArray) -> FloatArray:
        """The largest of some numbers, one for each weight, over the weights that some value has."""
        found: FloatArray = np.where(self.counts > 0, each, -np.inf).max(axis=-1)
        return found

    def reach_of_sets(self, size: float) -> FloatArray:
        """How much the sum of the weights of `size` values can be larger than that of another `size` values."""
        order = np.argsort(self.weights, axis=-1)
        weights = np.take_along_axis(self.weights, order, axis=-1)
        counts = np.take_along_axis(np.broadcast_to(self.counts, self.weights.shape), order, axis=-1)
        return _first(weights[..., ::-1], counts[..., ::-1], size) - _first(weights, counts, size)

    def _sum(self, each: FloatArray) -> FloatArray:
        found: FloatArray = (self.counts * each).sum(axis=-1, keepdims=True)
        return found


class SymmetricSpreads(Spreads):
    """Spreads by a function of the weights and of how many of all the mechanism's `values` have each."""

    def __init__(self, values: float, rule: Callable[[WeightCounts], Spread]) -> None:
        self._values, self._rule = values, rule

    def of(self, weights: FloatArray) -> Spread:
        """The spread for these weights, and weight 0 for all other values."""
        others = self._values - weights.size
        if not others:
            return self._rule(WeightCounts(weights, np.broadcast_to(1.0, weights.shape)))
        counts = np.ones(weights.size + 1)
        counts[-1] = others
        return self._rule(WeightCounts(np.append(weights, 0.0), counts))

    def of_first(self, count: int) -> Spread:
        """All of them at once: each has three weights."""
        size = np.arange(1.0, count)
        weights = np.stack((1 - size / count, -size / count, np.zeros(size.size)), axis=-1)
        counts = np.stack((size, count - size, np.full(size.size, self._values - count)), axis=-1)
        return self._rule(WeightCounts(weights, counts))


def _first(weights: FloatArray, counts: FloatArray, size: float) -> FloatArray:
    """The sum of the first `size` weights."""
    before = np.cumsum(counts, axis=-1) - counts
    found: FloatArray = (weights * np.clip(size - before, 0, counts)).sum(axis=-1)
    return found
