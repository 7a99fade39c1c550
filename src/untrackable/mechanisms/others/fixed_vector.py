"""One fixed vector per client, and noisy inner products with it.

Naor, Pinkas, Ronen, "How to (not) share a password" (CCS 2019), as described in [NV]. It is private for ever if the
noisy bit is fixed as well. The vector identifies the client either way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.errors import StateError
from untrackable.estimation.aggregators import Aggregator, FloatArray, Reports, Scope
from untrackable.framing import pack_integers, unpack_integers
from untrackable.mechanisms.checked_values import integer_population, per_round
from untrackable.mechanisms.entropy import Entropy, nonzero_vector
from untrackable.mechanisms.interface import After, Mechanism, Pair, Values
from untrackable.mechanisms.local.local_interface import Local
from untrackable.mechanisms.local.noisy_inner_product import LARGEST_SIMULATED_BITS, NoisyInnerProduct
from untrackable.mechanisms.observed_rounds import ObservedRounds, round_number
from untrackable.mechanisms.probabilities import Chance, flip_eps
from untrackable.mechanisms.wrappers.fresh import everything_revealed
from untrackable.mechanisms.wrappers.local_wrapper import LocalWrapper
from untrackable.mechanisms.wrappers.stored import Memoized
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, persistent_factor

BitNoise = Literal["fixed", "fresh"]
"""Whether a client draws the noisy bit once for ever, or anew for each report."""

Certainty = Literal["exact", "upper"]


class QuestionBase(Local, Protocol):
    """A local mechanism whose report is a visible question and one noisy bit: 2·question + bit.

    The bit is the inner product of the value and the question's vector, flipped with probability `flip`.
    """

    @property
    def flip(self) -> Chance:
        """The chance that the bit is a lie."""

    @property
    def questions(self) -> int:
        """The number of questions, all equally likely."""

    @property
    def certainty(self) -> Certainty:
        """Exact if some two values attain `differing`; else upper."""

    def __hash__(self) -> int:
        """The hash of the parameters."""

    def differing(self) -> float:
        """ρ, the largest share of questions with different answers for two values, or an upper bound on it."""

    def ask(self, entropy: Entropy) -> int:
        """A random question."""

    def vector(self, question: int) -> int:
        """The vector of a question."""

    def simulate_questions(self, people: int, rng: np.random.Generator) -> NDArray[np.uint64]:
        """One random question for each person."""

    def vectors(self, questions: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The vectors of questions."""


class QuestionState(NamedTuple):
    """A client's state if the noise is fresh: its question and its value."""

    question: int
    value: int


