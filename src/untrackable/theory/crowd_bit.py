"""Plain bits in a crowd: everybody reports one bit, flipped with probability f = 1/(e^eps + 1).

The person holds 0 in world P and 1 in world Q, and j of the m = n-1 others hold 1. The number of ones is all that
the observer sees. Let g be its law among the others, G its distribution function, α = e^gamma, A = 1-f-f·α and
B = α(1-f)-f.

**One composition** (exact). P(s) - α·Q(s) = A·g(s) - B·g(s-1). The law g is that of a sum of independent bits, so
it is log-concave, and the difference is positive up to some s. So for gamma < eps

    delta = max over t of A·g(t) - (α-1)·G(t-1).

**All compositions** (exact for one round). The largest delta of all j is itself the delta of a pair of worlds: it
is convex in α, it falls no faster than 1, and exchanging the worlds only mirrors the j. So this pair dominates
each of them, and rounds multiply, even if the others' values are chosen from what was observed before (Zhu, Dong &
Wang 2022).

**Many people** (upper). If the reports of r others are known to the observer, the other m-r remain, of whom i hold
1. That covers all j from i to i+r. So m/(r+1) laws are enough; eps grows by about r/(2n) of itself.

A law is computed by a Fourier transform after it is tilted: mass is multiplied by e^(θt), which makes the lower
tail, where delta lies, as precise as the middle. A tilted sum of bits is again a sum of bits.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.arrays import FloatArray

_POINTS, _FEW_POINTS = 1 << 22, 1 << 19
"""About how many probabilities are computed for a sharp bound, and for a less sharp one."""
_LEAST = 16
"""At least this many laws are looked at."""
_TOGETHER = 1 << 18
"""The number of probabilities that are computed together."""
_TILT = 4.5
"""The tilted law lies this many standard deviations below the law."""
_WIDE, _RARE = 21.0, 72
"""A law is computed on this many standard deviations, and as many places more for bits that are rarely flipped."""
_CLEAR = 1e-9
"""Probabilities below this share of the largest are left out: with the tilt, they are below 1e-20."""
_ROUNDED_UP, _LEFT_OUT = 1 + 1e-6, 1e-19
"""What the errors of the Fourier transform, relative to 1e-9, and what is left out are covered by."""


@dataclass(frozen=True, slots=True)
class CrowdBit:
    """Everybody reports one bit, which is flipped with probability 1/(e^eps + 1), and takes part.

    The bit may be a random one, as for a rounded number: mixtures of the two laws reveal less than the two.
    """

    eps: float

    def __post_init__(self) -> None:
        if not self.eps > 0:
            raise ValueError("eps must be positive")

    @property
    def largest(self) -> float:
        """The largest loss."""
        return self.eps

    def joined(self, other: "CrowdBit") -> "CrowdBit":
        """Bits that reveal at least as much as both: the other's are these, flipped once more."""
        return max(self, other, key=lambda bit: bit.eps)

    def shift(self, people: int) -> float:
        """The standard deviation of the loss of one round, to first order; no larger than that of one report."""
        return min(2 * math.sinh(self.eps / 2) / math.sqrt(people), self.eps)

    def deltas(self, people: int, gammas: FloatArray, *, sharp: bool = True) -> FloatArray:
        """Delta of one round at each gamma ≥ 0 (upper), the largest of all that others may hold."""
        flip, gain = 1 / (1 + math.exp(self.eps)), math.tanh(self.eps / 2)
        tilt = np.expm1(gammas)
        above, below = gain - flip * tilt, gain + (1 - flip) * tilt
        known = gammas < self.eps
        largest = np.zeros(gammas.size)
        for law, cumulative in _laws(people - 1, flip, _POINTS if sharp else _FEW_POINTS):
            # The last t where the law still grows fast enough, as a place among the ratios of neighbours.
            growth = np.maximum.accumulate(law[:-1] / law[1:])
            last = np.searchsorted(growth, above[known] / below[known], side="right")
            found = above[known] * law[last] - tilt[known] * cumulative[last]
            largest[known] = np.maximum(largest[known], found)
        return np.where(known, np.minimum(1.0, largest * _ROUNDED_UP + _LEFT_OUT), 0.0)


def _laws(others: int, flip: float, points: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The lower part of the law of the number of ones, and P(less), for people of whom some hold 1.

    They cover all compositions of the others, of whom some are left out.
    """
    size = min(_size(others, flip), 1 << others.bit_length())
    laws = min(others + 1, max(_LEAST, points // size))
    left = others - (-(-(others + 1) // laws) - 1)
    ones = np.unique(np.minimum(np.arange(laws) * (others - left + 1), left))
    for chunk in np.array_split(ones, -(-ones.size * size // _TOGETHER)):
        for law in _sums(chunk, left, flip, size):
            (clear,) = np.nonzero(law[1] >= _CLEAR * law[1].max())
            # One more at the upper end never counts, as the law falls there.
            part = law[0][clear[0] : clear[-1] + 1]
            yield part, np.append(0.0, np.cumsum(part)[:-1])


def _angle(others: int, flip: float) -> float:
    """The exponent θ of the tilt."""
    return -_TILT / max(_TILT, math.sqrt(others * flip * (1 - flip)))


def _tilted(flip: float, angle: float) -> tuple[FloatArray, FloatArray]:
    """For people who hold 0 and for those who hold 1: how likely the tilted law flips a bit, and what it weighs.

    The weight is the logarithm of the sum of the tilted masses of a flip, and of no flip, which has the factor 1.
    """
    angles = np.array([angle, -angle])
    whole = flip * np.expm1(angles)
    return flip * np.exp(angles) / (1 + whole), np.log1p(whole)


def _size(others: int, flip: float) -> int:
    """The number of places on which all tilted laws are computed: a power of two."""
    chances, _ = _tilted(flip, _angle(others, flip))
    variance = others * float(np.max(chances * (1 - chances)))
    return 1 << math.ceil(_WIDE * math.sqrt(variance) + _RARE).bit_length()


def _sums(ones: NDArray[np.int64], others: int, flip: float, size: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """For each number of ones: the law of the sum of all bits, and the tilted law, on the places where it lies."""
    angle = _angle(others, flip)
    held = np.stack((others - ones, ones), axis=1).astype(np.float64)
    chances, weights = _tilted(flip, angle)
    signs = np.array([1.0, -1.0])  # A flip adds a one to the sum, or takes it away from all who hold 1.
    turn = 2 * np.pi / size * np.arange(size // 2 + 1)
    logs, angles = [], []
    for chance in chances:
        lost = 4 * chance * (1 - chance) * np.sin(turn / 2) ** 2
        kept = (1 - 2 * chance) ** 2 + 4 * chance * (1 - chance) * np.cos(turn / 2) ** 2
        logs.append(np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), np.log(np.maximum(kept, 1e-300))) / 2)
        angles.append(np.arctan2(chance * np.sin(turn), 1 - chance + chance * np.cos(turn)))
    # Places are counted from the number of people who hold 1.
    starts = np.floor(held @ (signs * chances)).astype(np.int64) - size // 2
    starts = np.maximum(-ones, starts) if size <= others else -ones
    phases = (held * signs) @ np.array(angles) - (starts % size)[:, None] * turn
    spectra = np.exp(held @ np.array(logs)) * np.exp(-1j * phases)
    tilted = np.maximum(np.fft.irfft(spectra, n=size, axis=1), 0.0)
    places = starts[:, None] + np.arange(size)
    yield from zip(tilted * np.exp(-angle * places + (held @ weights)[:, None]), tilted, strict=True)
