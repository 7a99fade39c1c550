"""An estimate: a frequency for each value, and how far each may be from the truth."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.estimation import ordered_values
from untrackable.estimation.functional import Functional, functional
from untrackable.estimation.intervals import (
    BoolArray,
    FloatArray,
    Interval,
    certain_order,
    clipped,
    shares_told,
    shown_shares,
)
from untrackable.estimation.ordered_values import Distribution, NumberEdges, Quantile
from untrackable.estimation.sampling import with_sampling
from untrackable.estimation.spread import UNKNOWN, SampledSpreads, Spreads
from untrackable.notebook_view import NotebookView
from untrackable.theory.accuracy import count_interval, mean_radius
from untrackable.theory.significance import Dependence, binomial_tail, discovery_level, mean_tail, radius_tail
from untrackable.theory.simplex import nearest_frequencies
from untrackable.theory.turns import Turns

if TYPE_CHECKING:
    import pyarrow as pa

_BY_VALUE = ("frequencies", "standard_error", "span", "chance", "deviation")
"""The fields that may be arrays with an entry for each value."""
_TESTED = 1 << 22
"""How many p-values or intervals are computed at a time. There may be 2^26 values, too many for one array."""


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(NotebookView):
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
        """Where each frequency lies, or where all of them lie at once, except with probability `beta` (upper).

        This is proven for every population. The part outside [0, 1] is cut off, as no frequency is there.
        """
        return clipped(self.ends(simultaneous=simultaneous))

    @property
    def radius(self) -> FloatArray:
        """How far each frequency is from the farther end of its interval, before that is cut off."""
        return self.radius_of()

    @property
    def simultaneous_radius(self) -> FloatArray:
        """The same for intervals that hold for all values at once."""
        return self.radius_of(simultaneous=True)

    def radius_of(self, some: Some = slice(None), *, simultaneous: bool = False) -> FloatArray:
        """The radius of some or all values."""
        lower, upper = self.ends(some, simultaneous=simultaneous)
        found: FloatArray = np.maximum(self.frequencies[some] - lower, upper - self.frequencies[some])
        return found

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
            return Interval(*count_interval(counts, self.n, beta, elsewhere=elsewhere, span=span, sampled=sampled))
        radius: FloatArray | float
        if self.radii is not None:
            radius = self.radii(self.beta, statistics)[some]
        elif self.reach is not None:
            radius = self.reach(beta)
        else:
            radius = self._deviation(some) * mean_radius(1, beta)
        found = Interval(frequencies - radius, frequencies + radius)
        if self.radii is None and self.reach is None and (each := self.spread.of_each()) is not None:
            lower, upper = each.at(np.arange(self.frequencies.size)[some]).ends(frequencies, self.n, beta)
            if each.by_share is not None:  # Hoeffding's inequality is among its own.
                return Interval(lower, upper)
            return Interval(np.maximum(found.lower, lower), np.minimum(found.upper, upper))
        return found

    def _deviation(self, some: Some) -> FloatArray:
        return self.span[some] / math.sqrt(self.n) if self.deviation is None else self.deviation[some]

    def _counts(self, some: Some) -> tuple[FloatArray, FloatArray | float]:
        """How many reports count for each value, and with which probability one does that should not."""
        chance = self.chance[some] if isinstance(self.chance, np.ndarray) else float(self.chance or 0.0)
        counts: FloatArray = np.rint(self.n * (self.frequencies[some] / self.span[some] + chance))
        return np.clip(counts, 0, self.n), chance

    def tells(self) -> BoolArray:
        """Of which values the reports tell the share: all errors together are small enough (upper)."""
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
        """A weighted sum of frequencies, with weights chosen without looking at these reports.

        The interval is proven for every population, by the smaller of Hoeffding's and Bernstein's bounds.
        """
        return functional(self, weights)

    def mean(self) -> Functional:
        """The mean of the numbers that the values stand for. If they are buckets, the interval allows for that."""
        return ordered_values.mean(self)

    def quantile(self, q: float) -> Quantile:
        """The number that a share `q` of people are at or below: the median for 0.5."""
        return ordered_values.quantile(self, q)

    def distribution(self) -> Distribution:
        """The share of people at or below each number, with a band for one number and one for all."""
        return ordered_values.distribution(self)

    def shift(self, dishonest: int) -> FloatArray:
        """How far m dishonest reports among the n can move each frequency: at most span·m/n (exact).

        They move it that far if each says the opposite of what an honest report would have said. A client counts
        once for each of its reports.
        """
        dishonest = checks.integer("dishonest", dishonest, low=0, high=self.n)
        return self.span * (dishonest / self.n)

    def consistent(self) -> FloatArray:
        """The nearest frequencies that are not negative and sum to one (to at most one, if there are other values).

        They are nearer to the truth on the whole, but biased: small frequencies come out too large on average.
        """
        return nearest_frequencies(self.frequencies, complete=self.complete)

    @property
    def tail(self) -> str:
        """How p-values are computed: as exact binomial tails, or as upper bounds."""
        if self.chance is not None:
            return "exact binomial"
        return "upper, Hoeffding" if self.reach is None else "upper, from the radius"

    def p_values(self) -> FloatArray:
        """The probability of an estimate this large if nobody held the value; `tail` says how exact it is."""
        found = np.empty(self.frequencies.size)
        for some in self._parts():
            found[some] = self._p_values(some)
        return found

    def _parts(self) -> Iterator[slice]:
        """The indices of all values, some at a time."""
        for start in range(0, self.frequencies.size, _TESTED):
            yield slice(start, start + _TESTED)

    def _p_values(self, some: Some) -> FloatArray:
        if self.chance is not None:
            counts, chance = self._counts(some)
            return binomial_tail(counts.astype(np.int64), self.n, chance)
        if self.reach is not None:
            return radius_tail(self.frequencies[some], self.reach)
        return mean_tail(self.frequencies[some], 1, self._deviation(some))

    def top(self, k: int, *, fdr: float = 0.05, dependence: Dependence = "positive") -> list[Ranked]:
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
        level = discovery_level(
            (self._p_values(some) for some in self._parts()),
            checks.open_probability("fdr", fdr),
            dependence=dependence,
        )
        found, radius = self.frequencies[largest], self.radius_of(largest, simultaneous=True)
        lower, upper = clipped(self.ends(largest, simultaneous=True))
        shown, told = shown_shares(found, radius), shares_told(radius)
        p_values = self._p_values(largest)
        return [
            Ranked(
                int(largest[i]) if self.values is None else self.values[largest[i]],
                float(shown[i]) if told[i] else None,
                float(found[i]),
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
        from untrackable.estimation import estimate_export

        return estimate_export.to_arrow(self, consistent=consistent)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table of `to_arrow` for any library that takes Arrow data: DuckDB, Polars, pandas and others."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, *, consistent: bool = False) -> Any:
        """The table of `to_arrow` as a pandas data frame, if pandas is installed."""
        from untrackable.estimation import estimate_export

        return estimate_export.to_pandas(self, consistent=consistent)

    def to_csv(self, path: str | Path, *, consistent: bool = False) -> None:
        """Write the table of `to_arrow` as a CSV file with a header."""
        from untrackable.estimation import estimate_export

        estimate_export.to_csv(self, Path(path), consistent=consistent)

    def to_json(self, *, consistent: bool = False) -> str:
        """The table of `to_arrow` as a JSON object of columns, with n and beta."""
        from untrackable.estimation import estimate_export

        return estimate_export.to_json(self, consistent=consistent)


def _largest_of(numbers: FloatArray, k: int) -> FloatArray:
    """The k largest numbers, or all if there are fewer, in no order.

    The copy is there so that a view does not keep all numbers in memory.
    """
    return np.partition(numbers, -k)[-k:].copy() if k < numbers.size else numbers
