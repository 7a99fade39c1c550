"""Signed counts of reports: one pass, one thread, as more would have to share or to merge the table."""

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.loading import compiled

_SIGNS = 1 << 17
"""Signs that wide answers are expanded to at a time."""


def add_signs(sums: NDArray[np.int64], reports: NDArray[np.uint64]) -> bool:
    """Add (-1)^b to sums[v] for every report 2·v + b; False, with nothing added, if one has v = 0 or v too large.

    After n reports no entry exceeds n, so there is no overflow below 2^63 reports.
    """
    flat = np.ascontiguousarray(reports).reshape(-1)
    kernels = compiled(flat.size)
    if kernels is not None:
        return bool(kernels.add_signs(sums, _read_only(flat)))
    return _add_signs(sums, flat)


def add_answers(sums: NDArray[np.int64], rows: NDArray[np.uint64], width: int) -> bool:
    """Add (-1)^(c·y) to sums[c·A] for every report of vectors A and answer y, and every c but 0.

    A row has the words of y + 2^w·(v₀ + 2^d·v₁ + …), the lowest first. False, with nothing added, if the vectors of
    one are not independent. After n reports no entry exceeds n, and all together n·(2^w-1).
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


def _add_expanded(
    kernels: ModuleType | None, sums: NDArray[np.int64], rows: NDArray[np.uint64], width: int, minus: int
) -> bool:
    """Each report as 2^w - 1 reports of one vector and one bit, all flipped if they are to be taken away."""
    bits = sums.size.bit_length() - 1
    if kernels is not None:
        signs = np.empty(rows.shape[0] * ((1 << width) - 1), dtype=np.uint64)
        fine = bool(kernels.expand_answers(_read_only(np.ascontiguousarray(rows)), bits, width, signs))
    else:
        signs = _expand_answers(rows, bits, width)
        fine = not np.any(signs < 2)
    if fine:
        add_signs(sums, signs ^ np.uint64(1) if minus else signs)
    return fine


def _expand_answers(rows: NDArray[np.uint64], bits: int, width: int) -> NDArray[np.uint64]:
    """The same with NumPy alone."""
    sums = np.zeros((rows.shape[0], 1 << width), dtype=np.uint64)
    for j in range(width):
        word, shift = divmod(width + bits * j, 64)
        vector = rows[:, word] >> np.uint64(shift)
        if shift + bits > 64:
            vector |= rows[:, word + 1] << np.uint64(64 - shift)
        own = (vector & np.uint64((1 << bits) - 1)) << np.uint64(1) | rows[:, 0] >> np.uint64(j) & np.uint64(1)
        sums[:, 1 << j : 2 << j] = sums[:, : 1 << j] ^ own[:, None]
    return sums[:, 1:].reshape(-1)


def _read_only(array: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The kernels are compiled for arrays that they do not change."""
    view = array.view()
    view.flags.writeable = False
    return view


def _add_signs(sums: NDArray[np.int64], flat: NDArray[np.uint64]) -> bool:
    """The same with NumPy alone."""
    if flat.size and (int(flat.min()) < 2 or int(flat.max()) >= 2 * sums.size):
        return False
    if flat.size < sums.size:  # not worth a pass over the table
        np.add.at(sums, flat >> np.uint64(1), 1 - 2 * (flat & np.uint64(1)).astype(np.int64))
    else:
        counts = np.bincount(flat.astype(np.int64), minlength=2 * sums.size)
        sums += counts[0::2] - counts[1::2]
    return True
