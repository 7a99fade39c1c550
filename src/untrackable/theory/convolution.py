"""From factors to the law of their total loss, by the sharpest method that applies.

1. `lattice`: all losses are multiples of one step (randomised response, inner products): direct convolution
   of positive numbers, accurate in every digit of every tail.
2. `enumerated`: few enough distinct outcomes to list them all.
3. `gridded`: everything else, by one FFT on a grid of losses; rounding, truncation and FFT noise are bounded
   and carried along, so that what comes out is a rigorous bracket.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.factor_products import (
    ALIKE,
    UNIT,
    WORLDS,
    Counted,
    errors_of,
    masses_of,
    mirrored,
    only_masses,
)
from untrackable.theory.loss_grid import gridded
from untrackable.theory.losses import ROUNDING, LossTable

_LARGEST_ENUMERATION = 2_000_000
_WIDEST_LATTICE = 25_000
_TRIM = 1e-60
"""Mass that a lattice drops at each end of each convolution."""


def total_loss(factors: Sequence[Counted], gaussian: float, grid: int) -> LossTable:
    """The law of the summed loss of repeated factors and a Gaussian shift of the given size."""
    if any(not factor.finite.any() for factor, _ in factors):
        return LossTable(np.zeros(1), np.zeros(1), np.zeros(1), *only_masses(factors))
    if gaussian == 0:
        step = lattice_step(factors)
        if step is not None and _lattice_fits(factors, step):
            return lattice(factors, step)
        if enumerable(factors):
            return enumerated(factors)
    return gridded(factors, gaussian, grid)


def _hair(factors: Sequence[Counted]) -> float:
    """A few units in the last place of the largest total loss."""
    largest = sum(count * float(np.abs(f.loss[f.finite]).max()) for f, count in factors)
    return 32 * UNIT * largest


# --- on a lattice -----------------------------------------------------------------------------------------


def lattice_step(factors: Sequence[Counted]) -> float | None:
    """The step that all finite losses are multiples of, if there is an evident one."""
    sizes = np.unique(np.concatenate([np.abs(f.loss[f.finite]) for f, _ in factors] or [np.zeros(0)]))
    sizes = sizes[sizes > 0]
    if sizes.size == 0:
        return 1.0
    for divisor in (1, 2, 3, 4):
        step = float(sizes[0]) / divisor
        multiples = sizes / step
        if np.all(np.abs(multiples - np.rint(multiples)) <= 8 * UNIT * multiples):
            return step
    return None


def _lattice_fits(factors: Sequence[Counted], step: float) -> bool:
    """Whether direct convolution is cheap: of the width that remains trimmed, and with the worlds not far apart."""
    span, spread, apart = 0.0, 0.0, 0.0
    for factor, count in factors:
        loss = factor.loss[factor.finite] / step
        p, q = (masses_of(factor, world) / max(masses_of(factor, world).sum(), 1e-300) for world in WORLDS)
        span += count * float(np.ptp(loss))
        spread += count * max(float(loss**2 @ mass - (loss @ mass) ** 2) for mass in (p, q))
        apart += count * abs(float(loss @ (p - q)))
    width = min(span, 34 * math.sqrt(max(spread, 0.0)) + 1)
    return width <= _WIDEST_LATTICE and min(span, width + apart) <= 100 * _WIDEST_LATTICE


def lattice(factors: Sequence[Counted], step: float) -> LossTable:
    """Masses on multiples of the step, accurate in every digit down to the trimmed `_TRIM`."""
    p, q = (_Masses(0, np.ones(1)), _Masses(0, np.ones(1)))
    alike = mirrored(factors)
    for factor, count in factors:
        places = np.rint(factor.loss[factor.finite] / step).astype(np.int64)
        p *= _Masses.at(places, masses_of(factor, "P")).power(count)
        if not alike:
            q *= _Masses.at(places, masses_of(factor, "Q")).power(count)
    if alike:
        q = p.reflected()
    low, high = min(p.low, q.low), max(p.low + p.mass.size, q.low + q.mass.size)
    loss = step * np.arange(low, high, dtype=np.float64)
    draws = sum(count for _, count in factors)
    # What is dropped from a square is dropped from all later powers: at most 4 for each draw.
    lost = 4 * draws * _TRIM if p.trimmed or q.trimmed else 0.0
    return LossTable(
        loss,
        p.spread(low, high),
        q.spread(low, high),
        *only_masses(factors),
        lost=lost,
        hair=_hair(factors),
        rounding=ROUNDING + (4 * UNIT + ALIKE) * draws + errors_of(factors),
    )


@dataclass(frozen=True)
class _Masses:
    """Masses on consecutive integers from `low` on; negligible ends are dropped."""

    low: int
    mass: FloatArray
    trimmed: bool = False

    @staticmethod
    def at(places: NDArray[np.int64], mass: FloatArray) -> "_Masses":
        low = int(places.min())
        return _Masses(low, np.bincount(places - low, mass).astype(np.float64))

    def __mul__(self, other: "_Masses") -> "_Masses":
        mass = np.convolve(self.mass, other.mass)
        start = int(np.searchsorted(np.cumsum(mass), _TRIM, "right"))
        stop = mass.size - int(np.searchsorted(np.cumsum(mass[::-1]), _TRIM, "right"))
        if start >= stop:  # no mass at all
            start, stop = 0, 1
        trimmed = self.trimmed or other.trimmed or bool(mass[:start].any() or mass[stop:].any())
        return _Masses(self.low + other.low + start, mass[start:stop], trimmed)

    def power(self, count: int) -> "_Masses":
        result, square = _Masses(0, np.ones(1)), self
        while True:
            if count & 1:
                result *= square
            count >>= 1
            if not count:
                return result
            square *= square

    def reflected(self) -> "_Masses":
        """The same on the negative integers."""
        return _Masses(1 - self.low - self.mass.size, self.mass[::-1], self.trimmed)

    def spread(self, low: int, high: int) -> FloatArray:
        return np.pad(self.mass, (self.low - low, high - self.low - self.mass.size))


# --- by enumeration ---------------------------------------------------------------------------------------


def enumerable(factors: Sequence[Counted]) -> bool:
    """Whether few enough outcomes remain when equal draws are counted rather than ordered."""
    size = 1
    for factor, count in factors:
        kinds = int(factor.finite.sum())
        if count + kinds > 2 * _LARGEST_ENUMERATION:
            return False
        rows = math.comb(count + kinds - 1, kinds - 1) if min(count, kinds - 1) < 64 else _LARGEST_ENUMERATION + 1
        size *= rows
        if size > _LARGEST_ENUMERATION or (count > 1 and rows * kinds > 8 * _LARGEST_ENUMERATION):
            return False
    return True


def enumerated(factors: Sequence[Counted]) -> LossTable:
    """Every combination of outcomes, with its multinomial mass in both worlds."""
    loss, p, q = np.zeros(1), np.ones(1), np.ones(1)
    for factor, count in factors:
        one, in_p, in_q = _repeated(factor, count)
        loss = np.add.outer(loss, one).ravel()
        p = np.multiply.outer(p, in_p).ravel()
        q = np.multiply.outer(q, in_q).ravel()
    order = np.argsort(loss, kind="stable")
    return LossTable(
        loss[order],
        p[order],
        q[order],
        *only_masses(factors),
        hair=_hair(factors),
        rounding=ROUNDING + 16 * UNIT * sum(math.lgamma(count + 1) for _, count in factors) + errors_of(factors),
    )


def _repeated(factor: Factor, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    finite = factor.finite
    loss, p, q = factor.loss[finite], factor.p[finite], factor.q[finite]
    if count == 1:
        return loss, p, q
    from scipy.special import gammaln

    counts = _compositions(count, loss.size)
    orders = gammaln(count + 1) - gammaln(counts + 1).sum(axis=1)
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log(q)
    # A mass that underflowed to 0 contributes nothing, also when it is drawn zero times.
    in_p = np.where(counts > 0, counts * np.where(p > 0, log_p, -1e4), 0.0).sum(axis=1)
    in_q = np.where(counts > 0, counts * np.where(q > 0, log_q, -1e4), 0.0).sum(axis=1)
    return counts @ loss, np.exp(orders + in_p), np.exp(orders + in_q)


def _compositions(total: int, parts: int) -> FloatArray:
    """All ways to write `total` as an ordered sum of `parts` non-negative integers, one per row."""
    rows: FloatArray = np.full((1, 1), float(total))
    for _ in range(parts - 1):
        left = rows[:, -1].astype(np.int64)
        repeats = left + 1
        grown = np.repeat(rows, repeats, axis=0)
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        taken = (np.arange(grown.shape[0]) - starts).astype(np.float64)
        rows = np.column_stack((grown[:, :-1], taken, grown[:, -1] - taken))
    return rows
