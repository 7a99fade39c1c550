"""Independent events of exact chances, 64 at a time: one bit of a word each.

An event happens if a number, drawn from its highest bits on, is below the threshold. Four words give the highest
four bits of 64 numbers, by which all but four of them differ from their thresholds on average; those that do not
get 16 bits more, and so on until all 64 bits are drawn. That is five words for 64 events, and no chance is rounded.
"""

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.compilation import compiled, read_only

Words = NDArray[np.uint64]

_CHUNK = 1 << 13
"""Words that are settled together, in the second-level cache; a part of what a seed gives."""
_WHOLE = 1 << 64
_HEAD = 4
"""Bits that are drawn for all at once."""
_PIECE = 16
"""Bits that are drawn at a time for what is left."""


def events(which: Words, first: int, second: int, rng: np.random.Generator, *, among: Words) -> Words:
    """Bits that are 1 with chance first/2^64 where `which` has a 1, and second/2^64 where it has a 0.

    Only those `among` these bits are drawn; all others are 0. Both arrays are rows of words, `among` for every row.
    """
    if not (0 <= first <= _WHOLE and 0 <= second <= _WHOLE):
        raise ValueError("a threshold must be between 0 and 2^64")
    flat = np.ascontiguousarray(which).reshape(-1)
    undecided = np.array(np.broadcast_to(among, which.shape), order="C").reshape(-1)
    happened = np.zeros(flat.size, dtype=np.uint64)
    for start in range(0, flat.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        _settle(read_only(flat[chunk]), first, second, rng, undecided[chunk], happened[chunk])
    return happened.reshape(which.shape)


def _settle(
    which: Words, first: int, second: int, rng: np.random.Generator, undecided: Words, happened: Words
) -> None:
    """Draw what is undecided, which is used up."""
    for threshold, mine in ((first, which), (second, ~which)):
        if threshold == _WHOLE:
            happened |= mine & undecided
        if threshold in (0, _WHOLE):
            undecided &= ~mine
    kernels = compiled(0)  # if they are there; simulation itself is seldom worth loading them
    head, pieces = (_head, _pieces) if kernels is None else (kernels.event_heads, kernels.event_pieces)
    both = (first % _WHOLE, second % _WHOLE)
    bits = 64 - _HEAD
    words = _words(rng, _HEAD * which.size)
    one, other = (np.uint64(t >> bits) for t in both)
    left = head(words, which, one, other, undecided, happened)
    while left and bits > 0 and any(t % (1 << bits) for t in both):  # or nothing more can be below its threshold
        bits -= _PIECE
        one, other = (np.uint64((t << _PIECE >> bits + _PIECE) % (1 << _PIECE)) for t in both)
        left = pieces(_words(rng, -(-left * _PIECE // 64)), which, one, other, undecided, happened)


def _words(rng: np.random.Generator, count: int) -> Words:
    return read_only(rng.integers(0, _WHOLE - 1, size=count, dtype=np.uint64, endpoint=True))


def _head(words: Words, which: Words, ones: np.uint64, others: np.uint64, undecided: Words, happened: Words) -> int:
    """With NumPy alone: four words for each, compared with the highest bits; how many events are left."""
    for i, drawn in enumerate(words.reshape(-1, _HEAD).T):
        own, rest = (-(int(t) >> (_HEAD - 1 - i) & 1) % _WHOLE for t in (ones, others))
        threshold = (which & np.uint64(own)) | (~which & np.uint64(rest))
        happened |= undecided & ~drawn & threshold
        undecided &= ~(drawn ^ threshold)
    return int(np.bitwise_count(undecided).sum(dtype=np.int64))


def _pieces(
    words: Words, which: Words, ones: np.uint64, others: np.uint64, undecided: Words, happened: Words
) -> int:
    """With NumPy alone: 16 bits for each event that is left, compared with the next bits; how many then are."""
    place, lane = np.nonzero(undecided[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1))
    bit = np.uint64(1) << lane.astype(np.uint64)
    drawn = (words[:, None] >> np.arange(0, 64, _PIECE, dtype=np.uint64)).reshape(-1)[: place.size]
    drawn = drawn & np.uint64((1 << _PIECE) - 1)
    threshold = np.where(which[place] & bit, ones, others)
    undecided[:] = 0
    for array, told in ((happened, drawn < threshold), (undecided, drawn == threshold)):
        np.bitwise_or.at(array, place[told], bit[told])
    return int(np.count_nonzero(drawn == threshold))
