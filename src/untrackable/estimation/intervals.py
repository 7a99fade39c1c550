"""Intervals of frequencies and of their weighted sums, which hold with a stated probability for every population.

With weights g, one for each value, an estimate of Σ g(u)·f(u) is a mean of n terms, one for each report. A `Spread`
bounds how far such a term may be from its mean, and so how far the mean of all terms may be from the truth. An
aggregator supplies `Spreads`: the spread for any weights.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import Bools, FloatArray
from untrackable.theory.accuracy import poisson_radius

_TOLD = 0.9
MOST_RADIUS = _TOLD / 2
"""The largest bound on the error of a share that the reports tell."""


class Interval(NamedTuple):
    """Lower and upper ends of where frequencies lie, within [0, 1]."""

    lower: FloatArray
    upper: FloatArray


def clipped(interval: Interval) -> Interval:
    """The part of intervals within [0, 1], as no frequency is outside."""
    return Interval(*(np.clip(end, 0, 1) for end in interval))


def is_told(width: float, possible: float) -> bool:
    """Whether an interval of this width leaves out at least a tenth of what is possible, or nothing is unknown.

    Every output asks this before it shows a share, a mean or a quantile. For shares and means the width is
    that before the interval is cut off at what is possible. So the noise decides and not the estimate: otherwise
    reports that tell nothing would show a share now and then, namely one that is extreme by chance.
    """
    return width <= _TOLD * possible


def shares_told(radius: FloatArray | float) -> Bools:
    """Whether the reports tell each share of people, if it may be off by its radius."""
    return np.asarray(np.asarray(radius) <= MOST_RADIUS)


def shown_share(frequency: float, lower: float, upper: float) -> float | None:
    """One share as it is shown, from its interval, which is cut off at 0 and 1: None if it is not told."""
    # At an end that is not cut off this is the radius, and if both are, it is at least a half.
    radius = max(frequency - lower, upper - frequency)
    return min(1.0, max(0.0, frequency)) if shares_told(radius) else None


def shown_shares(frequencies: FloatArray, radius: FloatArray) -> FloatArray:
    """Shares as they are shown: within [0, 1], and NaN where the reports do not tell them."""
    return np.where(shares_told(radius), np.clip(frequencies, 0, 1), np.nan)


def certain_order(lower: FloatArray, upper: FloatArray) -> list[int]:
    """Places of shares such that each comes before all that are certainly smaller: their intervals lie below.

    As far as that allows, they keep their order: only a share that is certainly smaller than another moves back.
    """
    low, high = np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)
    order = []
    for _ in range(low.size):
        chosen = int(np.argmax(high >= low.max()))
        low[chosen] = high[chosen] = -np.inf
        order.append(chosen)
    return order


def small_beta_radius(deviation: float, beta: float) -> float:
    """The radius deviation·√(ln(2/β)/2), also where 2/β is too large for a floating-point number."""
    return deviation * math.sqrt((math.log(2) - math.log(beta)) / 2)


# --- what one report adds to a weighted sum ---------------------------------------------------------------

_BOUNDS = ("variance", "span", "part", "bias")
_OF_SHARES = ("held", "free", "least", "most", "excess", "ratio")
_SPENT = 1 / 20
"""The part of beta that is spent on the variance, where that is estimated. A radius grows by half a percent."""
_HALVINGS = 18
"""The number of halvings of the stretch in which an end lies. Its remainder belongs to the interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Bounds on the term X that one report adds, whatever its sender holds (upper). Fields may be arrays.

    They bound its moments: ln E exp(λ(X - E X)) is at most λ²·span²/8, and at most λ²·variance/(2(1 - λ·part/3))
    for 0 ≤ λ < 3/part, and so for -X. By Hoeffding's lemma and Bernstein's inequality that is so if `variance` is
    at least that of X, X lies in an interval of length `span`, and is at most `part` from its mean. If X is a sum
    of independent parts, `part` is the longest of their intervals and `span` is the root of the sum of their
    squared lengths.

    Where values are hashed, `bias` bounds the error that more reports do not average out. The bounds hold for all
    weights at once except with probability `failure`, over the choice of the hash functions.

    `by_share` is for the share of one value: intervals then use the variance at each share instead of the largest.

    If X is a sum of `independent` parts given what its sender holds, none of which is more than `part` from its
    mean, and `variance` is at least that of X for every sender, then the comparison with a Poisson number holds
    too. Its radius is hardly larger than the normal one.
    """

    variance: FloatArray | float
    span: FloatArray | float
    part: FloatArray | float
    bias: FloatArray | float = 0.0
    failure: float = 0.0
    by_share: "ByShare | None" = None
    independent: bool = False

    @staticmethod
    def of_term(variance: FloatArray | float, span: FloatArray | float) -> "Spread":
        """The spread of a term with this variance in an interval of this length."""
        return Spread(variance, span, span)

    def radius(self, n: int, beta: float, *, statistics: int = 1) -> FloatArray:
        """How far the mean of n independent terms may be from its expectation, except with probability `beta`.

        Hoeffding's radius span·√(ln(2m/β)/(2n)), or Bernstein's √(2·variance·ln(2m/β)/n) + part·ln(2m/β)/(3n), for
        m means at once, or that of `poisson_radius`. Which is smaller does not depend on the reports, so choosing
        it costs nothing.
        """
        n, beta = checks.integer("n", n, low=1), checks.open_probability("beta", beta)
        if beta <= self.failure:
            raise ValueError(f"beta must be above {self.failure}, the probability that the bounds fail, got {beta}")
        beta -= self.failure + self._spent(beta)
        log = math.log(2 / beta) + math.log(statistics)
        hoeffding = np.asarray(self.span) * math.sqrt(log / (2 * n))
        bernstein = np.sqrt(2 * log / n * np.asarray(self.variance)) + np.asarray(self.part) * (log / (3 * n))
        radius = np.minimum(hoeffding, bernstein)
        if self.independent:
            variance, part, radius = np.broadcast_arrays(self.variance, self.part, radius)
            radius = poisson_radius(n, beta / (2 * statistics), variance, part, radius)
        return radius + self.bias

    def ends(self, shares: FloatArray, n: int, beta: float) -> Interval:
        """The intervals of true shares, given estimated ones: errors are at most the radius for that share.

        Only spreads without `bias` and `failure` have one for each share.

        The variance is concave in the share, and radii grow less than the variance does. So from the estimate on,
        they grow less than the distance, and the shares for which they are large enough are an interval.
        """
        own, radius = self.by_share, np.broadcast_to(self.radius(n, beta), shares.shape)
        if own is None:
            return Interval(shares - radius, shares + radius)
        spent = self._spent(beta)

        def possible(share: FloatArray) -> Bools:
            off, drawn = np.abs(share - shares), own.sampled * share * (1 - share)
            noise = own.noise(share, n, spent)
            near: Bools = off <= replace(self, variance=noise + drawn, independent=False).radius(n, beta)
            if self.independent:
                noise = own.noise_of_sample(noise, n, spent)
                part = np.asarray(self.part)
                near &= off <= poisson_radius(n, (beta - spent) / 2, noise + drawn, part, np.asarray(np.inf))
            return near

        nearest, ends = np.clip(shares, 0, 1), []
        known = possible(nearest)
        for end in (np.maximum(0.0, shares - radius), np.minimum(1.0, shares + radius)):
            inside, outside = nearest, end
            for _ in range(_HALVINGS):
                middle = (inside + outside) / 2
                near = possible(middle)
                inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
            ends.append(np.where(known, outside, end))
        return Interval(*ends)

    def _spent(self, beta: float) -> float:
        return 0.0 if self.by_share is None else self.by_share.spent * beta

    def at(self, places: NDArray[np.int64] | int) -> Self:
        """The spread of some of several sums."""
        picked: Self = _picked(self, places)
        return picked

    def standard_error(self, n: int) -> FloatArray:
        """The standard error of the mean of n terms, at most (upper)."""
        return np.sqrt(np.asarray(self.variance) / n)

    def scaled(self, by: FloatArray | float) -> "Spread":
        """The spread for weights that are this many times as large."""
        by = np.abs(by)
        bounds = (self.variance * by**2, self.span * by, self.part * by, self.bias * by, self.failure)
        return Spread(*bounds, independent=self.independent)

    @property
    def whole(self) -> Bools:
        """Whether X is no sum of parts, so that it lies in one interval for every sender."""
        return np.asarray(np.asarray(self.span) <= np.asarray(self.part)) | (self.by_share is not None)

    def of_sample(self, reach: FloatArray | float) -> "Spread":
        """The spread if senders are a random sample of everybody, whose weights differ by at most `reach`.

        What a random sender holds adds a variance of at most reach²/4. The sum over a sample without replacement
        has no larger moments than over one with replacement (Hoeffding 1963, theorem 4). A term that is not a sum
        of parts lies in one interval whatever its sender holds, so that its span is still right.
        """
        own, whole = self.by_share, self.whole
        return replace(
            self,
            by_share=None if own is None or np.any(np.asarray(reach) != 1) else own.of_sample(),
            variance=self.variance + np.asarray(reach) ** 2 / 4,
            span=np.where(whole, self.span, np.hypot(self.span, reach)),
            part=np.maximum(self.part, reach),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ByShare:
    """The mean variance of all reports, by the share f of senders who hold one value. Fields may be arrays.

    It is f·held + (1-f)·free + E. Those who hold other values have variances between `least` and `most`, and E is
    the mean over all senders of how far theirs is from `free`. That is a weighted sum of shares like any other: an
    unbiased estimate of it is `excess`, and `error` is the spread of that, or None if all others are alike. What a
    report adds to the estimate varies at most `ratio` times as much as what it adds to the share, for every sender.
    Before there are reports, the estimate counts as very large.

    A part of beta is `spent` on the chance that the variance is larger than it is taken to be. If those who answer
    are a random sample (`sampled`), f and E are of everybody. The moments of a sample are those of everybody's mean
    law at most (Hoeffding 1963, theorem 4, and Maclaurin's inequality). The comparison with a Poisson number needs
    the mean variance of those who answered: given them, reports are independent, and their shares are compared
    with draws with replacement afterwards.
    """

    held: FloatArray | float
    free: FloatArray | float
    least: FloatArray | float
    most: FloatArray | float
    excess: FloatArray | float = math.inf
    error: Spread | None = None
    ratio: FloatArray | float = 0.0
    sampled: bool = False

    @property
    def spent(self) -> float:
        """The part of beta that is for the variance."""
        return _SPENT if self.error is not None or self.sampled else 0.0

    def noise(self, share: FloatArray | float, n: int, beta: float) -> FloatArray:
        """The mean variance if the share is this, or more, except with half of this beta (concave in the share).

        By Bernstein's inequality E is at most the estimate and y = √(2vL/n) + part·L/(3n), where L = ln(2/beta),
        and the variance v of its terms is at most `ratio` times the mean variance that is looked for. So y is at
        most the root of a square. In a sample, v has also the variance of what its members hold.
        """
        known = share * self.held + (1 - share) * self.free
        others: FloatArray = (1 - share) * (np.asarray(self.most) - self.free)
        if self.error is None:
            return np.asarray(known + others)
        low, high = (np.asarray(end) - self.free for end in (self.least, self.most))
        excess = np.maximum(self.excess, np.maximum(low, -np.asarray(self.held)))  # No variance is below 0.
        slope, least = np.asarray(self.ratio), self.ratio * (known + excess)
        if self.sampled:
            low = np.minimum(low, 0)
            reach = np.maximum(high, 0) - low
            slope, least = slope + reach, least + reach * (excess - low)
        log = math.log(2 / beta) / n
        part = np.asarray(self.error.part) * log / 3
        half = part + log * slope
        above = half + np.sqrt(np.maximum(0.0, half**2 - part**2 + 2 * log * least))
        noise: FloatArray = known + np.minimum(others, excess + np.minimum(above, self.error.radius(n, beta)))
        return noise

    def noise_of_sample(self, noise: FloatArray, n: int, beta: float) -> FloatArray:
        """The mean variance of n senders, at most, except with half of this beta, if everybody's is `noise`.

        It is a mean of numbers between the smallest and the largest variance, whose own variance is at most the
        product of what their mean is from these two. So Bernstein's inequality holds for it. As the largest counts
        where that gives more, the bound is concave in `noise`, and never falls.
        """
        if not self.sampled:
            return noise
        least, most = np.minimum(self.held, self.least), np.maximum(self.held, self.most)
        log = math.log(2 / beta)
        above = np.maximum(0.0, most - noise)
        off = np.sqrt(2 * log / n * above * np.maximum(0.0, noise - least)) + above * log / (3 * n)
        return np.minimum(most, noise + off)

    def of_sample(self) -> "ByShare":
        """The variances if senders are a random sample of everybody."""
        reach = np.maximum(np.asarray(self.most) - self.free, 0) - np.minimum(np.asarray(self.least) - self.free, 0)
        return replace(self, sampled=True, error=None if self.error is None else self.error.of_sample(reach))


class Spreads(ABC):
    """The spread for any weights. An aggregator supplies it with its estimate."""

    only_if_complete: str = ""
    """Why the spread is known only if everybody holds one of the values of the estimate; empty if it always is."""

    @abstractmethod
    def of(self, weights: FloatArray) -> Spread:
        """The spread for these weights, one for each value of the estimate. Values beyond them have weight 0."""

    def of_first(self, count: int) -> Spread:
        """The spreads of the shares of the first 1, 2, … of `count` values, stacked."""
        return stacked([self.of(first_values(size, count)) for size in range(1, count)])

    def of_each(self) -> Spread | None:
        """The spreads of the shares of single values, or None if they are not known."""
        return None


class UnknownSpread(Spreads):
    """No spread is known; the reason is in words."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def of(self, weights: FloatArray) -> Spread:
        raise ValueError(self._reason)


class LinearSpreads(Spreads):
    """Spreads by a function of the weights, and by one for single values, if theirs are known."""

    def __init__(
        self,
        rule: Callable[[FloatArray], Spread],
        each: Callable[[], Spread | None] = lambda: None,
        *,
        only_if_complete: str = "",
    ) -> None:
        self._rule, self._each, self.only_if_complete = rule, each, only_if_complete

    def of(self, weights: FloatArray) -> Spread:
        return self._rule(weights)

    def of_each(self) -> Spread | None:
        return self._each()


class SampledSpreads(Spreads):
    """Spreads if those who answered are a random sample of everybody."""

    def __init__(self, given: Spreads) -> None:
        self._given, self.only_if_complete = given, given.only_if_complete

    def of(self, weights: FloatArray) -> Spread:
        """The spread of the reports and of the sample. A value that is not listed has weight 0."""
        return self._given.of(weights).of_sample(max(0.0, float(weights.max())) - min(0.0, float(weights.min())))

    def of_first(self, count: int) -> Spread:
        return self._given.of_first(count).of_sample(1.0)

    def of_each(self) -> Spread | None:
        each = self._given.of_each()
        return None if each is None else each.of_sample(1.0)


UNKNOWN = UnknownSpread("how far a sum over values may be off is not known for this mechanism")
_NONE = Spread(0.0, 0.0, 0.0)


def first_values(size: int, count: int) -> FloatArray:
    """The weights of the share of the first `size` of `count` values, less their mean."""
    weights = np.full(count, -size / count)
    weights[:size] += 1
    return weights


def stacked(spreads: list[Spread]) -> Spread:
    """Several spreads as one whose fields are arrays."""
    variance, span, part, bias = (np.array([float(getattr(s, name)) for s in spreads]) for name in _BOUNDS)
    failure, independent = max(spread.failure for spread in spreads), all(spread.independent for spread in spreads)
    known = [spread.by_share for spread in spreads if spread.by_share is not None]
    if len(known) < len(spreads):
        return Spread(variance, span, part, bias, failure, independent=independent)
    own = {name: np.array([float(getattr(each, name)) for each in known]) for name in _OF_SHARES}
    errors = [_NONE if each.error is None else each.error for each in known]
    error = None if all(each is _NONE for each in errors) else stacked(errors)
    by_share = ByShare(**own, error=error, sampled=known[0].sampled)
    return Spread(variance, span, part, bias, 0.0, by_share, independent)


def _picked(given: Any, places: NDArray[np.int64] | int) -> Any:
    """Arrays at these places, also those within a spread. One number is for all places."""
    if isinstance(given, np.ndarray) and given.ndim:
        return given if given.size == 1 else given[places]
    if not isinstance(given, (Spread, ByShare)):
        return given
    return type(given)(*(_picked(getattr(given, one.name), places) for one in fields(given)))


# --- mechanisms that treat all values alike: how many values have each weight -----------------------------


@dataclass(frozen=True, slots=True, eq=False)
class WeightCounts:
    """Weights, and the number of values that have each, along the last axis. Several sums have a row each."""

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
        largest: FloatArray = np.where(self.counts > 0, each, -np.inf).max(axis=-1)
        return largest

    def reach_of_sets(self, size: float) -> FloatArray:
        """How much the sum of the weights of `size` values can be larger than that of another `size` values."""
        order = np.argsort(self.weights, axis=-1)
        weights = np.take_along_axis(self.weights, order, axis=-1)
        counts = np.take_along_axis(np.broadcast_to(self.counts, self.weights.shape), order, axis=-1)
        return _first(weights[..., ::-1], counts[..., ::-1], size) - _first(weights, counts, size)

    def _sum(self, each: FloatArray) -> FloatArray:
        total: FloatArray = (self.counts * each).sum(axis=-1, keepdims=True)
        return total


class SymmetricSpreads(Spreads):
    """Spreads by a function of the weights, and of the number of the mechanism's `values` that have each."""

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
    total: FloatArray = (weights * np.clip(size - before, 0, counts)).sum(axis=-1)
    return total


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


def inner_product_spreads(*, bits: int, flip: FloatArray | float, width: int) -> SymmetricSpreads:
    """The spreads for any weights."""
    return SymmetricSpreads(2.0**bits, partial(inner_product_spread, bits=bits, flip=flip, width=width))


def inner_product_spread(given: WeightCounts, *, bits: int, flip: FloatArray | float, width: int) -> Spread:
    """The spread for answers of w = `width` bits about values of d = `bits` bits, false with probability `flip`.

    Let c be the weights less their mean over all N = 2^d values, and C their transform. A report (A, y) adds
    scale·Σ_z (-1)^(z·y)·C(z·A) over the non-zero words z of w bits. Of the products of two such terms, s - 1
    = 2^w - 1 are squares C(v)², each with mean N·Σc²/(N-1). The other (s-1)(s-2) are of two different vectors and
    have mean ρ·(N²·c(x)² - N·Σc²)/((N-1)(N-2)) if the sender holds x, where ρ = gap/(s-1) is the bias of a parity
    of the answer. The mean of what is added is c(x), so the variance is exact. What is added is also s·scale times
    the sum of c over the N/s values that agree with the report, which bounds the span.

    `flip` may be an array that broadcasts with the sums: a column of rounds gives a row of spreads for each.
    """
    symbols, values = 1 << width, 2.0**bits
    gap = symbols - 1 - symbols * np.asarray(flip)
    scale = (1 - 1 / values) / gap
    centred = given.weights - given.total / values
    squares = given.squares - given.total**2 / values
    second = (symbols - 1) * squares * values / (values - 1)
    if width > 1:
        pairs = values * (values * centred**2 - squares) / ((values - 1) * (values - 2))
        second = second + gap[..., np.newaxis] * (symbols - 2) * pairs
    variance = given.worst(scale[..., np.newaxis] ** 2 * second - centred**2)
    return Spread.of_term(variance, symbols * scale * given.reach_of_sets(values / symbols))


# --- several rounds ---------------------------------------------------------------------------------------


class PooledSpreads(Spreads):
    """Spreads of rounds that are weighted means, given each round's spreads, reports and weights of the values.

    The spread is as if all n reports were alike. Logarithms of moments of independent rounds add up: so do
    variances and squared spans of the rounds' means. For rounds that depend on each other, Hölder's inequality
    gives the same with roots added up. There each round's mean counts p times, and 1/p is its share of the sum.
    """

    def __init__(self, rounds: Sequence[tuple[Spreads, int, FloatArray]], independent: bool) -> None:
        self._rounds, self._independent = rounds, independent
        self._n = sum(n for _, n, _ in rounds)
        self.only_if_complete = next((s.only_if_complete for s, *_ in rounds if s.only_if_complete), "")

    def of(self, weights: FloatArray) -> Spread:
        return self._added([spreads.of(weights * share[: weights.size]) for spreads, _, share in self._rounds])

    def of_each(self) -> Spread | None:
        each = [spreads.of_each() for spreads, *_ in self._rounds]
        known = [one.scaled(share) for one, (*_, share) in zip(each, self._rounds, strict=True) if one is not None]
        return self._added(known) if len(known) == len(each) else None

    def of_first(self, count: int) -> Spread:
        # All at once, if each round has the same weight for all values.
        if any(np.ptp(share[:count]) > 0 for *_, share in self._rounds):
            return super().of_first(count)
        return self._added([spreads.of_first(count).scaled(float(share[0])) for spreads, _, share in self._rounds])

    def _added(self, spreads: list[Spread]) -> Spread:
        sizes = [n for _, n, _ in self._rounds]
        variances, spans, parts = (
            np.stack([np.asarray(getattr(s, name)) / scale for s, scale in zip(spreads, by, strict=True)])
            for name, by in (("variance", sizes), ("span", [math.sqrt(n) for n in sizes]), ("part", sizes))
        )
        bias = sum(np.asarray(spread.bias) for spread in spreads)
        failure = sum(spread.failure for spread in spreads)
        if self._independent:
            variance, span = variances.sum(axis=0), np.sqrt((spans**2).sum(axis=0))
        else:
            roots = np.sqrt(variances)
            variance, span = roots.sum(axis=0) ** 2, spans.sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                times = roots.sum(axis=0) / roots
            parts = np.where(roots > 0, parts * times, 0.0)
        n = self._n
        apart = self._independent and all(spread.independent for spread in spreads)
        return Spread(n * variance, math.sqrt(n) * span, n * parts.max(axis=0), bias, failure, independent=apart)
