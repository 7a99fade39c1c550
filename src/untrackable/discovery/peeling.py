"""Taking found strings out of the buckets that they fall into, and how frequent each of them is.

The bucket of a level holds what all found strings that fall into it hold together, and little else. So their
frequencies are those that explain all their buckets best: weighted least squares, a bucket counting by the reports
of its level. What the strings explain is subtracted everywhere, and what remains is searched again.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Estimate, FloatArray


@dataclass(frozen=True, slots=True)
class Levels:
    """What is known of every level: estimates of all buckets (none without reports), its share of the reports."""

    estimates: tuple[Estimate | None, ...]
    shares: FloatArray
    buckets: int

    @property
    def n(self) -> int:
        """Reports of all levels."""
        return sum(estimate.n for estimate in self.estimates if estimate)

    def entries(self) -> FloatArray:
        """What each bucket adds to the mean over all levels, less what others' collisions add on average."""
        found = np.zeros((len(self.estimates), self.buckets))
        for row, estimate, share in zip(found, self.estimates, self.shares, strict=True):
            if estimate:
                np.multiply(estimate.frequencies - 1 / self.buckets, share / (1 - 1 / self.buckets), out=row)
        return found


class Alone(NamedTuple):
    """The frequency of one string, its standard error (estimated), and its radius for a unit ln(2/β)/2."""

    frequency: float
    standard_error: float
    deviation: float


def fit(levels: Levels, entries: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """Least squares for the frequencies of strings that fall into these buckets, a row of one for each level."""
    strings = len(places)
    rows, values, weights = [], [], []
    for level, (estimate, share) in enumerate(zip(levels.estimates, levels.shares, strict=True)):
        if estimate is None:
            continue
        distinct, which = np.unique(places[:, level], return_inverse=True)
        design = np.zeros((distinct.size, strings))
        design[which, np.arange(strings)] = 1
        rows.append(design)
        values.append(entries[level, distinct] / share)
        weights.append(np.full(distinct.size, estimate.n))
    design, value, weight = (np.concatenate(column) for column in (rows, values, weights))
    root = np.sqrt(weight)
    frequencies: FloatArray = np.linalg.pinv(design * root[:, None]) @ (root * value)
    return frequencies


def alone(levels: Levels, entries: FloatArray, places: NDArray[np.int64], whole: NDArray[np.bool_]) -> Alone | None:
    """One string from the levels that look at the whole of it, whose buckets it shares with nobody but by chance.

    The mean of their estimates, weighted by their reports; None where there are none.
    """
    found = [(i, estimate) for i, estimate in enumerate(levels.estimates) if whole[i] and estimate is not None]
    total = sum(estimate.n for _, estimate in found)
    if not total:
        return None
    correction = 1 / (1 - 1 / levels.buckets)
    mean = math.fsum(estimate.n / total * entries[i, places[i]] / levels.shares[i] for i, estimate in found)
    variance = math.fsum((e.n / total * correction * e.standard_error[places[i]]) ** 2 for i, e in found)
    square = math.fsum((e.n / total * correction * e.span[places[i]]) ** 2 / e.n for i, e in found)
    return Alone(mean, math.sqrt(variance), math.sqrt(square))


def radius(deviation: float, beta: float) -> float:
    """√(ln(2/β)/2) times a deviation (Hoeffding)."""
    return deviation * math.sqrt((math.log(2) - math.log(beta)) / 2)


def peeled(levels: Levels, entries: FloatArray, places: NDArray[np.int64], frequencies: FloatArray) -> FloatArray:
    """The entries without these strings."""
    left = entries.copy()
    for row, share, buckets in zip(left, levels.shares, places.T, strict=True):
        np.subtract.at(row, buckets, share * frequencies)
    return left
