"""The randomness of clients. Otherwise a mechanism is a deterministic function of these bytes.

The byte-level rules below are part of the client format: golden vectors pin them down, and a client in another
language follows them bit for bit. All integers are big-endian. Probabilities are integers over 2^64, rounded toward
more noise, so that they are drawn exactly; the lies of randomised response are among them.
"""

import decimal
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Entropy = Callable[[int], bytes]
"""A function that takes a number of bytes and returns that many new random bytes."""

system: Entropy = os.urandom
"""The operating system's CSPRNG. Every client draws from it."""


WORD = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of SplitMix64."""
WHOLE = 1 << 64
"""Probabilities are integers over this number."""


def word(entropy: Entropy) -> int:
    """A uniform 64-bit integer, from 8 bytes."""
    return int.from_bytes(entropy(8), "big")


def below(limit: int, entropy: Entropy) -> int:
    """A uniform integer in [0, limit), from 8 bytes, or as many times 8 bytes as a limit above 2^64 needs.

    Numbers at or above the last multiple of limit are redrawn.
    """
    size = 8 * max(1, ((limit - 1).bit_length() + 63) // 64)
    usable = (1 << 8 * size) // limit * limit
    while (drawn := int.from_bytes(entropy(size), "big")) >= usable:
        pass
    return drawn % limit


def nonzero_vector(bits: int, entropy: Entropy) -> int:
    """A uniform non-zero vector, from ⌈bits/8⌉ bytes. Surplus high bits are cleared, and 0 is redrawn."""
    size, mask = (bits + 7) // 8, (1 << bits) - 1
    while not (vector := int.from_bytes(entropy(size), "big") & mask):
        pass
    return vector


def independent_vectors(bits: int, width: int, entropy: Entropy) -> list[int]:
    """A list of `width` linearly independent vectors, uniform among all such lists.

    Non-zero vectors are drawn one after the other. A vector that is a sum of earlier ones is redrawn.
    """
    vectors: list[int] = []
    sums = {0}
    while len(vectors) < width:
        vector = nonzero_vector(bits, entropy)
        if vector not in sums:
            vectors.append(vector)
            sums |= {vector ^ earlier for earlier in sums}
    return vectors


def mixed(word: int) -> int:
    """The output function of SplitMix64 (Steele, Lea, Flood 2014), a bijection of 64-bit words.

    Clients and simulations make public hash functions of it.
    """
    word = (word ^ word >> 30) * FIRST & WORD
    word = (word ^ word >> 27) * SECOND & WORD
    return word ^ word >> 31


@dataclass(frozen=True, slots=True)
class Chance:
    """An event of probability threshold/2^64: a uniform 64-bit word is below the threshold."""

    threshold: int

    @property
    def probability(self) -> float:
        """The probability, correctly rounded."""
        return self.threshold / WHOLE

    def opposite(self) -> "Chance":
        """The event that this one does not happen."""
        return Chance(WHOLE - self.threshold)

    def happens(self, entropy: Entropy) -> bool:
        """Draw the event from 8 bytes of entropy."""
        return word(entropy) < self.threshold

    def simulate(self, rng: "np.random.Generator", shape: tuple[int, ...]) -> "NDArray[np.bool_]":
        """Draw the event independently for every position of an array."""
        import numpy as np

        if self.threshold == WHOLE:
            return np.ones(shape, dtype=np.bool_)
        words = rng.integers(0, WHOLE - 1, size=shape, dtype=np.uint64, endpoint=True)
        return words < np.uint64(self.threshold)


@lru_cache(maxsize=4096)
def flip_chance(eps: float, symbols: int = 2, size: int = 1) -> Chance:
    """Probability (g-d)/(d·e^eps + g-d) of lying in randomised response over g symbols, rounded up.

    A report names one symbol, or a set of d of them (subset selection).
    """
    with decimal.localcontext(prec=60):
        odds = size * decimal.Decimal(min(eps, 100.0)).exp() + symbols - size
        return Chance(math.ceil((symbols - size) * Fraction(WHOLE) / Fraction(odds)))


def flip_eps(flip: Chance, symbols: int = 2) -> float:
    """The eps of randomised response that lies with this probability: ln((1-η)(g-1)/η), accurate for small eps."""
    excess = (WHOLE - flip.threshold) * (symbols - 1) - flip.threshold
    return math.log1p(excess / flip.threshold)


def log_ratio_upper(more: int, less: int) -> float:
    """ln(more/less), rounded up to the next floating-point number."""
    with decimal.localcontext(prec=60):
        exact = (decimal.Decimal(more) / decimal.Decimal(less)).ln() + decimal.Decimal("1e-55")
        ratio = float(exact)
        return ratio if decimal.Decimal(ratio) >= exact else math.nextafter(ratio, math.inf)


def flip_eps_upper(flip: Chance, symbols: int = 2) -> float:
    """`flip_eps`, rounded up."""
    return log_ratio_upper((WHOLE - flip.threshold) * (symbols - 1), flip.threshold)


def noisy_symbol(symbol: int, symbols: int, lie: Chance, entropy: Entropy) -> int:
    """The symbol, or a random other one if it is a lie. Whether it is a lie is drawn first."""
    if not lie.happens(entropy):
        return symbol
    return (symbol + 1 + below(symbols - 1, entropy)) % symbols


def chance_toward(probability: float, other: float) -> Chance:
    """A given probability, rounded toward another one."""
    exact = Fraction(probability) * WHOLE
    return Chance(math.ceil(exact) if other > probability else math.floor(exact))


def draw_subset(size: int, among: int, entropy: Entropy) -> int:
    """A uniform subset of 0 … among-1 with `size` elements, as a mask: Floyd's algorithm, one draw for each."""
    mask = 0
    for last in range(among - size, among):
        drawn = below(last + 1, entropy)
        mask |= 1 << (last if mask >> drawn & 1 else drawn)
    return mask
