"""Probabilities that can be drawn exactly: integers over 2^64, rounded toward more noise."""

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from untrackable.mechanisms.entropy import Entropy, word

_WHOLE = 1 << 64


@dataclass(frozen=True, slots=True)
class Chance:
    """An event of probability threshold/2^64: a uniform 64-bit word is below the threshold."""

    threshold: int

    @property
    def probability(self) -> float:
        """The probability, correctly rounded."""
        return self.threshold / _WHOLE

    def happens(self, entropy: Entropy) -> bool:
        """Draw the event from 8 bytes of entropy."""
        return word(entropy) < self.threshold

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Draw the event independently for every place of an array."""
        if self.threshold == _WHOLE:
            return np.ones(shape, dtype=np.bool_)
        words = rng.integers(0, _WHOLE - 1, size=shape, dtype=np.uint64, endpoint=True)
        return words < np.uint64(self.threshold)


def flip_chance(eps: float) -> Chance:
    """Probability 1/(e^eps + 1) of lying in randomised response, rounded up."""
    with decimal.localcontext(prec=60):
        odds = decimal.Decimal(min(eps, 100.0)).exp() + 1
        threshold = math.ceil(Fraction(_WHOLE) / Fraction(odds))
    if 2 * threshold >= _WHOLE:
        raise ValueError(f"eps must be large enough to matter, at least 2.2e-19, got {eps}")
    return Chance(threshold)


def flip_eps(flip: Chance) -> float:
    """The eps that a flip of this very probability has: ln((1-η)/η), accurate for small eps too."""
    excess = _WHOLE - 2 * flip.threshold
    return math.log1p(excess / flip.threshold)


def chance_toward(probability: float, other: float) -> Chance:
    """A given probability, rounded toward another one."""
    exact = Fraction(probability) * _WHOLE
    return Chance(math.ceil(exact) if other > probability else math.floor(exact))
