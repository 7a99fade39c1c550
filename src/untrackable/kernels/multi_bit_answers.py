"""Reports of several vectors with one answer bit each: added up for every value, or counted for candidates."""

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels import threads
from untrackable.kernels.compilation import compiled, read_only
from untrackable.kernels.counting import add_signs
from untrackable.kernels.engine import on_gpu
from untrackable.kernels.parity import MOST_LIMBS

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_SIGNS = 1 << 17
"""The number of signs that answers are expanded to at a time."""
_ALONE = 1 << 20
"""Up to this amount of work, one thread is faster than several."""
_WORTH_COPYING = 1 << 26
"""From this amount of work on, the GPU is faster, although the vectors have to be copied to it."""


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
    if on_gpu() and work >= _WORTH_COPYING:
        from untrackable.kernels.cuda import gpu_parity

        return gpu_parity.support_counts(vectors, answers, candidates)
    kernels = compiled(work)
    if kernels is None:
        return _support_counts(vectors, answers, candidates)
    counts = np.zeros(candidates.shape[1], dtype=np.int64)
    given, replies, asked = read_only(vectors), read_only(answers), read_only(candidates)
    threads.split_work(
        lambda start, stop: kernels.add_supports(given, replies, asked, counts, start, stop),
        counts.size,
        threads=threads.allowed() if work > _ALONE else 1,
    )
    return counts


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
