"""The compiled kernel of the search among hashed prefixes. `discovery.child_prefixes` calls it."""

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from untrackable.kernels.compiled import Integers, Words, kernel

_given_words = types.Array(types.uint64, 1, "C", readonly=True)
_given_entries = types.Array(types.int16, 1, "C", readonly=True)
_given_integers = types.Array(types.int64, 1, "C", readonly=True)
_integers = types.Array(types.int64, 1, "C")


@njit(types.uint64(types.uint64), nogil=True, inline="always")
def _mixed(word: np.uint64) -> np.uint64:
    """The output function of SplitMix64, as in `mechanisms.splitmix`."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel(
    types.int64(
        _given_words,
        _given_words,
        _given_entries,
        _given_integers,
        types.uint64,
        types.uint64,
        _integers,
        types.int64,
        types.int64,
    )
)
def striking_children(
    states: Words,
    more: Words,
    table: NDArray[np.int16],
    limits: Integers,
    key: np.uint64,
    shift: np.uint64,
    places: Integers,
    start: int,
    stop: int,
) -> int:
    """Find the children of the states start … stop-1 whose table entry reaches the limit, and return their number.

    Their positions, row·(children per state) + child, are written into `places` in order.
    """
    count, found = more.size, 0
    kept = places[start * count : stop * count]
    for row in range(start, stop):
        state, limit = states[row], limits[row]
        for i in range(count):
            bucket = _mixed(_mixed(state + more[i]) ^ key) >> shift
            kept[found] = row * count + i
            found += table[bucket] >= limit
    return found
