"""Reports without a last round: they get noisier with every round, so that all together stay private for ever."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.errors import FadedAway, RoundPassed, StateError
from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports, Scope
from untrackable.estimation.inner_product_spread import inner_product_spreads
from untrackable.estimation.spread import Spreads
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.checked_values import integer_population, per_round
from untrackable.mechanisms.crowd_privacy import SentRounds, crowd_size
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.inner_product.crowd_solver import best_fading
from untrackable.mechanisms.inner_product.fading_privacy import (
    ALWAYS,
    ONE_BY_ONE,
    all_rounds,
    largest_scale,
    later_shift,
    rounded,
)
from untrackable.mechanisms.interface import After, Mechanism, Values
from untrackable.mechanisms.local.noisy_inner_product import (
    LARGEST_BITS,
    NoisyInnerProduct,
    checked_width,
    smallest_eps,
)
from untrackable.mechanisms.observed_rounds import ObservedRounds, round_number
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture

ROUND_BITS = 64
FAINT = 1e-9
"""The scale of a mechanism that is private whatever its budget is."""
_LARGEST_DETECTION = 2000
_SMALLEST_DELTA = 1e-11
LARGEST_CROWD_ROUNDS = 20_000
"""The largest number of rounds whose privacy in a crowd is computed."""

ndtri = NormalDist().inv_cdf
"""Φ⁻¹, from the standard library."""


class Memory(NamedTuple):
    """A client's state: the value, and the last round with its report. Both are 0 before the first report."""

    value: int
    round: int
    report: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading(Mechanism):
    """In round t a client sends a new noisy inner product with eps_t = scale·t^(-power), power > ½.

    Rounds are independent given the value, so the reports of one person and of two people look exactly alike.
    Σ eps_t² is finite, so all rounds together are (eps, delta)-private. The price is accuracy: the error of round t
    grows as t^power, for everyone, including people who join late.

    `scale` is the eps of the first round, by default the largest that the budget allows. It is a parameter so that
    all clients and the collector agree on it. `width` is the width of an answer, by default one bit: later rounds
    are so noisy that one bit is best.
    """

    bits: int
    eps: float
    delta: float
    power: float = 0.75
    scale: float = 0.0
    width: int = 1

    persists = "nothing"
    independent = True
    rounds_alike = False

    def __post_init__(self) -> None:
        checks.settle(self, bits=checks.integer("bits", self.bits, low=1, high=LARGEST_BITS))
        checks.settle(self, width=checked_width(self.width, self.bits))
        self._settle_numbers()
        if self.scale == 0:
            checks.settle(self, scale=largest_scale(self.bits, self.width, self.eps, self.delta, self.power))
        else:
            self._check_scale()

    def _settle_numbers(self) -> None:
        checks.settle(
            self,
            eps=checks.positive("eps", self.eps),
            delta=checks.open_probability("delta", self.delta),
            power=checks.positive("power", self.power),
            scale=checks.non_negative("scale", self.scale),
        )
        if not 0.5 < self.power <= 4:
            raise ValueError(f"power must be above 0.5 and at most 4, got {self.power}")
        if self.delta < _SMALLEST_DELTA:
            raise ValueError(f"delta must be at least {_SMALLEST_DELTA}, got {self.delta}")

    def _check_scale(self) -> None:
        if not self._plainly_private() and self._privacy(None, "any").delta(self.eps).upper > self.delta:
            raise ValueError(
                f"scale must keep all rounds ({self.eps}, {self.delta})-private, {self.scale} is too large"
            )

    @classmethod
    def for_budget(
        cls,
        *,
        bits: int,
        eps: float,
        delta: float,
        power: float = 0.75,
        width: int = 1,
        rounds: int | None = None,
    ) -> Self:
        """The loudest mechanism whose first `rounds` rounds, or all for ever, are (eps, delta)-private.

        With `rounds`, reports may be louder. The mechanism's own `eps` is then larger: that of all rounds for ever.
        """
        if rounds is None:
            return cls(bits=bits, eps=eps, delta=delta, power=power, width=width)
        last = checks.integer("rounds", rounds, low=1)
        # A faint mechanism checks the parameters, and no scale has to be found for it.
        asked = cls(bits=bits, eps=eps, delta=delta, power=power, width=width, scale=FAINT)
        scale, own = loudest((asked.bits, asked.width, asked.eps, asked.delta, asked.power), last)
        return cls(bits=bits, eps=own, delta=delta, power=power, scale=scale, width=width)

    @classmethod
    def for_crowd(
        cls,
        *,
        bits: int,
        rounds: int,
        people: int,
        eps: float,
        delta: float,
        power: float = 0.75,
        share: float = 0.0,
    ) -> Self:
        """The mechanism with the smallest error in its last round whose first rounds a crowd keeps private.

        The observer sees all reports of `people` people in every round, but not who sent which. The error
        is that of a value that this `share` of people holds. Somebody who knows which reports are a person's learns
        far more: the mechanism's own `eps` is that of all rounds for ever, at the same delta.
        """
        asked = cls(bits=bits, eps=eps, delta=delta, power=power, scale=FAINT)
        scale, width = best_fading(
            bits=asked.bits,
            rounds=checks.integer("rounds", rounds, low=1, high=LARGEST_CROWD_ROUNDS),
            people=crowd_size(people),
            eps=asked.eps,
            delta=asked.delta,
            power=asked.power,
            share=checks.probability("share", share),
        )
        alone = all_rounds(asked.bits, width, scale, asked.power, math.inf).gamma(asked.delta).upper
        return cls(bits=bits, eps=rounded(alone, up=True), delta=delta, power=power, scale=scale, width=width)

    def held_error(self, people: int, *, share: float, round: int = 1) -> float:
        """The standard error of a value that this share of people holds, in one round, given who does (exact)."""
        return self.base(round).held_error(people, share)

    def _plainly_private(self) -> bool:
        """Whether eps covers the largest loss of the first rounds plus the loss of the others, except for delta.

        This bound costs next to nothing, and is enough if eps is far above what is spent. The loss of N(0, 1)
        against N(μ, 1) is N(μ²/2, μ²).
        """
        first = math.fsum(self.eps_report(t) for t in range(1, ONE_BY_ONE + 1))
        if first >= self.eps:
            return False
        shift = self._later_shift(ONE_BY_ONE, math.inf)
        return first + shift**2 / 2 - shift * ndtri(self.delta) < self.eps

    def eps_report(self, round: int) -> float:
        """The eps of one round, eps_t."""
        return self.scale * math.pow(round_number(round), -self.power)

    def base(self, round: int) -> NoisyInnerProduct:
        """The local mechanism of one round."""
        return NoisyInnerProduct(bits=self.bits, eps=self.eps_report(round), width=self.width)

    @property
    def report_bits(self) -> int:
        """Width of the vectors and the answer."""
        return self.width * (self.bits + 1)

    @property
    def capacity(self) -> int:
        """The number of values, 2^bits."""
        return 1 << self.bits

    def independent_errors(self, values: int) -> int:
        """One error for every value that the bits can hold. With one bit, both values have the same error."""
        return 1 if self.bits == 1 else min(self.capacity, 1 << (values - 1).bit_length())

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
        """The accuracy of the round's noisy inner product."""
        return self.base(round).accuracy(people, beta)

    def truthfulness(self) -> Truthfulness:
        """That of the first round, which is the loudest."""
        return self.base(1).truthfulness()

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The sum over independent reports, each with the noise of its round."""
        total = np.zeros(reports.shape[0])
        for i, r in enumerate(rounds):
            total += self.base(r).log_likelihood(reports[:, i], value)
        return total

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """All scores are 0, because rounds are independent given the value."""
        return np.zeros((first.shape[0], second.shape[0]))

    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums for one round."""
        return self.base(round).aggregator(Scope(self, round, pools=False))

    def round_spreads(self, rounds: Sequence[int]) -> Spreads:
        """The spreads of the estimates of single rounds, along the first of two axes."""
        flips = np.array([[self.base(round).flip.probability] for round in rounds])
        return inner_product_spreads(bits=self.bits, flip=flips, width=self.width)

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """The privacy of all rounds, or of the first `reports`, which reveal most (exact for few, else upper).

        It is the same for any sequence of values.
        """
        return all_rounds(self.bits, self.width, self.scale, self.power, math.inf if reports is None else reports)

    def _unlinked_rounds(self, reports: int | None) -> SentRounds:
        """A new report for every round, each with its own noise."""
        if reports is None:
            raise ValueError("reports must be given: fading reports have no last round")
        reports = checks.integer("reports", reports, low=1, high=LARGEST_CROWD_ROUNDS)
        return [(self.base(round), 1) for round in range(1, reports + 1)]

    def shift(self, *, round: int = 1) -> float:
        """That of the round's noisy inner product, which grows with the round."""
        return self.base(round).largest_weight()

    def _later_shift(self, after: int, last: float) -> float:
        return later_shift(self.bits, self.width, self.scale, self.power, after, last)

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """Nobody can tell one person from two, because rounds are independent given the value."""
        self._unlike(observed)
        return [Experiment()]

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """The rounds after the change reveal it, each with its own eps_t. By default all rounds do."""
        self._unlike(observed)
        if observed.reports > _LARGEST_DETECTION:
            raise ValueError(f"detection takes at most {_LARGEST_DETECTION} rounds, got {observed.reports}")
        before = observed.first or frozenset()
        return [Experiment([self.base(r).privacy_factor() for r in observed.rounds if r not in before])]

    def _unlike(self, observed: ObservedRounds) -> None:
        if observed.counted and observed.first is not None:
            raise ValueError("the rounds of Fading are not alike: give rounds and first instead of split")

    def new_state(self, value: int, source: Entropy) -> Memory:
        """The value, before any report."""
        return Memory(checks.private_integer("value", value, below=1 << self.bits), 0, 0)

    def make_report(self, state: Memory, round: int, source: Entropy) -> tuple[int, Memory]:
        """A noisy inner product with the round's eps. The last round's report can be repeated."""
        if round < state.round:
            raise RoundPassed(f"round {round} is over: this client has reported in a later round")
        if round == state.round:
            return state.report, state
        if self.eps_report(round) < smallest_eps(self.width):
            raise FadedAway(f"the report of round {round} would be a fair coin, so there are no more reports")
        report = self.base(round).draw(state.value, source)
        return report, Memory(state.value, round, report)

    def forget_report(self, state: Memory, round: int, source: Entropy) -> Memory:
        """The state with a random report of value 0 in place of the last report."""
        return state._replace(report=self.base(round).draw(0, source))

    def change_value(self, state: Memory, value: int, source: Entropy) -> Memory:
        """The state with another value for all later rounds."""
        return state._replace(value=checks.private_integer("value", value, below=1 << self.bits))

    def pack_state(self, state: Memory) -> bytes:
        """The last round, the value and the last report, one after the other."""
        return (
            pack_integers([state.round], ROUND_BITS)
            + pack_integers([state.value], self.bits)
            + pack_integers([state.report], self.report_bits)
        )

    def unpack_state(self, payload: bytes) -> Memory:
        """The state of these bytes. A round without a report, or a report without a round, is an error."""
        value_end = 8 + (self.bits + 7) // 8
        (round,) = unpack_integers(payload[:8], ROUND_BITS, 1)
        (value,) = unpack_integers(payload[8:value_end], self.bits, 1)
        (report,) = unpack_integers(payload[value_end:], self.report_bits, 1)
        if (round == 0) != (report == 0) or (report and not self._loud.possible(report)):
            raise StateError("this state has a round without a report, or a report without a round")
        return Memory(value, round, report)

    @property
    def _loud(self) -> NoisyInnerProduct:
        """A round's mechanism with some eps, for questions that do not depend on eps."""
        return NoisyInnerProduct(bits=self.bits, eps=1.0, width=self.width)

    def _words(self) -> int:
        return self._loud.words

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, 1 << self.bits, rounds, may_change=True)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        columns = per_round(values, len(rounds))
        reports: NDArray[Any] = np.stack(
            [self.base(r).simulate(columns[:, i], rng) for i, r in enumerate(rounds)], axis=1
        )
        return reports


@lru_cache(maxsize=64)
def loudest(
    parameters: tuple[int, int, float, float, float], rounds: int, share: Fraction = ALWAYS
) -> tuple[float, float]:
    """The largest scale whose first rounds keep the budget, and eps of all rounds; `share` as in `all_rounds`."""
    bits, width, eps, delta, power = parameters
    scale = max(largest_scale(*parameters, last, share) for last in (rounds, math.inf))
    everything = all_rounds(bits, width, scale, power, math.inf, share)
    return scale, max(eps, rounded(everything.gamma(delta).upper, up=True))
