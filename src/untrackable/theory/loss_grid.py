"""The law of a total loss on a grid, computed with one FFT, with a bound on all rounding errors."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.factor import FloatArray
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
from untrackable.theory.losses import RAREST, ROUNDING, LossTable, RoundingShift, World

_TERMS = 4
"""Transforms of masses at up to this number of places are computed term by term instead of by FFT."""
_TOGETHER = 10_000
"""The rounding errors of up to this number of losses are computed for many steps at once."""
_BLOCK = 256
"""Roots of unity are multiplied in rows of this length."""


def loss_on_grid(factors: Sequence[RepeatedFactor], gaussian: float, grid: int) -> LossTable:
    """The law on a grid of about `grid` losses, with a bound on all rounding errors.

    Each loss is rounded to the nearest grid point. The rounding errors of independent draws are independent and
    have a known mean. Bernstein's inequality bounds how far their sum is from that mean: about h·√n for n draws and
    grid step h. Rounding in one direction only would cost h·n.
    """
    low, high = loss_window(factors, gaussian)
    if not low <= high:  # No world has any finite loss left.
        return LossTable(np.zeros(1), np.zeros(1), np.zeros(1), *one_sided_masses(factors))
    narrowest = 1.01 * max(high - low, 1e-9) / grid
    several = sum(count for _, count in factors) > 1
    stretches = np.linspace(1, 1.1, 33) if several and len(factors) <= 8 else np.ones(1)
    while True:
        # Some steps happen to fit the most likely losses better than others. Trying a few costs almost nothing.
        steps = narrowest * stretches
        step = float(steps[_variances(factors, steps).argmin()]) if steps.size > 1 else narrowest
        shifts = _shifts(factors, gaussian, step)
        slack = max(shift.slack(RAREST) for shift in shifts.values())
        means = [shift.mean for shift in shifts.values()]
        first = low - max(means) - slack
        if high - min(means) + slack - first <= step * (grid - 2):
            break
        narrowest *= 1.1
    base = math.floor(first / step)
    masses, noise = _grid_masses(factors, gaussian, step, grid, base)
    return LossTable(
        step * np.arange(base, base + grid, dtype=np.float64),
        masses[0],
        masses[1],
        *one_sided_masses(factors),
        p_shift=shifts["P"],
        q_shift=shifts["Q"],
        lost_mass=noise + 4 * RAREST,
        mass_error=ROUNDING + SYMMETRY_ERROR * sum(count for _, count in factors) + total_mass_error(factors),
    )


def _variances(factors: Sequence[RepeatedFactor], steps: FloatArray) -> FloatArray:
    """The variance of all rounding errors at each step, of both worlds together."""
    if steps.size > 1 and max(factor.loss.size for factor, _ in factors) > _TOGETHER:
        return np.concatenate([_variances(factors, step) for step in steps[:, None]])
    total = np.zeros(steps.size)
    for factor, count in factors:
        loss = factor.loss[factor.finite]
        errors = loss - steps[:, None] * np.rint(loss / steps[:, None])
        for world in WORLDS:
            mass = finite_masses(factor, world)
            if whole := float(mass.sum()):
                means = errors @ mass / whole
                total += count / whole * ((errors - means[:, None]) ** 2 @ mass)
    return total


def _shifts(factors: Sequence[RepeatedFactor], gaussian: float, step: float) -> dict[World, RoundingShift]:
    worlds = WORLDS[:1] if is_symmetric(factors) else WORLDS
    shifts: dict[World, RoundingShift] = {world: RoundingShift() for world in worlds}
    for world, shift in shifts.items():
        for factor, count in factors:
            loss = factor.loss[factor.finite]
            shift.add(loss - step * np.rint(loss / step), finite_masses(factor, world), count)
        if gaussian:
            shift.fixed += step / 2
    return shifts if "Q" in shifts else {**shifts, "Q": shifts["P"].reflected()}


def _grid_masses(
    factors: Sequence[RepeatedFactor], gaussian: float, step: float, grid: int, base: int
) -> tuple[FloatArray, float]:
    """The masses of the two worlds as two rows, and a bound on FFT noise. Symmetric worlds need one transform."""
    alike = is_symmetric(factors)
    worlds = WORLDS[:1] if alike else WORLDS
    spectrum = np.ones((len(worlds), grid // 2 + 1), dtype=np.complex128)
    draws = 0
    for factor, count in factors:
        places = np.rint(factor.loss[factor.finite] / step).astype(np.int64)
        masses = np.stack([finite_masses(factor, world) for world in worlds])
        spectrum *= _power(_spectrum(places, masses, grid), count)
        draws += count
    if gaussian:
        drift = gaussian**2 / 2
        centres = (drift, -drift)[: len(worlds)]
        rows = np.stack([_gaussian_masses(centre, gaussian, step, grid) for centre in centres])
        spectrum *= np.fft.rfft(rows)
    found = np.fft.irfft(spectrum, n=grid)
    if alike:
        found = np.stack((found[0], np.roll(found[0, ::-1], 1)))
    total = np.roll(found, -(base % grid), axis=1)
    # This is the standard error analysis of an FFT relative to the 2-norm: each of log2(grid) stages adds a
    # rounding error, and taking a power multiplies the error by the exponent.
    norm = float(np.linalg.norm(total, axis=1).max())
    noise = MACHINE_EPSILON * (draws + 1) * math.log2(grid) * math.sqrt(grid) * norm
    return np.maximum(total, 0.0), noise


def _spectrum(places: NDArray[np.int64], masses: FloatArray, grid: int) -> NDArray[np.complex128]:
    """The Fourier transform of masses at some places of a grid."""
    if places.size > _TERMS:
        rows = np.stack([np.bincount(places % grid, mass, minlength=grid) for mass in masses])
        found: NDArray[np.complex128] = np.fft.rfft(rows)
        return found
    at = {int(place): masses[:, places == place].sum(axis=1) for place in np.unique(places)}
    nothing = np.zeros(masses.shape[0])
    found = np.zeros((masses.shape[0], grid // 2 + 1), dtype=np.complex128)
    found.real += at.pop(0, nothing)[:, None]
    for place in sorted({abs(place) for place in at}):
        term = _turns(place, grid).view(np.float64).reshape(-1, 2)
        here, there = at.get(place, nothing), at.get(-place, nothing)
        for row, one, other in zip(found, here, there, strict=True):  # Opposite places have conjugate terms.
            row += (term * (one + other, one - other)).view(np.complex128)[:, 0]
    return found


def _turns(place: int, grid: int) -> NDArray[np.complex128]:
    """e^(-2πi·place·f/grid) for the frequencies f of a real transform, each the product of two roots of unity."""
    roots, size = _roots(grid), grid // 2 + 1
    rows = -(-size // _BLOCK)
    near, far = (roots[np.arange(n) * (step * place) % grid] for n, step in ((_BLOCK, 1), (rows, _BLOCK)))
    found: NDArray[np.complex128] = np.multiply.outer(far, near).reshape(-1)[:size]
    return found


@lru_cache(maxsize=2)
def _roots(grid: int) -> NDArray[np.complex128]:
    """All powers of e^(-2πi/grid)."""
    roots: NDArray[np.complex128] = np.exp(-2j * np.pi * np.arange(grid) / grid)
    return roots


def _gaussian_masses(centre: float, scale: float, step: float, grid: int) -> FloatArray:
    """The masses of a normal law rounded to the grid."""
    reach = 9 * scale
    cells = np.arange(math.floor((centre - reach) / step), math.ceil((centre + reach) / step) + 1)
    places = (np.append(cells - 0.5, cells[-1] + 0.5) * step - centre) / (-math.sqrt(2) * scale)
    edges = np.array(list(map(math.erfc, places.tolist()))) / 2
    return np.bincount(cells % grid, np.diff(edges), minlength=grid).astype(np.float64, copy=False)


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    result: NDArray[np.complex128] | None = None
    while True:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if not exponent:
            return result if result is not None else np.ones_like(base)
        base = base * base


def loss_window(factors: Sequence[RepeatedFactor], gaussian: float) -> tuple[float, float]:
    """An interval that the total loss leaves on either side with probability at most `RAREST`, in both worlds."""
    signs = (1,) if is_symmetric(factors) else (1, -1)
    ends = [max(_chernoff(factors, gaussian, sign, world) for world in WORLDS) for sign in signs]
    return -ends[-1], ends[0]


def _chernoff(factors: Sequence[RepeatedFactor], gaussian: float, sign: int, world: World) -> float:
    """The smallest x for which Chernoff's bound puts sign·loss above x with probability at most `RAREST`."""
    drift = gaussian**2 / 2 if world == "P" else -(gaussian**2) / 2
    largest, variance = (math.inf, gaussian**2) if gaussian else (0.0, 0.0)
    laws = []
    for factor, count in factors:
        mass = finite_masses(factor, world)
        # The law is conditioned on finite losses, and outcomes whose mass underflowed to 0 are left out.
        loss, mass = sign * factor.loss[factor.finite][mass > 0], mass[mass > 0] / mass.sum()
        if loss.size == 0:
            return -math.inf
        laws.append((loss, mass, count))
        largest += count * float(loss.max())
        variance += count * float(np.sum(loss**2 * mass))
    if variance == 0:
        return largest
    tried = 40 if max(loss.size for loss, _, _ in laws or [(np.zeros(1), 0, 0)]) < 200_000 else 12
    tilts = np.geomspace(0.1, 200, tried) / math.sqrt(variance)
    cumulants = tilts * sign * drift + tilts**2 * gaussian**2 / 2
    if laws:
        tops = np.array([float(loss.max()) for loss, _, _ in laws])
        starts = np.cumsum([0, *(loss.size for loss, _, _ in laws[:-1])])
        moments = np.outer(
            tilts, np.concatenate([loss - top for (loss, _, _), top in zip(laws, tops, strict=True)])
        )
        np.exp(moments, out=moments)
        moments *= np.concatenate([mass for _, mass, _ in laws])
        moments = np.add.reduceat(moments, starts, axis=1)
        cumulants += (np.outer(tilts, tops) + np.log(moments)) @ np.array([float(count) for _, _, count in laws])
    return min(largest, float(np.min((cumulants - math.log(RAREST)) / tilts)))
