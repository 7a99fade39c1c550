"""Signed counts of reports: one pass, one thread, as more would have to share or to merge the table."""

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.loading import compiled


def add_signs(sums: NDArray[np.int64], reports: NDArray[np.uint64]) -> bool:
    """Add (-1)^b to sums[v] for every report 2·v + b; False, with nothing added, if one has v = 0 or v too large.

    After n reports no entry exceeds n, so there is no overflow below 2^63 reports.
    """
    flat = np.ascontiguousarray(reports).reshape(-1)
    kernels = compiled(flat.size)
    if kernels is not None:
        return bool(kernels.add_signs(sums, _read_only(flat)))
    return _add_signs(sums, flat)


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
