"""One-bit answers to public questions in a crowd in which some people are secretly absent (shuffle model).

A report is a random question, which everybody draws alike, and a bit about it, flipped with probability f =
1/(e^eps + 1). Two values have different answers to at most a `share` of the questions. Everybody is present with a
probability below 1, by a coin that nobody sees. For all values of the others, delta of a round with n reports is
at most

    E_K max over k₀+k₁=K of E(1 - α + (X₁ - α·X₀ - (α-1)·X₂)⁺/n) + P(nobody is absent),    α = e^gamma,

where K ~ Bin(n, share), and Xᵢ is a sum of independent terms, k₀, k₁ and k₂ = n-K of them: e^eps-1 with probability
f, and else e^-eps-1, which is 0 on average.

Proof: if the person is present, write the name of an absent other at the person's report, and grant the observer
all names. They are a random choice with a random order, in both worlds, and the person's report is any of the n.
Without the person, each report would be the flipped answer of its name. The likelihood of both worlds, relative to
that, is 1 + the mean of a term for each report: R(own value)/R(name) - 1. Names with the person's answer in the
first world (k₀) change the second, those with that in the second (k₁) the first, other questions (k₂) both alike.

The mean of a convex function grows with each term, so it is safe to count more of them: k₀ and k₁ are taken in
steps. It also grows if a term's places are split between two neighbours on a grid with the same mean. With more
reports, delta falls: a mean of n terms is the average of means of n-1 of them.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.arrays import FloatArray

if TYPE_CHECKING:
    from untrackable.theory.crowd import CrowdParts

_STEPS, _GAMMAS = (48, 16), (96, 48)
"""The number of steps of k₀, and of gammas, for a sharp bound and for a less sharp one."""
_FINE = 48
"""The grid has about this many places for each standard deviation."""
_FARTHEST, _LOUDEST = 9.0, 2.0
"""No larger gamma is looked at than this many standard deviations, and no larger one than this."""
_MANY = 4096
"""More numbers than this are put on the grid at once, before they are multiplied."""
_NEGLIGIBLE, _NOISE = 1e-20, 1e-15
"""The probability of numbers that are left out, and the rounding error of a Fourier transform."""


@dataclass(frozen=True, slots=True)
class CrowdAbsent:
    """One-bit answers, where everybody is present with this probability, and a bound if everybody were present."""

    eps: float
    share: float
    present: float
    otherwise: "CrowdParts"

    @property
    def largest(self) -> float:
        """The largest loss."""
        return self.otherwise.largest

    def joined(self, other: "CrowdAbsent") -> "CrowdAbsent":
        """Answers that reveal at least as much as both: the largest of each, as delta grows with all of them."""
        return CrowdAbsent(
            max(self.eps, other.eps),
            max(self.share, other.share),
            max(self.present, other.present),
            self.otherwise.joined(other.otherwise),
        )

    def shift(self, people: int) -> float:
        """The standard deviation of the loss of one round, to first order; no larger than that of one report."""
        return min(2 * math.sinh(self.eps / 2) * math.sqrt(self.share / people), self.largest)

    def deltas(self, people: int, gammas: FloatArray, *, sharp: bool = True) -> FloatArray:
        """Delta of one round at each gamma ≥ 0 (upper): the smaller one, of both bounds."""
        everybody = self.otherwise.deltas(people, gammas, sharp=sharp)
        nobody_absent = self.present**people
        steps, points = (each[0] if sharp else each[1] for each in (_STEPS, _GAMMAS))
        farthest = min(self.largest, _FARTHEST * self.shift(people) + self.shift(people) ** 2, _LOUDEST)
        own = np.linspace(0.0, farthest, points)
        found = absent_deltas(self.eps, self.share, people, own, steps=steps) + nobody_absent
        # Delta is convex in α, so it lies below its chords.
        hidden = np.interp(np.exp(gammas), np.exp(own), np.minimum.accumulate(found))
        return np.minimum(everybody, hidden)


class _Law(NamedTuple):
    """Probabilities of a sum on places that are a step of the grid apart, and the first place."""

    start: float
    chances: FloatArray


def absent_deltas(eps: float, share: float, people: int, gammas: FloatArray, *, steps: int) -> FloatArray:
    """The first term at each gamma (upper)."""
    from scipy.stats import binom

    flip = 1 / (1 + math.exp(eps))
    low, high = _reach(people, share)
    size = max(1, -(-high // steps))
    levels = np.arange(-(-low // size), -(-high // size) + 1)
    edges = binom.cdf(levels * size, people, share)
    weights = np.diff(edges, prepend=0.0)
    # Between two steps, one more of each is counted.
    more = 0 if size == 1 else 1
    pairs = [(k, m + more - k) for m in levels.tolist() for k in range(more, m + 1)]
    level_of = np.array([m for m in levels.tolist() for _ in range(more, m + 1)])
    grid = max(1.0, math.sqrt(high * flip * (1 - flip)) / _FINE)
    counts = {k: _numbers(k * size, flip, grid) for k in range(int(levels[-1]) + more + 1)}
    others = _numbers(people - low, flip, grid)
    ahead = {k: _on_grid(values, chances, grid) for k, (values, chances) in counts.items()}
    total = np.zeros(gammas.size)
    for place, alpha in enumerate(np.exp(gammas).tolist()):
        behind = {k: _on_grid(-alpha * values, chances, grid) for k, (values, chances) in counts.items()}
        both = _on_grid(-(alpha - 1) * others[0], others[1], grid)
        width = max(a.chances.size for a in ahead.values()) + max(b.chances.size for b in behind.values())
        length = 1 << (width + both.chances.size).bit_length()
        spectra = [{k: np.fft.rfft(law.chances, length) for k, law in laws.items()} for laws in (ahead, behind)]
        shared = np.fft.rfft(both.chances, length)
        laws = np.fft.irfft(
            np.array([spectra[1][zero] * spectra[0][one] for zero, one in pairs]) * shared, length, axis=1
        )
        starts = np.array([behind[zero].start + ahead[one].start for zero, one in pairs]) + both.start
        sums = (starts[:, None] + grid * np.arange(length)) * (2 * math.sinh(eps) / people)
        lost = (np.maximum(0.0, laws) * np.maximum(0.0, 1 - alpha + sums)).sum(axis=1)
        worst = np.zeros(levels.size)
        np.maximum.at(worst, level_of - levels[0], lost)
        total[place] = worst @ weights
    noise = (_NOISE + 8 * _NEGLIGIBLE) * math.exp(eps)
    return np.minimum(1.0, total * (1 + 1e-9) + noise)


def _reach(trials: int, chance: float) -> tuple[int, int]:
    """Numbers between which a binomial number lies, except with the negligible probability (Bernstein)."""
    if chance >= 1 or trials == 0:
        return trials, trials
    rare, mean = -math.log(_NEGLIGIBLE), trials * chance
    far = rare / 3 + math.sqrt(rare**2 / 9 + 2 * mean * (1 - chance) * rare)
    return max(0, math.floor(mean - far)), min(trials, math.ceil(mean + far))


def _numbers(trials: int, flip: float, grid: float) -> tuple[FloatArray, FloatArray]:
    """The flips of this many reports, less their mean, with their probabilities. Many are put on the grid."""
    from scipy.stats import binom

    low, high = _reach(trials, flip)
    numbers: NDArray[np.int64] = np.arange(low, high + 1)
    around: FloatArray = numbers.astype(np.float64) - trials * flip
    law: FloatArray = np.asarray(binom.pmf(numbers, trials, flip))
    if numbers.size <= _MANY:
        return around, law
    start, law = _on_grid(around, law, grid)
    around = start + grid * np.arange(law.size, dtype=np.float64)
    return around, law


def _on_grid(values: FloatArray, chances: FloatArray, grid: float) -> _Law:
    """Each value is split between the two places next to it, with the same mean. The smallest is a place."""
    start = float(values.min())
    places = np.floor((values - start) / grid)
    part = (values - start) / grid - places
    indices = places.astype(np.int64)
    size = int(indices.max()) + 2
    law: FloatArray = np.zeros(size)
    np.add.at(law, indices, (1 - part) * chances)
    np.add.at(law, indices + 1, part * chances)
    return _Law(start, law)
