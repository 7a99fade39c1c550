"""Kept bits seen through noise, in closed form: what a search for parameters needs, at any number of reports.

A kept bit is 1 with probability a, a report of it is 1 with probability q or p. With A₁, A₀ the laws of the number
of ones among the first j reports given the bit, and B₁, B₀ those of the other k-j,

    P - Q = a(1-a)·(A₁ - A₀)·(B₁ - B₀),

since P = a·A₁B₁ + (1-a)·A₀B₀ and Q = (a·A₁ + (1-a)·A₀)·(a·B₁ + (1-a)·B₀). So the total variation distance of one
bit is 2a(1-a)·TV(A₁, A₀)·TV(B₁, B₀), and χ² of P against Q is a product of two sums as well.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, gammaln

from untrackable.theory.factor import FloatArray

_POINTS = 32
_ROUNDED = 1e-13
"""What differences of nearly equal laws may have lost."""
_TOGETHER = 4096
"""Reports up to which laws are computed side by side, in a few megabytes."""


def binomial_distances(reports: int, one: float, zero: float) -> FloatArray:
    """TV(Bin(n, q), Bin(n, p)) for n = 0 … reports: the laws cross once, where their ratio passes 1."""
    n = np.arange(reports + 1)
    high, low = max(one, zero), min(one, zero)
    if low == high:
        return np.zeros(reports + 1)
    if low == 0.0 or high == 1.0:
        return np.where(n > 0, 1 - (1 - high if low == 0.0 else low) ** n, 0.0)
    turn = np.log((1 - low) / (1 - high))
    cross = np.floor(n * turn / (turn + np.log(high / low)))
    # Of the two tails, the differences of the smaller ones lose fewer digits.
    below = bdtr(cross, n, low) - bdtr(cross, n, high)
    above = bdtrc(cross, n, high) - bdtrc(cross, n, low)
    distances: FloatArray = np.where(n > 0, np.maximum(below, above), 0.0)
    return np.clip(distances, 0.0, 1.0)


def flipped_distances(reports: int, flip: float, gap: float) -> FloatArray:
    """The same for q = 1 - flip and p = flip, `gap` being q - p: TV(2m+1) = (q-p)·Σ C(2i, i)(pq)^i, i = 0 … m.

    TV(2m+2) is the same, as half of the last reports break no tie. All terms are positive: no digits are lost
    where the two laws are nearly alike.
    """
    i = np.arange(reports // 2)
    terms = np.cumprod(np.concatenate(([1.0], flip * (1 - flip) * 2 * (2 * i + 1) / (i + 1))))
    odd = np.minimum(1.0, abs(gap) * np.cumsum(terms))
    found: FloatArray = np.concatenate(([0.0], np.repeat(odd, 2)))[: reports + 1]
    return found


def kept_bit_advantages(kept: float, apart: FloatArray) -> FloatArray:
    """The advantage of tracking one kept bit, exact up to rounding, for splits j = 0 … reports.

    `apart` are the distances TV(A₁, A₀) for 0 … reports reports. `integer_kept_bit.advantage` is the same in whole
    numbers, for a client that has the standard library alone.
    """
    found: FloatArray = 2 * kept * (1 - kept) * apart * apart[::-1]
    return found


def kept_bits_advantage_upper(kept: list[tuple[float, int]], one: float, zero: float, reports: int) -> float:
    """A bound on the advantage of tracking several independent kept bits, the worst split.

    `kept` are pairs (a, how many). The smaller of Σ TV and ½√(Π (1 + χ²) - 1), by Cauchy and Schwarz.
    """
    if reports < 2:
        return 0.0
    total, growth = np.zeros(reports + 1), np.zeros(reports + 1)
    apart = binomial_distances(reports, one, zero)
    for chance, count in kept:
        total += count * kept_bit_advantages(chance, apart)
        sums = _squares(chance, one, zero, reports)
        growth += count * np.log1p((chance * (1 - chance)) ** 2 * sums * sums[::-1])
    with np.errstate(over="ignore"):
        bound = np.minimum(total, np.sqrt(np.expm1(growth)) / 2)
    return float(min(1.0, bound.max() * (1 + 1e-9) + _ROUNDED * sum(count for _, count in kept)))


def kept_symbol_advantage_upper(kept: float, tell: float, values: int, reports: int) -> float:
    """A bound on the advantage of tracking one kept symbol of `values`, the worst split.

    The symbol is the value with probability `kept` and each other one alike; a report is the symbol with
    probability `tell` and each other one alike. With π the law of the symbol,
    P - Q = ½ Σ π_s·π_t·(A_s - A_t)·(B_s - B_t), so the distance is at most (1 - Σ π²)·TV(A_s, A_t)·TV(B_s, B_t).
    """
    lie = (1 - tell) / (values - 1)
    both = tell + lie
    distances = binomial_distances(reports, tell / both, lie / both)
    known = _known(reports)
    # Of n reports, those that are one of the two symbols are Bin(n, tell + lie) in either world.
    mixed = np.concatenate([_binomials(some, both) @ distances[: some[-1] + 1] for some in _batches(known)])
    apart = _upwards(known, mixed, reports)
    other = kept**2 + (1 - kept) ** 2 / (values - 1)
    return float(min(1.0, (1 - other) * (apart * apart[::-1]).max() * (1 + 1e-9) + _ROUNDED))


def _squares(kept: float, one: float, zero: float, reports: int) -> FloatArray:
    """Σ (A₁ - A₀)²/(a·A₁ + (1-a)·A₀) for n = 0 … reports."""
    known = _known(reports)
    found = []
    for some in _batches(known):
        first, second = _binomials(some, one), _binomials(some, zero)
        mixed = kept * first + (1 - kept) * second
        apart = np.divide((first - second) ** 2, mixed, out=np.zeros(mixed.shape), where=mixed > 0)
        found.append(apart.sum(axis=1))
    return _upwards(known, np.concatenate(found), reports)


def _known(reports: int) -> NDArray[np.int64]:
    """Numbers of reports at which something that grows with them is computed."""
    return np.unique(np.geomspace(1, reports, _POINTS).round().astype(np.int64))


def _upwards(known: NDArray[np.int64], found: FloatArray, reports: int) -> FloatArray:
    """For n = 0 … reports, the value at the next known n, which bounds it as it grows."""
    above = np.searchsorted(known, np.arange(1, reports + 1))
    bounds: FloatArray = np.concatenate(([0.0], found[above]))
    return bounds


def _batches(known: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Numbers of reports whose laws are computed together; large ones alone."""
    few = known[known <= _TOGETHER]
    return [few] * (few.size > 0) + [known[i : i + 1] for i in range(few.size, known.size)]


def _binomials(numbers: NDArray[np.int64], chance: float) -> FloatArray:
    """The laws of Bin(n, p) as rows, for increasing n."""
    n, ones = numbers[:, None], np.arange(numbers[-1] + 1)
    if chance in (0.0, 1.0):
        return np.asarray(ones == n * chance, dtype=np.float64)
    orders = gammaln(ones + 1)
    logs = orders[numbers][:, None] - orders - orders[np.maximum(n - ones, 0)]
    return np.exp(  # type: ignore[no-any-return]
        logs + ones * np.log(chance) + (n - ones) * np.log1p(-chance), where=ones <= n, out=np.zeros(logs.shape)
    )
