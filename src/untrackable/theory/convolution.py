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
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.losses import RAREST, ROUNDING, LossTable, Shift, World

Counted = tuple[Factor, int]

_LARGEST_ENUMERATION = 2_000_000
_WIDEST_LATTICE = 25_000
_UNIT = float(np.finfo(np.float64).eps)
_WORLDS: tuple[World, World] = ("P", "Q")
_ALIKE = 2 * _UNIT
_TERMS = 4
_BLOCK = 256
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


def _errors(factors: Sequence[Counted]) -> float:
    """Relative error that the factors' own masses bring along."""
    return sum(count * factor.error for factor, count in factors)


def _hair(factors: Sequence[Counted]) -> float:
    """A few units in the last place of the largest total loss."""
    largest = sum(count * float(np.abs(f.loss[f.finite]).max()) for f, count in factors)
    return 32 * _UNIT * largest


def only_masses(factors: Sequence[Counted]) -> tuple[float, float]:
    """Masses at infinite loss: outcomes that only one of the worlds can produce, in any factor."""
    p_only = q_only = 0.0
    for factor, count in factors:
        p_only = _at_least_once(p_only, float(factor.p[factor.loss == np.inf].sum()), count)
        q_only = _at_least_once(q_only, float(factor.q[factor.loss == -np.inf].sum()), count)
    return p_only, q_only


def mirrored(factors: Sequence[Counted]) -> bool:
    """Whether every factor looks the same with its worlds exchanged, to the last digit but one of its masses.

    Then one world's law is that of both, with a relative error of at most `_ALIKE` for each draw.
    """
    return all(
        np.array_equal(f.loss, -f.loss[::-1]) and bool(np.all(np.abs(f.p - f.q[::-1]) <= _ALIKE * f.p))
        for f, _ in factors
    )


def _at_least_once(before: float, chance: float, count: int) -> float:
    """Probability of an event of probability `before`, or of any of `count` independent ones."""
    if count > 1 and chance < 1:
        chance = -math.expm1(count * math.log1p(-chance))
    return before + chance - before * chance


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
        if np.all(np.abs(multiples - np.rint(multiples)) <= 8 * _UNIT * multiples):
            return step
    return None


def _lattice_fits(factors: Sequence[Counted], step: float) -> bool:
    """Whether direct convolution is cheap: of the width that remains trimmed, and with the worlds not far apart."""
    span, spread, apart = 0.0, 0.0, 0.0
    for factor, count in factors:
        loss = factor.loss[factor.finite] / step
        p, q = (_masses(factor, world) / max(_masses(factor, world).sum(), 1e-300) for world in _WORLDS)
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
        p *= _Masses.at(places, _masses(factor, "P")).power(count)
        if not alike:
            q *= _Masses.at(places, _masses(factor, "Q")).power(count)
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
        rounding=ROUNDING + (4 * _UNIT + _ALIKE) * draws + _errors(factors),
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
        rounding=ROUNDING + 16 * _UNIT * sum(math.lgamma(count + 1) for _, count in factors) + _errors(factors),
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


# --- on a grid --------------------------------------------------------------------------------------------


def gridded(factors: Sequence[Counted], gaussian: float, grid: int) -> LossTable:
    """Masses on a grid of about `grid` losses, with everything that rounding can have done bounded.

    Each loss is rounded to the nearest grid point. The rounding errors of independent draws are independent,
    their mean is known, and Bernstein's inequality bounds how far their sum strays from it: with n draws and
    step h by about h·√n, where rounding in one direction alone would lose h·n.
    """
    low, high = _window(factors, gaussian)
    if not low <= high:  # in neither world is any finite loss left
        return LossTable(np.zeros(1), np.zeros(1), np.zeros(1), *only_masses(factors))
    narrowest = 1.01 * max(high - low, 1e-9) / grid
    stretches = np.linspace(1, 1.1, 33) if len(factors) <= 8 else (1.0,)
    while True:
        # Some steps happen to suit the heaviest losses: the best of a few costs nothing.
        step, shifts = min(
            ((h, _shifts(factors, gaussian, h)) for h in (narrowest * s for s in stretches)),
            key=lambda candidate: candidate[1]["P"].variance + candidate[1]["Q"].variance,
        )
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
        *only_masses(factors),
        p_shift=shifts["P"],
        q_shift=shifts["Q"],
        lost=noise + 4 * RAREST,
        rounding=ROUNDING + _ALIKE * sum(count for _, count in factors) + _errors(factors),
    )


def _masses(factor: Factor, world: World) -> FloatArray:
    return (factor.p if world == "P" else factor.q)[factor.finite]


