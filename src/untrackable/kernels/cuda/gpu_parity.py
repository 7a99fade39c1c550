"""Sums of inner products with a list of candidates, on a GPU."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.cuda import device

_TILE = 1024
"""The number of vectors that a block compares with candidates."""
_THREADS = 1024
_TOGETHER = 1 << 24
"""The number of vectors that are on the GPU at a time, unless they are there already."""
_ROW_BYTES = 128


def parity_sums(vectors: Any, candidates: Any) -> Any:
    """Σ_v (-1)^⟨v,u⟩ over all vectors v, for every candidate u, as `kernels.parity` computes it."""
    arrays = device.arrays()
    limbs, count = vectors.shape
    asked = arrays.ascontiguousarray(arrays.asarray(candidates))
    odd = arrays.zeros(asked.shape[1], dtype=np.uint64)
    group_bits = _group_bits(limbs)
    for start in range(0, count if asked.shape[1] else 0, _TOGETHER):
        some = arrays.ascontiguousarray(arrays.asarray(vectors[:, start : start + _TOGETHER]))
        tiles = -(-some.shape[1] // _TILE)
        shares = min(-(-asked.shape[1] // _THREADS), -(-2 * device.processors() // tiles))
        device.launch(
            "parity.add_odd_parities",
            (tiles, shares),
            _THREADS,
            (some, np.int64(some.shape[1]), asked, np.int64(asked.shape[1]), odd),
            shared_memory=_table_bytes(limbs, group_bits),
            LIMBS=limbs,
            GROUP_BITS=group_bits,
        )
    sums = count - 2 * odd.astype(np.int64)
    return device.in_main_memory(sums) if isinstance(vectors, np.ndarray) else sums


def support_counts(vectors: NDArray[np.uint64], answers: NDArray[np.uint64], candidates: Any) -> NDArray[np.int64]:
    """For each candidate u, the number of answers that u would give, as `kernels.multi_bit_answers` counts them.

    For answers y of w bits about vectors A, 2^w·[y = A·u] = Σ_c (-1)^(c·y)·(-1)^⟨c·A,u⟩ over all combinations c of
    the vectors. So the count is the sum of 2^w - 1 parity scans, and of the number of answers, divided by 2^w.
    """
    arrays = device.arrays()
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
    return device.in_main_memory(total >> given.shape[0])


def _group_bits(limbs: int) -> int:
    """How many bits a look-up covers: as many as tables fit into shared memory for."""
    most = device.most_shared_memory()
    return max(bits for bits in range(1, 9) if _table_bytes(limbs, bits) <= most)


def _table_bytes(limbs: int, group_bits: int) -> int:
    return -(-64 * limbs // group_bits) * _ROW_BYTES << group_bits
