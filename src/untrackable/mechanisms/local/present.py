"""A report without content, for campaigns that count people and ask nothing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Aggregator, Estimate, FloatArray, Reports, Scope
from untrackable.mechanisms.entropy import Entropy
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A report is one bit, which is always 0. There is one value, so nothing about it can be learned: eps is 0."""

    values = 1
    report_bits = 1

    def draw(self, value: int, entropy: Entropy) -> int:
        """0, without any entropy."""
        return checks.private_integer("value", value, below=1)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        """A 0 for every entry."""
        return np.zeros(values.shape, dtype=np.uint64)

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""
        return report == 0

    @property
    def certainty(self) -> Certainty:
        """Exact: there is only one value."""
        return "exact"

    def privacy_factor(self) -> Factor:
        """No loss at all."""
        return Factor([1.0], [1.0])

    def largest_loss(self) -> float:
        """0."""
        return 0.0

    def repeat_factor(self) -> Factor:
        """All reports are equal, sent once or twice."""
        return Factor([1.0], [1.0])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability of every report."""
        return np.where(np.equal(reports, 0), 0.0, -np.inf)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """There is no error."""
        return Accuracy(people, beta, 0.0, 0.0, deviation=0.0)

    def aggregator(self, scope: Scope) -> Aggregator:
        """An empty count."""
        return PresentAggregator(scope)


class PresentAggregator(Aggregator):
    """How many reports there are."""

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """Everybody holds the only value."""
        return Estimate(np.ones(1), n, beta, np.zeros(1), span=np.ones(1), radii=lambda beta, count: np.zeros(1))

    def _array(self, reports: list[int]) -> Reports:
        if any(reports):
            raise ValueError("a report must be 0")
        return np.zeros(len(reports), dtype=np.uint64)

    def _checked(self, reports: Reports) -> Reports:
        if np.any(reports != 0):
            raise ValueError("a report must be 0")
        return reports.astype(np.uint64, copy=False)

    def _add(self, reports: Reports) -> None:
        self.n += reports.size
