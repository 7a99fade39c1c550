"""An estimate: a frequency for each value, and how far each may be from the truth; and sums and orders of values.

Means, quantiles and distributions need values that stand for numbers in order.
"""

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks, strict_json
from untrackable.arrays import Bools, FloatArray, Integers
from untrackable.csv_cells import csv_cell
from untrackable.estimation.intervals import (
    UNKNOWN,
    Interval,
    SampledSpreads,
    Spreads,
    certain_order,
    clipped,
    is_told,
    shares_told,
    shown_shares,
)
from untrackable.extras import extra
from untrackable.notebook_view import NotebookTable
from untrackable.theory import accuracy
from untrackable.theory.turns import Turns

if TYPE_CHECKING:
    import pyarrow as pa

_BY_VALUE = ("frequencies", "standard_error", "span", "chance", "deviation")
"""The fields that may be arrays with an entry for each value."""
_TESTED = 1 << 22
"""The number of p-values or intervals computed at a time. 2^26 values are too many for one array."""
_ROUNDED_DOWN = 1 - 1e-12
"""So that rounding errors never make a lower bound too large."""
Some = slice | NDArray[np.int64] | list[int]
"""The places of some values."""


class Ranked(NamedTuple):
    """One of the most frequent values.

    `frequency` is within [0, 1], and None if the reports do not tell it. `unclamped` is the unbiased one, which
    may be below 0 or above 1. `lower` and `upper` hold for all values at once, and a value stands out if this
    interval excludes 0. `p_value` is an upper bound. `passes_fdr` is by another procedure, which finds more: the
    false discovery rate.
    """

    value: Any
    frequency: float | None
    unclamped: float
    standard_error: float
    lower: float
    upper: float
    p_value: float
    stands_out: bool
    passes_fdr: bool


class Invented(NamedTuple):
    """How many `reports` somebody has to invent, at least, to move some value's frequency by `shift`.

    That is as far as the value's interval reaches.
    """

    reports: int
    shift: float

    def to_json(self) -> dict[str, Any]:
        """Both, and that the number of reports is a lower bound."""
        return {"reports_lower": self.reports, "shift": self.shift}


