"""The estimates of every level's buckets: how frequent accepted strings are, and what remains without them.

A bucket holds all accepted strings that fall into it, and little else. So their frequencies are those that explain
all their buckets best, by weighted least squares, where a bucket counts by the reports of its level. What the
strings explain is subtracted from all buckets, and the remainder is searched again.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import FloatArray


@dataclass(frozen=True, slots=True)
class LevelEstimates:
    """For every level the estimate of all its buckets (None if it has no reports), and its share of the reports."""

    estimates: tuple[Estimate | None, ...]
    shares: FloatArray
    buckets: int

    @property
    def n(self) -> int:
        """The number of reports of all levels."""
        return sum(estimate.n for estimate in self.estimates if estimate)

    def entries(self) -> FloatArray:
        """What each bucket adds to the mean over all levels, less what collisions add on average."""
        found = np.zeros((len(self.estimates), self.buckets))
        for row, estimate, share in zip(found, self.estimates, self.shares, strict=True):
            if estimate:
                np.multiply(estimate.frequencies - 1 / self.buckets, share / (1 - 1 / self.buckets), out=row)
        return found


class StringEstimate(NamedTuple):
    """The frequency of one string from n reports, its standard error by noise (estimated), and s in its radius.

    The radius is s·√(ln(2/β)/2).
    """

    frequency: float
    standard_error: float
    deviation: float
    n: int


def fitted_frequencies(levels: LevelEstimates, entries: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """The frequencies of strings by least squares. `places` has a row for each string: its buckets by level."""
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


def string_estimate(
    levels: LevelEstimates, entries: FloatArray, places: NDArray[np.int64], whole: NDArray[np.bool_]
) -> StringEstimate | None:
    """Estimate one string from the `whole` levels, which look at all of it: others share its buckets by chance.

    It is the mean of the levels' estimates, weighted by their reports; None if there are no reports.
    """
    found = [(i, estimate) for i, estimate in enumerate(levels.estimates) if whole[i] and estimate is not None]
    total = sum(estimate.n for _, estimate in found)
    if not total:
        return None
    correction = 1 / (1 - 1 / levels.buckets)
    mean = math.fsum(estimate.n / total * entries[i, places[i]] / levels.shares[i] for i, estimate in found)
    variance = math.fsum((e.n / total * correction * e.standard_error[places[i]]) ** 2 for i, e in found)
    square = math.fsum((e.n / total * correction * e.span[places[i]]) ** 2 / e.n for i, e in found)
    return StringEstimate(mean, math.sqrt(variance), math.sqrt(square), total)


def entries_without(
    levels: LevelEstimates, entries: FloatArray, places: NDArray[np.int64], frequencies: FloatArray
) -> FloatArray:
    """The entries that remain once strings of these frequencies are subtracted from their buckets."""
    left = entries.copy()
    for row, share, buckets in zip(left, levels.shares, places.T, strict=True):
        np.subtract.at(row, buckets, share * frequencies)
    return left
