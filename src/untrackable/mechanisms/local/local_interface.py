"""The interface of local mechanisms: they make one noisy report of one value and keep no state."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports, Scope
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd_classes import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor


@runtime_checkable
class Local(Protocol):
    """A stateless mechanism for one report. `Fresh`, `Memoized`, `Stored` and `Dealt` send its reports."""

    @property
    def values(self) -> int:
        """The number of possible values, which are 0 … values-1."""

    @property
    def report_bits(self) -> int:
        """Width of a report."""

    def draw(self, value: int, entropy: Entropy) -> int:
        """A random report of a value."""

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        """One independent report for every entry. Reports wider than 64 bits are bytes along a last axis."""

    def possible(self, report: int) -> bool:
        """Whether the mechanism can make this report."""

    @property
    def certainty(self) -> Certainty:
        """Exact if some two values have `privacy_factor`; upper if it dominates all of them."""

    def privacy_factor(self) -> Factor:
        """One report of one value against another, for the two values that are easiest to tell apart."""

    def repeat_factor(self) -> Factor:
        """One report sent twice (P) against two independent reports of the same value (Q)."""

    def log_likelihood(self, reports: Reports, value: Any) -> FloatArray:
        """The log probability of every report."""

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of a frequency, estimated from one report per person."""

    def aggregator(self, scope: Scope) -> Aggregator:
        """Empty sums for reports."""


@runtime_checkable
class TruthfulLocal(Protocol):
    """A local mechanism whose report is the plain truth with a probability that it can tell."""

    def truthfulness(self) -> Truthfulness | None:
        """How often one report is the plain truth (exact)."""


@runtime_checkable
class ClassifiedLocal(Protocol):
    """A local mechanism that knows how reports of three values differ, so that a crowd can be judged from below."""

    def crowd_classes(self) -> CrowdClasses:
        """Classes of reports of two values, where everybody else holds a third; or the second if there are two."""


@runtime_checkable
class WeightedLocal(Protocol):
    """A local mechanism that knows how much one report counts in an estimate."""

    def largest_weight(self) -> float:
        """The largest number that one report adds to n times an estimated frequency (exact)."""


@runtime_checkable
class BoundedLocal(Protocol):
    """A local mechanism that knows the most that one report reveals, with the standard library alone."""

    def largest_loss(self) -> float:
        """The largest log ratio of probabilities of one report, over all pairs of values (exact, rounded up)."""


@runtime_checkable
class DifferentlyRepeatedLocal(Protocol):
    """A local mechanism for which the value decides how well a report that is sent twice is recognised."""

    @property
    def repeat_certainty(self) -> Certainty:
        """Upper if `repeat_factor` dominates all values, and none need attain it."""


def repeat_certainty(base: Local) -> Certainty:
    """The certainty of `repeat_factor`: exact, unless the mechanism says otherwise."""
    return base.repeat_certainty if isinstance(base, DifferentlyRepeatedLocal) else "exact"