_WITHIN = (
    "; it covers every position of the numbers within their buckets, and the value is as if each were in the middle"
)
_CERTAINTY = "upper: the interval holds for every population, except with probability beta"


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
    certainty: str = _CERTAINTY


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
    certainty: str = _CERTAINTY


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(NotebookTable):
    """Estimated frequencies from n reports. They are unbiased, and each says how far it may be from the truth.

    `interval()` is where one value that was chosen beforehand lies. `interval(simultaneous=True)` is where all
    values lie at once; their errors are `statistics` different ones. Each fails with probability at most `beta`
    (upper bounds). `standard_error` is estimated.

    `span` is how far one report can move n times a frequency. `chance` is the probability that a report counts for
    a value that nobody holds: a frequency is then span·(count/n - chance), intervals invert the law of the count,
    and p-values are exact binomial tails. It is `mixed` if other probabilities than this and chance + 1/span occur.
    Where hashing adds to the error, `reach` gives the radius of one value for any beta, and `radii` the radii of
    all values for any beta and number of statistics if they are smaller. `deviation` is s in the radius
    s·√(ln(2/beta)/2) where reports have different weights; otherwise s is span/√n. `values` names the values;
    without it they are 0, 1, …. The estimate is not `complete` if there are other values. With `turns`,
    those who answered are a random sample, and the estimate is of all who were active. `spread` says how far any
    weighted sum of frequencies may be off. `numbers` gives the numbers that values stand for, or an error if they
    stand for none; without it, values are numbers themselves.
    """

    frequencies: FloatArray
    n: int
    beta: float
    standard_error: FloatArray
    span: FloatArray = field(kw_only=True)
    statistics: int = field(default=0, kw_only=True)
    chance: FloatArray | float | None = field(default=None, kw_only=True)
    mixed: bool = field(default=False, kw_only=True)
    reach: Callable[[float], float] | None = field(default=None, kw_only=True)
    radii: Callable[[float, int], FloatArray] | None = field(default=None, kw_only=True)
    deviation: FloatArray | None = field(default=None, kw_only=True)
    values: Sequence[Any] | None = field(default=None, kw_only=True)
    complete: bool = field(default=True, kw_only=True)
    turns: Turns | None = field(default=None, kw_only=True)
    spread: Spreads = field(default=UNKNOWN, kw_only=True)
    numbers: Callable[[], NumberEdges] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        span = np.broadcast_to(np.asarray(self.span, dtype=np.float64), self.frequencies.shape)
        checks.settle(self, span=span, statistics=self.statistics or self.frequencies.size)

    @classmethod
    def of_counts(
        cls, counts: NDArray[np.int64], n: int, beta: float, there: float, elsewhere: float, spread: Spreads
    ) -> "Estimate":
        """(share of reports that count - elsewhere)/(there - elsewhere), which is unbiased.

        A report counts for its sender's value with probability `there`, and for another one with `elsewhere`.
        """
        span = 1 / (there - elsewhere)
        frequencies = (counts / n - elsewhere) * span
        held = np.clip(frequencies, 0, 1)
        variance = held * there * (1 - there) + (1 - held) * elsewhere * (1 - elsewhere)
        error = span * np.sqrt(variance / n)
        return cls(frequencies, n, beta, error, span=np.full(counts.size, span), chance=elsewhere, spread=spread)

    def of_active(self, turns: Turns | None, *, pooled: bool = False) -> "Estimate":
        """The same estimate of all who were active, if those who answered are the ones whose turn it was.

        Their frequencies are unbiased estimates of everybody's in that round. The standard error grows by that of
        the sample, and intervals allow for it. Hoeffding's inequality for means of n terms also holds for terms of
        people drawn at random without replacement (Hoeffding 1963, theorem 4). In `pooled` rounds nobody is twice,
        each report weighs the same, and so people weigh as often as they were active.
        """
        if turns is None or (turns.chance == 1 and not pooled):
            return replace(self, turns=turns)
        heard = 0.0 if pooled else float(turns.chance)
        error = with_sampling(self.standard_error, self.frequencies, self.n, heard)
        return replace(self, standard_error=error, turns=turns, spread=SampledSpreads(self.spread))

    @property
    def sampled(self) -> bool:
        """Whether those who answered are a part of the people, drawn at random."""
        return self.turns is not None and self.turns.chance < 1

    def interval(self, *, simultaneous: bool = False) -> Interval:
        """The interval of each frequency, or of all at once, which fails with probability at most `beta` (upper).

        This is proven for every population. The part outside [0, 1] is cut off, as no frequency is there.
        """
        return clipped(self.ends(simultaneous=simultaneous))

    @property
    def radius(self) -> FloatArray:
        """How far each frequency is from the farther end of its interval, before that is cut off."""
        return self.radius_of()

    @property
    def simultaneous_radius(self) -> FloatArray:
        """The radius of intervals that hold for all values at once."""
        return self.radius_of(simultaneous=True)

    def radius_of(self, some: Some = slice(None), *, simultaneous: bool = False) -> FloatArray:
        """The radius of some or all values."""
        lower, upper = self.ends(some, simultaneous=simultaneous)
        return np.maximum(self.frequencies[some] - lower, upper - self.frequencies[some])

    def ends(self, some: Some = slice(None), *, simultaneous: bool = False) -> Interval:
        """The intervals of some or all values, before the part outside [0, 1] is cut off."""
        statistics = self.statistics if simultaneous else 1
        if not isinstance(some, slice) or some != slice(None):
            return self._ends(some, statistics)
        parts = [self._ends(part, statistics) for part in self._parts()]
        return Interval(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))

    def _ends(self, some: Some, statistics: int) -> Interval:
        frequencies, beta = self.frequencies[some], self.beta / statistics
        if self.chance is not None:
            counts, elsewhere = self._counts(some)
            span = self.span[some] if isinstance(elsewhere, np.ndarray) else self.span[0]
            sampled = self.mixed or self.sampled
            return Interval(
                *accuracy.count_interval(counts, self.n, beta, elsewhere=elsewhere, span=span, sampled=sampled)
            )
        radius: FloatArray | float
        if self.radii is not None:
            radius = self.radii(self.beta, statistics)[some]
        elif self.reach is not None:
            radius = self.reach(beta)
        else:
            radius = self._deviation(some) * accuracy.mean_radius(1, beta)
        ends = Interval(frequencies - radius, frequencies + radius)
        if self.radii is None and self.reach is None and (each := self.spread.of_each()) is not None:
            lower, upper = each.at(np.arange(self.frequencies.size)[some]).ends(frequencies, self.n, beta)
            if each.by_share is not None:  # Hoeffding's inequality is among its own.
                return Interval(lower, upper)
            return Interval(np.maximum(ends.lower, lower), np.minimum(ends.upper, upper))
        return ends

    def _deviation(self, some: Some) -> FloatArray:
        return self.span[some] / math.sqrt(self.n) if self.deviation is None else self.deviation[some]

    def _counts(self, some: Some) -> tuple[FloatArray, FloatArray | float]:
        """The number of reports that count for each value, and the probability that one does that should not."""
        chance = self.chance[some] if isinstance(self.chance, np.ndarray) else float(self.chance or 0.0)
        counts: FloatArray = np.rint(self.n * (self.frequencies[some] / self.span[some] + chance))
        return np.clip(counts, 0, self.n), chance

    def tells(self) -> Bools:
        """The values whose share the reports tell: all errors together are small enough (upper)."""
        return shares_told(self.simultaneous_radius)

    def shares(self) -> FloatArray:
        """The frequencies as they are shown: within [0, 1], and NaN where the reports do not tell them."""
        return shown_shares(self.frequencies, self.simultaneous_radius)

    def first(self, count: int) -> "Estimate":
        """The estimate of the first values only, if nobody holds the others."""
        if count >= self.frequencies.size:
            return self
        parts = {name: getattr(self, name) for name in _BY_VALUE}
        cut: dict[str, Any] = {name: part[:count] for name, part in parts.items() if isinstance(part, np.ndarray)}
        values = None if self.values is None else self.values[:count]
        return replace(self, values=values, statistics=min(self.statistics, count), **cut)

    def functional(self, weights: ArrayLike) -> Functional:
        """A weighted sum of frequencies, Σ g(u)·f(u), with weights chosen without looking at these reports.

        The interval is proven for every population, by the smaller of Hoeffding's and Bernstein's bounds. If
        everybody holds one of the values, weights are first taken from their mean c: as frequencies sum to one,
        c + Σ (g(u) - c)·f(u) is the same sum, but of smaller weights, and so less noisy.
        """
        given = checked_weights(self, weights)
        if not self.complete and self.spread.only_if_complete:
            raise ValueError(self.spread.only_if_complete)
        centre = float(given.mean()) if self.complete else 0.0
        shifted = given - centre
        spread = self.spread.of(shifted)
        value, radius = centre + float(shifted @ self.frequencies), float(spread.radius(self.n, self.beta))
        least, most = float(given.min()), float(given.max())
        if not self.complete:
            least, most = min(0.0, least), max(0.0, most)
        lower, upper = (min(most, max(least, end)) for end in (value - radius, value + radius))
        return Functional(
            value=value,
            lower=lower,
            upper=upper,
            standard_error=float(spread.standard_error(self.n)),
            beta=self.beta,
            tells=is_told(2 * radius, most - least),
        )

    def mean(self) -> Functional:
        """The mean of the numbers that the values stand for. If they are buckets, the interval allows for that.

        The mean of the lower edges is at most the mean, and that of the upper edges at least. Each end of the
        interval fails with probability at most beta/2.
        """
        estimate, edges = numbered(self)
        if not (np.isfinite(edges.lower).all() and np.isfinite(edges.upper).all()):
            raise ValueError(
                "there is no bound on the mean: numbers out of range count as one value, however large they are. "
                "Ask for a quantile, or let them count as the nearest number within the range"
            )
        if np.array_equal(edges.lower, edges.upper):
            return estimate.functional(edges.lower)
        low, middle, high = (
            estimate.functional(weights) for weights in (edges.lower, (edges.lower + edges.upper) / 2, edges.upper)
        )
        narrow = is_told(high.upper - low.lower, float(edges.upper[-1] - edges.lower[0]))
        return replace(
            middle,
            lower=low.lower,
            upper=high.upper,
            tells=low.tells and high.tells and narrow,
            certainty=middle.certainty + _WITHIN,
        )

    def quantile(self, q: float) -> Quantile:
        """The smallest number for which a share `q` of people are at or below it: the median for 0.5.

        The interval has each value that the reports do not exclude: the share up to the value may be q or more, and
        the share below it may be less than q. Each of these two fails with probability at most beta/2 at the true
        quantile, so nothing is lost by looking at all values (`possible_places`).
        """
        q = checks.open_probability("q", q)
        estimate, edges = numbered(self)
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

    def distribution(self) -> Distribution:
        """The share of people at or below each edge between values, with a band for one edge and one for all."""
        estimate, edges = numbered(self)
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

    def shift(self, dishonest: int) -> FloatArray:
        """How far m dishonest reports among the n can move each frequency: at most span·m/n (exact).

        They move it that far if each says the opposite of what an honest report would have said. A client counts
        once for each of its reports.
        """
        dishonest = checks.integer("dishonest", dishonest, low=0, high=self.n)
        return self.span * (dishonest / self.n)

    def invented(self, some: Some = slice(None)) -> Invented | None:
        """The fewest invented reports that move the frequency of a value by the radius of its interval (lower).

        It is of the value that takes the fewest, among `some` or all whose share the reports tell; None if they
        tell none.
        With m invented reports beside n others, a frequency f is (n·f + c)/(n + m), where c is at most m·d away
        from m·f. So m is at least n·radius/(d - radius). Here d is how far a report's part may be from f: at most
        `span`, and exact where reports are counted.
        """
        radius = self.radius_of(some, simultaneous=True)
        part = span = self.span[some]
        if self.chance is not None:
            low = -np.broadcast_to(self.chance, self.span.shape)[some] * span
            part = np.maximum(self.frequencies[some] - low, low + span - self.frequencies[some])
        movable = shares_told(radius) & (radius < part)
        if not movable.any():
            return None
        needed = np.where(movable, self.n * radius / np.where(movable, part - radius, 1.0), math.inf)
        place = int(np.argmin(needed))
        return Invented(math.ceil(needed[place] * _ROUNDED_DOWN), float(radius[place]))

    def consistent(self) -> FloatArray:
        """The nearest frequencies that are not negative and sum to one (to at most one, if there are other values).

        They are nearer to the truth on the whole, but biased: small frequencies come out too large on average.
        """
        return accuracy.nearest_frequencies(self.frequencies, complete=self.complete)

    @property
    def tail(self) -> str:
        """How p-values are computed: as exact binomial tails, or as upper bounds."""
        if self.chance is not None:
            return "exact binomial"
        return "upper, Hoeffding" if self.reach is None else "upper, from the radius"

    def p_values(self) -> FloatArray:
        """The probability of an estimate this large if nobody held the value; `tail` says how exact it is."""
        p_values = np.empty(self.frequencies.size)
        for some in self._parts():
            p_values[some] = self._p_values(some)
        return p_values

    def _parts(self) -> Iterator[slice]:
        """The indices of all values, some at a time."""
        for start in range(0, self.frequencies.size, _TESTED):
            yield slice(start, start + _TESTED)

    def _p_values(self, some: Some) -> FloatArray:
        if self.chance is not None:
            counts, chance = self._counts(some)
            return accuracy.binomial_tail(counts.astype(np.int64), self.n, chance)
        if self.reach is not None:
            return accuracy.radius_tail(self.frequencies[some], self.reach)
        return accuracy.mean_tail(self.frequencies[some], 1, self._deviation(some))

    def top(self, k: int, *, fdr: float = 0.05, dependence: accuracy.Dependence = "positive") -> list[Ranked]:
        """The k largest estimates, which of them stand out, and which pass a false discovery rate of `fdr`.

        A value comes before all that are certainly less frequent: their intervals lie below its own. As far as that
        allows, they keep the order of the values, so that no order is shown that may be noise.

        A value stands out if the interval that holds for all values at once excludes 0. The rate is kept by
        Benjamini and Hochberg's procedure over all values. It needs p-values that are independent or positively
        dependent. Those of one population are nearly independent, not exactly. `dependence="any"` needs no
        assumption, but divides the rate by about ln(number of values).
        """
        k = checks.integer("k", k, low=1)
        largest = self._largest(min(k, self.frequencies.size))
        level = accuracy.discovery_level(
            (self._p_values(some) for some in self._parts()),
            checks.open_probability("fdr", fdr),
            dependence=dependence,
        )
        frequencies, radius = self.frequencies[largest], self.radius_of(largest, simultaneous=True)
        lower, upper = clipped(self.ends(largest, simultaneous=True))
        shown, told = shown_shares(frequencies, radius), shares_told(radius)
        p_values = self._p_values(largest)
        return [
            Ranked(
                int(largest[i]) if self.values is None else self.values[largest[i]],
                float(shown[i]) if told[i] else None,
                float(frequencies[i]),
                float(self.standard_error[largest[i]]),
                float(lower[i]),
                float(upper[i]),
                float(p_values[i]),
                bool(lower[i] > 0),
                bool(p_values[i] <= level),
            )
            for i in certain_order(lower, upper)
        ]

    def _largest(self, k: int) -> NDArray[np.int64]:
        """The indices of the k largest frequencies in their order; of equal ones the first."""
        best = [_largest_of(self.frequencies[some], k) for some in self._parts()]
        threshold = _largest_of(np.concatenate(best), k).min()
        among = np.flatnonzero(self.frequencies >= threshold)
        return np.sort(among[np.argsort(-self.frequencies[among], kind="stable")][:k])

    def certainly_top(self, rows: Sequence[Ranked]) -> bool:
        """Whether each of these rows of `top` is certainly more frequent than all values that are not in them."""
        if len(rows) >= self.frequencies.size:
            return True
        lowest = min((row.lower for row in rows), default=0.0)
        above = sum(
            int(np.count_nonzero(self.frequencies[some] + self.simultaneous_radius[some] >= lowest))
            for some in self._parts()
        )
        return lowest > 0 and above <= len(rows)

    def to_arrow(self, *, consistent: bool = False) -> "pa.Table":
        """A row for each value with frequency, standard error and both intervals; n and beta are in the metadata.

        `consistent` adds a column with the nearest frequencies that are possible.
        """
        return arrow_table(columns(self, consistent=consistent), about(self))

    def to_csv(self, path: str | Path, *, consistent: bool = False) -> None:
        """Write the table of `to_arrow` as a CSV file with a header."""
        write_csv(columns(self, consistent=consistent), Path(path))

    def to_json(self, *, consistent: bool = False) -> str:
        """The table of `to_arrow` as a JSON object of columns, with n and beta."""
        return json_text(columns(self, consistent=consistent), about(self))


