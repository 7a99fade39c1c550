"""Which children of many prefixes have large enough entries in their buckets: the inner loop of the search.

The children of a prefix are the prefixes that go on from it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels import threads
from untrackable.kernels.compilation import compiled, read_only
from untrackable.kernels.engine import arrays, in_main_memory, on_gpu
from untrackable.mechanisms.splitmix import mixed_words

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

_ONE_THREAD = 1 << 17
"""Up to this many children, one thread is faster than several."""
_WORTH_COPYING = 1 << 16
"""From this many children on, the GPU is faster, although their parents have to be copied to it."""


def searched_table(table: NDArray[np.int16]) -> Any:
    """The entries of a level as `striking_children` takes them: on the GPU, if the search runs there."""
    return arrays().asarray(table)


def striking_children(states: Words, more: Words, table: Any, limits: Integers, key: int, bits: int) -> Integers:
    """The indices i·len(more) + j of the children mix(states[i] + more[j]) whose entry is at least limits[i].

    If `more` is empty, each state is its own only child. The table comes from `searched_table`.
    """
    work = states.size * more.size
    if on_gpu() and work >= _WORTH_COPYING:
        from untrackable.kernels.cuda import gpu_children

        return gpu_children.striking_children(states, more, table, limits, key, bits)
    table = in_main_memory(table)
    if not more.size or compiled(work) is None:
        children = mixed_words(states[:, None] + more) if more.size else states[:, None]
        return np.flatnonzero(table[buckets(children, key, bits)] >= limits[:, None])
    from untrackable.kernels import compiled_children as kernels

    places, found = np.empty(work, dtype=np.int64), {}
    given = (read_only(states), read_only(more), read_only(table), read_only(limits))
    words = (np.uint64(key), np.uint64(64 - bits))

    def look(start: int, stop: int) -> None:
        found[start] = kernels.striking_children(*given, *words, places, start, stop)

    threads.split_work(look, states.size, threads=threads.allowed() if work > _ONE_THREAD else 1)
    return np.concatenate([places[i * more.size : i * more.size + n] for i, n in sorted(found.items())])


def child_states(states: Words, more: Words, places: Integers) -> Words:
    """The hash states of the children at these indices."""
    if not more.size:
        return states[places]
    parents, steps = np.divmod(places, more.size)
    return mixed_words(states[parents] + more[steps])


def buckets(states: Words, key: int, bits: int) -> Integers:
    """The bucket of each hash state at the level with this key."""
    return (mixed_words(states ^ np.uint64(key)) >> np.uint64(64 - bits)).view(np.int64)
