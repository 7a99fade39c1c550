"""Sums over all reports: signed counts by vector, their Walsh-Hadamard transform, and scans of candidates.

Signed counts are for a table with an entry for every vector: of one-bit answers, of reports about views, each with
entries of its own, and of answers with several bits, each of which counts for every sum of its vectors. Counting
spends its time waiting for memory. If the table is much larger than a cache and there are many reports, they are
first sorted into buckets, and each bucket is counted within the cache. The transform of such a table gives the sum
of every value at once.

Scans of candidates are for values that are too wide for a table: the reports themselves are kept, and compared with
each candidate.
"""

from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from untrackable.arrays import Integers, Words
from untrackable.kernels import engine, gpu
from untrackable.kernels.engine import compiled, on_gpu, read_only

_BUCKET = 17
"""A bucket holds 2^17 sums. Its counters of 512 KiB stay in the second-level cache."""
_DEALT = 21
"""From tables of this number of bits on, sorting into buckets pays off."""
_BATCH = 1 << 24
"""The number of reports that are sorted at a time. At four bytes each, they take 64 MiB beside the table."""
_WORTH_COPYING = 1 << 21
"""From this number of sums on, the GPU is faster for many reports, although they have to be copied to it."""
_CHUNK = 1 << 20
"""The number of reports that are counted at a time, so that they take little memory."""
_COUNTED_ALONE = 1 << 17
"""Up to this number of reports, one thread is faster than several."""
_FEW = 1 << 18
"""Up to this number of possible reports, equal ones are counted first, if each comes several times."""
_SEVERAL = 4
_ONE = np.uint64(1)
_SIGNS = 1 << 17
"""The number of signs that answers are expanded to at a time."""
MOST_LIMBS = 4
"""The largest number of 64-bit words of a vector."""
_SCANNED_ALONE = 1 << 20
"""Up to this number of inner products, one thread is faster than several."""
_SCANS_WORTH_COPYING = 1 << 26
"""From this number of inner products on, the GPU is faster, although the vectors have to be copied to it."""
_Number = TypeVar("_Number", np.int64, np.float64)
_LEVELS = 6
"""The largest number of levels that one pass over memory does, after the first pass."""
_TRANSFORMED_ALONE = 1 << 20
"""Up to this number of entries, one thread is faster than several."""
_ENTRIES_WORTH_COPYING = 1 << 25
"""From this number of entries on, the GPU is faster, although it takes a copy there and back."""


def add_signs(sums: Integers, reports: Words) -> bool:
    """Add (-1)^b to sums[v] for every report 2·v + b. False, with nothing added, if some v is 0 or too large.

    There are 2^bits sums. After n reports no entry exceeds n, so nothing overflows below 2^63 reports.
    """
    bits = sums.size.bit_length() - 1
    if sums.size != 1 << max(bits, 0):
        raise ValueError(f"sums must have 2^bits entries, got {sums.size}")
    flat = read_only(reports).reshape(-1)
    if on_gpu() and sums.size >= _WORTH_COPYING and flat.size >= 2 * sums.size:
        return gpu.add_signs(sums, flat)
    kernels = compiled(flat.size)
    if kernels is None:
        return _add_signs(sums, flat)
    if _DEALT <= bits < 32 and flat.size >= sums.size // 4:
        return _add_dealt(kernels, sums, flat, 1 << (bits - _BUCKET))
    return bool(kernels.add_signs(sums, flat))