def _largest_of(numbers: FloatArray, k: int) -> FloatArray:
    """The k largest numbers, or all if there are fewer, in no order.

    The copy is there so that a view does not keep all numbers in memory.
    """
    return np.partition(numbers, -k)[-k:].copy() if k < numbers.size else numbers


# --- the error that comes from who answered: with turns, those whose turn it was, and nobody twice --------

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def share_heard(turns: Turns | None, rounds: int) -> float:
    """The share of the people that was certainly heard: all, a round's, or 0 if several rounds are pooled."""
    if turns is None:
        return 1.0
    return float(turns.chance) if rounds == 1 else 0.0


def with_sampling(standard_error: Numbers, frequency: Numbers, n: int, heard: float) -> Numbers:
    """The standard error of everybody's frequency, from that of those n who answered.

    Given their number, those who answered one round are a sample without replacement. Its variance is f(1-f)/n,
    less the share of people who were `heard`: the chance of a turn. If several rounds are pooled, that share is 0:
    people may hold another value in another round, so hearing all of them does not mean knowing all values. The
    variance is then at most f(1-f)/n, and less by the variance of people's means if these are all that is asked.
    """
    held = np.clip(frequency, 0, 1)
    error: Numbers = np.sqrt(standard_error**2 + held * (1 - held) * (1 - heard) / n)
    return error


