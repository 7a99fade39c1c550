"""One question per client that never changes, and noisy inner products with its vector.

`FixedVector` draws the vector: Naor, Pinkas, Ronen, "How to (not) share a password" (CCS 2019), as described in
[NV]. It is private for ever if the noisy bit is fixed as well. The vector identifies the client either way.

`Assigned` gives each client one of many numbered vectors, which are public randomness: Bassily, Nissim, Stemmer,
Thakurta, "Practical Locally Private Heavy Hitters" (NIPS 2017). This is the client of TreeHist and Bitstogram,
reduced to one fact: the server must know whose randomness a bit was made with.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray, Words
from untrackable.errors import StateError
from untrackable.estimation.aggregators import Aggregator, InnerProductAggregator, Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import Spread, SymmetricSpreads, WeightCounts, inner_product_spread
from untrackable.kernels.counting import walsh_hadamard
from untrackable.mechanisms.inner_product import LARGEST_SIMULATED_BITS, NoisyInnerProduct
from untrackable.mechanisms.interface import After, Mechanism, ObservedRounds, Pair, Values, everything_revealed
from untrackable.mechanisms.local import LocalWrapper
from untrackable.mechanisms.local_interface import per_round
from untrackable.mechanisms.stored import Memoized
from untrackable.randomizers.interface import pack_integers, unpack_integers
from untrackable.randomizers.randomness import FIRST, SECOND, Entropy, below, flip_eps, nonzero_vector
from untrackable.theory.accuracy import Accuracy, inner_product_scale
from untrackable.theory.experiment import Certainty, Experiment, Mixture
from untrackable.theory.factor import Factor, persistent_factor

BitNoise = Literal["fixed", "fresh"]
"""Whether a client draws the noisy bit once for ever, or again for each report."""


class VectorQuestion(NoisyInnerProduct):
    """The noisy inner product of one bit, with its vector as a visible question: 2·question + bit."""

    __slots__ = ()

    @property
    def questions(self) -> int:
        """The number of questions, all equally likely."""
        return self.values - 1

    def ask(self, entropy: Entropy) -> int:
        """A random question."""
        return nonzero_vector(self.bits, entropy)

    def vector(self, question: int) -> int:
        """The vector of a question."""
        return question

    def simulate_questions(self, people: int, rng: np.random.Generator) -> Words:
        """One random question for each person. Two people may get the same one."""
        if self.bits > LARGEST_SIMULATED_BITS:
            raise ValueError(f"bits must be at most {LARGEST_SIMULATED_BITS} in simulation, got {self.bits}")
        return rng.integers(1, self.values, size=people, dtype=np.uint64)

    def vectors(self, questions: Words) -> Words:
        """The vectors of questions."""
        return questions

    def parities(self, questions: Words, values: Words | np.uint64) -> NDArray[np.uint8]:
        """The true answers."""
        return np.asarray(np.bitwise_count(self.vectors(questions) & values) & np.uint8(1))

    def simulated_answers(self, questions: Words, values: Words, rng: np.random.Generator) -> Words:
        """Reports with these questions, and noisy answers."""
        noise = self.flip.simulate(rng, values.shape)
        return np.asarray((questions << np.uint64(1)) | (self.parities(questions, values) ^ noise))

    def answered(self, question: int, value: int, entropy: Entropy) -> int:
        """The report with this question, and a noisy answer from 8 bytes."""
        parity = (self.vector(question) & value).bit_count() & 1
        return 2 * question + (parity ^ self.flip.happens(entropy))


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
    base: VectorQuestion
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
        return self.base.aggregator(self._one_round(round))

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
        true = np.equal(reports & np.uint64(1), self.base.parities(questions, np.uint64(value))[:, None])
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
        return self.base.answered(state.question, state.value, source), state

    def change_value(self, state: Any, value: int, source: Entropy) -> Any:
        if self._fixed:
            return Mechanism.change_value(self, state, value, source)
        return QuestionState(state.question, checks.private_integer("value", value, below=self.base.values))

    @property
    def _widths(self) -> tuple[int, int]:
        return self.report_bits - 1, (self.base.values - 1).bit_length()

    def pack_state(self, state: Any) -> bytes:
        if self._fixed:
            return self._once.pack_state(state)
        return pack_integers(state, self._widths)

    def unpack_state(self, payload: bytes) -> Any:
        if self._fixed:
            return self._once.unpack_state(payload)
        question, value = unpack_integers(payload, self._widths)
        if not self.base.possible(2 * question):
            raise StateError("this state has a question that its mechanism does not have")
        return QuestionState(question, value)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        if self._fixed:
            return self._once._simulate(values, rounds, rng)
        questions = self.base.simulate_questions(values.shape[0], rng)
        return self.base.simulated_answers(questions[:, None], per_round(values, len(rounds)), rng)


@lru_cache(maxsize=64)
def _memoized(base: VectorQuestion) -> Memoized:
    return Memoized(base)


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


_LARGEST_PEOPLE = 1 << 53


def public_vector(number: int, bits: int) -> int:
    """The vector of this number: 1 + number mod (2^bits - 1), scrambled.

    x ← x ⊕ ⌊x/2^s⌋, x ← x·c mod 2^bits, twice, and x ← x ⊕ ⌊x/2^s⌋ once more, with s = ⌈bits/2⌉. Each step can be
    undone, as both c are odd, and maps 0 to 0. So all non-zero vectors have the same count of numbers, give or take
    one.
    """
    mask, shift = (1 << bits) - 1, (bits + 1) // 2
    x = 1 + number % mask
    for odd in (FIRST, SECOND):
        x = (x ^ x >> shift) * odd & mask
    return x ^ x >> shift


def public_vectors(numbers: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """The vectors of many numbers."""
    mask, shift = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    x = np.uint64(1) + numbers % mask
    for odd in (FIRST, SECOND):
        x = ((x ^ (x >> shift)) * np.uint64(odd)) & mask
    return np.asarray(x ^ (x >> shift))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedBit(VectorQuestion):
    """A report is a random number below `people` and the noisy inner product with its vector: 2·number + bit."""

    people: int

    def __post_init__(self) -> None:
        checks.integer("bits", self.bits, low=1, high=LARGEST_SIMULATED_BITS)
        NoisyInnerProduct.__post_init__(self)
        checks.settle(self, people=checks.integer("people", self.people, low=1, high=_LARGEST_PEOPLE))

    @property
    def questions(self) -> int:
        return self.people

    @property
    def report_bits(self) -> int:
        return (2 * self.people - 1).bit_length()

    @property
    def _shared(self) -> tuple[int, int]:
        """The number of numbers that every vector has at least, and the number of vectors with one more."""
        return divmod(self.people, self.values - 1)

    @property
    def certainty(self) -> Certainty:
        """Exact if every vector has equally many numbers, else upper."""
        return "upper" if self._shared[1] else "exact"

    def differing(self) -> float:
        """ρ if every vector has equally many numbers. Else all vectors with one more number count as differing."""
        return float(self.differing_exact())

    def differing_exact(self) -> Fraction:
        each, more = self._shared
        half = self.values // 2
        return Fraction(each * half + min(more, half), self.people)

    def ask(self, entropy: Entropy) -> int:
        return below(self.people, entropy)

    def vector(self, question: int) -> int:
        return public_vector(question, self.bits)

    def vectors(self, questions: Words) -> Words:
        return public_vectors(questions, self.bits)

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The number takes 8 bytes, which may be redrawn, and then the noise takes 8 bytes."""
        value = checks.private_integer("value", value, below=self.values)
        return self.answered(self.ask(entropy), value, entropy)

    def simulate_questions(self, people: int, rng: np.random.Generator) -> Words:
        return rng.integers(0, self.people, size=people, dtype=np.uint64)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        numbers = rng.integers(0, self.people, size=values.shape, dtype=np.uint64)
        return self.simulated_answers(numbers, values, rng)

    def possible(self, report: int) -> bool:
        return 0 <= report < 2 * self.people

    def privacy_factor(self) -> Factor:
        """The loss is ±eps if the two values have different answers for the vector, else 0."""
        lie, eps, differ = self.flip.probability, flip_eps(self.flip), self.differing()
        p, q = [differ * (1 - lie), differ * lie, 1 - differ], [differ * lie, differ * (1 - lie), 1 - differ]
        return Factor(p, q, [eps, -eps, 0.0])

    def repeat_factor(self) -> Factor:
        lie = self.flip.probability
        equal = [(1 - lie) ** 2 / self.people, lie**2 / self.people]
        return Factor([1 - lie, lie, 0.0], [*equal, 1 - sum(equal)])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        lie = self.flip.probability
        is_true = np.equal(self.parities(reports >> np.uint64(1), np.uint64(value)), reports & np.uint64(1))
        return np.log(np.where(is_true, 1 - lie, lie)) - math.log(self.people)

    def weights(self) -> tuple[float, float]:
        """The weights that make every vector count equally: people/(c·(2^d-1)) for c numbers, and for c + 1."""
        each, _ = self._shared
        if each == 0:
            raise ValueError(
                f"people must be at least {self.values - 1}, one for each vector, to estimate all values, "
                f"got {self.people}"
            )
        equal = self.people / (self.values - 1)
        return equal / each, equal / (each + 1)

    def mean_square_weight(self) -> float:
        """The mean square weight of a uniform number."""
        each, more = self._shared
        usual, smaller = self.weights()
        return ((self.values - 1 - more) * each * usual**2 + more * (each + 1) * smaller**2) / self.people

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error from one report per person: a scaled mean of ±1 for the vector."""
        scale = inner_product_scale(self.bits, flip_eps(self.flip))
        mean = (1 - 2 * self.flip.probability) / (self.values - 1)
        span, square = 2 * scale * self.weights()[0], self.mean_square_weight()
        return Accuracy.of(people, beta, span=span, variance=scale**2 * (square - mean**2))

    def aggregator(self, scope: Scope) -> "NumberedAggregator":
        return NumberedAggregator(scope, self)


class NumberedAggregator(InnerProductAggregator):
    """Sums by the vector of each report's number."""

    def __init__(self, scope: Scope, local: NumberedBit) -> None:
        super().__init__(scope, bits=local.bits, flip=local.flip.probability)
        self._local, self._limits = local, (0, 2 * local.people - 1)
        self._weights = local.weights()

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """The estimate for uniform vectors, with weights that make vectors with one more number count equally."""
        values, gap = self._local.values, 1 - 2 * self._flip
        scale = (1 - 1 / values) / gap
        more = self._local.vectors(np.arange(self._local._shared[1], dtype=np.uint64)).astype(np.int64)
        crowded = np.zeros_like(self.sums)
        crowded[more] = self.sums[more]
        usual, smaller = self._weights
        total = usual * walsh_hadamard(self.sums - crowded) + smaller * walsh_hadamard(crowded)
        frequencies = scale * total / n + 1 / values
        held = np.clip(frequencies, 0, 1)
        mean_square = held * gap**2 + (1 - held) * (gap / (values - 1)) ** 2
        span = 2 * scale * usual
        error = scale * np.sqrt((self._local.mean_square_weight() - mean_square) / n)
        return Estimate(
            frequencies,
            n,
            beta,
            error,
            span=np.full(values, span),
            spread=SymmetricSpreads(values, self._spread),
        )

    def _spread(self, given: WeightCounts) -> Spread:
        """The spread for uniform vectors, with the largest weight w (upper).

        A vector of probability p has the weight that makes p·weight the same for all. So the mean square grows by
        at most w, and so does what one report adds.
        """
        usual, values = self._weights[0], self._local.values
        alike = inner_product_spread(given, bits=self._bits, flip=self._flip, width=1)
        scale = (1 - 1 / values) / (1 - 2 * self._flip)
        centred = given.weights - given.total / values
        square = usual * scale**2 * values / (values - 1) * (given.squares - given.total**2 / values)
        return Spread.of_term(given.worst(square - centred**2), usual * alike.span)

    _checked, _possible = Aggregator._checked, Aggregator._possible

    def _add(self, reports: Reports) -> None:
        flat = reports.reshape(-1).astype(np.uint64)
        vectors = self._local.vectors(flat >> np.uint64(1))
        super()._add((vectors << np.uint64(1)) | (flat & np.uint64(1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned(QuestionMechanism):
    """Each client gets one of `people` public numbers and reports it with a noisy inner product.

    `public_vectors` turns the number into a vector. The bit alone would be useless: the server needs the number to
    decode it. So every report of a person has the same number, and all of them can be linked. Noise is as in
    `FixedVector`. A report is the integer 2·number + bit.
    """

    bits: int
    eps: float
    people: int
    noise: BitNoise = "fixed"
    base: NumberedBit = field(init=False, repr=False)

    published = "Bassily, Nissim, Stemmer, Thakurta, Practical Locally Private Heavy Hitters (NIPS 2017)"
    persists = "the person's number, in the clear; with fixed noise the whole report, word for word"

    def __post_init__(self) -> None:
        checks.choice("noise", self.noise, ("fixed", "fresh"))
        base = NumberedBit(bits=self.bits, eps=self.eps, width=1, people=self.people)
        checks.settle(self, bits=base.bits, eps=base.eps, people=base.people, base=base)
