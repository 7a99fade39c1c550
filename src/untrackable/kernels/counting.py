"""Signed counts of reports.

Counting spends its time waiting for memory. If the table is much larger than a cache and there are many reports,
they are first sorted into buckets, and each bucket is counted within the cache. If the table is small, each thread
counts in a table of its own.
"""

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels import threads
from untrackable.kernels.compilation import compiled, read_only
from untrackable.kernels.engine import on_gpu

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_BUCKET = 17
"""A bucket holds 2^17 sums. Its counters of 512 KiB stay in the second-level cache."""
_DEALT = 21
"""From tables of this number of bits on, sorting into buckets pays off."""
_WORTH_COPYING = 1 << 21
"""From this number of sums on, the GPU is faster for many reports, although they have to be copied to it."""
_BATCH = 1 << 24
"""The number of reports that are sorted at a time. At four bytes each, they take 64 MiB beside the table."""
_APART = 1 << 19
"""From this number of reports on, several threads are faster than one."""


def add_signs(sums: Integers, reports: Words) -> bool:
    """Add (-1)^b to sums[v] for every report 2·v + b. False, with nothing added, if some v is 0 or too large.

    There are 2^bits sums. After n reports no entry exceeds n, so nothing overflows below 2^63 reports.
    """
    bits = sums.size.bit_length() - 1
    if sums.size != 1 << max(bits, 0):
        raise ValueError(f"sums must have 2^bits entries, got {sums.size}")
    flat = read_only(reports).reshape(-1)
    if on_gpu() and sums.size >= _WORTH_COPYING and flat.size >= 2 * sums.size:
        from untrackable.kernels.cuda import gpu_counting

        return gpu_counting.add_signs(sums, flat)
    kernels = compiled(flat.size)
    if kernels is None:
        return _add_signs(sums, flat)
    if _DEALT <= bits < 32 and flat.size >= sums.size // 4:
        return _add_dealt(kernels, sums, flat, 1 << (bits - _BUCKET))
    if sums.size <= 2 << _BUCKET and _APART <= flat.size < 1 << 31 and flat.size >= 4 * sums.size:
        return _add_apart(kernels, sums, flat)
    return bool(kernels.add_signs(sums, flat))


def _add_apart(kernels: ModuleType, sums: Integers, flat: Words) -> bool:
    """Each thread counts a part of the reports in a table of its own with four bytes per entry."""
    workers = threads.allowed()
    counters = np.zeros((workers, sums.size), dtype=np.int32)
    cuts = _cuts(flat.size, workers)
    possible = np.zeros(workers, dtype=np.bool_)

    def count(start: int, stop: int) -> None:
        for i in range(start, stop):
            possible[i] = kernels.add_signs_to_counters(counters[i], flat[cuts[i] : cuts[i + 1]])

    threads.split_work(count, workers, threads=workers)
    if not possible.all():
        return False
    for table in counters:
        sums += table
    return True


def _add_dealt(kernels: ModuleType, sums: Integers, flat: Words, buckets: int) -> bool:
    """Check all reports, sort parts of them into buckets in several threads, and then count the buckets."""
    workers = threads.allowed()
    pieces = -(-flat.size // _BATCH) * workers
    cuts = _cuts(flat.size, pieces)
    shift = np.uint64(_BUCKET + 1)
    sizes = np.zeros((pieces, buckets), dtype=np.int64)
    possible = np.zeros(pieces, dtype=np.bool_)

    def look(start: int, stop: int) -> None:
        for i in range(start, stop):
            piece = flat[cuts[i] : cuts[i + 1]]
            possible[i] = kernels.bucket_sizes(piece, np.uint64(2 * sums.size), shift, sizes[i])

    threads.split_work(look, pieces, threads=workers)
    if not possible.all():
        return False
    dealt = np.empty(max(cuts[i + workers] - cuts[i] for i in range(0, pieces, workers)), dtype=np.uint32)
    counters = np.empty((workers, 1 << _BUCKET), dtype=np.int32)
    for first in range(0, pieces, workers):
        mine = sizes[first : first + workers].T.reshape(-1)  # Ordered by bucket, and within a bucket by piece.
        ends = np.concatenate(([0], np.cumsum(mine)))
        places = ends[:-1].reshape(buckets, workers).T.copy()
        borders = ends[::workers].copy()
        shares = _cuts(buckets, workers)

        def spread(start: int, stop: int, first: int = first, places: Integers = places) -> None:
            for i in range(start, stop):
                piece = flat[cuts[first + i] : cuts[first + i + 1]]
                kernels.deal_into_buckets(piece, shift, places[i], dealt)

        def count(start: int, stop: int, borders: Integers = borders, shares: list[int] = shares) -> None:
            for i in range(start, stop):
                kernels.add_buckets(sums, dealt, borders, counters[i], shares[i], shares[i + 1])

        threads.split_work(spread, workers, threads=workers)
        threads.split_work(count, workers, threads=workers)
    return True


def _cuts(total: int, pieces: int) -> list[int]:
    """The boundaries of equal pieces of 0 … total-1."""
    return [total * i // pieces for i in range(pieces + 1)]


def _add_signs(sums: Integers, flat: Words) -> bool:
    """`add_signs` with NumPy alone."""
    if flat.size and (int(flat.min()) < 2 or int(flat.max()) >= 2 * sums.size):
        return False
    if flat.size < sums.size:  # So few reports are not worth a pass over the whole table.
        np.add.at(sums, flat >> np.uint64(1), 1 - 2 * (flat & np.uint64(1)).astype(np.int64))
    else:
        counts = np.bincount(flat.astype(np.int64), minlength=2 * sums.size)
        sums += counts[0::2] - counts[1::2]
    return True
