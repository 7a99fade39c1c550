"""Sums of inner products with a list of candidates, for values that are too wide for a table."""

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels import threads
from untrackable.kernels.compilation import compiled, read_only
from untrackable.kernels.engine import on_gpu

Words = NDArray[np.uint64]

MOST_LIMBS = 4
"""The largest number of 64-bit words of a vector."""

_ALONE = 1 << 20
"""Up to this number of inner products, one thread is faster than several."""
_WORTH_COPYING = 1 << 26
"""From this number of inner products on, the GPU is faster, although the vectors have to be copied to it."""


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
    if on_gpu() and work >= _WORTH_COPYING:
        from untrackable.kernels.cuda import gpu_parity

        found: NDArray[np.int64] = gpu_parity.parity_sums(vectors, candidates)
        return found
    kernels = compiled(work)
    if kernels is None:
        return _parity_sums(vectors, candidates)
    sums = np.zeros(candidates.shape[1], dtype=np.int64)
    given, asked = read_only(vectors), read_only(candidates)
    threads.split_work(
        lambda start, stop: kernels.add_parities(given, asked, sums, start, stop),
        sums.size,
        threads=threads.allowed() if work > _ALONE else 1,
    )
    return sums


def _parity_sums(vectors: Words, candidates: Words) -> NDArray[np.int64]:
    """`parity_sums` with NumPy alone."""
    sums = np.empty(candidates.shape[1], dtype=np.int64)
    for i in range(sums.size):
        common = np.bitwise_xor.reduce(vectors & candidates[:, i : i + 1], axis=0)
        sums[i] = common.size - 2 * np.count_nonzero(np.bitwise_count(common) & np.uint8(1))
    return sums
