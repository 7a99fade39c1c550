"""Which of all children of many prefixes find enough in their buckets: the innermost loop of the search."""

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels import threads
from untrackable.kernels.compilation import compiled, read_only
from untrackable.mechanisms.splitmix import mixed_words

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

_ALONE = 1 << 17
"""Children that one thread had better look at alone."""


def striking_children(
    states: Words, more: Words, table: NDArray[np.int16], limits: Integers, key: int, bits: int
) -> Integers:
    """Places i·len(more) + j of the children mix(states[i] + more[j]) whose entry is at least limits[i], in order.

    Without any `more`, the states are their own children.
    """
    work = states.size * more.size
    if not more.size or compiled(work) is None:
        children = mixed_words(states[:, None] + more) if more.size else states[:, None]
        return np.flatnonzero(table[buckets(children, key, bits)] >= limits[:, None])
    from untrackable.kernels import compiled_children as kernels

    places, found = np.empty(work, dtype=np.int64), {}
    given = (read_only(states), read_only(more), read_only(table), read_only(limits))
    words = (np.uint64(key), np.uint64(64 - bits))

    def look(start: int, stop: int) -> None:
        found[start] = kernels.striking_children(*given, *words, places, start, stop)

    threads.split_work(look, states.size, threads=threads.allowed() if work > _ALONE else 1)
    return np.concatenate([places[i * more.size : i * more.size + n] for i, n in sorted(found.items())])


def child_states(states: Words, more: Words, places: Integers) -> Words:
    """The hashes so far of the children at these places."""
    if not more.size:
        return states[places]
    parents, steps = np.divmod(places, more.size)
    return mixed_words(states[parents] + more[steps])


def buckets(states: Words, key: int, bits: int) -> Integers:
    """The bucket of a level with this key, for every hash so far."""
    return (mixed_words(states ^ np.uint64(key)) >> np.uint64(64 - bits)).view(np.int64)
