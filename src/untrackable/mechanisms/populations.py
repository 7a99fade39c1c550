"""The values of simulated populations."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def integer_population(values: ArrayLike, below: int, rounds: int, *, may_change: bool) -> NDArray[Any]:
    """Integer values of a population, checked but not copied; the error says the range and shows no value."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"values must be integers, not {array.dtype}")
    if array.ndim != 1 and not (may_change and array.ndim == 2 and array.shape[1] == rounds):
        allowed = f"one entry per client, or one row of {rounds} each" if may_change else "one entry per client"
        raise ValueError(f"values must have {allowed}, got shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"values must be between 0 and {below - 1}; some are not (they are not shown)")
    return array


def per_round(values: NDArray[Any], rounds: int) -> NDArray[np.uint64]:
    """One column per round, whether or not values change."""
    wide = values.view(np.uint64) if values.dtype == np.int64 else values.astype(np.uint64, copy=False)
    return np.broadcast_to(wide[:, None], (wide.shape[0], rounds)) if wide.ndim == 1 else wide
