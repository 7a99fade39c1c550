"""What an observer of a crowd certainly learns if all others hold one and the same value.

One person holds one of two values, and everybody else a third. The observer counts the reports of a few classes and
looks at one number only, D: a weighted sum of the counts, with whole weights. Nothing is bounded, so this is a pair
of worlds that exists, seen by an observer who does not look at everything. It is a lower end.

Let c₀, c₁, c₂ be the probabilities of a class, of weight w, for the two values and the third. If the
n-1 others make D = d with probability f(d), then the two worlds make it with

    P(d) = (1 - Σ c₀)·f(d) + Σ c₀·f(d-w),    Q(d) = the same with c₁.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.theory.factor import Factor, FloatArray, log_ratio
from untrackable.theory.factor_products import MACHINE_EPSILON

_LARGEST_WEIGHT = 6
"""The largest weight of a class."""
_MOST_POINTS = 1 << 22
"""The largest number of sums whose probabilities are computed."""
_RARE = 1e-18
"""The probability of sums that are left out, on both sides together."""
_FINE = 50
"""Sums are put into ranges. There are this many for each standard deviation."""
_DISTINCT = 1e-3
"""Ranges whose rounding errors are larger than this share of the difference of the two worlds are joined."""
_ROUNDED = 1e-12
"""The relative rounding error of a probability, besides that of a Fourier transform."""
_BINOMIAL = 1e-10
"""The relative error of a binomial probability."""


@dataclass(frozen=True, slots=True)
class CrowdClasses:
    """The probabilities of classes of reports, for the two values of a person and for the value of all others.

    Only classes that the two values give different probabilities are listed.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    others: tuple[float, ...]

    @property
    def mirrored(self) -> bool:
        """Whether exchanging the two values changes nothing but the order of the classes."""
        rows = list(zip(self.first, self.second, self.others, strict=True))
        return sorted(rows) == sorted((second, first, other) for first, second, other in rows)

    def shift(self, people: int) -> float:
        """The standard deviation of the loss of one round, to first order in one over the number of people.

        No loss is larger than that of one report, so neither is this.
        """
        rows = zip(self.first, self.second, self.others, strict=True)
        square = math.fsum((first - second) ** 2 / other for first, second, other in rows)
        largest = max(math.log(first / second) for first, second in zip(self.first, self.second, strict=True))
        return min(math.sqrt(square / people), largest)


class _Others(NamedTuple):
    """The law of the sum over the others, on consecutive places, its standard deviation, and its errors.

    `relative` bounds the relative error of a mass, and `noise` the Euclidean norm of the absolute errors of all.
    """

    law: FloatArray
    deviation: float
    relative: float
    noise: float


def counted_outcomes(classes: CrowdClasses, people: int) -> tuple[FloatArray, FloatArray]:
    """What the weighted sum of counts says about one round: probabilities in world P, and losses (lower).

    Both are rounded down, so delta of P from Q is never too large, alone or composed with other rounds.
    """
    people = checks.integer("people", people, low=2)
    weights = _weights(classes, people - 1)
    count = _binomial if np.count_nonzero(weights) == 1 else _signed_steps
    others = count(classes, weights, people - 1)
    reach = int(np.abs(weights).max())
    one, two = (
        _with_person(others.law, weights, np.array(chances), reach) for chances in (classes.first, classes.second)
    )
    return _by_ranges(one, two, others)


def _weights(classes: CrowdClasses, others: int) -> NDArray[np.int64]:
    """Whole weights of the classes that tell the worlds apart nearly as well as any.

    The best weights are proportional to (c₀-c₁)/c₂. If the classes are not mirrored, one class is counted alone.
    """
    gain = np.subtract(classes.first, classes.second)
    chances = np.array(classes.others)
    ideal = gain / chances

    def score(weights: NDArray[np.int64]) -> float:
        spread = float(weights**2 @ chances) - float(weights @ chances) ** 2
        return float(weights @ gain) ** 2 / spread if spread > 0 else 0.0

    if not classes.mirrored:
        alone = np.eye(gain.size, dtype=np.int64) * np.sign(ideal).astype(np.int64)
        return max(alone, key=score)
    tried = [np.rint(size * ideal / np.abs(ideal).max()).astype(np.int64) for size in range(1, _LARGEST_WEIGHT + 1)]
    fitting = [w for w in tried if _points(w, chances, others) <= _MOST_POINTS]
    return max(fitting or tried[:1], key=score)


def _far(weights: NDArray[np.int64], chances: FloatArray, others: int) -> int:
    """A distance from its mean that the sum exceeds with the rare probability only, by Bernstein's inequality."""
    rare, largest = math.log(2 / _RARE), float(np.abs(weights).max())
    variance = others * float(weights**2 @ chances)
    linear = rare * largest / 3
    return math.ceil(linear + math.sqrt(linear**2 + 2 * rare * variance)) + 1


def _points(weights: NDArray[np.int64], chances: FloatArray, others: int) -> int:
    """The number of places on a circle on which the sum hardly ever meets itself."""
    return 1 << (2 * _far(weights, chances, others) + 2).bit_length()