# --- values that stand for numbers ------------------------------------------------------------------------


def checked_weights(estimate: "Estimate", weights: ArrayLike) -> FloatArray:
    """Finite weights, one for each value of the estimate."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != estimate.frequencies.shape:
        raise ValueError(f"weights must be {estimate.frequencies.size}, one for each value, got {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError("weights must be finite")
    return given


def held_values(estimate: "Estimate") -> Bools:
    """The values that somebody certainly holds: all of them at once, except with probability beta (upper)."""
    return estimate.interval(simultaneous=True).lower > 0


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
    return np.asarray(total[:-1] + size / total.size * (1 - total[-1]))


def _curve(shares: FloatArray) -> FloatArray:
    """The nearest shares that do not decrease, within [0, 1]."""
    from scipy.optimize import isotonic_regression

    return np.clip(isotonic_regression(shares).x, 0, 1)


def _interpolated(curve: FloatArray, edges: NumberEdges, q: float) -> float:
    """The number at which the curve reaches q. Within a value, people are taken to be spread evenly."""
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


# --- an estimate as a table: Arrow, pandas, CSV or JSON ---------------------------------------------------

_ROWS = _MOST_NUMBERS = 1 << 16


def columns(estimate: "Estimate", *, consistent: bool) -> dict[str, Any]:
    """The columns of every export. A share that the reports do not tell is missing (NaN).

    `frequency` is within [0, 1]; `unclamped` is the unbiased estimate, for sums and means of several values.
    """
    alone, together = estimate.interval(), estimate.interval(simultaneous=True)
    values = np.arange(estimate.frequencies.size) if estimate.values is None else list(estimate.values)
    return {
        "value": values,
        "frequency": estimate.shares(),
        "tells": (tells := estimate.tells()),
        "unclamped": estimate.frequencies,
        **({"consistent": np.where(tells, estimate.consistent(), np.nan)} if consistent else {}),
        "standard_error": estimate.standard_error,
        "lower": alone.lower,
        "upper": alone.upper,
        "lower_simultaneous": together.lower,
        "upper_simultaneous": together.upper,
        **_cumulative(estimate),
    }


def columns_by_round(estimates: Mapping[int, "Estimate"], *, consistent: bool) -> dict[str, Any]:
    """The columns of several rounds, one after the other, with the number of each round and of its reports."""
    each = [
        {
            "round": np.full(estimate.frequencies.size, number),
            "reports": np.full(estimate.frequencies.size, estimate.n),
            **columns(estimate, consistent=consistent),
        }
        for number, estimate in estimates.items()
    ]
    return {
        name: np.concatenate([part[name] for part in each])
        if isinstance(each[0][name], np.ndarray)
        else [value for part in each for value in part[name]]
        for name in each[0]
    }


def _cumulative(estimate: "Estimate") -> dict[str, Any]:
    """The share of people at or below each number, with a band for all numbers at once, if values are numbers."""
    if estimate.numbers is None or estimate.frequencies.size > _MOST_NUMBERS:
        return {}
    try:
        distribution = estimate.distribution()
    except ValueError:
        return {}
    if distribution.shares.size + 1 != estimate.frequencies.size:
        return {}
    shares = {
        "at_or_below": np.where(distribution.tells, np.clip(distribution.shares, 0, 1), np.nan),
        "at_or_below_lower": distribution.lower_simultaneous,
        "at_or_below_upper": distribution.upper_simultaneous,
    }
    return {name: np.append(share, 1.0) for name, share in shares.items()}


def about(estimate: "Estimate") -> dict[str, Any]:
    """The statements of a table about all its rows."""
    return {"reports": estimate.n, "beta": estimate.beta, "intervals": "upper"}


def arrow_table(data: Mapping[str, Any], about: Mapping[str, Any]) -> "pa.Table":
    """Columns as an Arrow table, with what it says about all rows in its metadata. NaN becomes null."""
    with extra("files"):
        import pyarrow as pa

    arrays = {
        name: column if isinstance(column, pa.Array) else pa.array(_texts_if_wide(column), from_pandas=True)
        for name, column in data.items()
    }
    table = pa.table(arrays)
    return table.replace_schema_metadata({name: str(value) for name, value in about.items()})


def write_csv(data: Mapping[str, Any], path: Path) -> None:
    """Columns as a CSV file with a header. Numbers have all their digits, and NaN is an empty cell."""
    rows = len(next(iter(data.values()), ()))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(map(csv_cell, data))
        for start in range(0, rows, _ROWS):
            parts = [column[start : start + _ROWS] for column in data.values()]
            lists = (p.tolist() if isinstance(p, np.ndarray) else p for p in parts)
            writer.writerows(zip(*(map(csv_cell, cells) for cells in lists), strict=True))


def json_text(data: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Columns as a JSON object. Integers wider than 53 bits are text, as JSON readers would round them.

    NaN in an array of numbers is null.
    """
    listed = {name: _none_if_nan(c) if isinstance(c, np.ndarray) else c for name, c in data.items()}
    listed = {name: _texts_if_wide(column, bits=53) for name, column in listed.items()}
    return strict_json.write(strict_json.finite({**about, "columns": listed}))


def _none_if_nan(column: NDArray[Any]) -> list[Any]:
    """The numbers of an array; those that are missing are None."""
    listed: list[Any] = column.tolist()
    return [None if isinstance(each, float) and math.isnan(each) else each for each in listed]


def _texts_if_wide(values: Any, bits: int = 63) -> Any:
    """All values as text if one integer is too wide."""
    if isinstance(values, list) and any(isinstance(value, int) and value.bit_length() > bits for value in values):
        return [str(value) for value in values]
    return values
