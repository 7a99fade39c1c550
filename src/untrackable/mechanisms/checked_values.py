"""The values of simulated populations."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.local.views import LARGEST_PLAIN_BITS, Views

if TYPE_CHECKING:
    from untrackable.mechanisms.local.local_interface import Local


def integer_population(values: ArrayLike, below: int, rounds: int, *, may_change: bool) -> NDArray[Any]:
    """The integer values of a population, checked but not copied. Errors name the range and show no value."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"values must be integers, not {array.dtype}")
    if array.ndim != 1 and not (may_change and array.ndim == 2 and array.shape[1] == rounds):
        allowed = f"one entry per client, or one row of {rounds} each" if may_change else "one entry per client"
        raise ValueError(f"values must have {allowed}, got shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= below):
        raise ValueError(f"values must be between 0 and {below - 1}; some are not (they are not shown)")
    return array


def local_population(base: "Local", values: ArrayLike, rounds: int, *, may_change: bool) -> NDArray[Any]:
    """The values of a population for a local mechanism, checked but not copied.

    Values of `Levelled` have their parts along a last axis. The result is then an array with one record `parts` for
    each value. Values of `Views` that are wider than a word have their words along a last axis, the lowest first,
    and become records `words`.
    """
    if isinstance(base, Views) and base.bits > LARGEST_PLAIN_BITS:
        return _word_population(base.bits, values, rounds, may_change=may_change)
    if not isinstance(base, Levelled):
        return integer_population(values, base.values, rounds, may_change=may_change)
    array = np.asarray(values)
    if array.ndim < 2 or array.shape[-1] != base.levels:
        raise ValueError(f"values must have their {base.levels} parts along a last axis, got shape {array.shape}")
    integer_population(array[..., 0], base.base.values, rounds, may_change=may_change)
    parts = integer_population(array.reshape(-1), base.base.values, rounds, may_change=False)
    records = np.ascontiguousarray(parts, dtype=np.uint64).view([("parts", np.uint64, (base.levels,))])
    return records.reshape(array.shape[:-1])


def _word_population(bits: int, values: ArrayLike, rounds: int, *, may_change: bool) -> NDArray[Any]:
    array = np.asarray(values, dtype=np.uint64)
    size = -(-bits // 64)
    if array.ndim < 2 or array.shape[-1] != size:
        raise ValueError(f"values must have their {size} words along a last axis, got shape {array.shape}")
    highest = 1 << (bits - 1) % 64 + 1
    integer_population(array[..., -1], highest, rounds, may_change=may_change)
    records = np.ascontiguousarray(array).view([("words", np.uint64, (size,))])
    return records.reshape(array.shape[:-1])


def per_round(values: NDArray[Any], rounds: int) -> NDArray[Any]:
    """The values with one column per round. Values that do not change are repeated."""
    wide = values.view(np.uint64) if values.dtype == np.int64 else values
    if not values.dtype.names:
        wide = wide.astype(np.uint64, copy=False)
    return np.broadcast_to(wide[:, None], (wide.shape[0], rounds)) if wide.ndim == 1 else wide
