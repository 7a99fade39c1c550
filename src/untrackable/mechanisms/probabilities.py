"""Probabilities that can be drawn exactly: integers over 2^64, rounded toward more noise."""

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from untrackable.mechanisms.entropy import Entropy, below, word
from untrackable.theory.kept_bit import Coin, Noise

_WHOLE = 1 << 64


@dataclass(frozen=True, slots=True)
class Chance:
    """An event of probability threshold/2^64: a uniform 64-bit word is below the threshold."""

    threshold: int

    @property
    def probability(self) -> float:
        """The probability, correctly rounded."""
        return self.threshold / _WHOLE

    def opposite(self) -> "Chance":
        """The event that this one does not happen."""
        return Chance(_WHOLE - self.threshold)

    def happens(self, entropy: Entropy) -> bool:
        """Draw the event from 8 bytes of entropy."""
        return word(entropy) < self.threshold

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Draw the event independently for every position of an array."""
        if self.threshold == _WHOLE:
            return np.ones(shape, dtype=np.bool_)
        words = rng.integers(0, _WHOLE - 1, size=shape, dtype=np.uint64, endpoint=True)
        return words < np.uint64(self.threshold)


def coin(chance: Chance) -> Coin:
    """The event as a coin. Its complement and its bias are computed from the integers, so no digits cancel."""
    rest = _WHOLE - chance.threshold
    return Coin(chance.probability, rest / _WHOLE, (chance.threshold - rest) / _WHOLE)


def noise(one: Chance, zero: Chance) -> Noise:
    """The law of a reported bit given a kept 1 and a kept 0."""
    return Noise(
        coin(one),
        coin(zero),
        _log_ratio(one.threshold, zero.threshold),
        _log_ratio(_WHOLE - one.threshold, _WHOLE - zero.threshold),
    )


def _log_ratio(one: int, other: int) -> float:
    if one == 0 or other == 0:
        return 0.0 if one == other else math.inf if other == 0 else -math.inf
    excess = (one - other) / other
    return math.log1p(excess) if abs(excess) < 0.5 else math.log(one / other)


@lru_cache(maxsize=4096)
def flip_chance(eps: float, symbols: int = 2) -> Chance:
    """Probability (g-1)/(e^eps + g-1) of lying in randomised response over g symbols, rounded up."""
    with decimal.localcontext(prec=60):
        odds = decimal.Decimal(min(eps, 100.0)).exp() + symbols - 1
        return Chance(math.ceil((symbols - 1) * Fraction(_WHOLE) / Fraction(odds)))


def flip_eps(flip: Chance, symbols: int = 2) -> float:
    """The eps of randomised response that lies with this probability: ln((1-η)(g-1)/η), accurate for small eps."""
    excess = (_WHOLE - flip.threshold) * (symbols - 1) - flip.threshold
    return math.log1p(excess / flip.threshold)


def log_ratio_upper(more: int, less: int) -> float:
    """ln(more/less), rounded up to the next floating-point number."""
    with decimal.localcontext(prec=60):
        exact = (decimal.Decimal(more) / decimal.Decimal(less)).ln() + decimal.Decimal("1e-55")
        found = float(exact)
        return found if decimal.Decimal(found) >= exact else math.nextafter(found, math.inf)


def flip_eps_upper(flip: Chance, symbols: int = 2) -> float:
    """`flip_eps`, rounded up."""
    return log_ratio_upper((_WHOLE - flip.threshold) * (symbols - 1), flip.threshold)


def noisy_symbol(symbol: int, symbols: int, lie: Chance, entropy: Entropy) -> int:
    """The symbol, or a random other one if it is a lie. Whether it is a lie is drawn first."""
    if not lie.happens(entropy):
        return symbol
    return (symbol + 1 + below(symbols - 1, entropy)) % symbols


def simulate_noisy_symbols(
    given: NDArray[np.uint64], symbols: int, lie: Chance, rng: np.random.Generator
) -> NDArray[np.uint64]:
    """`noisy_symbol` for every position of an array."""
    lies = lie.simulate(rng, given.shape)
    steps = rng.integers(1, symbols, size=given.shape, dtype=np.uint64)
    return (given + np.where(lies, steps, np.uint64(0))) % np.uint64(symbols)


def chance_toward(probability: float, other: float) -> Chance:
    """A given probability, rounded toward another one."""
    exact = Fraction(probability) * _WHOLE
    return Chance(math.ceil(exact) if other > probability else math.floor(exact))
