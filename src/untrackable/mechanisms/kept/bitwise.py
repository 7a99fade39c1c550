"""Bitwise Everlasting Privacy [NV]: a client keeps a noisy copy of one bit and reports it with more noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.estimation.aggregators import BitAggregator, FloatArray, Reports, Scope
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.checked_values import integer_population
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.interface import After, Mechanism, Pair, Values
from untrackable.mechanisms.observed_rounds import ObservedRounds, round_number
from untrackable.mechanisms.probabilities import Chance, coin, flip_chance, flip_eps, noise
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.mechanisms.wrappers.fresh import everything_revealed
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, response_factor
from untrackable.theory.kept_bit import (
    Coin,
    Noise,
    bit_log_likelihood,
    detection_factor,
    privacy_factor,
    remembered_flip_factor,
    tracking_factor,
    tracking_losses,
)
from untrackable.theory.tracking_bounds import permanent_state_upper

_COUNTED = 10**6
"""Up to this many reports, the advantage is computed for every split."""
_SEARCHED = {"one": 500, "many": 128}
"""Up to this many reports, all outcomes of all splits are searched, for one gamma or for many."""
_ROUNDED = 1e-8
"""The relative error of floating-point numbers is at most this, for up to a million reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitwise(Mechanism):
    """For yes/no questions: a client keeps a noisy copy of its bit for ever and adds new noise to every report.

    The kept bit is flipped once, with probability 1/(e^eps_state + 1). Each report flips the kept bit again, with
    probability 1/(e^eps_report + 1). The kept bit protects the value for ever, but it also links the reports.
    """

    eps_state: float
    eps_report: float
    state_flip: Chance = field(init=False, repr=False)
    report_flip: Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("eps_state", "eps_report"):
            checks.settle(self, **{name: checks.epsilon(name, getattr(self, name))})
        checks.settle(self, state_flip=flip_chance(self.eps_state), report_flip=flip_chance(self.eps_report))

    report_bits = 1
    published = "[NV], Bitwise Everlasting Privacy"
    persists = "the kept bit, seen through the noise of every report"
    capacity = 2

    def independent_errors(self, values: int) -> int:
        """One error, because the errors of 0 and of 1 are the same."""
        return 1

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """The accuracy of a bit that is flipped twice."""
        lie = self._lie
        return Accuracy.of_shares(people, beta, there=1 - lie, elsewhere=lie)

    def truthfulness(self) -> Truthfulness:
        """A report is the bit itself unless one of the two flips happens."""
        return Truthfulness("answer", 1 - self._lie, 0.5)

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The log probability of the reports, all of which come from one kept bit."""
        kept = self._kept if value else self._kept.mirrored()
        return bit_log_likelihood(kept, self._noise, reports.sum(axis=1, dtype=np.int64), reports.shape[1])

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """Scores of one coordinate, from the numbers of ones on both sides."""
        kept = self._kept if value else self._kept.mirrored()
        table = tracking_losses(kept, self._noise, first.shape[1], second.shape[1])
        ones = first.sum(axis=1, dtype=np.int64), second.sum(axis=1, dtype=np.int64)
        scores: FloatArray = table[ones[0][:, None], ones[1][None, :]]
        return scores

    @property
    def _lie(self) -> float:
        """The probability that a report differs from the person's bit."""
        state, report = self.state_flip.probability, self.report_flip.probability
        return state + report - 2 * state * report

    def aggregator(self, round: int = 1) -> BitAggregator:
        """Empty sums for one round; a client's rounds share its state, so they do not merge."""
        scope = Scope(self, round_number(round), pools=False)
        return BitAggregator(scope, truth=1 - self._lie, lie=self._lie)

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """Fixed value: the observer sees the kept bit, or `reports` reports of it (exact).

        Any sequence of values: a client keeps one state per value. No two mixtures of reports are further apart
        than two reports of different states, so `reports` randomised responses dominate (upper).
        """
        if values == "any":
            if reports is None:
                return everything_revealed("upper")
            return Experiment([(response_factor(flip_eps(self.report_flip)), reports)], certainty="upper")
        kept = self._kept
        if reports is None:
            eps = flip_eps(self.state_flip)
            return Experiment([Factor([kept.one, kept.zero], [kept.zero, kept.one], [eps, -eps])])
        return Experiment([privacy_factor(kept, kept.mirrored(), self._noise, reports)])

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """The kept bit links the reports of one person (exact). The two values are mirror images."""
        return [
            Experiment([tracking_factor(self._kept, self._noise, observed.reports, j)])
            for j in observed.tracking_splits(1)
        ]

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """The advantage for the worst split, exact but for rounding up to 10^6 reports; beyond that its limit."""
        from untrackable.theory.kept_advantage import flipped_distances

        kept, flip = self.state_flip.probability, self.report_flip
        limit = 2 * kept * (1 - kept) * (1 + _ROUNDED)
        if reports is None or reports > _COUNTED:
            return limit
        gap = 1 - Fraction(2 * flip.threshold, 1 << 64)
        apart = flipped_distances(reports, flip.probability, float(gap))
        return limit * float((apart * apart[::-1]).max())

    def tracking_advantage_lower(self, reports: int | None) -> float:
        """The upper bound, less three times the room for rounding."""
        return self.tracking_advantage_upper(reports) * (1 - 3 * _ROUNDED)

    def tracking_chi_square_upper(self, reports: int) -> float:
        """The bound from one kept bit."""
        from untrackable.theory.kept_advantage import kept_bits_chi_square_upper

        kept, flip = self.state_flip.probability, self.report_flip.probability
        return kept_bits_chi_square_upper([(kept, 1)], 1 - flip, flip, reports)

    def tracking_ratio_upper(self, reports: int | None) -> float:
        """The bound that holds for every permanent state."""
        return permanent_state_upper(reports, self.eps_report)

    def worst_tracking(self, reports: int, *, gammas: Literal["one", "many"] = "one") -> Pair:
        """All splits are searched if there are few reports. Else the advantage bounds delta at every gamma."""
        if reports <= _SEARCHED[gammas]:
            return self.tracking(reports=reports)
        advantage = self.tracking_advantage_upper(reports)
        p, q = [advantage, 1 - advantage, 0.0], [0.0, 1 - advantage, advantage]
        return Experiment([Factor(p, q, [math.inf, 0.0, -math.inf])], certainty="upper")

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """A fresh client keeps a new bit of the other value; the same client applies its flip to it (exact)."""
        kept = self._kept
        if after == "same":
            factors = [
                remembered_flip_factor(kept, self._noise, observed.reports, j) for j in observed.detection_splits(1)
            ]
        else:
            other = kept.mirrored()
            factors = [
                detection_factor(kept, other, self._noise, observed.reports, j)
                for j in observed.detection_splits(1)
            ]
        return [Experiment([factor]) for factor in factors]

    @property
    def _kept(self) -> Coin:
        """The law of the kept bit of a person who holds a 1."""
        return coin(self.state_flip).mirrored()

    @property
    def _noise(self) -> Noise:
        return noise(self.report_flip.opposite(), self.report_flip)

    def new_state(self, value: int, source: Entropy) -> int:
        """The kept bit."""
        return checks.private_integer("value", value, below=2) ^ self.state_flip.happens(source)

    def make_report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        """The kept bit with new noise."""
        return state ^ self.report_flip.happens(source), state

    def pack_state(self, state: int) -> bytes:
        """The kept bit as one byte."""
        return pack_integers([state], 1)

    def unpack_state(self, payload: bytes) -> int:
        """The kept bit."""
        return unpack_integers(payload, 1, 1)[0]

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, 2, rounds, may_change=False)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        states = values.astype(np.uint64, copy=False) ^ self.state_flip.simulate(rng, values.shape)
        flips = self.report_flip.simulate(rng, (states.size, len(rounds)))
        return (states[:, None] ^ flips).astype(np.uint64, copy=False)
