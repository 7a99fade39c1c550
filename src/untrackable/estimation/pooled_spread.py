"""The spread of a weighted sum of frequencies that are weighted means over several rounds."""

import math
from collections.abc import Sequence

import numpy as np

from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread, Spreads


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
        """The spread of the sum over rounds."""
        return self._added([spreads.of(weights * share[: weights.size]) for spreads, _, share in self._rounds])

    def of_each(self) -> Spread | None:
        """That of each value, if it is known in all rounds."""
        each = [spreads.of_each() for spreads, *_ in self._rounds]
        known = [one.scaled(share) for one, (*_, share) in zip(each, self._rounds, strict=True) if one is not None]
        return self._added(known) if len(known) == len(each) else None

    def of_first(self, count: int) -> Spread:
        """All at once, if each round has the same weight for all values."""
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
