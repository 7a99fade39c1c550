"""The nearest frequencies: those that are not negative and sum to one."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def nearest_frequencies(point: FloatArray, *, complete: bool = True) -> FloatArray:
    """Euclidean projection onto {x ≥ 0, Σx = 1}, or onto {x ≥ 0, Σx ≤ 1} where values are missing.

    It is max(0, point - t), with t such that the sum is one: t = (Σ_{i≤r} p_i - 1)/r over the r largest entries, r
    being the most for which the r-th stays positive (Duchi, Shalev-Shwartz, Singer, Chandra 2008, Figure 1). The
    truth lies in the set, so no point of it comes to lie farther from the truth.
    """
    point = np.asarray(point, dtype=np.float64)
    if point.ndim != 1 or not point.size or not np.all(np.isfinite(point)):
        raise ValueError(f"point must be a vector of finite numbers, at least one, got shape {point.shape}")
    positive: FloatArray = np.maximum(point, 0.0)
    if not complete and positive.sum() <= 1:
        return positive
    largest = np.sort(point)[::-1]
    below = largest - largest[0]  # so that nothing cancels
    excess = (np.cumsum(below) - 1) / np.arange(1, point.size + 1)
    kept = int(np.flatnonzero(below > excess)[-1])
    nearest: FloatArray = np.maximum(point - largest[0] - excess[kept], 0.0)
    nearest /= nearest.sum()
    return nearest
