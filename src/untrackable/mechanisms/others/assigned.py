"""Public randomness that is assigned to each person: one of many numbered vectors, and one noisy bit.

Bassily, Nissim, Stemmer, Thakurta, "Practical Locally Private Heavy Hitters" (NIPS 2017). This is the client of
TreeHist and Bitstogram, reduced to one fact: the server must know whose randomness a bit was made with.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Estimate, FloatArray, InnerProductAggregator, Reports, Scope
from untrackable.estimation.inner_product_spread import inner_product_spread
from untrackable.estimation.spread import Spread
from untrackable.estimation.symmetric_spread import SymmetricSpreads, WeightCounts
from untrackable.kernels.transform import walsh_hadamard
from untrackable.mechanisms.entropy import Entropy, below
from untrackable.mechanisms.local.noisy_inner_product import LARGEST_SIMULATED_BITS, NoisyInnerProduct
from untrackable.mechanisms.others.fixed_vector import BitNoise, Certainty, QuestionMechanism
from untrackable.mechanisms.probabilities import flip_eps
from untrackable.theory.accuracy import Accuracy, inner_product_scale
from untrackable.theory.factor import Factor

_LARGEST_PEOPLE = 1 << 53
_MIXERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""They are odd, so that multiplying by them modulo 2^bits can be undone."""


def public_vector(number: int, bits: int) -> int:
    """The vector of this number: 1 + number mod (2^bits - 1), scrambled.

    x ← x ⊕ ⌊x/2^s⌋, x ← x·c mod 2^bits, twice, and x ← x ⊕ ⌊x/2^s⌋ once more, with s = ⌈bits/2⌉. Each step can be
    undone and maps 0 to 0. So all non-zero vectors have the same count of numbers, give or take one.
    """
    mask, shift = (1 << bits) - 1, (bits + 1) // 2
    x = 1 + number % mask
    for odd in _MIXERS:
        x = (x ^ x >> shift) * odd & mask
    return x ^ x >> shift


def public_vectors(numbers: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """The vectors of many numbers."""
    mask, shift = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    x = np.uint64(1) + numbers % mask
    for odd in _MIXERS:
        x = ((x ^ (x >> shift)) * np.uint64(odd)) & mask
    mixed: NDArray[np.uint64] = x ^ (x >> shift)
    return mixed


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedBit(NoisyInnerProduct):
    """A report is a random number below `people` and the noisy inner product with its vector: 2·number + bit."""

    people: int

    def __post_init__(self) -> None:
        checks.integer("bits", self.bits, low=1, high=LARGEST_SIMULATED_BITS)
        NoisyInnerProduct.__post_init__(self)
        checks.settle(self, people=checks.integer("people", self.people, low=1, high=_LARGEST_PEOPLE))

    @property
    def questions(self) -> int:
        """The number of questions: one for each person."""
        return self.people

    @property
    def report_bits(self) -> int:
        """Width of the number and the bit."""
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
        each, more = self._shared
        half = self.values // 2
        return (each * half + min(more, half)) / self.people

    def differing_exact(self) -> Fraction:
        """`differing` as an exact fraction."""
        each, more = self._shared
        half = self.values // 2
        return Fraction(each * half + min(more, half), self.people)

    def ask(self, entropy: Entropy) -> int:
        """A random number."""
        return below(self.people, entropy)

    def vector(self, question: int) -> int:
        """The public vector of a number."""
        return public_vector(question, self.bits)

    def vectors(self, questions: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The public vectors of numbers."""
        return public_vectors(questions, self.bits)

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The number takes 8 bytes, which may be redrawn, and then the noise takes 8 bytes."""
        value = checks.private_integer("value", value, below=self.values)
        number = self.ask(entropy)
        parity = (self.vector(number) & value).bit_count() & 1
        return 2 * number + (parity ^ self.flip.happens(entropy))

    def simulate_questions(self, people: int, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Independent numbers. Two people may get the same one."""
        return rng.integers(0, self.people, size=people, dtype=np.uint64)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        """One independent report for every entry."""
        numbers = rng.integers(0, self.people, size=values.shape, dtype=np.uint64)
        parity = np.bitwise_count(self.vectors(numbers) & values) & np.uint8(1)
        reports: NDArray[np.uint64] = (numbers << np.uint64(1)) | (parity ^ self.flip.simulate(rng, values.shape))
        return reports

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""
        return 0 <= report < 2 * self.people

    def privacy_factor(self) -> Factor:
        """The loss is ±eps if the two values have different answers for the vector, else 0."""
        lie, eps, differ = self.flip.probability, flip_eps(self.flip), self.differing()
        p, q = [differ * (1 - lie), differ * lie, 1 - differ], [differ * lie, differ * (1 - lie), 1 - differ]
        return Factor(p, q, [eps, -eps, 0.0])

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports have the same number and bit by chance."""
        lie = self.flip.probability
        equal = [(1 - lie) ** 2 / self.people, lie**2 / self.people]
        return Factor([1 - lie, lie, 0.0], [*equal, 1 - sum(equal)])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability of every report."""
        lie = self.flip.probability
        parity = np.bitwise_count(self.vectors(reports >> np.uint64(1)) & np.uint64(value)) & np.uint8(1)
        is_true = np.equal(parity, reports & np.uint64(1))
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
        """Empty sums by vector."""
        return NumberedAggregator(scope, self)


class NumberedAggregator(InnerProductAggregator):
    """Sums by the vector of each report's number."""

    def __init__(self, scope: Scope, local: NumberedBit) -> None:
        super().__init__(scope, bits=local.bits, flip=local.flip.probability)
        self._local = local
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

    def _array(self, reports: list[int]) -> Reports:
        if not all(self._local.possible(report) for report in reports):
            raise ValueError(f"a report must be between 0 and {2 * self._local.people - 1}")
        return np.array(reports, dtype=np.uint64)

    def _checked(self, reports: Reports) -> Reports:
        if reports.size and (int(reports.min()) < 0 or int(reports.max()) >= 2 * self._local.people):
            raise ValueError(f"a report must be between 0 and {2 * self._local.people - 1}")
        return reports

    def _possible(self, reports: Reports) -> None:
        """All reports in range are possible."""

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
