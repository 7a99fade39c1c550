"""Projection of estimates onto possible frequencies, which are not negative and sum to one."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def nearest_frequencies(point: FloatArray, *, complete: bool = True) -> FloatArray:
    """Euclidean projection onto {x ≥ 0, Σx = 1}, or onto {x ≥ 0, Σx ≤ 1} if not all values are listed.

    It is max(0, point - t), where t makes the sum one: t = (Σ_{i≤r} p_i - 1)/r over the r largest entries, for the
    largest r whose r-th entry stays positive (Duchi, Shalev-Shwartz, Singer, Chandra 2008, Figure 1). The true
    frequencies lie in this convex set, so the projection is never farther from them than the point was.
    """
    point = np.asarray(point, dtype=np.float64)
    if point.ndim != 1 or not point.size or not np.all(np.isfinite(point)):
        raise ValueError(f"point must be a vector of finite numbers, at least one, got shape {point.shape}")
    positive: FloatArray = np.maximum(point, 0.0)
    if not complete and positive.sum() <= 1:
        return positive
    largest = np.sort(point)[::-1]
    below = largest - largest[0]  # Subtracting the largest entry first avoids cancellation.
    excess = (np.cumsum(below) - 1) / np.arange(1, point.size + 1)
    kept = int(np.flatnonzero(below > excess)[-1])
    nearest: FloatArray = np.maximum(point - largest[0] - excess[kept], 0.0)
    nearest /= nearest.sum()
    return nearest
