"""Spreads of mechanisms that treat all values alike: they depend on how many values have each weight only."""

import math
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

    def of_each(self) -> Spread:
        """The same for every value."""
        return self._rule(WeightCounts(np.array([[1.0, 0.0]]), np.array([[1.0, self._values - 1]])))

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


def independent_bits_spread(given: WeightCounts, *, there: float, elsewhere: float) -> Spread:
    """A report is a bit for each value: 1 with probability `there` for the value held, `elsewhere` for all others.

    It adds Σ g(u)·(bit - elsewhere)/(there - elsewhere). The bits are independent, so the variance is the sum of
    theirs (exact), and each is a part of length |g(u)|/(there - elsewhere).
    """
    gap = there - elsewhere
    noise_there, noise_elsewhere = there * (1 - there), elsewhere * (1 - elsewhere)
    squares = given.squares
    variance = given.worst(squares * noise_elsewhere + given.weights**2 * (noise_there - noise_elsewhere)) / gap**2
    return Spread(variance, np.sqrt(squares[..., 0]) / gap, given.size / gap)


def one_symbol_spread(given: WeightCounts, *, there: float, elsewhere: float) -> Spread:
    """A report names one value: the value held with probability `there`, each other one with `elsewhere`.

    It adds g(named)/(there - elsewhere), up to a constant, so the variance is exact and so is the span.
    """
    gap, weights = there - elsewhere, given.weights
    mean = elsewhere * given.total + gap * weights
    variance = given.worst(elsewhere * given.squares + gap * weights**2 - mean**2) / gap**2
    return Spread.of_term(variance, given.reach / gap)


def subset_spread(given: WeightCounts, *, values: int, size: int, there: float, elsewhere: float) -> Spread:
    """A report is a set of `size` values, which has the value held with probability `there`, and the others alike.

    It adds Σ g over the set, divided by there - elsewhere, up to a constant. The rest of the set is drawn without
    replacement from the K - 1 other values, whose weights have mean m and mean square deviation v. r of them have
    variance r·(K-1-r)/(K-2)·v. Whether the value held is in the set adds there·(1-there)·(g - m)² (exact).
    """
    others, gap = values - 1, there - elsewhere
    mean = (given.total - given.weights) / others
    square = np.maximum(0.0, (given.squares - given.weights**2) / others - mean**2)
    drawn = (there * (size - 1) * (others - size + 1) + (1 - there) * size * (others - size)) / max(1, others - 1)
    variance = given.worst(drawn * square + there * (1 - there) * (given.weights - mean) ** 2)
    return Spread.of_term(variance / gap**2, given.reach_of_sets(size) / gap)


def sampled_bits_spread(
    given: WeightCounts, *, values: int, sampled: int, there: float, elsewhere: float
) -> Spread:
    """A report is a bit, as in `independent_bits_spread`, for each of d values that are drawn without replacement.

    It adds K/d·Σ g(u)·(bit - elsewhere)/(there - elsewhere) over them. No moment is larger than if they were drawn
    with replacement (Hoeffding 1963, theorem 4), and then the d values drawn are independent parts, each with mean
    g(x)/d if the sender holds x.
    """
    gap, scale, squares = there - elsewhere, values / sampled, given.weights**2
    held = there * (1 - there) + gap**2
    mean_square = elsewhere * (1 - elsewhere) * (given.squares - squares) + held * squares
    variance = given.worst(scale / gap**2 * mean_square - squares / sampled)
    ends = np.stack(((1 - elsewhere) * given.weights, -elsewhere * given.weights))
    part = scale / gap * (given.worst(ends.max(axis=0)) + given.worst(-ends.min(axis=0)))
    return Spread(variance, math.sqrt(sampled) * part, part)
