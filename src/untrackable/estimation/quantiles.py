"""Means, quantiles and distributions: sums and orders of values, from their estimated frequencies.

`functional` is any weighted sum of frequencies, such as a mean or the share of several values together. Quantiles,
such as the median, and distributions need values that stand for numbers in order.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from untrackable import checks
from untrackable.arrays import Bools, FloatArray, Integers
from untrackable.estimation.intervals import is_told, shares_told
from untrackable.notebook_view import NotebookTable

if TYPE_CHECKING:
    from untrackable.estimation.estimate import Estimate

_WITHIN = (
    "; it covers every position of the numbers within their buckets, and the value is as if each were in the middle"
)
_QUANTILE = "upper: the interval holds for every population, except with probability beta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Functional:
    """A weighted sum of frequencies: unbiased, in an interval that fails with probability at most `beta` (upper).

    The standard error is an upper bound too, whatever people hold. If the interval, before it is cut off at what is
    possible, is wider than nine tenths of that, the reports do not `tell` the sum.
    """

    value: float
    lower: float
    upper: float
    standard_error: float
    beta: float
    tells: bool
    certainty: str = "upper: the interval holds for every population, except with probability beta"


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
    tells: Bools
    beta: float


def functional(estimate: "Estimate", weights: ArrayLike) -> Functional:
    """Estimate Σ g(u)·f(u). If everybody holds one of the values, weights are first taken from their mean c.

    As frequencies sum to one, c + Σ (g(u) - c)·f(u) is the same sum, but of smaller weights, and so less noisy.
    """
    given = checked_weights(estimate, weights)
    if not estimate.complete and estimate.spread.only_if_complete:
        raise ValueError(estimate.spread.only_if_complete)
    centre = float(given.mean()) if estimate.complete else 0.0
    shifted = given - centre
    spread = estimate.spread.of(shifted)
    value, radius = centre + float(shifted @ estimate.frequencies), float(spread.radius(estimate.n, estimate.beta))
    least, most = float(given.min()), float(given.max())
    if not estimate.complete:
        least, most = min(0.0, least), max(0.0, most)
    lower, upper = (min(most, max(least, end)) for end in (value - radius, value + radius))
    return Functional(
        value=value,
        lower=lower,
        upper=upper,
        standard_error=float(spread.standard_error(estimate.n)),
        beta=estimate.beta,
        tells=is_told(2 * radius, most - least),
    )


def checked_weights(estimate: "Estimate", weights: ArrayLike) -> FloatArray:
    """Finite weights, one for each value of the estimate."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != estimate.frequencies.shape:
        raise ValueError(f"weights must be {estimate.frequencies.size}, one for each value, got {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError("weights must be finite")
    return given


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
    so nothing is lost by looking at all values (`possible_places`).
    """
    q = checks.open_probability("q", q)
    estimate, edges = numbered(estimate)
    shares = cumulative_shares(estimate)
    radius = estimate.spread.of_first(edges.lower.size).radius(estimate.n, estimate.beta)
    first, final = map(int, possible_places(shares, radius, q))
    curve = _curve(shares)
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
        tells=is_told(final - first + 1, edges.lower.size),
        gaps=first < final and not bool(held[first : final + 1].all()),
    )


def held_values(estimate: "Estimate") -> Bools:
    """The values that somebody certainly holds: all of them at once, except with probability beta (upper)."""
    return estimate.interval(simultaneous=True).lower > 0


def distribution(estimate: "Estimate") -> Distribution:
    """The cumulative distribution at the edges between values, with a band for one edge and one for all."""
    estimate, edges = numbered(estimate)
    shares = cumulative_shares(estimate)
    spread = estimate.spread.of_first(edges.lower.size)
    alone = spread.radius(estimate.n, estimate.beta)
    together = spread.radius(estimate.n, estimate.beta, statistics=shares.size)
    return Distribution(
        edges=edges.upper[:-1],
        shares=shares,
        curve=_curve(shares),
        lower=np.clip(shares - alone, 0, 1),
        upper=np.clip(shares + alone, 0, 1),
        # The true shares do not decrease, so each bound also holds for all later or all earlier edges.
        lower_simultaneous=np.maximum.accumulate(np.clip(shares - together, 0, 1)),
        upper_simultaneous=np.minimum.accumulate(np.clip(shares + together, 0, 1)[::-1])[::-1],
        standard_error=spread.standard_error(estimate.n),
        tells=np.broadcast_to(shares_told(together), shares.shape),
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
    shares: FloatArray = total[:-1] + size / total.size * (1 - total[-1])
    return shares


def _curve(shares: FloatArray) -> FloatArray:
    """The nearest shares that do not decrease, within [0, 1]."""
    from scipy.optimize import isotonic_regression

    return np.clip(isotonic_regression(shares).x, 0, 1)


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


def first_reached(shares: FloatArray, q: float) -> Integers:
    """The place of the first value up to which the share is at least q, along the last axis."""
    reached = np.concatenate((shares >= q, np.ones((*shares.shape[:-1], 1), dtype=np.bool_)), axis=-1)
    return np.asarray(reached.argmax(axis=-1), dtype=np.int64)


def possible_places(shares: FloatArray, radius: FloatArray, q: float) -> tuple[Integers, Integers]:
    """The first and the last place, of the last axis, that the quantile can have; all if every one is ruled out.

    The quantile is v exactly if the share F(v) up to v is at least q, and F(v-1), up to the value before it, is
    not. So v is ruled out if F(v) is certainly below q, or F(v-1) certainly not. Only the tests at the true
    quantile matter for the error, so no bound over all values is needed, and each of the two gets half of the
    error probability.
    """
    ends = np.ones((*shares.shape[:-1], 1), dtype=np.bool_)
    enough = np.concatenate((shares + radius >= q, ends), axis=-1)
    not_before = np.concatenate((ends, shares - radius <= q), axis=-1)
    possible = enough & not_before
    possible |= ~possible.any(axis=-1, keepdims=True)
    last = possible.shape[-1] - 1 - possible[..., ::-1].argmax(axis=-1)
    return possible.argmax(axis=-1), last