def _add_dealt(kernels: ModuleType, sums: Integers, flat: Words, buckets: int) -> bool:
    """Check all reports, sort parts of them into buckets in several threads, and then count the buckets."""
    workers = engine.allowed()
    pieces = -(-flat.size // _BATCH) * workers
    cuts = _cuts(flat.size, pieces)
    shift = np.uint64(_BUCKET + 1)
    sizes = np.zeros((pieces, buckets), dtype=np.int64)
    possible = np.zeros(pieces, dtype=np.bool_)

    def look(start: int, stop: int) -> None:
        for i in range(start, stop):
            piece = flat[cuts[i] : cuts[i + 1]]
            possible[i] = kernels.bucket_sizes(piece, np.uint64(2 * sums.size), shift, sizes[i])

    engine.split_work(look, pieces, threads=workers)
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

        engine.split_work(spread, workers, threads=workers)
        engine.split_work(count, workers, threads=workers)
    return True


def _cuts(total: int, pieces: int) -> list[int]:
    """The boundaries of equal pieces of 0 … total-1."""
    return [total * i // pieces for i in range(pieces + 1)]


def _add_signs(sums: Integers, flat: Words) -> bool:
    """`add_signs` with NumPy alone."""
    if flat.size and (int(flat.min()) < 2 or int(flat.max()) >= 2 * sums.size):
        return False
    if flat.size < sums.size:  # For few reports, a pass over the whole table is not worth it.
        np.add.at(sums, flat >> np.uint64(1), 1 - 2 * (flat & np.uint64(1)).astype(np.int64))
    else:
        counts = np.bincount(flat.astype(np.int64), minlength=2 * sums.size)
        sums += counts[0::2] - counts[1::2]
    return True


def add_view_signs(sums: Integers, reports: Words, shift: int, starts: Integers, sizes: Integers) -> bool:
    """Add (-1)^b to entry v of its view for every report 2·v + b, with the view above `shift` bits.

    The entries of a view begin at its start. Returns False and adds nothing if some report is not possible: its
    view does not exist, or v is 0 or too large. There are 2^bits sums.
    """
    flat = read_only(reports).reshape(-1)
    if starts.size << shift <= min(_FEW, flat.size // _SEVERAL):
        return _add_equal(sums, flat, shift, starts, sizes)
    counted = 0
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        signs = _signs(chunk, shift, starts, sizes)
        if signs is None or not add_signs(sums, signs):
            for before in range(0, counted, _CHUNK):
                again = _signs(flat[before : before + _CHUNK], shift, starts, sizes)
                if again is not None:
                    add_signs(sums, again ^ _ONE)
            return False
        counted += chunk.size
    return True


def _add_equal(sums: Integers, reports: Words, shift: int, starts: Integers, sizes: Integers) -> bool:
    """`add_view_signs`, counting equal reports first."""
    possible = starts.size << shift
    if int(reports.max()) >= possible:
        return False
    counts = np.bincount(reports.view(np.int64), minlength=possible)
    sent = np.flatnonzero(counts)
    signs = _signs_by_numpy(sent.astype(np.uint64), shift, starts, sizes)
    if signs is None:
        return False
    signed = np.where(signs & _ONE, -counts[sent], counts[sent])
    np.add.at(sums, (signs >> _ONE).astype(np.int64), signed)
    return True


def possible_view_reports(reports: Words, shift: int, starts: Integers, sizes: Integers) -> bool:
    """Whether `add_view_signs` would add these reports."""
    flat = read_only(reports).reshape(-1)
    chunks = (flat[start : start + _CHUNK] for start in range(0, flat.size, _CHUNK))
    return all(_signs(chunk, shift, starts, sizes) is not None for chunk in chunks)


def _signs(reports: Words, shift: int, starts: Integers, sizes: Integers) -> Words | None:
    """2·(start of the view + v) + b for every report; None if one of them is not possible."""
    kernels = compiled(reports.size)
    if kernels is None:
        return _signs_by_numpy(reports, shift, starts, sizes)
    signs = np.empty(reports.size, dtype=np.uint64)
    given = (np.uint64(shift), read_only(starts), read_only(sizes))
    failed: list[int] = []

    def write(start: int, stop: int) -> None:
        if not kernels.view_signs(reports[start:stop], *given, signs[start:stop]):
            failed.append(start)

    engine.split_work(write, reports.size, threads=engine.allowed() if reports.size > _COUNTED_ALONE else 1)
    return None if failed else signs


def _signs_by_numpy(reports: Words, shift: int, starts: Integers, sizes: Integers) -> Words | None:
    views, rest = reports >> np.uint64(shift), reports & np.uint64((1 << shift) - 1)
    if reports.size and int(views.max()) >= starts.size:
        return None
    places, vectors = views.astype(np.int64), (rest >> _ONE).astype(np.int64)
    if np.any(vectors == 0) or np.any(vectors >= sizes[places]):
        return None
    return (starts[places].astype(np.uint64) << _ONE) + rest


def add_answers(sums: Integers, rows: Words, width: int) -> bool:
    """Add (-1)^(c·y) to sums[c·A] for every report of w vectors A and answer y, and every c other than 0.

    A row holds the words of y + 2^w·(v₀ + 2^d·v₁ + …), the lowest first. Returns False and adds nothing if the
    vectors of some report are dependent. After n reports no entry exceeds n, and their total is at most n·(2^w-1).
    """
    each = (1 << width) - 1
    kernels = compiled(rows.shape[0] * each)
    size = max(1, _SIGNS // each)
    for start in range(0, rows.shape[0], size):
        if not _add_expanded(kernels, sums, rows[start : start + size], width, 0):
            for before in range(0, start, size):
                _add_expanded(kernels, sums, rows[before : before + size], width, 1)
            return False
    return True


def _add_expanded(kernels: ModuleType | None, sums: Integers, rows: Words, width: int, minus: int) -> bool:
    """Add each report as 2^w - 1 reports of one vector and one bit. With `minus` they are subtracted again."""
    bits = sums.size.bit_length() - 1
    if kernels is not None:
        signs = np.empty(rows.shape[0] * ((1 << width) - 1), dtype=np.uint64)
        fine = bool(kernels.expand_answers(read_only(rows), bits, width, signs))
    else:
        signs = _expand_answers(rows, bits, width)
        fine = not np.any(signs < 2)
    if fine:
        add_signs(sums, signs ^ np.uint64(1) if minus else signs)
    return fine


def _expand_answers(rows: Words, bits: int, width: int) -> Words:
    """The kernel `expand_answers` with NumPy alone."""
    sums = np.zeros((rows.shape[0], 1 << width), dtype=np.uint64)
    for j in range(width):
        word, shift = divmod(width + bits * j, 64)
        vector = rows[:, word] >> np.uint64(shift)
        if shift + bits > 64:
            vector |= rows[:, word + 1] << np.uint64(64 - shift)
        own = (vector & np.uint64((1 << bits) - 1)) << np.uint64(1) | rows[:, 0] >> np.uint64(j) & np.uint64(1)
        sums[:, 1 << j : 2 << j] = sums[:, : 1 << j] ^ own[:, None]
    return sums[:, 1:].reshape(-1)


def parity_sums(vectors: Words, candidates: Words) -> NDArray[np.int64]:
    """Σ_v (-1)^⟨v,u⟩ over all vectors v, for every candidate u. Exact below 2^63 vectors.

    Both arrays have one column per vector or candidate and one row per 64-bit word, the lowest first.
    """
    for name, given in (("vectors", vectors), ("candidates", candidates)):
        if given.dtype != np.uint64 or given.ndim != 2 or not 1 <= given.shape[0] <= MOST_LIMBS:
            raise ValueError(f"{name} must be 1 to {MOST_LIMBS} rows of uint64, got {given.dtype} {given.shape}")
    if vectors.shape[0] != candidates.shape[0]:
        raise ValueError(
            f"vectors and candidates must be equally wide, got {vectors.shape[0]} and {candidates.shape[0]} words"
        )
    work = vectors.shape[1] * candidates.shape[1]
    if not work:
        return np.zeros(candidates.shape[1], dtype=np.int64)
    if on_gpu() and work >= _SCANS_WORTH_COPYING:
        return np.asarray(gpu.parity_sums(vectors, candidates))
    kernels = compiled(work)
    if kernels is None:
        return _parity_sums(vectors, candidates)
    return _scanned(kernels.add_parities, (vectors, candidates), work)


def _scanned(kernel: Callable[..., None], given: tuple[Words, ...], work: int) -> Integers:
    """The sums that a kernel adds up for each candidate. The candidates are the last of the given arrays."""
    sums, arrays = np.zeros(given[-1].shape[1], dtype=np.int64), [read_only(array) for array in given]
    engine.split_work(
        lambda start, stop: kernel(*arrays, sums, start, stop),
        sums.size,
        threads=engine.allowed() if work > _SCANNED_ALONE else 1,
    )
    return sums


def _parity_sums(vectors: Words, candidates: Words) -> NDArray[np.int64]:
    """`parity_sums` with NumPy alone."""
    sums = np.empty(candidates.shape[1], dtype=np.int64)
    for i in range(sums.size):
        common = np.bitwise_xor.reduce(vectors & candidates[:, i : i + 1], axis=0)
        sums[i] = common.size - 2 * np.count_nonzero(np.bitwise_count(common) & np.uint8(1))
    return sums


def support_counts(vectors: Words, answers: Words, candidates: Words) -> Integers:
    """For each candidate u, the number of answers that u would give: bit i of the answer is ⟨v_i, u⟩ for all i.

    `vectors` has one column per answer. Its rows are the words of v₀, then those of v₁, and so on. A candidate has
    as many words as a vector.
    """
    limbs = candidates.shape[0]
    if not 1 <= limbs <= MOST_LIMBS or vectors.shape[0] % limbs or vectors.shape[1:] != answers.shape:
        raise ValueError(
            f"vectors must have one column for each of {answers.size} answers and {limbs} rows per vector, "
            f"at most {MOST_LIMBS}, got shape {vectors.shape}"
        )
    work = vectors.size * candidates.shape[1]
    if on_gpu() and work >= _SCANS_WORTH_COPYING:
        return gpu.support_counts(vectors, answers, candidates)
    kernels = compiled(work)
    if kernels is None:
        return _support_counts(vectors, answers, candidates)
    return _scanned(kernels.add_supports, (vectors, answers, candidates), work)


def _support_counts(vectors: Words, answers: Words, candidates: Words) -> Integers:
    """`support_counts` with NumPy alone."""
    limbs = candidates.shape[0]
    counts = np.empty(candidates.shape[1], dtype=np.int64)
    for i in range(counts.size):
        equal = np.ones(answers.size, dtype=np.bool_)
        for j in range(vectors.shape[0] // limbs):
            common = np.bitwise_xor.reduce(vectors[j * limbs : (j + 1) * limbs] & candidates[:, i : i + 1], axis=0)
            equal &= np.bitwise_count(common) & np.uint8(1) == answers >> np.uint64(j) & np.uint64(1)
        counts[i] = np.count_nonzero(equal)
    return counts


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
    if on_gpu() and table.size >= _ENTRIES_WORTH_COPYING:
        return gpu.walsh_hadamard_of_copy(table)
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
    workers = engine.allowed() if row.size > _TRANSFORMED_ALONE else 1
    engine.split_work(
        lambda start, stop: kernels.transform_tiles(row, start, stop), row.size // kernels.TILE, threads=workers
    )
    stride = kernels.TILE
    while stride < row.size:
        left = (row.size // stride).bit_length() - 1
        levels = -(-left // -(-left // _LEVELS))  # So that the remaining passes are few and even.

        def columns(start: int, stop: int, stride: int = stride, levels: int = levels) -> None:
            kernels.transform_columns(row, stride, levels, start, stop)

        engine.split_work(columns, row.size // (kernels.WIDTH << levels), threads=workers)
        stride <<= levels


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
