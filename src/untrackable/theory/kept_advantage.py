"""The tracking advantage of kept bits and symbols in closed form, fast enough for a search over parameters.

A kept bit is 1 with probability a. A report of it is 1 with probability q if the bit is 1, and p if it is 0. Let A₁
and A₀ be the laws of the number of ones among the first j reports given the bit, and B₁ and B₀ those of the other
k-j reports. Then

    P - Q = a(1-a)·(A₁ - A₀)·(B₁ - B₀),

because P = a·A₁B₁ + (1-a)·A₀B₀ and Q = (a·A₁ + (1-a)·A₀)·(a·B₁ + (1-a)·B₀). So the total variation distance of one
bit is 2a(1-a)·TV(A₁, A₀)·TV(B₁, B₀), and χ² of P against Q is a product of two sums as well.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, gammaln

from untrackable.theory.factor import FloatArray

_POINTS = 32
"""The number of report counts at which a growing quantity is computed; in between it is rounded up."""
_ROUNDED = 1e-13
"""A bound on the absolute rounding error of the difference of two nearly equal laws."""
_TOGETHER = 4096
"""Laws of up to this number of reports are computed together, which takes a few megabytes."""


def binomial_distances(reports: int, one: float, zero: float) -> FloatArray:
    """TV(Bin(n, q), Bin(n, p)) for n = 0 … reports, where q is `one` and p is `zero`.

    The two laws cross once, where their ratio passes 1, so the distance is a difference of two tails.
    """
    n = np.arange(reports + 1)
    high, low = max(one, zero), min(one, zero)
    if low == high:
        return np.zeros(reports + 1)
    if low == 0.0 or high == 1.0:
        return np.where(n > 0, 1 - (1 - high if low == 0.0 else low) ** n, 0.0)
    turn = np.log((1 - low) / (1 - high))
    cross = np.floor(n * turn / (turn + np.log(high / low)))
    # Lower and upper tails give the same difference. The smaller tails lose fewer digits.
    below = bdtr(cross, n, low) - bdtr(cross, n, high)
    above = bdtrc(cross, n, high) - bdtrc(cross, n, low)
    distances: FloatArray = np.where(n > 0, np.maximum(below, above), 0.0)
    return np.clip(distances, 0.0, 1.0)


def flipped_distances(reports: int, flip: float, gap: float) -> FloatArray:
    """TV(Bin(n, q), Bin(n, p)) for n = 0 … reports, with q = 1 - flip, p = flip and `gap` = q - p.

    TV at n = 2m+1 is (q-p)·Σ C(2i, i)(pq)^i over i = 0 … m, and TV at n = 2m+2 is the same. All terms are positive,
    so no digits are lost if the two laws are nearly equal.
    """
    i = np.arange(reports // 2)
    terms = np.cumprod(np.concatenate(([1.0], flip * (1 - flip) * 2 * (2 * i + 1) / (i + 1))))
    odd = np.minimum(1.0, abs(gap) * np.cumsum(terms))
    found: FloatArray = np.concatenate(([0.0], np.repeat(odd, 2)))[: reports + 1]
    return found


def kept_bit_advantages(kept: float, apart: FloatArray) -> FloatArray:
    """The advantage of tracking one kept bit, exact up to rounding, for splits j = 0 … reports.

    `apart` are the distances TV(A₁, A₀) for 0 … reports reports.
    """
    found: FloatArray = 2 * kept * (1 - kept) * apart * apart[::-1]
    return found


def kept_bits_advantage_upper(kept: list[tuple[float, int]], one: float, zero: float, reports: int) -> float:
    """An upper bound on the advantage of tracking several independent kept bits, at the worst split.

    `kept` are pairs (a, number of such bits). The bound is the smaller of Σ TV and ½√(Π (1 + χ²) - 1), by the
    Cauchy-Schwarz inequality.
    """
    if reports < 2:
        return 0.0
    total = np.zeros(reports + 1)
    apart = binomial_distances(reports, one, zero)
    for chance, count in kept:
        total += count * kept_bit_advantages(chance, apart)
    bound = np.minimum(total, np.sqrt(_chi_squares(kept, one, zero, reports)) / 2)
    return float(min(1.0, bound.max() * (1 + 1e-9) + _ROUNDED * sum(count for _, count in kept)))


def kept_bits_chi_square_upper(kept: list[tuple[float, int]], one: float, zero: float, reports: int) -> float:
    """An upper bound on χ² of one person against two, Π (1 + χ²) - 1 over the kept bits, at the worst split."""
    if reports < 2:
        return 0.0
    found = float(_chi_squares(kept, one, zero, reports).max())
    return found * (1 + 1e-9) + _ROUNDED * sum(count for _, count in kept)


def _chi_squares(kept: list[tuple[float, int]], one: float, zero: float, reports: int) -> FloatArray:
    """The same for all splits j = 0 … reports."""
    growth = np.zeros(reports + 1)
    for chance, count in kept:
        sums = _squares(chance, one, zero, reports)
        growth += count * np.log1p((chance * (1 - chance)) ** 2 * sums * sums[::-1])
    with np.errstate(over="ignore"):
        found: FloatArray = np.expm1(growth)
    return found


def kept_symbol_advantage_upper(kept: float, tell: float, values: int, reports: int) -> float:
    """An upper bound on the advantage of tracking one kept symbol out of `values`, at the worst split.

    The kept symbol is the true one with probability `kept`, and otherwise any other with equal probability. A
    report is the kept symbol with probability `tell`, and otherwise any other with equal probability. With π the
    law of the kept symbol, P - Q = ½ Σ π_s·π_t·(A_s - A_t)·(B_s - B_t). So the distance is at most (1 - Σ
    π²)·TV(A_s, A_t)·TV(B_s, B_t).
    """
    if reports < 2:
        return 0.0
    lie = (1 - tell) / (values - 1)
    both = tell + lie
    distances = binomial_distances(reports, tell / both, lie / both)
    known = _known(reports)
    # The number of reports that show one of the two symbols is Bin(n, tell + lie) in either world.
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
    """The numbers of reports at which a growing quantity is computed."""
    return np.unique(np.geomspace(1, reports, _POINTS).round().astype(np.int64))


def _upwards(known: NDArray[np.int64], found: FloatArray, reports: int) -> FloatArray:
    """For n = 0 … reports, the value at the next known n. It is an upper bound, because the values grow with n."""
    above = np.searchsorted(known, np.arange(1, reports + 1))
    bounds: FloatArray = np.concatenate(([0.0], found[above]))
    return bounds


def _batches(known: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Groups of report counts whose laws are computed together. Large counts are computed one at a time."""
    small = known[known <= _TOGETHER]
    return [small] * (small.size > 0) + [known[i : i + 1] for i in range(small.size, known.size)]


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
