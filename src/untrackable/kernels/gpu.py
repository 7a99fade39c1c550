"""The GPU: arrays on it, and kernels that are compiled for it on first use.

They do the work of `counting` and of the search among hashed prefixes, with the same integers as results.
"""

import functools
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.engine import cupy, in_main_memory


def most_shared_memory() -> int:
    """The bytes of fast memory that the threads of a block can share."""
    return int(cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def processors() -> int:
    """The number of multiprocessors."""
    return int(cupy().cuda.Device().attributes["MultiProcessorCount"])


def launch(
    kernel: str,
    blocks: tuple[int, ...],
    threads: int,
    arguments: Sequence[Any],
    *,
    shared_memory: int = 0,
    **settings: str | int,
) -> None:
    """Start the kernel `file.function` in these blocks. Its source is compiled with `settings` as macros."""
    function = _compiled(*kernel.split("."), tuple(f"-D{name}={value}" for name, value in settings.items()))
    if shared_memory:
        function.max_dynamic_shared_size_bytes = shared_memory
    function(blocks, (threads,), tuple(arguments), shared_mem=shared_memory)


@functools.cache
def _compiled(file: str, function: str, macros: tuple[str, ...]) -> Any:
    source = (resources.files("untrackable.kernels") / "cuda" / f"{file}.cu").read_text(encoding="utf-8")
    return cupy().RawModule(code=source, options=("--std=c++17", *macros)).get_function(function)


_THREADS = 256


def striking_children(
    states: NDArray[np.uint64],
    more: NDArray[np.uint64],
    table: Any,
    limits: NDArray[np.int64],
    key: int,
    bits: int,
) -> NDArray[np.int64]:
    """The indices of the children whose entry is at least their limit, as `discovery.prefix_search` finds them.

    The table is best on the GPU already, since many searches use it.
    """
    arrays = cupy()
    children = states.size * more.size
    strikes = arrays.zeros(children, dtype=np.bool_)
    blocks = min(-(-children // _THREADS), 16 * processors())
    launch(
        "children.mark_striking",
        (blocks,),
        _THREADS,
        (
            arrays.asarray(states),
            arrays.asarray(more),
            np.int64(children),
            np.int64(more.size),
            arrays.asarray(table),
            arrays.asarray(limits),
            np.uint64(key),
            np.int32(64 - bits),
            strikes,
        ),
    )
    return in_main_memory(arrays.flatnonzero(strikes))


_TOGETHER = 1 << 24
"""The number of reports that are on the GPU at a time, unless they are there already."""


def add_signs(sums: Any, reports: Any) -> bool:
    """Add (-1)^b to sums[v] for every report 2·v + b, as `counting` does; False if a report is impossible.

    Either array may be in main memory, the sums of 64-bit integers and the reports flat.
    """
    arrays = cupy()
    counted = arrays.zeros(sums.size, dtype=np.int64)
    for start in range(0, reports.size, _TOGETHER):
        some = arrays.ascontiguousarray(arrays.asarray(reports[start : start + _TOGETHER]))
        if int(some.min()) < 2 or int(some.max()) >= 2 * sums.size:
            return False
        blocks = min(-(-some.size // _THREADS), 16 * processors())
        launch("counting.add_signs", (blocks,), _THREADS, (some, np.int64(some.size), counted))
    sums += in_main_memory(counted) if isinstance(sums, np.ndarray) else counted
    return True


_TILE = 1024
"""The number of vectors that a block compares with candidates."""
_PARITY_THREADS = 1024
_ROW_BYTES = 128


def parity_sums(vectors: Any, candidates: Any) -> Any:
    """Σ_v (-1)^⟨v,u⟩ over all vectors v, for every candidate u, as `counting` computes it."""
    arrays = cupy()
    limbs, count = vectors.shape
    asked = arrays.ascontiguousarray(arrays.asarray(candidates))
    odd = arrays.zeros(asked.shape[1], dtype=np.uint64)
    group_bits = _group_bits(limbs)
    for start in range(0, count if asked.shape[1] else 0, _TOGETHER):
        some = arrays.ascontiguousarray(arrays.asarray(vectors[:, start : start + _TOGETHER]))
        tiles = -(-some.shape[1] // _TILE)
        shares = min(-(-asked.shape[1] // _PARITY_THREADS), -(-2 * processors() // tiles))
        launch(
            "parity.add_odd_parities",
            (tiles, shares),
            _PARITY_THREADS,
            (some, np.int64(some.shape[1]), asked, np.int64(asked.shape[1]), odd),
            shared_memory=_table_bytes(limbs, group_bits),
            LIMBS=limbs,
            GROUP_BITS=group_bits,
        )
    sums = count - 2 * odd.astype(np.int64)
    return in_main_memory(sums) if isinstance(vectors, np.ndarray) else sums


def support_counts(vectors: NDArray[np.uint64], answers: NDArray[np.uint64], candidates: Any) -> NDArray[np.int64]:
    """For each candidate u, the number of answers that u would give, as `counting` counts them.

    For answers y of w bits about vectors A, 2^w·[y = A·u] = Σ_c (-1)^(c·y)·(-1)^⟨c·A,u⟩ over all combinations c of
    the vectors. So the count is the sum of 2^w - 1 parity scans, and of the number of answers, divided by 2^w.
    """
    arrays = cupy()
    limbs = candidates.shape[0]
    asked = arrays.asarray(candidates)
    given, replies = arrays.asarray(vectors).reshape(-1, limbs, answers.size), arrays.asarray(answers)
    total = arrays.full(asked.shape[1], answers.size, dtype=np.int64)
    for combination in range(1, 1 << given.shape[0]):
        chosen = [j for j in range(given.shape[0]) if combination >> j & 1]
        combined, sign = given[chosen[0]].copy(), replies >> np.uint64(chosen[0])
        for j in chosen[1:]:
            combined ^= given[j]
            sign ^= replies >> np.uint64(j)
        minus = (sign & np.uint64(1)).astype(np.bool_)
        total += arrays.asarray(parity_sums(combined[:, ~minus], asked))
        total -= arrays.asarray(parity_sums(combined[:, minus], asked))
    return in_main_memory(total >> given.shape[0])


def _group_bits(limbs: int) -> int:
    """How many bits a look-up covers: as many as tables fit into shared memory for."""
    most = most_shared_memory()
    return max(bits for bits in range(1, 9) if _table_bytes(limbs, bits) <= most)


def _table_bytes(limbs: int, group_bits: int) -> int:
    return -(-64 * limbs // group_bits) * _ROW_BYTES << group_bits


_ENTRIES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
_TILE_BYTES = 1 << 16
_HELD_BITS = 4
"""Each thread holds 2^4 entries."""


def passes(bits: int, entry_bytes: int) -> Iterator[tuple[int, int, int]]:
    """The passes of a transform of 2^bits entries: as few as possible, and each with about as many levels.

    Each does the levels from 2^stride bits up, in tiles of 2^tile entries, as rows of 2^column entries.
    """
    widest = (_TILE_BYTES // entry_bytes).bit_length() - 1
    tile = min(bits, widest)
    yield tile, 0, 0
    most = tile - (_ROW_BYTES // entry_bytes).bit_length() + 1
    stride = tile
    while stride < bits:
        left = bits - stride
        levels = -(-left // -(-left // most))
        yield tile, tile - levels, stride
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
        launch(
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
    copied = cupy().array(table)
    walsh_hadamard(copied)
    table[...] = in_main_memory(copied)
    return table