def _shifts(factors: Sequence[Counted], gaussian: float, step: float) -> dict[World, Shift]:
    worlds = _WORLDS[:1] if mirrored(factors) else _WORLDS
    shifts: dict[World, Shift] = {world: Shift() for world in worlds}
    for world, shift in shifts.items():
        for factor, count in factors:
            loss = factor.loss[factor.finite]
            shift.add(loss - step * np.rint(loss / step), _masses(factor, world), count)
        if gaussian:
            shift.fixed += step / 2
    return shifts if "Q" in shifts else {**shifts, "Q": shifts["P"].reflected()}


def _grid_masses(
    factors: Sequence[Counted], gaussian: float, step: float, grid: int, base: int
) -> tuple[FloatArray, float]:
    """The two worlds as two rows, transformed side by side; of worlds that mirror each other, one only."""
    alike = mirrored(factors)
    worlds = _WORLDS[:1] if alike else _WORLDS
    spectrum = np.ones((len(worlds), grid // 2 + 1), dtype=np.complex128)
    draws = 0
    for factor, count in factors:
        places = np.rint(factor.loss[factor.finite] / step).astype(np.int64)
        masses = np.stack([_masses(factor, world) for world in worlds])
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
    # Standard FFT error analysis, relative to the 2-norm: a rounding for each doubling, and powers multiply it.
    norm = float(np.linalg.norm(total, axis=1).max())
    noise = _UNIT * (draws + 1) * math.log2(grid) * math.sqrt(grid) * norm
    return np.maximum(total, 0.0), noise


def _spectrum(places: NDArray[np.int64], masses: FloatArray, grid: int) -> NDArray[np.complex128]:
    """The transform of masses at a few places of a grid: term by term where there are few, or else by FFT."""
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
        for row, one, other in zip(found, here, there, strict=True):  # of opposite places, conjugates
            row += (term * (one + other, one - other)).view(np.complex128)[:, 0]
    return found


def _turns(place: int, grid: int) -> NDArray[np.complex128]:
    """e^(-2πi·place·f/grid) for the frequencies f of a real transform, each as a product of two roots."""
    roots, size = _roots(grid), grid // 2 + 1
    rows = -(-size // _BLOCK)
    near, far = (roots[np.arange(n) * (step * place) % grid] for n, step in ((_BLOCK, 1), (rows, _BLOCK)))
    found: NDArray[np.complex128] = np.multiply.outer(far, near).reshape(-1)[:size]
    return found


@lru_cache(maxsize=2)
def _roots(grid: int) -> NDArray[np.complex128]:
    """All powers of e^(-2πi/grid)."""
    return np.exp(-2j * np.pi * np.arange(grid) / grid)


def _gaussian_masses(centre: float, scale: float, step: float, grid: int) -> FloatArray:
    """A normal law rounded to the grid."""
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


def _window(factors: Sequence[Counted], gaussian: float) -> tuple[float, float]:
    """An interval that the total loss leaves with probability at most `RAREST` on each side, in either world."""
    signs = (1,) if mirrored(factors) else (1, -1)
    ends = [max(_chernoff(factors, gaussian, sign, world) for world in _WORLDS) for sign in signs]
    return -ends[-1], ends[0]


def _chernoff(factors: Sequence[Counted], gaussian: float, sign: int, world: World) -> float:
    """The smallest x for which Chernoff's bound puts sign·loss above x with probability at most `RAREST`."""
    drift = gaussian**2 / 2 if world == "P" else -(gaussian**2) / 2
    largest, variance = (math.inf, gaussian**2) if gaussian else (0.0, 0.0)
    laws = []
    for factor, count in factors:
        mass = _masses(factor, world)
        # Given that all losses are finite; outcomes whose mass underflowed do not occur.
        loss, mass = sign * factor.loss[factor.finite][mass > 0], mass[mass > 0] / mass.sum()
        if loss.size == 0:
            return -math.inf
        laws.append((loss, mass, count))
        largest += count * float(loss.max())
        variance += count * float(loss**2 @ mass)
    if variance == 0:
        return largest
    few = 40 if max(loss.size for loss, _, _ in laws or [(np.zeros(1), 0, 0)]) < 200_000 else 12
    tilts = np.geomspace(0.1, 200, few) / math.sqrt(variance)
    cumulants = tilts * sign * drift + tilts**2 * gaussian**2 / 2
    if laws:
        tops = np.array([float(loss.max()) for loss, _, _ in laws])
        starts = np.cumsum([0, *(loss.size for loss, _, _ in laws[:-1])])
        moments = np.outer(tilts, np.concatenate([loss - top for (loss, _, _), top in zip(laws, tops, strict=True)]))
        np.exp(moments, out=moments)
        moments *= np.concatenate([mass for _, mass, _ in laws])
        moments = np.add.reduceat(moments, starts, axis=1)
        cumulants += (np.outer(tilts, tops) + np.log(moments)) @ np.array([float(count) for _, _, count in laws])
    return min(largest, float(np.min((cumulants - math.log(RAREST)) / tilts)))
