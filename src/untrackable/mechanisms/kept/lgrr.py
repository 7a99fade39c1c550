"""L-GRR, memoised randomised response: a client keeps a noisy value for ever and adds noise to every report.

Arcolezi, Couchot, Al Bouna, Xiao, "Improving the utility of locally differentially private protocols for
longitudinal and multidimensional frequency estimates" (Digital Communications and Networks, 2022).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.errors import StateError
from untrackable.estimation.aggregators import FloatArray, Reports, Scope
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.checked_values import integer_population
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.kept.kept_symbol import KeptSymbol, ShareAggregator, Step, steps_for
from untrackable.mechanisms.observed_rounds import round_number
from untrackable.mechanisms.probabilities import Chance
from untrackable.theory.kept_advantage import kept_symbol_advantage_upper
from untrackable.theory.symbol_factors import log_power_minus_one, symbol_log_likelihood
from untrackable.theory.tracking_bounds import permanent_state_upper

LARGEST = 1 << 20
_DEEPEST = 600.0
"""With larger exponents of ρ, products of its powers would underflow."""
_PAIRS = 1 << 16
"""The number of pairs of rows that are compared at a time, if each pair is computed by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lgrr(KeptSymbol):
    """A client keeps its value, or another one with probability 1-`keep`, for ever. Each report adds new noise.

    A report names the kept value, or with probability 1-`tell` any other value, drawn anew for each report. The
    kept value stays the same, so it links the reports.
    """

    values: int
    keep: float
    tell: float
    keep_lie: Chance = field(init=False, repr=False)
    tell_lie: Chance = field(init=False, repr=False)

    published = "Arcolezi, Couchot, Al Bouna, Xiao, L-GRR (DCN 2022)"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # The usage example of the authors' package multi-freq-ldpy: 10 values, eps 2 for ever, 0.5 for one report.
        "example": dict(zip(("values", "keep", "tell"), (10, *steps_for(10, 2.0, 0.5, "published")), strict=True)),
    }

    def __post_init__(self) -> None:
        checks.settle(self, values=checks.integer("values", self.values, low=2, high=LARGEST))
        self._settle_steps("values")

    @classmethod
    def for_budget(cls, *, values: int, eps: float, eps_report: float, step: Step = "published") -> Self:
        """The mechanism that is `eps`-private for ever and at least `eps_report`-private for a single report.

        With the published second step and more than two values, a single report is more private than that. The
        exact step spends all of `eps_report`.
        """
        values = checks.integer("values", values, low=2, high=LARGEST)
        keep, tell = steps_for(values, eps, eps_report, step)
        return cls(values=values, keep=keep, tell=tell)

    @property
    def report_bits(self) -> int:
        """Width of a value."""
        return (self.values - 1).bit_length()

    @property
    def capacity(self) -> int:
        """The number of values."""
        return self.values

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """A bound on the advantage from one kept symbol."""
        if reports is None:
            return 1 - self.keep**2 - (1 - self.keep) ** 2 / (self.values - 1)
        return kept_symbol_advantage_upper(self.keep, self.tell, self.values, reports)

    def tracking_ratio_upper(self, reports: int | None) -> float:
        """The bound that holds for every permanent state, with the odds of reporting the kept value."""
        return permanent_state_upper(reports, math.log(self.tell * (self.values - 1) / (1 - self.tell)))

    def _alphabet(self) -> int:
        return self.values

    def _shares(self) -> tuple[float, float]:
        there = self._kept.then(self._reported)
        return there, (1 - there) / (self.values - 1)

    def aggregator(self, round: int = 1) -> "LgrrAggregator":
        """Empty sums for one round; a client's rounds share its state, so they do not merge."""
        return LgrrAggregator(
            Scope(self, round_number(round), pools=False), self.values, self._shares(), self.values - 1
        )

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The log probability, from the number of times that each value was reported."""
        return self._likelihood(reports, value)

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """The scores, from the number of times that each value was reported on both sides."""
        alone = self._likelihood(first, value)[:, None] + self._likelihood(second, value)[None, :]
        step, shorter = self._reported.eps, min(first.shape[1], second.shape[1])
        if step * shorter > _DEEPEST:
            return self._together_by_pair(first, second, value) - alone
        return self._together(first, second, value) - alone

    def _likelihood(self, reports: Reports, value: int) -> FloatArray:
        return symbol_log_likelihood(self._kept, self._reported, reports, np.full(reports.shape[0], value))

    def _together(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """Log probability of all pairs; Σπρ^(x+y) is 1 + Σπe + Σπe' + Σπee', the last a product of two matrices.

        The powers of ρ are divided by the largest of each row, so that only negligible terms underflow.
        """
        kept, step = self._kept, self._reported.eps
        reported = np.unique(np.concatenate((first.reshape(-1), second.reshape(-1))))
        prior = np.where(reported == value, kept.truth, kept.other)
        scaled, tops, means = [], [], []
        for side in (first, second):
            positions = np.searchsorted(reported, side) + reported.size * np.arange(side.shape[0])[:, None]
            counts = np.bincount(positions.reshape(-1), minlength=reported.size * side.shape[0])
            counts = counts.reshape(-1, reported.size)
            top = step * counts.max(axis=1)
            scaled.append(np.exp(log_power_minus_one(step, side.shape[1])[counts] - top[:, None]))
            tops.append(top)
            with np.errstate(divide="ignore"):
                means.append(np.log(scaled[-1] @ prior) + top)
        with np.errstate(divide="ignore"):
            both = np.log((scaled[0] * prior) @ scaled[1].T) + tops[0][:, None] + tops[1][None, :]
        one_side = np.logaddexp(np.logaddexp(0.0, means[0])[:, None], means[1][None, :])
        total: FloatArray = np.logaddexp(one_side, both)
        total += (first.shape[1] + second.shape[1]) * math.log(self._reported.other)
        return total

    def _together_by_pair(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """Log probability of all pairs, computed pair by pair. This works for any ρ."""
        scores = np.empty((first.shape[0], second.shape[0]))
        size = max(1, _PAIRS // max(1, second.shape[0]))
        for start in range(0, first.shape[0], size):
            some = first[start : start + size]
            pairs = np.concatenate(
                (np.repeat(some, second.shape[0], axis=0), np.tile(second, (some.shape[0], 1))), axis=1
            )
            scores[start : start + size] = self._likelihood(pairs, value).reshape(some.shape[0], -1)
        return scores

    def new_state(self, value: int, source: Entropy) -> int:
        """The value, or any other one."""
        return self._noisy(checks.private_integer("value", value, below=self.values), self.keep_lie, source)

    def make_report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        """The kept value, or any other one."""
        return self._noisy(state, self.tell_lie, source), state

    def pack_state(self, state: int) -> bytes:
        """The kept value as bytes."""
        return pack_integers([state], self.report_bits)

    def unpack_state(self, payload: bytes) -> int:
        """The kept value, after checks."""
        (state,) = unpack_integers(payload, self.report_bits, 1)
        if state >= self.values:
            raise StateError("this state has a value that its mechanism does not have")
        return state

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, self.values, rounds, may_change=False)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        kept = self._simulate_noisy(values.astype(np.uint64, copy=False), self.keep_lie, rng)
        return self._simulate_noisy(np.repeat(kept[:, None], len(rounds), axis=1), self.tell_lie, rng)


class LgrrAggregator(ShareAggregator):
    """Counts of the reports that name each value."""

    def _tally(self, reports: NDArray[np.uint64]) -> None:
        self.counts += np.bincount(reports.astype(np.int64), minlength=self.counts.size)
