"""An estimate: frequencies, and how far each may be from the truth."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.theory.accuracy import mean_radius
from untrackable.theory.significance import Dependence, binomial_tail, discovery_level, mean_tail, radius_tail
from untrackable.theory.simplex import nearest_frequencies

if TYPE_CHECKING:
    import pyarrow as pa

FloatArray = NDArray[np.float64]

_TESTED = 1 << 22
"""Values whose p-values are computed at a time, as there may be 2^26."""


class Interval(NamedTuple):
    """Where frequencies lie, within [0, 1]."""

    lower: FloatArray
    upper: FloatArray


class Ranked(NamedTuple):
    """A value among the most frequent ones.

    `lower` and `upper` hold for all values at once; `p_value` is an upper bound.
    """

    value: Any
    frequency: float
    standard_error: float
    lower: float
    upper: float
    p_value: float
    stands_out: bool


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Estimated frequencies, unbiased, with how far each may be from the truth.

    `radius` bounds the error of any one value chosen beforehand, and `simultaneous_radius` that of all values at
    once, each except with probability `beta` (upper bounds). `standard_error` is estimated from the data.

    `span` is by how much one report more or less moves n times a frequency. Where a frequency is
    span·(count/n - chance) and each report counts for a value that nobody holds with the same `chance`, p-values
    are exact binomial tails. Where hashing adds to the error, `reach` gives the radius for any beta; where reports
    weigh differently, the radius is `deviation`·√(ln(2/beta)/2), which is span/√n otherwise. `values` names the
    values, which are 0, 1, … otherwise; not `complete` if there are others.
    """

    frequencies: FloatArray
    n: int
    beta: float
    radius: FloatArray
    simultaneous_radius: FloatArray
    standard_error: FloatArray
    span: FloatArray = field(kw_only=True)
    chance: FloatArray | float | None = field(default=None, kw_only=True)
    reach: Callable[[float], float] | None = field(default=None, kw_only=True)
    deviation: FloatArray | None = field(default=None, kw_only=True)
    values: Sequence[Any] | None = field(default=None, kw_only=True)
    complete: bool = field(default=True, kw_only=True)

    @staticmethod
    def of_means(
        frequencies: FloatArray,
        n: int,
        beta: float,
        standard_error: FloatArray,
        *,
        span: FloatArray | float,
        statistics: int | None = None,
        chance: FloatArray | float | None = None,
        values: Sequence[Any] | None = None,
        complete: bool = True,
    ) -> "Estimate":
        """Means of n independent terms of a given span: radii by Hoeffding's inequality.

        `statistics` is how many errors there are to bound at once: as many as values, unless some are the same.
        """
        size = frequencies.shape
        wide = np.broadcast_to(np.asarray(span, dtype=np.float64), size)
        together = frequencies.size if statistics is None else statistics
        return Estimate(
            frequencies,
            n,
            beta,
            scaled(span, mean_radius(n, beta), size),
            scaled(span, mean_radius(n, beta, statistics=together), size),
            standard_error,
            span=wide,
            chance=chance,
            values=values,
            complete=complete,
        )

    def interval(self, *, simultaneous: bool = False) -> Interval:
        """Where each frequency lies except with probability `beta`; or where all of them lie at once.

        Proven for every population; the part outside [0, 1], where no frequency is, is cut off.
        """
        radius = self.simultaneous_radius if simultaneous else self.radius
        found = Interval(self.frequencies - radius, self.frequencies + radius)
        for end in found:
            np.clip(end, 0, 1, out=end)
        return found

    def shift(self, dishonest: int) -> FloatArray:
        """By how much so many dishonest reports among the n can move each frequency, at most: span·m/n.

        Exact: attained when each of them would have said the opposite. A client counts once for each report of its
        that is in the sums.
        """
        dishonest = checks.integer("dishonest", dishonest, low=0, high=self.n)
        return self.span * (dishonest / self.n)

    def consistent(self) -> FloatArray:
        """The nearest frequencies that are not negative and sum to one (at most one, if there are other values).

        Nearer to the truth on the whole, and no longer unbiased: small frequencies come out too large on average.
        """
        return nearest_frequencies(self.frequencies, complete=self.complete)

    @property
    def tail(self) -> str:
        """What the p-values are: exact binomial tails, or bounds."""
        if self.chance is not None:
            return "exact binomial"
        return "upper, Hoeffding" if self.reach is None else "upper, from the radius"

    def p_values(self) -> FloatArray:
        """Probability of an estimate at least this large were the value held by nobody; at most, as `tail` says."""
        found = np.empty(self.frequencies.size)
        for some in self._parts():
            found[some] = self._p_values(some)
        return found

    def _parts(self) -> Iterator[slice]:
        """All places, some at a time."""
        for start in range(0, self.frequencies.size, _TESTED):
            yield slice(start, start + _TESTED)

    def _p_values(self, some: slice | NDArray[np.int64]) -> FloatArray:
        frequencies, span = self.frequencies[some], self.span[some]
        if self.chance is not None:
            chance = self.chance[some] if isinstance(self.chance, np.ndarray) else self.chance
            counts = np.rint(self.n * (frequencies / span + chance)).astype(np.int64)
            return binomial_tail(counts, self.n, chance)
        if self.reach is not None:
            return radius_tail(frequencies, self.reach)
        return mean_tail(
            frequencies, 1, span / math.sqrt(self.n) if self.deviation is None else self.deviation[some]
        )

    def top(self, k: int, *, fdr: float = 0.05, dependence: Dependence = "positive") -> list[Ranked]:
        """The k most frequent values, and which of all values stand out from noise at a false discovery rate.

        By Benjamini and Hochberg's procedure over all values, for which p-values must be independent or positively
        dependent. Those of one population are nearly independent, not exactly: `dependence="any"` makes it a
        theorem, at the price of a rate that is smaller by about ln(number of values).
        """
        k = checks.integer("k", k, low=1)
        largest = self._largest(min(k, self.frequencies.size))
        level = discovery_level(
            (self._p_values(some) for some in self._parts()),
            checks.open_probability("fdr", fdr),
            dependence=dependence,
        )
        radius = self.simultaneous_radius
        return [
            Ranked(
                i if self.values is None else self.values[i],
                float(self.frequencies[i]),
                float(self.standard_error[i]),
                min(1.0, max(0.0, float(self.frequencies[i] - radius[i]))),
                min(1.0, max(0.0, float(self.frequencies[i] + radius[i]))),
                float(p_value),
                bool(p_value <= level),
            )
            for i, p_value in zip(largest.tolist(), self._p_values(largest), strict=True)
        ]

    def _largest(self, k: int) -> NDArray[np.int64]:
        """Places of the k largest frequencies, of equal ones the first."""
        best = [_largest_of(self.frequencies[some], k) for some in self._parts()]
        threshold = _largest_of(np.concatenate(best), k).min()
        among = np.flatnonzero(self.frequencies >= threshold)
        return among[np.argsort(-self.frequencies[among], kind="stable")][:k]

    def to_arrow(self, *, consistent: bool = False) -> "pa.Table":
        """A row for each value: frequency, standard error, both intervals; n and beta in the metadata.

        With `consistent`, also the nearest frequencies that are possible.
        """
        from untrackable.estimation import estimate_export

        return estimate_export.to_arrow(self, consistent=consistent)

    def to_pandas(self, *, consistent: bool = False) -> Any:
        """The same as a pandas data frame, where pandas is installed."""
        from untrackable.estimation import estimate_export

        return estimate_export.to_pandas(self, consistent=consistent)

    def to_csv(self, path: str | Path, *, consistent: bool = False) -> None:
        """The same as a CSV file with a header."""
        from untrackable.estimation import estimate_export

        estimate_export.to_csv(self, Path(path), consistent=consistent)

    def to_json(self, *, consistent: bool = False) -> str:
        """The same as a JSON object of columns, with n and beta."""
        from untrackable.estimation import estimate_export

        return estimate_export.to_json(self, consistent=consistent)


def _largest_of(numbers: FloatArray, k: int) -> FloatArray:
    """The k largest, or all if there are fewer, in no order; not a view, which would keep all of them."""
    return np.partition(numbers, -k)[-k:].copy() if k < numbers.size else numbers


def scaled(span: FloatArray | float, by: float, size: tuple[int, ...]) -> FloatArray:
    """An array of span·by, which takes no room if all are the same."""
    return np.broadcast_to(np.asarray(span, dtype=np.float64) * by, size)
