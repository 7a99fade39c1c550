"""The interface of local mechanisms: they make one noisy report of one value, and keep no state.

They are what the field calls a frequency oracle under local differential privacy: from one report per person, the
share of every value is estimated. Some local mechanisms can say more about a report; each such ability is a
protocol of its own.

Their reports cannot be linked, so people hide in a crowd. That is the shuffle model: an observer sees everybody's
reports, but not who sent which.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.randomizers.interface import LocalRandomizer
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.crowd import (
    LARGEST_CROWD,
    CrowdClasses,
    CrowdParts,
    Differing,
    crowd_lower,
    crowd_upper,
)
from untrackable.theory.crowd_absent import CrowdAbsent
from untrackable.theory.crowd_bit import CrowdBit
from untrackable.theory.experiment import BracketedExperiment, Certainty, Experiment
from untrackable.theory.factor import Factor

Kind = Literal["answer", "question", "marks"]


class Truthfulness(NamedTuple):
    """How often one report, taken by itself, is true about its sender (exact).

    A report names one "answer", or tells the answer to a "question" about the value that is drawn at random, or
    "marks" any number of answers, among which the own one counts. `own` is the probability that this is true, and
    `noise` the same for a report that says nothing about the value.
    """

    kind: Kind
    own: float
    noise: float


@runtime_checkable
class Local(LocalRandomizer, Protocol):
    """A stateless mechanism for one report. `Fresh`, `Memoized`, `Stored` and `Dealt` send its reports."""

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        """One independent report for every entry. Reports wider than 64 bits are bytes along a last axis."""

    @property
    def certainty(self) -> Certainty:
        """Exact if some two values have `privacy_factor`; upper if it dominates all of them."""

    def privacy_factor(self) -> Factor:
        """One report of one value against another, for the two values that are easiest to tell apart."""

    def repeat_factor(self) -> Factor:
        """One report sent twice (P) against two reports of the same value, which are equal by chance (Q)."""

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
        """Classes of reports of two values, where everybody else holds a third; or the first if there are two."""


@runtime_checkable
class BitLocal(Protocol):
    """A local mechanism whose report may be one bit about a public question: a crowd then has sharper bounds."""

    @property
    def bit_share(self) -> float:
        """The share of questions to which two values have different answers; 0 if a report is not of that kind.

        The bit is flipped with probability 1/(e^eps + 1). A share of 1 means that there is one question.
        """


@runtime_checkable
class WeightedLocal(Protocol):
    """A local mechanism that knows how much one report counts in an estimate."""

    def largest_weight(self) -> float:
        """The largest number that one report adds to n times an estimated frequency (exact)."""


def repeat_certainty(base: Local) -> Certainty:
    """The certainty of `repeat_factor`: upper if the mechanism says that it dominates all values, else exact."""
    return getattr(base, "repeat_certainty", "exact")


@runtime_checkable
class WideLocal(Protocol):
    """A local mechanism with values that may take more than one integer in a simulated population."""

    def population(self, values: ArrayLike, rounds: int, *, may_change: bool) -> NDArray[Any]:
        """The values as its `simulate` takes them, checked but not copied; wide ones are records."""


def local_population(base: Local, values: ArrayLike, rounds: int, *, may_change: bool) -> NDArray[Any]:
    """The values of a population for a local mechanism, checked but not copied."""
    if isinstance(base, WideLocal):
        return base.population(values, rounds, may_change=may_change)
    return integer_population(values, base.values, rounds, may_change=may_change)


def integer_population(values: ArrayLike, below: int, rounds: int, *, may_change: bool) -> NDArray[Any]:
    """The integer values of a population, checked but not copied. Errors name the range and show no value."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"values must be integers, not {array.dtype}")
    if array.ndim != 1 and not (may_change and array.ndim == 2 and array.shape[1] == rounds):
        allowed = f"one entry per client, or one row of {rounds} each" if may_change else "one entry per client"
        raise ValueError(f"values must have {allowed}, got shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"values must be between 0 and {below - 1}; some are not (they are not shown)")
    return array


def per_round(values: NDArray[Any], rounds: int) -> NDArray[Any]:
    """The values with one column per round. Values that do not change are repeated."""
    wide = values.view(np.uint64) if values.dtype == np.int64 else values
    if not values.dtype.names:
        wide = wide.astype(np.uint64, copy=False)
    return np.broadcast_to(wide[:, None], (wide.shape[0], rounds)) if wide.ndim == 1 else wide


def first_equal(rows: NDArray[Any]) -> NDArray[np.int64]:
    """For each entry of a row, the position of the first equal entry."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    new = np.ones(rows.shape, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    start = np.maximum.accumulate(np.where(new, np.arange(rows.shape[1]), 0), axis=1)
    first = np.empty_like(order)
    np.put_along_axis(first, order, np.take_along_axis(order, start, axis=1), axis=1)
    return first


LINKED = "its reports can be linked, so a crowd does not hide them"
"""Why a crowd hides nobody: reports of one person in several rounds would be found, and taken together."""

_ROUNDING = 1e-14
"""Numbers that are computed from a base's law are rounded up by this share."""

SentRounds = Sequence[tuple[Local, int]]
"""The local mechanism that rounds send a fresh report of, and the number of such rounds, in their order."""


def crowd_privacy(
    rounds: SentRounds, *, people: int | Sequence[int], mixed: bool = False, present: float = 1.0
) -> BracketedExperiment:
    """Two values of one person, by rounds in which this many people answer (bracket).

    Every round has a fresh report of its base by each. So rounds are independent given everybody's values, and the
    reports of one person cannot be linked. The upper end holds for all values of the others. The lower end is that
    of others who all hold one value. It is 0 if two values that reveal as much as the upper end may not exist.

    Reports are `mixed` if each tells its round, which its sender drew at random, and those of all rounds are one
    crowd. People may hold a different value in every round. If the people of a round are `present` with a smaller
    probability than 1, by a coin that nobody sees, some bounds are sharper, and these have no lower end.
    """
    sized = _sized(rounds, people)
    parts: Counter[tuple[Differing, int]] = Counter()
    for base, number, count in sized:
        parts[crowd_differing(base, mixed=mixed, present=present), number] += count
    pure = math.fsum(count * _largest_loss(base) for base, _, count in sized)
    known = all(base.certainty == "exact" and isinstance(base, ClassifiedLocal) for base, _ in rounds)
    known = known and not any(isinstance(each, CrowdAbsent) for each, _ in parts)

    def lower() -> Experiment:
        classes: Counter[tuple[CrowdClasses, int]] = Counter()
        for base, number, count in sized:
            if isinstance(base, ClassifiedLocal):
                classes[base.crowd_classes(), number] += count
        return crowd_lower(classes)

    return BracketedExperiment(crowd_upper(parts), lower if known else None, pure=pure)


def _sized(rounds: SentRounds, people: int | Sequence[int]) -> list[tuple[Local, int, int]]:
    """The base of rounds, the number of people, and the number of such rounds."""
    if not isinstance(people, Sequence):
        number = crowd_size(people)
        return [(base, number, count) for base, count in rounds]
    sizes = [crowd_size(number) for number in people]
    total = sum(count for _, count in rounds)
    if len(sizes) != total:
        raise ValueError(f"people must be one number, or one for each of {total} rounds, got {len(sizes)}")
    one_by_one = (base for base, count in rounds for _ in range(count))
    return [(base, number, 1) for base, number in zip(one_by_one, sizes, strict=True)]


def crowd_size(people: int) -> int:
    """The number of people in a crowd, after checks."""
    return checks.integer("people", people, low=2, high=LARGEST_CROWD)


def crowd_differing(base: Local, *, mixed: bool = False, present: float = 1.0) -> Differing:
    """How the reports of two values differ, in the way that has the sharpest bound for a crowd."""
    share = base.bit_share if isinstance(base, BitLocal) else 0.0
    if share == 1 and not mixed:
        return CrowdBit(_largest_loss(base) * (1 + _ROUNDING))
    parts = crowd_parts(base)
    if share and present < 1:
        return CrowdAbsent(math.log(parts.ratio), min(1.0, share * (1 + _ROUNDING)), present, parts)
    return parts


def crowd_parts(base: Local) -> CrowdParts:
    """How the reports of two values differ, for the two values that are easiest to tell apart.

    The base's privacy factor dominates every pair of values. So no ratio and no distance is larger than its own,
    and everybody's law is within the same ratio of both. Delta grows with all three, so they are rounded up.
    """
    factor = base.privacy_factor()
    ratio = math.exp(_largest_loss(base)) * (1 + _ROUNDING)
    distance = float(np.maximum(0.0, factor.p - factor.q).sum()) * (1 + _ROUNDING)
    return CrowdParts(ratio, min(distance, (ratio - 1) / (ratio + 1)), ratio)


def _largest_loss(base: Local) -> float:
    return float(np.abs(base.privacy_factor().loss).max())
