"""The Walsh-Hadamard transform on a GPU, in place."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.cuda import device

_ENTRIES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
_TILE_BYTES = 1 << 16
_ROW_BYTES = 128
"""A row of a tile is at least this long, so that memory is read in whole lines."""
_HELD_BITS = 4
"""Each thread holds 2^4 entries."""


class Pass(NamedTuple):
    """One pass over memory: it does the levels from 2^stride_bits up, in tiles of rows of 2^column_bits entries."""

    tile_bits: int
    column_bits: int
    stride_bits: int


def passes(bits: int, entry_bytes: int) -> Iterator[Pass]:
    """The passes of a transform of 2^bits entries: as few as possible, and each with about as many levels."""
    widest = (_TILE_BYTES // entry_bytes).bit_length() - 1
    tile = min(bits, widest)
    yield Pass(tile, 0, 0)
    most = tile - (_ROW_BYTES // entry_bytes).bit_length() + 1
    stride = tile
    while stride < bits:
        left = bits - stride
        levels = -(-left // -(-left // most))
        yield Pass(tile, tile - levels, stride)
        stride += levels


def walsh_hadamard(table: Any) -> None:
    """Transform each row of 2^bits entries in place. Rows need 16 entries, and are contiguous on the GPU.

    Entries are int32, int64, float32 or float64. Integers are exact as long as the sum of a row's absolute values
    fits their type.
    """
    size = table.shape[-1]
    if size < 1 << _HELD_BITS or size & (size - 1):
        raise ValueError(f"a row must have 2^bits entries, at least {1 << _HELD_BITS}, got {size}")
    if not table.flags.c_contiguous or table.dtype.name not in _ENTRIES:
        raise ValueError(f"table must be contiguous and of {', '.join(_ENTRIES)}, got {table.dtype}")
    if not table.size:
        return
    each = table.dtype.itemsize
    for tile, column, stride in passes(size.bit_length() - 1, each):
        device.launch(
            "transform.transform_levels",
            (table.size >> tile,),
            1 << (tile - _HELD_BITS),
            (table, np.int32(stride)),
            shared_memory=((1 << tile) + ((1 << tile) * each >> 7)) * each,  # Padded by an entry per 128 bytes.
            ENTRY=_ENTRIES[table.dtype.name],
            TILE_BITS=tile,
            COLUMN_BITS=column,
        )


def walsh_hadamard_of_copy(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Transform a table in main memory in place, through a copy on the GPU."""
    copied = device.arrays().array(table)
    walsh_hadamard(copied)
    table[...] = device.in_main_memory(copied)
    return table
