"""The law of the total loss of several factors (privacy loss distribution), by the sharpest method that applies.

1. `loss_on_lattice` convolves directly. It applies if all losses are multiples of one step, as with randomised
   response and inner products. All numbers are positive, so every digit of every tail is accurate.
2. `loss_by_enumeration` lists all distinct outcomes. It applies if they are few enough.
3. `loss_by_transform` does very many equal losses with one FFT on their lattice, where no loss is rounded.
4. `loss_on_grid` does everything else with one FFT on a grid of losses. It bounds the effects of rounding,
   truncation and FFT noise, so the result is a rigorous bracket.

`lattice_factor` joins many rounds of different losses into one factor on a lattice. `tail_shift` is one Gaussian
that dominates very many quiet rounds, with the standard library alone. A quiet round has three outcomes: the loss ε
with probability ηp, -ε with ηq, where p/q = e^ε and p+q = 1, and 0 with probability 1-η. In the other world, p and
q are exchanged.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.arrays import FloatArray
from untrackable.theory.factor import (
    MACHINE_EPSILON,
    RAREST,
    ROUNDING,
    SYMMETRY_ERROR,
    WORLDS,
    Factor,
    LossTable,
    RepeatedFactor,
    RoundingShift,
    World,
    finite_masses,
    is_symmetric,
    one_sided_masses,
    total_mass_error,
)


def total_loss(factors: Sequence[RepeatedFactor], gaussian: float, grid: int) -> LossTable:
    """The law of the summed loss of repeated factors and of N(±μ/2, 1), where μ is `gaussian`."""
    if any(not factor.finite.any() for factor, _ in factors):
        return LossTable(np.zeros(1), np.zeros(1), np.zeros(1), *one_sided_masses(factors))
    if gaussian == 0:
        step = _lattice_step(factors)
        if step is not None and _lattice_fits(factors, step):
            return loss_on_lattice(factors, step)
        if _enumerable(factors):
            return loss_by_enumeration(factors)
        if step is not None and (points := _transform_points(factors, step)):
            return loss_by_transform(factors, step, points)
    return loss_on_grid(factors, gaussian, grid)


def _loss_error(factors: Sequence[RepeatedFactor]) -> float:
    """A bound on the rounding error of a total loss: a few units in the last place of the largest one."""
    largest = sum(count * float(np.abs(f.loss[f.finite]).max()) for f, count in factors)
    return 32 * MACHINE_EPSILON * largest


def _power(base: Any, exponent: int, one: Any) -> Any:
    """A power by repeated squaring, of anything that multiplies and has a `one`."""
    while True:
        if exponent & 1:
            one = one * base
        exponent >>= 1
        if not exponent:
            return one
        base = base * base


# --- 1. on a lattice, by convolution ----------------------------------------------------------------------

_WIDEST_LATTICE = 25_000
"""The largest number of lattice points for which direct convolution is used."""
_TRIM = 1e-60
"""Each convolution on a lattice drops this much mass at each end."""


def _lattice_step(factors: Sequence[RepeatedFactor]) -> float | None:
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
    nothing = p = q = _Masses(0, np.ones(1))
    alike = is_symmetric(factors)
    for factor, count in factors:
        places = np.rint(factor.loss[factor.finite] / step).astype(np.int64)
        p *= _power(_Masses.at(places, finite_masses(factor, "P")), count, nothing)
        if not alike:
            q *= _power(_Masses.at(places, finite_masses(factor, "Q")), count, nothing)
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

    def reflected(self) -> "_Masses":
        """These masses on the negated integers."""
        return _Masses(1 - self.low - self.mass.size, self.mass[::-1], self.trimmed)

    def spread(self, low: int, high: int) -> FloatArray:
        return np.pad(self.mass, (self.low - low, high - self.low - self.mass.size))


# --- 2. by enumeration ------------------------------------------------------------------------------------

_LARGEST_ENUMERATION = 2_000_000
"""The largest number of outcomes that is enumerated."""


def _enumerable(factors: Sequence[RepeatedFactor]) -> bool:
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


# --- 3. on a lattice, by one Fourier transform ------------------------------------------------------------

_LARGEST = 1 << 21
"""The largest number of lattice points."""
_FEWEST = 1000
"""The smallest number of draws. A transform below one half to this power is 0."""
_OPERATIONS = 64
"""More than the rounded operations behind one logarithm, one power and one stage of a transform."""


def _transform_points(factors: Sequence[RepeatedFactor], step: float) -> int:
    """The number of points of a transform, a power of two; 0 if it does not apply or needs too many.

    It applies to many draws, if every loss is -step, 0 or step, and both worlds can show every outcome.
    """
    if sum(count for _, count in factors) < _FEWEST:
        return 0
    for factor, _ in factors:
        if not factor.finite.all() or not np.all(np.isin(factor.loss, (-step, 0.0, step))):
            return 0
    low, high = _loss_window(factors, 0.0)
    points = 1 << max(10, math.ceil(high / step) - math.floor(low / step) + 3).bit_length()
    return points if points <= _LARGEST else 0


def loss_by_transform(factors: Sequence[RepeatedFactor], step: float, points: int) -> LossTable:
    """The law on `points` multiples of the step, with a bound on all rounding errors.

    With masses a and b of ε and -ε, the transform of one loss is φ(θ) = 1 + z with
    z = -2(a+b)·sin²(θ/2) - i(a-b)·sin θ, and that of n losses is exp(n·ln(1 + z)). As ln(1 + z) is computed from z
    itself, its relative error is that of a few operations, so the error of the power does not grow with n. Squaring
    φ repeatedly would multiply it by n.
    """
    low, _ = _loss_window(factors, 0.0)
    first = math.floor(low / step) - 1
    laws, noise = [], 0.0
    for world in WORLDS[:1] if is_symmetric(factors) else WORLDS:
        logarithm = np.zeros(points // 2 + 1, dtype=np.complex128)
        for factor, count in factors:
            mass = factor.p if world == "P" else factor.q
            up, down, none = (float(mass[factor.loss == sign * step].sum()) for sign in (1, -1, 0))
            logarithm += _log_of_many((up, down, none), count, points)
        spectrum = np.exp(logarithm)
        # Errors of the exponent are relative to it. Sums of absolute values are at most √points times 2-norms.
        own = math.sqrt(2) * _norm(np.abs(spectrum) * (1 + np.abs(logarithm)))
        transform = math.log2(points) * math.sqrt(2) * _norm(np.abs(spectrum))
        noise = max(noise, _OPERATIONS * MACHINE_EPSILON * (own + transform))
        laws.append(np.roll(np.maximum(np.fft.irfft(spectrum, n=points), 0.0), -first))
    loss = step * np.arange(first, first + points, dtype=np.float64)
    if len(laws) == 1:
        laws.append(np.roll(laws[0][::-1], 1 - 2 * first - points))
    draws = sum(count for _, count in factors)
    return LossTable(
        loss,
        laws[0],
        laws[1],
        lost_mass=noise + 4 * RAREST,
        loss_error=32 * MACHINE_EPSILON * step * max(abs(first), first + points),
        mass_error=ROUNDING + SYMMETRY_ERROR * draws + total_mass_error(factors),
    )


def _norm(sizes: FloatArray) -> float:
    """The 2-norm. NumPy's own starts threads for long arrays, which is slower where other cores are busy."""
    return math.sqrt(float(np.square(sizes).sum()))


