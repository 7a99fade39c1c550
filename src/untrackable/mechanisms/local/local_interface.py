"""What a local mechanism is: it makes one noisy report of one value and keeps no state."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports, Scope
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor
from untrackable.theory.integer_losses import LossLaw


@runtime_checkable
class Local(Protocol):
    """A stateless mechanism for one report, on which `Fresh`, `Memoized`, `Stored` and `Dealt` build."""

    @property
    def values(self) -> int:
        """How many values there are: 0 … values-1."""

    @property
    def report_bits(self) -> int:
        """Width of a report."""

    def draw(self, value: int, entropy: Entropy) -> int:
        """One report."""

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        """One independent report for every entry; those wider than 64 bits as bytes along a last axis."""

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""

    @property
    def certainty(self) -> Certainty:
        """Whether `privacy_factor` is that of two of the values, or dominates it."""

    def privacy_factor(self) -> Factor:
        """One value against another, the pair that is easiest to tell apart."""

    def repeat_factor(self) -> Factor:
        """One report seen twice (P) against two independent reports of the same value (Q)."""

    def log_likelihood(self, reports: Reports, value: Any) -> FloatArray:
        """Log probability of every report."""

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """Of one report per person."""

    def aggregator(self, scope: Scope) -> Aggregator:
        """Empty sums."""


@runtime_checkable
class TruthfulLocal(Protocol):
    """A local mechanism whose report is the plain truth with a probability that it can tell."""

    def truthfulness(self) -> Truthfulness | None:
        """How often one report is the plain truth (exact)."""


@runtime_checkable
class IntegerLocal(Protocol):
    """A local mechanism that a client can account for in whole numbers, without the full engine."""

    def integer_loss(self) -> LossLaw:
        """The law of the loss of one report: `privacy_factor`, rounded to the safe side."""
