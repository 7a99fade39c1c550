"""Means, quantiles and distributions of numbers, from the frequencies of values that stand for numbers in order."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from untrackable import checks
from untrackable.estimation.functional import Functional, functional
from untrackable.estimation.intervals import BoolArray, FloatArray, is_told, shares_told
from untrackable.notebook_view import NotebookTable

if TYPE_CHECKING:
    from untrackable.estimation.estimate import Estimate

_WITHIN = (
    "; it covers every position of the numbers within their buckets, and the value is as if each were in the middle"
)
_QUANTILE = "upper: the interval holds for every population, except with probability beta"


class NumberEdges(NamedTuple):
    """The lowest and the highest number that each value stands for, in order. The outer ones may be infinite."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A number that a share `q` of people are at or below.

    Its interval fails with probability at most `beta` (upper). The value is interpolated between the edges of its
    bucket. It is infinite if it lies in a value for all numbers out of range. If the interval leaves out less than
    a tenth of the values, the reports do not `tell` where the quantile is.

    A quantile is a number that somebody holds. So there is no value (NaN) if it is not certain that anybody holds
    it: half of the people at 4 and half at 11 have a median of 4 or 11, and not of 7. The interval then stands
    alone; `interpolated` is where the curve of the distribution reaches q, wherever that is. The interval has
    `gaps` if it spans numbers of which it is not certain that anybody holds them.
    """

    q: float
    value: float
    interpolated: float
    lower: float
    upper: float
    beta: float
    tells: bool
    gaps: bool
    certainty: str = _QUANTILE


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Distribution(NotebookTable):
    """The share of people at or below the upper edge of each value but the last.

    `shares` is unbiased, so it may decrease; `curve` is the nearest that does not. `lower` and `upper` hold for one
    edge chosen beforehand, `lower_simultaneous` and `upper_simultaneous` for all edges at once, each except with
    probability `beta` (upper). `tells` says of which edges the reports tell the share.
    """

    edges: FloatArray
    shares: FloatArray
    curve: FloatArray
    lower: FloatArray
    upper: FloatArray
    lower_simultaneous: FloatArray
    upper_simultaneous: FloatArray
    standard_error: FloatArray
    tells: BoolArray
    beta: float


def mean(estimate: "Estimate") -> Functional:
    """The mean of the numbers that people hold.

    The mean of the lower edges is at most the mean, and that of the upper edges at least. Each end of the interval
    fails with probability at most beta/2.
    """
    estimate, edges = numbered(estimate)
    if not (np.isfinite(edges.lower).all() and np.isfinite(edges.upper).all()):
        raise ValueError(
            "there is no bound on the mean: numbers out of range count as one value, however large they are. "
            "Ask for a quantile, or let them count as the nearest number within the range"
        )
    if np.array_equal(edges.lower, edges.upper):
        return functional(estimate, edges.lower)
    low, middle, high = (
        functional(estimate, weights) for weights in (edges.lower, (edges.lower + edges.upper) / 2, edges.upper)
    )
    return replace(
        middle,
        lower=low.lower,
        upper=high.upper,
        tells=low.tells and high.tells and is_told(high.upper - low.lower, float(edges.upper[-1] - edges.lower[0])),
        certainty=middle.certainty + _WITHIN,
    )


def quantile(estimate: "Estimate", q: float) -> Quantile:
    """The smallest value for which the share of people at or below it is at least q.

    The interval has each value that the reports do not exclude: the share up to the value may be q or more, and the
    share below it may be less than q. Each of these two fails with probability at most beta/2 at the true quantile,
    so nothing is lost by looking at all values.
    """
    q = checks.open_probability("q", q)
    estimate, edges = numbered(estimate)
    found = cumulative_shares(estimate)
    radius = estimate.spread.of_first(edges.lower.size).radius(estimate.n, estimate.beta)
    enough = np.append(found + radius >= q, True)
    not_before = np.append(True, found - radius <= q)
    possible = np.flatnonzero(enough & not_before)
    last = edges.lower.size - 1
    first, final = (int(possible[0]), int(possible[-1])) if possible.size else (0, last)
    curve = _curve(found)
    lower, upper = float(edges.lower[first]), float(edges.upper[final])
    place = min(max(int(np.searchsorted(curve, q)), first), final)
    held = held_values(estimate)
    # If one value is left, the quantile is there, so somebody holds it.
    known = first == final or bool(held[place])
    interpolated = min(max(_interpolated(curve, edges, q), lower), upper)
    return Quantile(
        q=q,
        value=interpolated if known else math.nan,
        interpolated=interpolated,
        lower=lower,
        upper=upper,
        beta=estimate.beta,
        tells=is_told(final - first + 1, last + 1),
        gaps=first < final and not bool(held[first : final + 1].all()),
    )


def held_values(estimate: "Estimate") -> BoolArray:
    """The values that somebody certainly holds: all of them at once, except with probability beta (upper)."""
    found: BoolArray = estimate.interval(simultaneous=True).lower > 0
    return found


def distribution(estimate: "Estimate") -> Distribution:
    """The cumulative distribution at the edges between values, with a band for one edge and one for all."""
    estimate, edges = numbered(estimate)
    found = cumulative_shares(estimate)
    spread = estimate.spread.of_first(edges.lower.size)
    alone = spread.radius(estimate.n, estimate.beta)
    together = spread.radius(estimate.n, estimate.beta, statistics=found.size)
    return Distribution(
        edges=edges.upper[:-1],
        shares=found,
        curve=_curve(found),
        lower=np.clip(found - alone, 0, 1),
        upper=np.clip(found + alone, 0, 1),
        # The true shares do not decrease, so each bound also holds for all later or all earlier edges.
        lower_simultaneous=np.maximum.accumulate(np.clip(found - together, 0, 1)),
        upper_simultaneous=np.minimum.accumulate(np.clip(found + together, 0, 1)[::-1])[::-1],
        standard_error=spread.standard_error(estimate.n),
        tells=np.broadcast_to(shares_told(together), found.shape),
        beta=estimate.beta,
    )


def numbered(estimate: "Estimate") -> "tuple[Estimate, NumberEdges]":
    """The estimate of all values that stand for numbers, and their edges; an error says why there are none."""
    if not estimate.complete:
        raise ValueError("there may be other values than those listed, so their numbers are not known")
    if estimate.numbers is None:
        listed = np.arange(estimate.frequencies.size) if estimate.values is None else np.asarray(estimate.values)
        if listed.dtype.kind not in "iu":
            raise ValueError("these values are not numbers")
        edges = NumberEdges(listed.astype(np.float64), listed.astype(np.float64))
    else:
        edges = estimate.numbers()
    estimate = estimate.first(edges.lower.size)
    if edges.lower.size != estimate.frequencies.size or np.any(np.diff(edges.lower) <= 0):
        raise ValueError("the values must be all numbers of their encoding, in order")
    return estimate, edges


def cumulative_shares(estimate: "Estimate") -> FloatArray:
    """The shares of the first 1, 2, … values. What the frequencies lack to sum to one is spread over all values."""
    total = np.cumsum(estimate.frequencies)
    size = np.arange(1, total.size)
    found: FloatArray = total[:-1] + size / total.size * (1 - total[-1])
    return found


def _curve(shares: FloatArray) -> FloatArray:
    """The nearest shares that do not decrease, within [0, 1]."""
    from scipy.optimize import isotonic_regression

    found: FloatArray = np.clip(isotonic_regression(shares).x, 0, 1)
    return found


def _interpolated(curve: FloatArray, edges: NumberEdges, q: float) -> float:
    """Where the curve reaches q. Within a value, people are taken to be spread evenly."""
    place = int(np.searchsorted(curve, q))
    before, after = (curve[place - 1] if place else 0.0), (curve[place] if place < curve.size else 1.0)
    low, high = float(edges.lower[place]), float(edges.upper[place])
    if not np.isfinite(low):
        return low
    if not np.isfinite(high) or low == high or after <= before:
        return high
    return low + (high - low) * float((q - before) / (after - before))
