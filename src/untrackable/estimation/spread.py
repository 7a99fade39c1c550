"""How far what one report adds to a weighted sum of frequencies may be from its mean.

With weights g, one for each value, an estimate of Σ g(u)·f(u) is a mean of n terms, one for each report. An
aggregator knows the law of such a term, and so how far the mean of all terms may be from the truth.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.intervals import BoolArray, FloatArray, Interval
from untrackable.theory.poisson_tail import poisson_radius


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
        found = np.minimum(hoeffding, bernstein)
        if self.independent:
            variance, part, found = np.broadcast_arrays(self.variance, self.part, found)
            found = poisson_radius(n, beta / (2 * statistics), variance, part, found)
        return found + self.bias

    def ends(self, shares: FloatArray, n: int, beta: float) -> Interval:
        """Where true shares lie, given estimated ones: errors are at most the radius for that share.

        Only spreads without `bias` and `failure` have one for each share.

        The variance is concave in the share, and radii grow less than the variance does. So from the estimate on,
        they grow less than the distance, and the shares for which they are large enough are an interval.
        """
        own, radius = self.by_share, np.broadcast_to(self.radius(n, beta), shares.shape)
        if own is None:
            return Interval(shares - radius, shares + radius)
        spent = self._spent(beta)

        def possible(share: FloatArray) -> BoolArray:
            off, drawn = np.abs(share - shares), own.sampled * share * (1 - share)
            noise = own.noise(share, n, spent)
            near: BoolArray = off <= replace(self, variance=noise + drawn, independent=False).radius(n, beta)
            if self.independent:
                noise = own.noise_of_sample(noise, n, spent)
                part = np.asarray(self.part)
                near &= off <= poisson_radius(n, (beta - spent) / 2, noise + drawn, part, np.asarray(np.inf))
            return near

        nearest, found = np.clip(shares, 0, 1), []
        known = possible(nearest)
        for end in (np.maximum(0.0, shares - radius), np.minimum(1.0, shares + radius)):
            inside, outside = nearest, end
            for _ in range(_HALVINGS):
                middle = (inside + outside) / 2
                near = possible(middle)
                inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
            found.append(np.where(known, outside, end))
        return Interval(*found)

    def _spent(self, beta: float) -> float:
        return 0.0 if self.by_share is None else self.by_share.spent * beta

    def at(self, places: NDArray[np.int64] | int) -> Self:
        """The spread of some of several sums."""
        found: Self = _picked(self, places)
        return found

    def standard_error(self, n: int) -> FloatArray:
        """The standard error of the mean of n terms, at most (upper)."""
        return np.sqrt(np.asarray(self.variance) / n)

    def scaled(self, by: FloatArray | float) -> "Spread":
        """The spread for weights that are this many times as large."""
        by = np.abs(by)
        bounds = (self.variance * by**2, self.span * by, self.part * by, self.bias * by, self.failure)
        return Spread(*bounds, independent=self.independent)

    @property
    def whole(self) -> BoolArray:
        """Whether X is no sum of parts, so that it lies in one interval whoever sends it."""
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
    report adds to the estimate varies at most `ratio` times as much as what it adds to the share, whoever sends it.
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
        """Which part of beta is for the variance."""
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
        found: FloatArray = known + np.minimum(others, excess + np.minimum(above, self.error.radius(n, beta)))
        return found

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
        """The same if senders are a random sample of everybody."""
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
        """The spreads for the shares of the first 1, 2, … count - 1 of `count` values, as arrays.

        From each weight, 0 or 1, the mean weight is taken first, as everybody holds one of the `count` values.
        """
        return stacked([self.of(first_values(size, count)) for size in range(1, count)])

    def of_each(self) -> Spread | None:
        """The spreads of all single values, as arrays or alike, if they are known without much work."""
        return None


class UnknownSpread(Spreads):
    """No spread is known; the reason is in words."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def of(self, weights: FloatArray) -> Spread:
        """Refuse."""
        raise ValueError(self._reason)


class LinearSpreads(Spreads):
    """Spreads by a function of the weights."""

    def __init__(self, rule: Callable[[FloatArray], Spread], *, only_if_complete: str = "") -> None:
        self._rule, self.only_if_complete = rule, only_if_complete

    def of(self, weights: FloatArray) -> Spread:
        """What the function says."""
        return self._rule(weights)


class SampledSpreads(Spreads):
    """Spreads if those who answered are a random sample of everybody."""

    def __init__(self, given: Spreads) -> None:
        self._given, self.only_if_complete = given, given.only_if_complete

    def of(self, weights: FloatArray) -> Spread:
        """The spread of the reports and of the sample. A value that is not listed has weight 0."""
        return self._given.of(weights).of_sample(max(0.0, float(weights.max())) - min(0.0, float(weights.min())))

    def of_first(self, count: int) -> Spread:
        """The same for shares, whose weights differ by 1."""
        return self._given.of_first(count).of_sample(1.0)

    def of_each(self) -> Spread | None:
        """The same for single values, whose weights differ by 1 too."""
        each = self._given.of_each()
        return None if each is None else each.of_sample(1.0)


UNKNOWN = UnknownSpread("how far a sum over values may be off is not known for this mechanism")

_BOUNDS = ("variance", "span", "part", "bias")
_OF_SHARES = ("held", "free", "least", "most", "excess", "ratio")
_NONE = Spread(0.0, 0.0, 0.0)
_SPENT = 1 / 20
"""Which part of beta is spent on the variance, where that is estimated. A radius grows by half a percent."""
_HALVINGS = 18
"""How often the stretch in which an end lies is halved. What is left of it belongs to the interval."""


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


def _picked(found: Any, places: NDArray[np.int64] | int) -> Any:
    """Arrays at these places, also those within a spread. One number is for all places."""
    if isinstance(found, np.ndarray) and found.ndim:
        return found if found.size == 1 else found[places]
    if not isinstance(found, (Spread, ByShare)):
        return found
    return type(found)(*(_picked(getattr(found, one.name), places) for one in fields(found)))
