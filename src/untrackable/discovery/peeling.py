"""Taking found strings out of the buckets that they fall into, and how frequent each of them is.

The bucket of a level holds what all found strings that fall into it hold together, and little else. So their
frequencies are those that explain all their buckets best: weighted least squares, a bucket counting by the reports
of its level. What the strings explain is subtracted everywhere, and what remains is searched again.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.mechanisms.estimates import Estimate, FloatArray


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


@dataclass(frozen=True, slots=True)
class Fit:
    """Frequencies of strings, their standard errors (estimated), and radii for unit ln(2/β)/2 under the root."""

    frequencies: FloatArray
    standard_error: FloatArray
    deviation: FloatArray


def fit(levels: Levels, entries: FloatArray, places: NDArray[np.int64]) -> Fit:
    """Least squares for strings that fall into these buckets, a row of one for each level."""
    strings = len(places)
    rows, values, weights, errors, spans, of = [], [], [], [], [], []
    for level, (estimate, share) in enumerate(zip(levels.estimates, levels.shares, strict=True)):
        if estimate is None:
            continue
        distinct, which = np.unique(places[:, level], return_inverse=True)
        design = np.zeros((distinct.size, strings))
        design[which, np.arange(strings)] = 1
        rows.append(design)
        values.append(entries[level, distinct] / share)
        weights.append(np.full(distinct.size, estimate.n))
        errors.append(estimate.standard_error[distinct])
        spans.append(estimate.span[distinct])
        of.append(np.full(distinct.size, level))
    design, value, weight, error = (np.concatenate(column) for column in (rows, values, weights, errors))
    root = np.sqrt(weight)
    solution = np.linalg.pinv(design * root[:, None]) * root  # strings × buckets
    moved = np.abs(solution) * np.concatenate(spans)
    where = np.concatenate(of)
    square = sum(
        moved[:, where == level].sum(axis=1) ** 2 / estimate.n
        for level, estimate in enumerate(levels.estimates)
        if estimate
    )
    return Fit(solution @ value, np.sqrt(solution**2 @ error**2), np.sqrt(square))


def radius(deviation: float, beta: float) -> float:
    """√(ln(2/β)/2) times a deviation (Hoeffding)."""
    return deviation * math.sqrt((math.log(2) - math.log(beta)) / 2)


def peeled(levels: Levels, entries: FloatArray, places: NDArray[np.int64], frequencies: FloatArray) -> FloatArray:
    """The entries without these strings."""
    left = entries.copy()
    for row, share, buckets in zip(left, levels.shares, places.T, strict=True):
        np.subtract.at(row, buckets, share * frequencies)
    return left
