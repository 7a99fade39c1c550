"""The noisy inner product: a random vector and one noisy bit about a d-bit value [NV, RNIP]."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.kernels.inner_products import noisy_inner_products
from untrackable.mechanisms.candidates import CandidateAggregator
from untrackable.mechanisms.chances import Chance, flip_chance, flip_eps
from untrackable.mechanisms.entropy import Entropy, nonzero_vector
from untrackable.mechanisms.estimates import (
    LARGEST_DENSE_BITS,
    FloatArray,
    InnerProductAggregator,
    Reports,
    Source,
)
from untrackable.theory.accuracy import Accuracy, inner_product_scale
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor

LARGEST_BITS = 256
LARGEST_SIMULATED_BITS = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyInnerProduct:
    """Reports a uniform non-zero vector v and ⟨v, u⟩ ⊕ x, x being 1 with probability 1/(e^eps + 1).

    A report is the integer 2·v + bit.
    """

    bits: int
    eps: float
    flip: Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        bits = checks.integer("bits", self.bits, low=1, high=LARGEST_BITS)
        checks.settle(self, bits=bits, eps=checks.epsilon("eps", self.eps))
        checks.settle(self, flip=flip_chance(self.eps))

    @property
    def values(self) -> int:
        """2^bits."""
        return 1 << self.bits

    @property
    def report_bits(self) -> int:
        """The vector and the bit."""
        return self.bits + 1

    def draw(self, value: int, entropy: Entropy) -> int:
        """The vector's entropy first, then 8 bytes for the noise."""
        value = checks.private_integer("value", value, below=self.values)
        vector = nonzero_vector(self.bits, entropy)
        parity = (vector & value).bit_count() & 1
        return 2 * vector + (parity ^ self.flip.happens(entropy))

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        """One independent report for every entry."""
        if self.bits > LARGEST_SIMULATED_BITS:
            raise ValueError(f"bits must be at most {LARGEST_SIMULATED_BITS} in simulation, got {self.bits}")
        return noisy_inner_products(values, self.bits, self.flip.threshold, rng)

    def possible(self, report: int) -> bool:
        """Whether this can be a report: its vector is not zero."""
        return 2 <= report < 2 * self.values

    def differing(self) -> float:
        """ρ = 2^(d-1)/(2^d - 1), the share of vectors on which two given values differ."""
        return 0.5 / (1 - 0.5**self.bits)

    @property
    def certainty(self) -> Certainty:
        """Every two values are those of the factor."""
        return "exact"

    def privacy_factor(self) -> Factor:
        """Loss ±eps where the vector tells the two values apart, 0 elsewhere; the same for every two values."""
        lie, eps, differ = self.flip.probability, flip_eps(self.flip), self.differing()
        same = 0.0 if self.bits == 1 else 1 - differ
        p, q = [differ * (1 - lie), differ * lie, same], [differ * lie, differ * (1 - lie), same]
        return Factor(p, q, [eps, -eps, 0.0])

    def repeat_factor(self) -> Factor:
        """Seen twice: equal for certain. Two reports: the same vector by chance, then the same bit by chance."""
        lie = self.flip.probability
        chance = 1 / (self.values - 1)
        equal = [(1 - lie) ** 2 * chance, lie**2 * chance]
        return Factor([1 - lie, lie, 0.0], [*equal, 1 - sum(equal)])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """Log probability of every report."""
        lie = self.flip.probability
        parity = np.bitwise_count((reports >> np.uint64(1)) & np.uint64(value)) & np.uint8(1)
        told = np.equal(parity, reports & np.uint64(1))
        return np.log(np.where(told, 1 - lie, lie)) - math.log(self.values - 1)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """Of one report per person: mean of ±1 for the vector, scaled."""
        scale = inner_product_scale(self.bits, flip_eps(self.flip))
        mean = (1 - 2 * self.flip.probability) / (self.values - 1)
        return Accuracy.of(people, beta, span=2 * scale, variance=scale**2 * (1 - mean**2))

    def aggregator(self, source: Source) -> InnerProductAggregator | CandidateAggregator:
        """Sums by vector; where there are too many vectors, the reports, from which candidates are estimated."""
        if self.bits > LARGEST_DENSE_BITS:
            return CandidateAggregator(source, bits=self.bits, flip=self.flip.probability)
        return InnerProductAggregator(source, bits=self.bits, flip=self.flip.probability)
