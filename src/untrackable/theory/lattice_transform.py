"""The law of very many equal losses of -ε, 0 or ε, by one Fourier transform on the multiples of ε.

With masses a and b of ε and -ε, the transform of one loss is φ(θ) = 1 + z with
z = -2(a+b)·sin²(θ/2) - i(a-b)·sin θ, and that of n losses is exp(n·ln(1 + z)). As ln(1 + z) is computed from z
itself, its relative error is that of a few operations, so the error of the power does not grow with n. Squaring φ
again and again would multiply it by n.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.factor import FloatArray
from untrackable.theory.factor_products import (
    MACHINE_EPSILON,
    SYMMETRY_ERROR,
    WORLDS,
    RepeatedFactor,
    is_symmetric,
    total_mass_error,
)
from untrackable.theory.loss_grid import loss_window
from untrackable.theory.losses import RAREST, ROUNDING, LossTable

_LARGEST = 1 << 21
"""The largest number of lattice points."""
FEWEST = 1000
"""The smallest number of draws. A transform below one half to this power is 0."""
_OPERATIONS = 64
"""More than the rounded operations behind one logarithm, one power and one stage of a transform."""


def transform_points(factors: Sequence[RepeatedFactor], step: float) -> int:
    """How many points a transform needs, a power of two; 0 if it does not apply or needs too many.

    It applies to many draws, if every loss is -step, 0 or step, and both worlds can show every outcome.
    """
    if sum(count for _, count in factors) < FEWEST:
        return 0
    for factor, _ in factors:
        if not factor.finite.all() or not np.all(np.isin(factor.loss, (-step, 0.0, step))):
            return 0
    low, high = loss_window(factors, 0.0)
    points = 1 << max(10, math.ceil(high / step) - math.floor(low / step) + 3).bit_length()
    return points if points <= _LARGEST else 0


def loss_by_transform(factors: Sequence[RepeatedFactor], step: float, points: int) -> LossTable:
    """The law on `points` multiples of the step, with a bound on all rounding errors."""
    low, _ = loss_window(factors, 0.0)
    first = math.floor(low / step) - 1
    found, noise = [], 0.0
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
        found.append(np.roll(np.maximum(np.fft.irfft(spectrum, n=points), 0.0), -first))
    loss = step * np.arange(first, first + points, dtype=np.float64)
    if len(found) == 1:
        found.append(np.roll(found[0][::-1], 1 - 2 * first - points))
    draws = sum(count for _, count in factors)
    return LossTable(
        loss,
        found[0],
        found[1],
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
    found: NDArray[np.complex128] = count * size + 1j * phase
    return found
