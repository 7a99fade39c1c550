"""Signed counts of reports, on a GPU."""

from typing import Any

import numpy as np

from untrackable.kernels.cuda import device

_TOGETHER = 1 << 24
"""The number of reports that are on the GPU at a time, unless they are there already."""
_THREADS = 256


def add_signs(sums: Any, reports: Any) -> bool:
    """Add (-1)^b to sums[v] for every report 2·v + b, as `kernels.counting` does; False if a report is impossible.

    Either array may be in main memory, the sums of 64-bit integers and the reports flat.
    """
    arrays = device.arrays()
    counted = arrays.zeros(sums.size, dtype=np.int64)
    for start in range(0, reports.size, _TOGETHER):
        some = arrays.ascontiguousarray(arrays.asarray(reports[start : start + _TOGETHER]))
        if int(some.min()) < 2 or int(some.max()) >= 2 * sums.size:
            return False
        blocks = min(-(-some.size // _THREADS), 16 * device.processors())
        device.launch("counting.add_signs", (blocks,), _THREADS, (some, np.int64(some.size), counted))
    sums += device.in_main_memory(counted) if isinstance(sums, np.ndarray) else counted
    return True
