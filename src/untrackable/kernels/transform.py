"""The fast Walsh-Hadamard transform of integers, and of floating-point numbers."""

from types import ModuleType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels import threads
from untrackable.kernels.compilation import compiled
from untrackable.kernels.engine import on_gpu

Integers = NDArray[np.int64]
_Number = TypeVar("_Number", np.int64, np.float64)

_LEVELS = 6
"""The largest number of levels that one pass over memory does, after the first pass."""
_ALONE = 1 << 20
"""Up to this number of entries, one thread is faster than several."""

_WORTH_COPYING = 1 << 25
"""From this number of entries on, the GPU is faster, although it takes a copy there and back."""


def walsh_hadamard(sums: Integers, *, in_place: bool = False) -> Integers:
    """Σ_v (-1)^⟨v,u⟩·sums[v] for every u, for one row or several. Exact as long as Σ|sums[v]| is below 2^63.

    Every intermediate result is a signed sum of entries, so nothing overflows before the result could. Sums of
    fewer than 2^63 reports are always within the bound.
    """
    if not isinstance(sums, np.ndarray) or sums.dtype != np.int64:
        raise TypeError("sums must be an array of 64-bit integers")
    size = sums.shape[-1] if sums.ndim in (1, 2) else 0
    if size & (size - 1) or not size:
        raise ValueError(f"sums must have 2^bits entries, or rows of 2^bits entries, got shape {sums.shape}")
    if in_place and not (sums.flags.c_contiguous and sums.flags.writeable):
        raise ValueError("sums must be contiguous and writable to be transformed in place")
    table = sums if in_place else sums.copy(order="C")
    if on_gpu() and table.size >= _WORTH_COPYING:
        from untrackable.kernels.cuda import gpu_transform

        return gpu_transform.walsh_hadamard_of_copy(table)
    kernels = compiled(table.size)
    if kernels is None or size < kernels.TILE:
        return _butterflies(table)
    for row in table.reshape(-1, size):
        _transform(kernels, row)
    return table


def walsh_hadamard_of_reals(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_v (-1)^⟨v,u⟩·numbers[v] for every u, for one row of 2^bits floating-point numbers."""
    if numbers.ndim != 1 or numbers.size & (numbers.size - 1) or not numbers.size:
        raise ValueError(f"numbers must be one row of 2^bits entries, got shape {numbers.shape}")
    return _butterflies(np.array(numbers, dtype=np.float64))


def _transform(kernels: ModuleType, row: Integers) -> None:
    """Transform one row: first tiles of neighbouring entries, then columns of ever more distant ones."""
    workers = threads.allowed() if row.size > _ALONE else 1
    threads.split_work(
        lambda start, stop: kernels.transform_tiles(row, start, stop), row.size // kernels.TILE, threads=workers
    )
    stride = kernels.TILE
    while stride < row.size:
        levels = _next_levels((row.size // stride).bit_length() - 1)

        def columns(start: int, stop: int, stride: int = stride, levels: int = levels) -> None:
            kernels.transform_columns(row, stride, levels, start, stop)

        threads.split_work(columns, row.size // (kernels.WIDTH << levels), threads=workers)
        stride <<= levels


def _next_levels(left: int) -> int:
    """The number of levels of the next pass, so that the remaining passes are few and even."""
    passes = -(-left // _LEVELS)
    return -(-left // passes)


def _butterflies(table: NDArray[_Number]) -> NDArray[_Number]:
    """The transform with NumPy alone, level by level."""
    half = 1
    while half < table.shape[-1]:
        pairs = table.reshape(-1, 2, half)
        left = pairs[:, 0, :] + pairs[:, 1, :]
        np.subtract(pairs[:, 0, :], pairs[:, 1, :], out=pairs[:, 1, :])
        pairs[:, 0, :] = left
        half *= 2
    return table