def _log_of_many(masses: tuple[float, float, float], count: int, points: int) -> NDArray[np.complex128]:
    """The logarithm of the transform of `count` losses at all frequencies, for masses of ε, -ε and 0.

    |φ|² - 1 is a sum of two terms that hardly cancel. Where φ is nearer to -1 than to 1, its power is that of -φ,
    and of -1, which is exact.
    """
    up, down, none = masses
    angle = np.pi / points * np.arange(points // 2 + 1)
    sine: FloatArray = np.sin(angle)
    cosine: FloatArray = np.cos(angle)
    lacking = 2 * (up + down) * sine**2
    imaginary = -2 * (up - down) * sine * cosine
    excess = imaginary**2 - 2 * lacking * (none + (up + down) * cosine**2)
    # Where φ is nearly 0, its logarithm is not accurate, but its power vanishes for as many draws as there are.
    size = np.log1p(np.maximum(excess, -1 + MACHINE_EPSILON)) / 2
    side = np.where(lacking > 1, -1.0, 1.0)
    phase = count * np.arctan2(side * imaginary, side * (1 - lacking)) + np.where(
        side < 0, np.pi * (count % 2), 0.0
    )
    return count * size + 1j * phase


# --- 4. on a grid, by one Fourier transform ---------------------------------------------------------------

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
    low, high = _loss_window(factors, gaussian)
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
        spectrum *= _power(_spectrum(places, masses, grid), count, np.ones(1, dtype=np.complex128))
        draws += count
    if gaussian:
        drift = gaussian**2 / 2
        centres = (drift, -drift)[: len(worlds)]
        rows = np.stack([_gaussian_masses(centre, gaussian, step, grid) for centre in centres])
        spectrum *= np.fft.rfft(rows)
    laws = np.fft.irfft(spectrum, n=grid)
    if alike:
        laws = np.stack((laws[0], np.roll(laws[0, ::-1], 1)))
    total = np.roll(laws, -(base % grid), axis=1)
    # This is the standard error analysis of an FFT relative to the 2-norm: each of log2(grid) stages adds a
    # rounding error, and taking a power multiplies the error by the exponent.
    norm = float(np.linalg.norm(total, axis=1).max())
    noise = MACHINE_EPSILON * (draws + 1) * math.log2(grid) * math.sqrt(grid) * norm
    return np.maximum(total, 0.0), noise


def _spectrum(places: NDArray[np.int64], masses: FloatArray, grid: int) -> NDArray[np.complex128]:
    """The Fourier transform of masses at some places of a grid."""
    if places.size > _TERMS:
        rows = np.stack([np.bincount(places % grid, mass, minlength=grid) for mass in masses])
        return np.fft.rfft(rows)
    at = {int(place): masses[:, places == place].sum(axis=1) for place in np.unique(places)}
    nothing = np.zeros(masses.shape[0])
    spectrum = np.zeros((masses.shape[0], grid // 2 + 1), dtype=np.complex128)
    spectrum.real += at.pop(0, nothing)[:, None]
    for place in sorted({abs(place) for place in at}):
        term = _turns(place, grid).view(np.float64).reshape(-1, 2)
        here, there = at.get(place, nothing), at.get(-place, nothing)
        for row, one, other in zip(spectrum, here, there, strict=True):  # Opposite places have conjugate terms.
            row += (term * (one + other, one - other)).view(np.complex128)[:, 0]
    return spectrum


def _turns(place: int, grid: int) -> NDArray[np.complex128]:
    """e^(-2πi·place·f/grid) for the frequencies f of a real transform, each the product of two roots of unity."""
    roots, size = _roots(grid), grid // 2 + 1
    rows = -(-size // _BLOCK)
    near, far = (roots[np.arange(n) * (step * place) % grid] for n, step in ((_BLOCK, 1), (rows, _BLOCK)))
    return np.multiply.outer(far, near).reshape(-1)[:size]


@lru_cache(maxsize=2)
def _roots(grid: int) -> NDArray[np.complex128]:
    """All powers of e^(-2πi/grid)."""
    return np.asarray(np.exp(-2j * np.pi * np.arange(grid) / grid))


def _gaussian_masses(centre: float, scale: float, step: float, grid: int) -> FloatArray:
    """The masses of a normal law rounded to the grid."""
    reach = 9 * scale
    cells = np.arange(math.floor((centre - reach) / step), math.ceil((centre + reach) / step) + 1)
    places = (np.append(cells - 0.5, cells[-1] + 0.5) * step - centre) / (-math.sqrt(2) * scale)
    edges = np.array(list(map(math.erfc, places.tolist()))) / 2
    return np.bincount(cells % grid, np.diff(edges), minlength=grid).astype(np.float64, copy=False)


def _loss_window(factors: Sequence[RepeatedFactor], gaussian: float) -> tuple[float, float]:
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


# --- many rounds as one factor ----------------------------------------------------------------------------

_POINTS = 1 << 13
"""The largest total loss is about this many steps."""
_ERROR = 1e-11
"""A bound on the relative error of the masses: a few roundings for each of some thousand rounds."""
_TINY = 1e-60
"""Smaller masses at the ends of the law are not worth computing."""
_TRIMMED = 16
"""The number of rounds after which the ends are cut off again."""
Round = tuple[float, float, float]
"""A round: the probabilities of the losses ε and 0 in the first world, and ε. Loss -ε has the mirrored law."""


def lattice_factor(rounds: Iterable[Round], points: int | None = None) -> Factor:
    """A factor that dominates independent rounds together.

    A loss ε between two multiples a and b = a+h of the step is replaced by a and b, so that the masses of both
    worlds stay what they were: of a mass m at ε, m·(1-e^-(ε-a))/(1-e^-h) goes to b. An observer who does not look
    at which of the two it is sees the old round, so the new one reveals more (Doroshenko et al. 2022, "connect the
    dots"). It adds (b-ε)(ε-a) to the variance, at most h²/4. All numbers are positive, so no digits cancel.

    Losses below 0 mirror those above, -i·h with e^(-i·h) times the mass of i·h, so only half of them is computed.
    Masses at the ends that no longer matter become infinite losses, which reveal more.
    """
    quiet_first = sorted(rounds, key=lambda round: round[2])
    step = math.fsum(eps for _, _, eps in quiet_first) / (points or _POINTS)
    above = [math.floor(eps / step) + 1 for _, _, eps in quiet_first]
    middle, reach, lost = sum(above) + max(above), 0, 0.0
    mirror = np.exp(-step * np.arange(middle + 1))
    law, spread = np.zeros((2, 2 * middle + 1))
    law[middle] = 1.0
    for number, ((up, none, eps), last) in enumerate(zip(quiet_first, above, strict=True)):
        share = min(1.0, max(0.0, math.expm1((last - 1) * step - eps) / math.expm1(-step)))
        reach += last
        right = spread[middle : middle + reach + 1]
        np.multiply(law[middle : middle + reach + 1], none, out=right)
        for place, mass in ((last - 1, up * (1 - share)), (last, up * share)):
            right += mass * law[middle - place : middle - place + reach + 1]
            right += mass * math.exp(-place * step) * law[middle + place : middle + place + reach + 1]
        np.multiply(right, mirror[: reach + 1], out=spread[middle - reach : middle + 1][::-1])
        law, spread = spread, law
        if number % _TRIMMED == 0:
            kept = int(np.flatnonzero(right >= _TINY)[-1])
            lost += float(right[kept + 1 :].sum())
            for ends in (law, spread):
                ends[middle + kept + 1 :] = ends[: middle - kept] = 0.0
            reach = kept
    law = law[middle - reach : middle + reach + 1]
    p, losses = np.append(law, [lost, 0.0]), np.append(step * np.arange(-reach, reach + 1), [np.inf, -np.inf])
    return Factor(p, np.append(law[::-1], [0.0, lost]), losses, error=_ERROR)


# --- one Gaussian for the rounds of a tail ----------------------------------------------------------------

_GROUPS = (1, 2, 4, 8, 16, 32, 64)
"""The numbers of rounds that are bounded together."""
_RATIO, _PIECES = 4, 12
"""The tail is cut into pieces. Each ends at this multiple of the round before it; the last one has no end."""
_SUMMED = 5_000
_CLOSE = 1e-3
"""If two probabilities differ by less than this part, the difference of their quantiles would cancel."""
_quantile = NormalDist().inv_cdf


@lru_cache(maxsize=256)
def tail_shift(hit: float, scale: float, power: float, after: int, last: float) -> float:
    """μ of a Gaussian that dominates rounds after+1 … last together.

    Round t has ε = scale·t^(-power), and η is `hit`. Rounds are bounded in groups of n, which begin at rounds t,
    t+n, …; all rounds of a group count as loud as its first. Groups are independent and Gaussians compose, so μ² is
    the sum of the squares of their shifts, and these are at most (`group_slope`·ε)². The ε² of a group is at most
    the average of ε² over the n rounds that end with its first. Only the very first group has no such rounds before
    it.
    """
    variance, start = 0.0, after
    for piece in range(_PIECES):
        if start >= last:
            break
        end = last if piece == _PIECES - 1 else min(last, _RATIO * start)
        first, rest = math.pow(start + 1, -2 * power), squares(power, start + 1, end)
        loudest = scale * math.pow(start + 1, -power)
        variance += min(group_slope(hit, n, loudest) ** 2 * (first + rest / n) for n in _GROUPS)
        if end == math.inf:
            break
        start = int(end)
    return (1 + 1e-9) * scale * math.sqrt(variance)


def group_slope(hit: float, rounds: int, loudest: float) -> float:
    """A bound on μ/ε, where N(0, 1) against N(μ, 1) dominates a group of rounds with the same ε, up to `loudest`.

    What counts is S, the number of losses ε minus that of losses -ε. The trade-off curve of the group has its
    corners at the tests S ≥ k. That of the Gaussians is concave, so it is above the whole curve if it is above the
    corners; and both are their own mirror images, so those with k ≥ 1 are enough. Let F(ε) be the probability of
    S ≥ k in the one world. In the other it is F(-ε), so μ = Φ⁻¹(F(ε)) - Φ⁻¹(F(-ε)) is enough for this corner. Write
    F(±ε) = c ± d, and τ = tanh(ε/2).

    c is half of the probability of |S| ≥ k, which grows with ε: it is at least c₀, that for ε = 0, and at most ½.
    If N rounds have a loss other than 0, S = s is (1+τ)^s·(1-τ²)^((N-s)/2) times as likely as for ε = 0. So d is at
    most D(τ), the sum of ((1+τ)^s - (1-τ)^s)/2 over s ≥ k, weighed with the law for ε = 0; and D(τ)/τ grows with τ.

    Φ⁻¹(c+d) - Φ⁻¹(c-d) falls with c up to ½, because (Φ⁻¹)' is convex and has its minimum at ½, and it grows with d
    at least in proportion. So for all ε up to the loudest, with D = D(τ₀) there, and since τ ≤ ε/2,
    μ ≤ (Φ⁻¹(c₀+D) - Φ⁻¹(c₀-D))·τ/τ₀ ≤ ε·(Φ⁻¹(c₀+D) - Φ⁻¹(c₀-D))/(2τ₀).
    """
    tau = math.tanh(loudest / 2)
    largest, beyond, more = 0.0, 0.0, 0.0
    for s, mass in zip(range(rounds, 0, -1), _upper_law(hit, rounds), strict=True):
        beyond += mass
        more += mass * _odd_part(tau, s)
        if more >= beyond:
            return math.inf
        largest = max(largest, _apart(beyond, more))
    return largest / (2 * tau)


def _odd_part(tau: float, power: int) -> float:
    """((1+τ)^s - (1-τ)^s)/2, which is sinh(s·artanh τ)·(1-τ²)^(s/2), without cancellation."""
    return math.sinh(power * math.atanh(tau)) * math.pow(1 - tau * tau, power / 2) if tau < 1 else math.inf


def _apart(centre: float, distance: float) -> float:
    """Φ⁻¹(c+d) - Φ⁻¹(c-d), or a bound on it if it would cancel.

    (Φ⁻¹)' = √(2π)·exp((Φ⁻¹)²/2) is convex, so its integral is at most the length times the average of its ends.
    """
    low, high = _quantile(centre - distance), _quantile(min(centre + distance, 1 - 2**-53))
    if distance > _CLOSE * centre:
        return high - low
    return distance * math.sqrt(2 * math.pi) * (math.exp(low * low / 2) + math.exp(high * high / 2))


@lru_cache(maxsize=256)
def _upper_law(hit: float, rounds: int) -> tuple[float, ...]:
    """The probabilities of S = n, n-1, …, 1 for ε = 0."""
    law = [1.0]
    for _ in range(rounds):
        spread = [0.0, 0.0, *law, 0.0, 0.0]
        law = [hit / 2 * (spread[i] + spread[i + 2]) + (1 - hit) * spread[i + 1] for i in range(len(law) + 2)]
    return tuple(law[:rounds])


@lru_cache(maxsize=256)
def squares(power: float, after: int, last: float) -> float:
    """Σ t^(-2·power) for t = after+1 … last (upper): a few thousand terms, and an integral that bounds the rest."""
    if last <= after:
        return 0.0
    summed = int(min(last, after + _SUMMED))
    total = math.fsum(math.pow(t, -2 * power) for t in range(after + 1, summed + 1))
    falls = 2 * power - 1
    left = 1.0 if last == math.inf else -math.expm1(-falls * math.log(last / summed))
    return total + math.pow(summed, -falls) * left / falls
