"""The noisy inner product [NV, RNIP]: random vectors, and their inner products with a d-bit value, with noise."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import (
    LARGEST_DENSE_BITS,
    FloatArray,
    InnerProductAggregator,
    Reports,
    Scope,
)
from untrackable.estimation.candidate_sums import CandidateAggregator
from untrackable.kernels.inner_products import noisy_inner_products
from untrackable.mechanisms.entropy import Entropy, independent_vectors, nonzero_vector
from untrackable.mechanisms.local import multi_bit_reports
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.multi_bit_sums import WideAggregator, WideCandidateAggregator
from untrackable.mechanisms.probabilities import (
    Chance,
    flip_chance,
    flip_eps,
    flip_eps_upper,
    noisy_symbol,
    simulate_noisy_symbols,
)
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy, inner_product_scale, inner_product_variance
from untrackable.theory.crowd_classes import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor

LARGEST_BITS = 256
LARGEST_SIMULATED_BITS = 63


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class NoisyInnerProduct:
    """A report is a random non-zero vector v with a bit: the inner product ⟨v, u⟩ of v and the value u, with noise.

    The bit is flipped with probability 1/(e^eps + 1). With `width` w, a report has w linearly independent vectors
    A, uniform among all such lists, and the answer A·u of w bits. With probability (g-1)/(e^eps + g-1), g = 2^w, it
    has any other of the g answers instead. One bit is best for small eps, a wider answer for large eps. By default
    the width is the one with the smallest variance.

    A report is the integer 2·v + bit, or in general answer + 2^w·(v₀ + 2^d·v₁ + …).
    """

    bits: int
    eps: float
    width: int
    flip: Chance = field(init=False, repr=False)

    def __init__(self, *, bits: int, eps: float, width: int | None = None) -> None:
        checks.settle(self, bits=bits, eps=eps, width=width)
        self.__post_init__()

    def __post_init__(self) -> None:
        bits = checks.integer("bits", self.bits, low=1, high=LARGEST_BITS)
        eps = checks.epsilon("eps", self.eps)
        width = best_width(bits, eps) if self.width is None else checked_width(self.width, bits)
        checks.settle(self, bits=bits, eps=eps, width=width, flip=flip_chance(eps, 1 << width))
        if eps < smallest_eps(width):
            raise ValueError(f"eps must be at least {smallest_eps(width):.3g} for width {width}, got {eps}")

    @property
    def values(self) -> int:
        """The number of values, 2^bits."""
        return 1 << self.bits

    @property
    def report_bits(self) -> int:
        """Width of the vectors and the answer."""
        return self.width * (self.bits + 1)

    @property
    def words(self) -> int:
        """The number of words per simulated report, for randomness and working memory."""
        return 2 if self.width == 1 else 4 * self.width

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The vectors take entropy first, then the noise takes 8 bytes, or 16 if a wide answer lies."""
        value = checks.private_integer("value", value, below=self.values)
        if self.width == 1:
            vector = nonzero_vector(self.bits, entropy)
            parity = (vector & value).bit_count() & 1
            return 2 * vector + (parity ^ self.flip.happens(entropy))
        vectors = independent_vectors(self.bits, self.width, entropy)
        truth = sum(((vector & value).bit_count() & 1) << i for i, vector in enumerate(vectors))
        answer = noisy_symbol(truth, 1 << self.width, self.flip, entropy)
        return multi_bit_reports.joined(vectors, answer, self.bits)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        """One independent report for every entry. Reports wider than 64 bits are bytes along a last axis."""
        if self.bits > LARGEST_SIMULATED_BITS:
            raise ValueError(f"bits must be at most {LARGEST_SIMULATED_BITS} in simulation, got {self.bits}")
        if self.width > 1:
            return self._simulate_wide(values, rng)
        return noisy_inner_products(values, self.bits, self.flip.threshold, rng)

    def _simulate_wide(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        vectors = multi_bit_reports.simulate_vectors(self.bits, self.width, values.size, rng)
        truth = np.zeros(values.size, dtype=np.uint64)
        for i, vector in enumerate(vectors):
            truth |= (np.bitwise_count(vector & values.reshape(-1)) & np.uint64(1)) << np.uint64(i)
        answers = simulate_noisy_symbols(truth, 1 << self.width, self.flip, rng)
        return multi_bit_reports.pack(vectors, answers.reshape(values.shape), self.bits)

    def possible(self, report: int) -> bool:
        """Whether this can be a report: its vectors must be independent, so none is zero."""
        vectors, _ = multi_bit_reports.parted(report, self.bits, self.width)
        return 0 <= report < 1 << self.report_bits and multi_bit_reports.independent(vectors)

    def differing(self) -> float:
        """ρ = (1-2^-w)/(1-2^-d), the share of lists of vectors for which two given values have different answers.

        The answers are the same if A maps the difference of the values, which is not zero, to zero. The i-th vector
        (from 0) is uniform among the 2^d-2^i that are not sums of the earlier ones. If those are orthogonal to the
        difference, then so are 2^(d-1)-2^i of these. The product over i < w of (2^(d-1)-2^i)/(2^d-2^i) is
        (2^(d-w)-1)/(2^d-1). For w = 1, ρ = 2^(d-1)/(2^d-1).
        """
        return self.share_of_lists(self.bits, self.width)

    @staticmethod
    def share_of_lists(bits: int, width: int) -> float:
        """ρ for any eps."""
        return (1 - 0.5**width) / (1 - 0.5**bits)

    @property
    def certainty(self) -> Certainty:
        """Exact: every two values have the same factor."""
        return "exact"

    def privacy_factor(self) -> Factor:
        """The loss is ±eps if the two values have different answers and the report has one of them, else 0.

        It is the same for every two values.
        """
        truth, other = self.chances()
        eps, differ = flip_eps(self.flip, 1 << self.width), self.differing()
        one_of_theirs = 1.0 if self.width == 1 else truth + other
        rest = 0.0 if self.bits == 1 else 1 - differ * one_of_theirs
        return Factor(
            [differ * truth, differ * other, rest], [differ * other, differ * truth, rest], [eps, -eps, 0.0]
        )

    def largest_loss(self) -> float:
        """ln(p/q) of the truth and any other answer, rounded up."""
        return flip_eps_upper(self.flip, 1 << self.width)

    def differing_exact(self) -> Fraction:
        """The exact ρ."""
        return (1 - Fraction(1, 1 << self.width)) / (1 - Fraction(1, 1 << self.bits))

    def crowd_classes(self) -> CrowdClasses:
        """Reports with the answer of one of two values, and not of the other: like the third value's or not."""
        truth, lie = self.chances()
        if self.bits == 1:
            return CrowdClasses((truth, lie), (lie, truth), (lie, truth))
        apart, shared = map(float, self.third_answers())
        rows = [(share, third) for share, third in ((apart, lie), (shared, truth)) if share]
        return CrowdClasses(
            tuple(share * chance for share, _ in rows for chance in (truth, lie)),
            tuple(share * chance for share, _ in rows for chance in (lie, truth)),
            tuple(share * third for share, third in rows for _ in range(2)),
        )

    def third_answers(self) -> tuple[Fraction, Fraction]:
        """The shares of lists for which a third value's answer is not that of the first of two, and that it is.

        They are among the lists for which the two have different answers. Two differences of three values are
        independent vectors. The share of lists that map both to zero is the product over i < w of
        (2^(d-2)-2^i)/(2^d-2^i), which is (2^(d-w)-1)(2^(d-w-1)-1)/((2^d-1)(2^(d-1)-1)).
        """
        left, whole = Fraction(1 << self.bits, 1 << self.width), 1 << self.bits
        differ = self.differing_exact()
        both = (left - 1) * (left / 2 - 1) / ((whole - 1) * (whole // 2 - 1)) if left > 1 else Fraction(0)
        shared = 1 - differ - both
        return differ - shared, shared

    def largest_weight(self) -> float:
        """(1-c)/(p-c): a report counts for its sender's value with probability p, and for another with c."""
        truth, _ = self.chances()
        other = self.answer_for_another()
        return (1 - other) / (truth - other)

    def answer_for_another(self) -> float:
        """The probability that a report has the answer that is true of another given value."""
        truth, lie = self.chances()
        return (1 - self.differing()) * truth + self.differing() * lie

    def held_variance(self, share: float) -> float:
        """The variance, times n, of the estimate of a value that this share of people holds, given who holds it.

        A report counts for the value of its sender with the probability of a true answer, and for another value if
        it has the same true answer to the vectors, or by noise (exact).
        """
        share = checks.probability("share", share)
        truth, _ = self.chances()
        other = self.answer_for_another()
        held, unheld = truth * (1 - truth), other * (1 - other)
        return (share * held + (1 - share) * unheld) / (truth - other) ** 2

    def held_error(self, people: int, share: float) -> float:
        """The standard error of such an estimate from this many reports (exact)."""
        return math.sqrt(self.held_variance(share) / checks.integer("people", people, low=1))

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports have the same vectors and answer by chance."""
        truth, other = self.chances()
        lie, chance, log_lists = self.flip.probability, 1 / self._lists(), math.log(self._lists())
        equal = [truth**2 * chance, lie * other * chance]
        losses = [log_lists - math.log(truth), log_lists - math.log(other), -math.inf]
        return Factor([truth, lie, 0.0], [*equal, 1 - sum(equal)], losses)

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability of every report."""
        truth, other = self.chances()
        rows = multi_bit_reports.rows_of(reports, self.bits, self.width)
        vectors, answers = multi_bit_reports.columns_of(rows, self.bits, self.width)
        is_true = answers == multi_bit_reports.answers_of(vectors, value, self.width)
        wide = multi_bit_reports.report_bytes(self.bits, self.width) > 0
        shape = reports.shape[:-1] if wide else reports.shape
        return np.log(np.where(is_true, truth, other)).reshape(shape) - math.log(self._lists())

    def truthfulness(self) -> Truthfulness:
        """An answer is right unless it is flipped; pure noise gives each of the 2^w answers."""
        return Truthfulness("question", 1 - self.flip.probability, 0.5**self.width)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error from one report per person. A report counts for a value if it has its true answer."""
        eps, there = flip_eps(self.flip, 1 << self.width), self.chances()[0]
        span = (1 << self.width) * inner_product_scale(self.bits, eps, self.width)
        return Accuracy.of_shares(people, beta, there=there, elsewhere=self.answer_for_another(), span=span)

    def aggregator(self, scope: Scope) -> InnerProductAggregator | CandidateAggregator:
        """Sums by vector. If there are too many vectors, the reports themselves, to estimate candidates."""
        bits, width, flip = self.bits, self.width, self.flip.probability
        if bits > LARGEST_DENSE_BITS:
            if width > 1:
                return WideCandidateAggregator(scope, bits=bits, width=width, flip=flip)
            return CandidateAggregator(scope, bits=bits, flip=flip)
        if width > 1:
            return WideAggregator(scope, bits=bits, width=width, flip=flip)
        return InnerProductAggregator(scope, bits=bits, flip=flip)

    def chances(self) -> tuple[float, float]:
        """The probabilities of the true answer and of each other one."""
        return self.flip.opposite().probability, self.flip.probability / ((1 << self.width) - 1)

    def _lists(self) -> int:
        """The number of lists of independent vectors."""
        return math.prod(self.values - (1 << i) for i in range(self.width))


def best_width(bits: int, eps: float) -> int:
    """The narrowest width with the smallest variance."""
    widths = range(1, min(bits, LARGEST_WIDTH) + 1)
    return min(widths, key=lambda width: inner_product_variance(bits, eps, width))


def checked_width(width: int, bits: int) -> int:
    """The width, after checks. It is at most `bits`, because no more vectors can be independent."""
    return checks.integer("width", width, low=1, high=min(bits, LARGEST_WIDTH))


def smallest_eps(width: int) -> float:
    """The smallest usable eps. Below it an answer is pure noise.

    2^64·(g-1)/(e^eps + g-1), g = 2^w, would be rounded up to 2^64·(g-1)/g.
    """
    symbols = 1 << width
    return checks.SMALLEST_EPSILON * symbols**2 / (4 * (symbols - 1))
