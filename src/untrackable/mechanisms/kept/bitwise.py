"""Bitwise Everlasting Privacy [NV]: a noisy copy of one bit, reported through more noise."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.estimation.aggregators import BitAggregator, FloatArray, Reports, Source
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.interface import After, Mechanism, Values
from untrackable.mechanisms.observed_rounds import ObservedRounds, round_number
from untrackable.mechanisms.probabilities import Chance, coin, flip_chance, flip_eps, noise
from untrackable.mechanisms.simulated_values import integer_population
from untrackable.mechanisms.wrappers.fresh import everything_told
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.coordinate import (
    Coin,
    Noise,
    bit_log_likelihood,
    detection_factor,
    privacy_factor,
    remembered_flip_factor,
    tracking_factor,
    tracking_losses,
)
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, response_factor

_COUNTED = 10**6
"""Reports of which the numbers on two sides are counted."""
_ROUNDED = 1e-8
"""Share that floating point may take, at up to a million reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitwise(Mechanism):
    """Keeps the bit flipped with probability 1/(e^eps_state + 1), reports it flipped again, afresh each round."""

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

    def accuracy(self, people: int, *, beta: float = 0.05, round: int = 1) -> Accuracy:
        """Of the bit flipped twice."""
        lie = self._lie
        return Accuracy.of_shares(people, beta, there=1 - lie, elsewhere=lie)

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """One kept bit behind all reports."""
        kept = self._kept if value else self._kept.mirrored()
        return bit_log_likelihood(kept, self._noise, reports.sum(axis=1, dtype=np.int64), reports.shape[1])

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """One coordinate: by the numbers of ones on the two sides."""
        kept = self._kept if value else self._kept.mirrored()
        table = tracking_losses(kept, self._noise, first.shape[1], second.shape[1])
        ones = first.sum(axis=1, dtype=np.int64), second.sum(axis=1, dtype=np.int64)
        scores: FloatArray = table[ones[0][:, None], ones[1][None, :]]
        return scores

    @property
    def _lie(self) -> float:
        """That a report is not the bit."""
        state, report = self.state_flip.probability, self.report_flip.probability
        return state + report - 2 * state * report

    def aggregator(self, round: int = 1) -> BitAggregator:
        """Empty sums for one round; a client's rounds share its state, so they do not merge."""
        source = Source(self, round_number(round), pools=False)
        return BitAggregator(source, truth=1 - self._lie, lie=self._lie)

    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Experiment:
        """Fixed value: the state itself, or `reports` reports of it (exact).

        Any sequence of values, a client keeping one state per value: no two mixtures of reports are further
        apart than two reports of different states, so `reports` randomised responses dominate (upper).
        """
        checks.choice("values", values, ("fixed", "any"))
        count = None if reports is None else checks.integer("reports", reports, low=1)
        if values == "any":
            if count is None:
                return everything_told("upper")
            return Experiment([(response_factor(flip_eps(self.report_flip)), count)], certainty="upper")
        kept = self._kept
        if count is None:
            eps = flip_eps(self.state_flip)
            return Experiment([Factor([kept.one, kept.zero], [kept.zero, kept.one], [eps, -eps])])
        return Experiment([privacy_factor(kept, kept.mirrored(), self._noise, count)])

    def _trackings(self, seen: ObservedRounds) -> list[Experiment | Mixture]:
        """One coordinate, exact; the two values are mirror images."""
        return [
            Experiment([tracking_factor(self._kept, self._noise, seen.reports, j)]) for j in seen.tracking_splits(1)
        ]

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """For the worst split: exact but for room for rounding, up to 10^6 reports; of more, or of any, a limit."""
        from untrackable.theory.kept_advantage import flipped_distances

        kept, flip = self.state_flip.probability, self.report_flip
        told = 2 * kept * (1 - kept) * (1 + _ROUNDED)
        if reports is None or reports > _COUNTED:
            return told
        gap = 1 - Fraction(2 * flip.threshold, 1 << 64)
        apart = flipped_distances(reports, flip.probability, float(gap))
        return told * float((apart * apart[::-1]).max())

    def _detections(self, seen: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """One coordinate, exact: a fresh one with the opposite bias, or the same flip on the other bit."""
        kept = self._kept
        if after == "same":
            factors = [remembered_flip_factor(kept, self._noise, seen.reports, j) for j in seen.detection_splits(1)]
        else:
            other = kept.mirrored()
            factors = [
                detection_factor(kept, other, self._noise, seen.reports, j) for j in seen.detection_splits(1)
            ]
        return [Experiment([factor]) for factor in factors]

    @property
    def _kept(self) -> Coin:
        """The kept bit of someone who holds a 1."""
        return coin(self.state_flip).mirrored()

    @property
    def _noise(self) -> Noise:
        return noise(self.report_flip.opposite(), self.report_flip)

    def _new_state(self, value: int, source: Entropy) -> int:
        return checks.private_integer("value", value, below=2) ^ self.state_flip.happens(source)

    def _report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        return state ^ self.report_flip.happens(source), state

    def _pack(self, state: int) -> bytes:
        return pack_integers([state], 1)

    def _unpack(self, payload: bytes) -> int:
        return unpack_integers(payload, 1, 1)[0]

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, 2, rounds, may_change=False)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        states = values.astype(np.uint64, copy=False) ^ self.state_flip.simulate(rng, values.shape)
        flips = self.report_flip.simulate(rng, (states.size, len(rounds)))
        return (states[:, None] ^ flips).astype(np.uint64, copy=False)