class QuestionMechanism(LocalWrapper):
    """A client draws one question once, answers it for ever, and sends it with every answer.

    With fixed noise, all reports repeat one report of the base. With fresh noise, every report is a new randomised
    response to the same question, so the answer leaks over time. Then the value may change: each report is about
    the value of its round.
    """

    __slots__ = ()
    base: QuestionBase
    noise: BitNoise

    @property
    def _once(self) -> Memoized:
        return _memoized(self.base)

    @property
    def _fixed(self) -> bool:
        return self.noise == "fixed"

    @property
    def changes_in_place(self) -> bool:
        """With fresh noise, a client keeps its question and replaces the value."""
        return not self._fixed

    @property
    def follows_changes(self) -> bool:
        """With fresh noise, all reports answer the same question, also when values change."""
        return not self._fixed

    def aggregator(self, round: int = 1) -> Aggregator:
        """Empty sums for one round; a client's rounds share its question, so they do not merge."""
        return self.base.aggregator(Scope(self, round_number(round), pools=False))

    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """Fixed noise: all reports are as private as one report of the base.

        Fresh noise: with probability ρ the two values have different answers, and each report is a randomised
        response. After enough reports the answer is known: δ(γ) = ρ for every γ.

        Any sequence of values: as in `Memoized`. With fresh noise, one randomised response per report (upper).
        """
        if values == "any":
            if self._fixed:
                return self._once._privacy(reports, "any")
            return everything_revealed("upper") if reports is None else self._responses(reports, "upper")
        if self._fixed:
            return Experiment([self.base.privacy_factor()], certainty=self.base.certainty)
        return Mixture(self._fresh_answers(reports))

    def _responses(self, count: int, certainty: Certainty) -> Experiment:
        lie, eps = self.base.flip.probability, flip_eps(self.base.flip)
        return Experiment([(Factor([1 - lie, lie], [lie, 1 - lie], [eps, -eps]), count)], certainty=certainty)

    def _fresh_answers(self, reports: int | None) -> list[tuple[float, float, Experiment]]:
        """Fresh noise: one value against another by `reports` reports, given the question."""
        differ, certainty = self.base.differing(), self.base.certainty
        apart = everything_revealed(certainty) if reports is None else self._responses(reports, certainty)
        return [(differ, differ, apart), (1 - differ, 1 - differ, Experiment())]

    def _trackings(self, observed: ObservedRounds) -> Sequence[Experiment | Mixture]:
        """The question links the reports of one person; with fixed noise, the whole report does (exact).

        Given the question and the value, fresh bits are independent and reveal nothing more.
        """
        if self._fixed:
            return self._once._trackings(observed)
        both_sides = 0 < observed.tracking_by_sides() < observed.reports
        return [Experiment([persistent_factor(self.base.questions)] if both_sides else [])]

    def _detections(self, observed: ObservedRounds, after: After) -> Sequence[Experiment | Mixture]:
        """A fresh client draws a new question, which reveals the change unless it is the same by chance.

        The same client keeps its question, so only the answers after the change reveal it. With fixed noise, it
        keeps one answer for each value.
        """
        return [self._detection(observed.reports, j, after) for j in observed.detection_by_sides()]

    def _detection(self, reports: int, split: int, after: After) -> Experiment | Mixture:
        if split == reports:
            return Experiment()
        if split == 0 and self._fixed:
            return Experiment([self.base.privacy_factor()], certainty=self.base.certainty)
        parts = self._answered_again() if self._fixed else self._fresh_answers(reports - split)
        if split == 0 or after == "same":
            return Mixture(parts)
        chance = 1 / self.base.questions
        return Mixture([*((p, q * chance, e) for p, q, e in parts), (0.0, 1 - chance, Experiment())])

    def _answered_again(self) -> list[tuple[float, float, Experiment]]:
        """Fixed noise: one answer on both sides against an answer for each of two values, given the question.

        The outcomes say whether the first answer is true, and whether the second is equal to it.
        """
        lie, differ, certainty = self.base.flip.probability, self.base.differing(), self.base.certainty
        true, once = 1 - lie, [1 - lie, lie, 0.0, 0.0]
        apart = Factor(once, [true * lie, lie * true, true**2, lie**2])
        alike = Factor(once, [true**2, lie**2, true * lie, lie * true])
        return [
            (differ, differ, Experiment([apart], certainty=certainty)),
            (1 - differ, 1 - differ, Experiment([alike], certainty=certainty)),
        ]

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The question must not change. Answers are independent or, with fixed noise, all the same."""
        if self._fixed:
            return self._once.log_likelihood(reports, value, rounds)
        questions, steady = self._questions(reports)
        lie = self.base.flip.probability
        parity = np.bitwise_count(self.base.vectors(questions) & np.uint64(value)) & np.uint8(1)
        true = np.equal(reports & np.uint64(1), parity[:, None])
        total: FloatArray = np.log(np.where(true, 1 - lie, lie)).sum(axis=1)
        return np.where(steady, total - np.log(float(self.base.questions)), -np.inf)

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """The scores, from the question. Different questions mean two people."""
        if self._fixed:
            return self._once.link_scores(first, second, value)
        (left, steady), (right, calm) = self._questions(first), self._questions(second)
        same = (left[:, None] == right[None, :]) & steady[:, None] & calm[None, :]
        return np.where(same, np.log(float(self.base.questions)), -np.inf)

    def _questions(self, reports: Reports) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """For each row: the first report's question, and whether all its reports have the same one."""
        questions = reports.astype(np.uint64, copy=False) >> np.uint64(1)
        return questions[:, 0], (questions == questions[:, :1]).all(axis=1)

    def new_state(self, value: int, source: Entropy) -> Any:
        """The one report if noise is fixed; the question and the value if it is fresh."""
        if self._fixed:
            return self._once.new_state(value, source)
        value = checks.private_integer("value", value, below=self.base.values)
        return QuestionState(self.base.ask(source), value)

    def make_report(self, state: Any, round: int, source: Entropy) -> tuple[int, Any]:
        """The one report; or the question, and its answer with new noise."""
        if self._fixed:
            return self._once.make_report(state, round, source)
        parity = (self.base.vector(state.question) & state.value).bit_count() & 1
        return 2 * state.question + (parity ^ self.base.flip.happens(source)), state

    def change_value(self, state: Any, value: int, source: Entropy) -> Any:
        """With fresh noise, the state with the same question and another value."""
        if self._fixed:
            return Mechanism.change_value(self, state, value, source)
        return QuestionState(state.question, checks.private_integer("value", value, below=self.base.values))

    def _value_bits(self) -> int:
        return (self.base.values - 1).bit_length()

    def pack_state(self, state: Any) -> bytes:
        """The report; or the question and the value."""
        if self._fixed:
            return self._once.pack_state(state)
        question = pack_integers([state.question], self.report_bits - 1)
        return question + pack_integers([state.value], self._value_bits())

    def unpack_state(self, payload: bytes) -> Any:
        """The state of these bytes. A question that does not exist is an error."""
        if self._fixed:
            return self._once.unpack_state(payload)
        size = (self.report_bits + 6) // 8
        (question,) = unpack_integers(payload[:size], self.report_bits - 1, 1)
        (value,) = unpack_integers(payload[size:], self._value_bits(), 1)
        if not self.base.possible(2 * question):
            raise StateError("this state has a question that its mechanism does not have")
        return QuestionState(question, value)

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, self.base.values, rounds, may_change=not self._fixed)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        if self._fixed:
            return self._once._simulate(values, rounds, rng)
        questions = self.base.simulate_questions(values.shape[0], rng)
        held = per_round(values, len(rounds))
        parity = np.bitwise_count(self.base.vectors(questions)[:, None] & held) & np.uint8(1)
        bits = parity ^ self.base.flip.simulate(rng, held.shape)
        reports: NDArray[np.uint64] = (questions[:, None] << np.uint64(1)) | bits
        return reports


