"""The noisy inner product: random vectors, and their inner products with a d-bit value, with noise."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from untrackable import checks
from untrackable.randomizers import randomness

LARGEST_BITS = 256
LARGEST_WIDTH = 8
"""The widest answer in bits. A server adds to 2^width - 1 entries for each report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyInnerProduct:
    """A report is a random non-zero vector v with a bit: the inner product ⟨v, u⟩ of v and the value u, with noise.

    The bit is flipped with probability 1/(e^eps + 1). With `width` w, a report has w linearly independent vectors
    A, uniform among all such lists, and the answer A·u of w bits. With probability (g-1)/(e^eps + g-1), g = 2^w, it
    has any other of the g answers instead.

    A report is the integer 2·v + bit, or in general answer + 2^w·(v₀ + 2^d·v₁ + …).
    """

    bits: int
    eps: float
    width: int
    flip: randomness.Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        bits = checks.integer("bits", self.bits, low=1, high=LARGEST_BITS)
        eps, width = checks.epsilon("eps", self.eps), checked_width(self.width, bits)
        checks.settle(self, bits=bits, eps=eps, width=width, flip=randomness.flip_chance(eps, 1 << width))
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

    def draw(self, value: int, entropy: randomness.Entropy) -> int:
        """A report. The vectors take entropy first, then the noise takes 8 bytes, or 16 if a wide answer lies."""
        value = checks.private_integer("value", value, below=self.values)
        if self.width == 1:
            vector = randomness.nonzero_vector(self.bits, entropy)
            parity = (vector & value).bit_count() & 1
            return 2 * vector + (parity ^ self.flip.happens(entropy))
        vectors = randomness.independent_vectors(self.bits, self.width, entropy)
        truth = sum(((vector & value).bit_count() & 1) << i for i, vector in enumerate(vectors))
        answer = randomness.noisy_symbol(truth, 1 << self.width, self.flip, entropy)
        return joined(vectors, answer, self.bits)

    def possible(self, report: int) -> bool:
        """Whether this can be a report: its vectors must be independent, so none is zero."""
        vectors, _ = parted(report, self.bits, self.width)
        return 0 <= report < 1 << self.report_bits and independent(vectors)

    def largest_loss(self) -> float:
        """ln(p/q) of the truth and any other answer, rounded up."""
        return randomness.flip_eps_upper(self.flip, 1 << self.width)


def checked_width(width: int, bits: int) -> int:
    """The width, after checks. It is at most `bits`, because no more vectors can be independent."""
    return checks.integer("width", width, low=1, high=min(bits, LARGEST_WIDTH))


def smallest_eps(width: int) -> float:
    """The smallest usable eps. Below it an answer is pure noise.

    2^64·(g-1)/(e^eps + g-1), g = 2^w, would be rounded up to 2^64·(g-1)/g.
    """
    symbols = 1 << width
    return checks.SMALLEST_EPSILON * symbols**2 / (4 * (symbols - 1))


def joined(vectors: Sequence[int], answer: int, bits: int) -> int:
    """The report with these vectors and this answer."""
    for i, vector in enumerate(vectors):
        answer |= vector << len(vectors) + bits * i
    return answer


def parted(report: int, bits: int, width: int) -> tuple[list[int], int]:
    """The vectors and the answer of a report."""
    mask = (1 << bits) - 1
    return [report >> width + bits * i & mask for i in range(width)], report & (1 << width) - 1


def independent(vectors: Sequence[int]) -> bool:
    """Whether no vector is a sum of others."""
    sums = {0}
    for vector in vectors:
        if vector in sums:
            return False
        sums |= {vector ^ earlier for earlier in sums}
    return True