def _binomial(classes: CrowdClasses, weights: NDArray[np.int64], others: int) -> _Others:
    """The law of the number of reports of the only class that counts."""
    from scipy.stats import binom

    counted = int(np.flatnonzero(weights)[0])
    sign, chance = int(weights[counted]), classes.others[counted]
    far, mean = _far(weights, np.array(classes.others), others), others * chance
    low, high = max(0, math.floor(mean) - far), min(others, math.ceil(mean) + far)
    law = binom.pmf(np.arange(low, high + 1), others, chance)
    deviation = math.sqrt(mean * (1 - chance))
    return _Others(law[::sign], deviation, _BINOMIAL, _RARE)


def _signed_steps(classes: CrowdClasses, weights: NDArray[np.int64], others: int) -> _Others:
    """The law of a sum of mirrored steps, from its Fourier transform (1 - 2·Σc₂·sin²(wt/2))^(n-1), which is real.

    Errors are those of an FFT relative to the 2-norm. The exponent is accurate in every digit that matters.
    """
    chances = np.array(classes.others)
    points = _points(weights, chances, others)
    turn = np.pi / points * np.arange(points // 2 + 1)
    lost = np.zeros(turn.size)
    for weight, chance in zip(weights, chances, strict=True):
        lost += 2 * chance * np.sin(weight * turn) ** 2
    with np.errstate(divide="ignore"):
        logs = np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), np.log(np.abs(1 - lost)))
    spectrum = np.exp(others * logs)
    if others % 2:
        spectrum = np.where(lost > 1, -spectrum, spectrum)
    law = np.fft.fftshift(np.fft.irfft(spectrum, n=points))
    norm = float(np.linalg.norm(law))
    deviation = math.sqrt(others * float(weights**2 @ chances))
    noise = 16 * MACHINE_EPSILON * math.log2(points) * norm + _RARE
    return _Others(np.maximum(law, 0.0), deviation, _ROUNDED, noise)


def _with_person(law: FloatArray, weights: NDArray[np.int64], chances: FloatArray, reach: int) -> FloatArray:
    """The law of the sum with the person, whose report has each class with this probability."""
    total = np.zeros(law.size + 2 * reach)
    total[reach : reach + law.size] = (1 - float(chances.sum())) * law
    for weight, chance in zip(weights, chances, strict=True):
        total[reach + weight : reach + weight + law.size] += chance * law
    return total


def _by_ranges(one: FloatArray, two: FloatArray, others: _Others) -> tuple[FloatArray, FloatArray]:
    """Both laws by ranges of sums. Ranges at both ends that rounding errors would blur are joined."""
    size = max(1, math.floor(others.deviation / _FINE))
    starts = np.arange(0, one.size, size)
    width: float | FloatArray = math.sqrt(size)
    p, q = np.add.reduceat(one, starts), np.add.reduceat(two, starts)
    clear = np.abs(p - q) * _DISTINCT > 2 * (others.noise * width + others.relative * np.minimum(p, q))
    (sharp,) = np.nonzero(clear)
    if sharp.size:
        keep = np.append(0, starts[sharp[0] + 1 : sharp[-1] + 1]) if sharp[-1] > sharp[0] else starts[:1]
        sizes = np.diff(np.append(keep, one.size))
        p, q, width = np.add.reduceat(one, keep), np.add.reduceat(two, keep), np.sqrt(sizes)
    error = others.noise * width + others.relative * np.maximum(p, q)
    least = np.maximum(0.0, p - error)
    loss = log_ratio(least, q + error)
    return least, loss


def on_lattice(masses: FloatArray, losses: FloatArray, step: float) -> Factor:
    """Outcomes joined, and some of them divided at random, so that all losses are multiples of the step (lower).

    Outcomes are taken by falling loss. Each multiple is given as many of them as make it the loss of all of them
    together. What an observer sees in this way follows from the outcomes. What is left at the end, and what the
    masses lack of 1, gets a smaller loss.
    """
    seen = masses > 0
    order = np.argsort(-losses[seen], kind="stable")
    mass, loss = masses[seen][order], losses[seen][order] / step
    cells: dict[int, float] = {}
    cell, excess = math.floor(loss[0]), 0.0
    for left, value in zip(mass.tolist(), loss.tolist(), strict=True):
        while left:
            # The cell takes outcomes of smaller loss until its surplus, P - e^(cell·step)·Q, is used up.
            surplus = -math.expm1((cell - value) * step)
            taken = left if surplus >= 0 or left * -surplus <= excess else excess / -surplus
            cells[cell] = cells.get(cell, 0.0) + taken
            left -= taken
            excess = max(0.0, excess + taken * surplus)
            if left:
                cell, excess = min(cell - 1, math.floor(value)), 0.0
    lowest = min(cells)
    cells[lowest - 1] = max(0.0, 1 - math.fsum(mass.tolist()))
    places = np.array(sorted(cells))
    here = np.array([cells[place] for place in places.tolist()])
    there = here * np.exp(-places * step)
    return Factor(here / here.sum(), there / there.sum(), places * step)