@lru_cache(maxsize=64)
def _memoized(base: QuestionBase) -> Memoized:
    return Memoized(base)


class VectorQuestion(NoisyInnerProduct):
    """The noisy inner product, with its vector as the question."""

    __slots__ = ()

    @property
    def questions(self) -> int:
        """The number of non-zero vectors, 2^bits - 1."""
        return self.values - 1

    def ask(self, entropy: Entropy) -> int:
        """A uniform non-zero vector."""
        return nonzero_vector(self.bits, entropy)

    def vector(self, question: int) -> int:
        """The question itself."""
        return question

    def simulate_questions(self, people: int, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Uniform non-zero vectors."""
        if self.bits > LARGEST_SIMULATED_BITS:
            raise ValueError(f"bits must be at most {LARGEST_SIMULATED_BITS} in simulation, got {self.bits}")
        return rng.integers(1, self.values, size=people, dtype=np.uint64)

    def vectors(self, questions: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The questions themselves."""
        return questions


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedVector(QuestionMechanism):
    """A client draws a non-zero vector v once, and reports v with its inner product ⟨v, u⟩ with the value u.

    The bit is flipped with probability 1/(e^eps + 1). With `noise="fixed"` that is drawn once as well, so all
    reports are the same. With `noise="fresh"` it is drawn for each report, so an observer of many reports learns
    ⟨v, u⟩. A report is the integer 2·v + bit.
    """

    bits: int
    eps: float
    noise: BitNoise = "fixed"
    base: VectorQuestion = field(init=False, repr=False)

    published = "Naor, Pinkas, Ronen, How to (not) share a password (CCS 2019)"
    persists = "the vector, in the clear; with fixed noise the whole report, word for word"

    def __post_init__(self) -> None:
        checks.choice("noise", self.noise, ("fixed", "fresh"))
        base = VectorQuestion(bits=self.bits, eps=self.eps, width=1)
        checks.settle(self, bits=base.bits, eps=base.eps, base=base)
