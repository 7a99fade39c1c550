"""The law of the total loss of several factors, computed by the sharpest method that applies.

1. `loss_on_lattice` convolves directly. It applies if all losses are multiples of one step, as with randomised
   response and inner products. All numbers are positive, so every digit of every tail is accurate.
2. `loss_by_enumeration` lists all distinct outcomes. It applies if they are few enough.
3. `loss_by_transform` does very many equal losses with one FFT on their lattice, where no loss is rounded.
4. `loss_on_grid` does everything else with one FFT on a grid of losses. It bounds the effects of rounding,
   truncation and FFT noise, so the result is a rigorous bracket.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.factor_products import (
    MACHINE_EPSILON,
    SYMMETRY_ERROR,
    WORLDS,
    RepeatedFactor,
    finite_masses,
    is_symmetric,
    one_sided_masses,
    total_mass_error,
)
from untrackable.theory.lattice_transform import loss_by_transform, transform_points
from untrackable.theory.loss_grid import loss_on_grid
from untrackable.theory.losses import ROUNDING, LossTable

_LARGEST_ENUMERATION = 2_000_000
"""The largest number of outcomes that is enumerated."""
_WIDEST_LATTICE = 25_000
"""The largest number of lattice points for which direct convolution is used."""
_TRIM = 1e-60
"""Each convolution on a lattice drops this much mass at each end."""


def total_loss(factors: Sequence[RepeatedFactor], gaussian: float, grid: int) -> LossTable:
    """The law of the summed loss of repeated factors and of N(±μ/2, 1), where μ is `gaussian`."""
    if any(not factor.finite.any() for factor, _ in factors):
        return LossTable(np.zeros(1), np.zeros(1), np.zeros(1), *one_sided_masses(factors))
    if gaussian == 0:
        step = lattice_step(factors)
        if step is not None and _lattice_fits(factors, step):
            return loss_on_lattice(factors, step)
        if enumerable(factors):
            return loss_by_enumeration(factors)
        if step is not None and (points := transform_points(factors, step)):
            return loss_by_transform(factors, step, points)
    return loss_on_grid(factors, gaussian, grid)


def _loss_error(factors: Sequence[RepeatedFactor]) -> float:
    """A bound on the rounding error of a total loss: a few units in the last place of the largest one."""
    largest = sum(count * float(np.abs(f.loss[f.finite]).max()) for f, count in factors)
    return 32 * MACHINE_EPSILON * largest


# --- on a lattice -----------------------------------------------------------------------------------------


def lattice_step(factors: Sequence[RepeatedFactor]) -> float | None:
    """A step of which all finite losses are multiples, or None if no simple one exists."""
    sizes = np.unique(np.concatenate([np.abs(f.loss[f.finite]) for f, _ in factors] or [np.zeros(0)]))
    sizes = sizes[sizes > 0]
    if sizes.size == 0:
        return 1.0
    for divisor in (1, 2, 3, 4):
        step = float(sizes[0]) / divisor
        multiples = sizes / step
        if np.all(np.abs(multiples - np.rint(multiples)) <= 8 * MACHINE_EPSILON * multiples):
            return step
    return None


def _lattice_fits(factors: Sequence[RepeatedFactor], step: float) -> bool:
    """Whether direct convolution is cheap: the trimmed law is narrow, and the two worlds are not far apart."""
    span, spread, apart = 0.0, 0.0, 0.0
    for factor, count in factors:
        loss = factor.loss[factor.finite] / step
        p, q = (finite_masses(factor, world) / max(finite_masses(factor, world).sum(), 1e-300) for world in WORLDS)
        span += count * float(np.ptp(loss))
        spread += count * max(float(loss**2 @ mass - (loss @ mass) ** 2) for mass in (p, q))
        apart += count * abs(float(loss @ (p - q)))
    width = min(span, 34 * math.sqrt(max(spread, 0.0)) + 1)
    return width <= _WIDEST_LATTICE and min(span, width + apart) <= 100 * _WIDEST_LATTICE


def loss_on_lattice(factors: Sequence[RepeatedFactor], step: float) -> LossTable:
    """The law on multiples of the step. Every digit is accurate, but for the mass of `_TRIM` that is dropped."""
    p, q = (_Masses(0, np.ones(1)), _Masses(0, np.ones(1)))
    alike = is_symmetric(factors)
    for factor, count in factors:
        places = np.rint(factor.loss[factor.finite] / step).astype(np.int64)
        p *= _Masses.at(places, finite_masses(factor, "P")).power(count)
        if not alike:
            q *= _Masses.at(places, finite_masses(factor, "Q")).power(count)
    if alike:
        q = p.reflected()
    low, high = min(p.low, q.low), max(p.low + p.mass.size, q.low + q.mass.size)
    loss = step * np.arange(low, high, dtype=np.float64)
    draws = sum(count for _, count in factors)
    # Mass dropped from a square is missing from all later powers. This adds up to at most 4 trims for each draw.
    lost_mass = 4 * draws * _TRIM if p.trimmed or q.trimmed else 0.0
    return LossTable(
        loss,
        p.spread(low, high),
        q.spread(low, high),
        *one_sided_masses(factors),
        lost_mass=lost_mass,
        loss_error=_loss_error(factors),
        mass_error=ROUNDING + (4 * MACHINE_EPSILON + SYMMETRY_ERROR) * draws + total_mass_error(factors),
    )


@dataclass(frozen=True)
class _Masses:
    """Masses on consecutive integers that start at `low`. Negligible ends are dropped."""

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
        if start >= stop:  # All of the mass was negligible.
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
        """These masses on the negated integers."""
        return _Masses(1 - self.low - self.mass.size, self.mass[::-1], self.trimmed)

    def spread(self, low: int, high: int) -> FloatArray:
        return np.pad(self.mass, (self.low - low, high - self.low - self.mass.size))


# --- by enumeration ---------------------------------------------------------------------------------------


def enumerable(factors: Sequence[RepeatedFactor]) -> bool:
    """Whether few enough outcomes remain if the order of equal draws does not count."""
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


def loss_by_enumeration(factors: Sequence[RepeatedFactor]) -> LossTable:
    """The law from a list of every combination of outcomes, with its multinomial mass in both worlds."""
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
        *one_sided_masses(factors),
        loss_error=_loss_error(factors),
        mass_error=ROUNDING
        + 16 * MACHINE_EPSILON * sum(math.lgamma(count + 1) for _, count in factors)
        + total_mass_error(factors),
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
    # If a mass underflowed to 0, outcomes that draw it have no mass. Outcomes that never draw it keep theirs.
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
