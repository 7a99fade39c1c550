"""Randomised response on one bit (Warner 1965): the local mechanism for yes/no questions."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import BitAggregator, FloatArray, Reports, Scope
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.probabilities import Chance, flip_chance, flip_eps, flip_eps_upper
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd_classes import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse:
    """A report is the person's bit, or with probability 1/(e^eps + 1) the other one."""

    eps: float
    flip: Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checks.settle(self, eps=checks.epsilon("eps", self.eps))
        checks.settle(self, flip=flip_chance(self.eps))

    values = 2
    report_bits = 1

    def draw(self, value: int, entropy: Entropy) -> int:
        """The bit or its opposite, from 8 bytes of entropy."""
        return checks.private_integer("value", value, below=2) ^ self.flip.happens(entropy)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        """One independent report for every entry."""
        return values ^ self.flip.simulate(rng, values.shape)

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""
        return report in (0, 1)

    @property
    def certainty(self) -> Certainty:
        """Exact: there are only two values."""
        return "exact"

    def privacy_factor(self) -> Factor:
        """The loss is ±eps. It is computed from the probabilities that are drawn."""
        lie, eps = self.flip.probability, flip_eps(self.flip)
        return Factor([1 - lie, lie], [lie, 1 - lie], [eps, -eps])

    def largest_loss(self) -> float:
        """ln((1-η)/η), rounded up."""
        return flip_eps_upper(self.flip)

    def crowd_classes(self) -> CrowdClasses:
        """The two reports. Everybody else holds the second value, as there is no third."""
        lie = self.flip.probability
        return CrowdClasses((1 - lie, lie), (lie, 1 - lie), (lie, 1 - lie))

    def largest_weight(self) -> float:
        """(1-η)/(1-2η), for a report that counts for the value."""
        lie = self.flip.probability
        return (1 - lie) / (1 - 2 * lie)

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports are equal by chance."""
        lie = self.flip.probability
        return Factor([1 - lie, lie, 0.0], [(1 - lie) ** 2, lie**2, 2 * lie * (1 - lie)])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability of every report."""
        lie = self.flip.probability
        return np.log(np.where(np.equal(reports, value), 1 - lie, lie))

    def truthfulness(self) -> Truthfulness:
        """A report is the bit itself unless it is flipped."""
        return Truthfulness("answer", 1 - self.flip.probability, 0.5)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of a frequency, estimated from one report per person."""
        lie = self.flip.probability
        return Accuracy.of_shares(people, beta, there=1 - lie, elsewhere=lie)

    def aggregator(self, scope: Scope) -> BitAggregator:
        """Empty sums of reported bits."""
        lie = self.flip.probability
        return BitAggregator(scope, truth=1 - lie, lie=lie)
