"""The search among hashed prefixes, on a GPU."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.cuda import device

_THREADS = 256


def striking_children(
    states: NDArray[np.uint64],
    more: NDArray[np.uint64],
    table: Any,
    limits: NDArray[np.int64],
    key: int,
    bits: int,
) -> NDArray[np.int64]:
    """The indices of the children whose entry is at least their limit, as `discovery.child_prefixes` finds them.

    The table is best on the GPU already, since many searches use it.
    """
    arrays = device.arrays()
    children = states.size * more.size
    strikes = arrays.zeros(children, dtype=np.bool_)
    blocks = min(-(-children // _THREADS), 16 * device.processors())
    device.launch(
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
    return device.in_main_memory(arrays.flatnonzero(strikes))
