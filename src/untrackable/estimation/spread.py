"""How far what one report adds to a weighted sum of frequencies may be from its mean.

With weights g, one for each value, an estimate of Σ g(u)·f(u) is a mean of n terms, one for each report. An
aggregator knows the law of such a term, and so how far the mean of all terms may be from the truth.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from untrackable import checks
from untrackable.estimation.intervals import BoolArray, FloatArray, Interval
from untrackable.theory.poisson_tail import log_poisson_tail, poisson_radius


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Bounds on the term X that one report adds, whatever its sender holds (upper). Fields may be arrays.

    They bound its moments: ln E exp(λ(X - E X)) is at most λ²·span²/8, and at most λ²·variance/(2(1 - λ·part/3))
    for 0 ≤ λ < 3/part, and so for -X. By Hoeffding's lemma and Bernstein's inequality that is so if `variance` is
    at least that of X, and X lies in an interval of length `span` = `part`. If X is a sum of independent parts,
    `part` is the longest of their intervals and `span` is the root of the sum of their squared lengths.

    Where values are hashed, `bias` bounds the error that more reports do not average out. The bounds hold for all
    weights at once except with probability `failure`, over the choice of the hash functions.

    `by_share` is for the share f of one value: (a, b, c), if the mean variance of all reports is at most
    f·a + (1-f)·b + f(1-f)·c. Intervals then use the variance at each share instead of the largest one.

    If X is a sum of `independent` parts given what its sender holds, none of which is more than `part` from its
    mean, and `variance` is at least that of X for every sender, then the comparison with a Poisson number holds
    too. Its radius is hardly larger than the normal one.
    """

    variance: FloatArray | float
    span: FloatArray | float
    part: FloatArray | float
    bias: FloatArray | float = 0.0
    failure: float = 0.0
    by_share: tuple[FloatArray | float, FloatArray | float, float] | None = None
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
        log = math.log(2 / (beta - self.failure)) + math.log(statistics)
        hoeffding = np.asarray(self.span) * math.sqrt(log / (2 * n))
        bernstein = np.sqrt(2 * log / n * np.asarray(self.variance)) + np.asarray(self.part) * (log / (3 * n))
        found = np.minimum(hoeffding, bernstein)
        if self.independent:
            variance, part, found = np.broadcast_arrays(self.variance, self.part, found)
            found = poisson_radius(n, (beta - self.failure) / (2 * statistics), variance, part, found)
        return found + self.bias

    def ends(self, shares: FloatArray, n: int, beta: float) -> Interval:
        """Where true shares lie, given estimated ones: errors are at most the radius for that share.

        Only spreads without `bias` and `failure` have one for each share.

        The variance is concave in the share, and radii grow less than the variance does. So from the estimate on,
        they grow less than the distance, and the shares for which they are large enough are an interval.
        """
        radius = np.broadcast_to(self.radius(n, beta), shares.shape)
        if self.by_share is None:
            return Interval(shares - radius, shares + radius)
        mine, others, sampled = self.by_share
        # Who is in a sample and how noisy they are may depend on each other, so all count as the noisiest there.
        noisiest = np.maximum(mine, others)
        noise = (noisiest, noisiest) if sampled else (mine, others)

        def possible(share: FloatArray) -> BoolArray:
            off, drawn = np.abs(share - shares), sampled * share * (1 - share)
            variance = share * mine + (1 - share) * others + drawn
            near: BoolArray = off <= replace(self, variance=variance, independent=False).radius(n, beta)
            if self.independent:
                variance = share * noise[0] + (1 - share) * noise[1] + drawn
                near &= log_poisson_tail(n * off, n * variance, np.asarray(self.part)) > math.log(beta / 2)
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

    def standard_error(self, n: int) -> FloatArray:
        """The standard error of the mean of n terms, at most (upper)."""
        return np.sqrt(np.asarray(self.variance) / n)

    def scaled(self, by: FloatArray | float) -> "Spread":
        """The spread for weights that are this many times as large."""
        by = np.abs(by)
        bounds = (self.variance * by**2, self.span * by, self.part * by, self.bias * by, self.failure)
        return Spread(*bounds, independent=self.independent)

    def of_sample(self, reach: FloatArray | float) -> "Spread":
        """The spread if senders are a random sample of everybody, whose weights differ by at most `reach`.

        What a random sender holds adds a variance of at most reach²/4. The sum over a sample without replacement
        has no larger moments than over one with replacement (Hoeffding 1963, theorem 4). A term that is not a sum
        of parts lies in one interval whatever its sender holds, so that its span is still right.
        """
        whole = np.asarray(self.span) <= np.asarray(self.part)
        own = self.by_share
        return replace(
            self,
            by_share=None if own is None or np.any(np.asarray(reach) != 1) else (*own[:2], 1.0),
            variance=self.variance + np.asarray(reach) ** 2 / 4,
            span=np.where(whole, self.span, np.hypot(self.span, reach)),
            part=np.maximum(self.part, reach),
        )


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
_HALVINGS = 40
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
    mine, others = (np.array([float(each[i]) for each in known]) for i in (0, 1))
    return Spread(variance, span, part, bias, 0.0, (mine, others, known[0][2]), independent)
