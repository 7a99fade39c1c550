"""The noise of simulated populations, with exact probabilities: integers over 2^64.

Noisy inner products: a vector of at most 32 bits takes the highest bits of a random word, and the noise takes the
rest. The noise is compared with the highest bits of the flip probability. If they are equal, which is rare, another
word decides by the lowest bits. A vector that is zero is drawn again.

Independent random events, 64 at a time, one per bit of a word: an event happens if a random 64-bit number is below
its threshold. The numbers are drawn from their highest bits down. Four words give the highest four bits of 64
numbers, and these already decide all but four events on average. Each undecided event gets 16 more bits, until all
64 bits are drawn. This takes about five words for 64 events.
"""

import numpy as np

from untrackable.arrays import Words
from untrackable.kernels.engine import compiled, read_only

_WHOLE = 1 << 64
"""The threshold of an event that always happens."""
_ONE = np.uint64(1)
_DRAWN_TOGETHER = 1 << 15
"""The number of reports that are drawn together, so that their words stay in the second-level cache.

It determines the order of the draws, so changing it changes the results of a seed."""
_NARROW = 32
"""The largest number of bits of a vector that leaves enough bits of the same word for the noise."""
_CHUNK = 1 << 13
"""The number of words that are drawn together, so that they stay in the second-level cache.

It determines the order of the draws, so changing it changes the results of a seed."""
_HEAD = 4
"""The number of highest bits that are drawn for all events."""
_PIECE = 16
"""The number of bits that are drawn at a time for undecided events."""


def noisy_inner_products(values: Words, bits: int, threshold: int, rng: np.random.Generator) -> Words:
    """Draw a report 2·v + (⟨v, u⟩ ⊕ x) for every value u.

    The vector v is uniform among 1 … 2^bits-1, and the bit x is 1 with probability threshold/2^64.
    """
    if not 1 <= bits <= 63:
        raise ValueError(f"bits must be between 1 and 63, got {bits}")
    if not 0 <= threshold < 1 << 64:
        raise ValueError("threshold must be between 0 and 2^64 - 1")
    flat = np.ascontiguousarray(values).reshape(-1)
    reports = np.empty(flat.size, dtype=np.uint64)
    for start in range(0, flat.size, _DRAWN_TOGETHER):
        chunk = slice(start, start + _DRAWN_TOGETHER)
        _draw(flat[chunk], reports[chunk], bits, threshold, rng)
    return reports.reshape(values.shape)


def _draw(values: Words, reports: Words, bits: int, threshold: int, rng: np.random.Generator) -> None:
    words = _words(rng, values.size)
    noise = words if bits <= _NARROW else _words(rng, values.size)
    kept = 64 - bits if bits <= _NARROW else 64
    mask, below, rest = (1 << kept) - 1, threshold >> (64 - kept), threshold & ((1 << (64 - kept)) - 1)
    kernels = compiled(0)  # Simulation alone rarely pays for loading the kernels, so they are used only if loaded.
    fill = _noisy_parities if kernels is None else kernels.noisy_parities
    given = (read_only(words), read_only(noise), read_only(values))
    strange = fill(*given, reports, np.uint64(bits), np.uint64(mask), np.uint64(below))
    shift = np.uint64(64 - bits)
    if strange & 2 and rest:
        ties = np.flatnonzero((noise & np.uint64(mask)) == np.uint64(below))
        reports[ties] ^= _words(rng, ties.size) >> np.uint64(kept) < np.uint64(rest)
    while strange & 1:
        again = np.flatnonzero(reports < 2)  # Where the vector is zero, the report holds only the noise.
        vectors = _words(rng, again.size) >> shift
        strange = int(not vectors.all())
        parity = np.bitwise_count(vectors & values[again]) & np.uint8(1)
        reports[again] ^= vectors << _ONE | parity


def _noisy_parities(
    words: Words, noise: Words, values: Words, reports: Words, bits: np.uint64, mask: np.uint64, below: np.uint64
) -> int:
    """The kernel `noisy_parities` with NumPy alone."""
    vectors, drawn = words >> (np.uint64(64) - bits), noise & mask
    parity = np.bitwise_count(vectors & values) & np.uint8(1)
    reports[:] = vectors << _ONE | (parity ^ (drawn < below))
    return int(not vectors.all()) + 2 * int((drawn == below).any())


def draw_events(which: Words, first: int, second: int, rng: np.random.Generator, *, among: Words) -> Words:
    """Draw bits that are 1 with probability first/2^64 where `which` has a 1, and second/2^64 where it has a 0.

    Only bits that are set in `among` are drawn; all others are 0. Both arrays hold rows of words, and `among`
    applies to every row.
    """
    if not (0 <= first <= _WHOLE and 0 <= second <= _WHOLE):
        raise ValueError("first and second must be between 0 and 2^64")
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
    """Draw all undecided events and set the bits of those that happen. Overwrites `undecided`."""
    for threshold, mine in ((first, which), (second, ~which)):
        if threshold == _WHOLE:
            happened |= mine & undecided
        if threshold in (0, _WHOLE):
            undecided &= ~mine
    kernels = compiled(0)  # Simulation alone rarely pays for loading the kernels, so they are used only if loaded.
    head, pieces = (_head, _pieces) if kernels is None else (kernels.event_heads, kernels.event_pieces)
    both = (first % _WHOLE, second % _WHOLE)
    bits = 64 - _HEAD
    words = read_only(_words(rng, _HEAD * which.size))
    one, other = (np.uint64(t >> bits) for t in both)
    left = head(words, which, one, other, undecided, happened)
    # Once the remaining bits of both thresholds are 0, no further number can be below its threshold.
    while left and bits > 0 and any(t % (1 << bits) for t in both):
        bits -= _PIECE
        one, other = (np.uint64((t << _PIECE >> bits + _PIECE) % (1 << _PIECE)) for t in both)
        left = pieces(read_only(_words(rng, -(-left * _PIECE // 64))), which, one, other, undecided, happened)


def _head(words: Words, which: Words, ones: np.uint64, others: np.uint64, undecided: Words, happened: Words) -> int:
    """`event_heads` with NumPy alone: compare the highest bits; returns the number of events still undecided."""
    for i, drawn in enumerate(words.reshape(-1, _HEAD).T):
        own, rest = (-(int(t) >> (_HEAD - 1 - i) & 1) % _WHOLE for t in (ones, others))
        threshold = (which & np.uint64(own)) | (~which & np.uint64(rest))
        happened |= undecided & ~drawn & threshold
        undecided &= ~(drawn ^ threshold)
    return int(np.bitwise_count(undecided).sum(dtype=np.int64))


def _pieces(
    words: Words, which: Words, ones: np.uint64, others: np.uint64, undecided: Words, happened: Words
) -> int:
    """`event_pieces` with NumPy alone: compare the next 16 bits; returns the number of events still undecided."""
    place, lane = np.nonzero(undecided[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1))
    bit = np.uint64(1) << lane.astype(np.uint64)
    drawn = (words[:, None] >> np.arange(0, 64, _PIECE, dtype=np.uint64)).reshape(-1)[: place.size]
    drawn = drawn & np.uint64((1 << _PIECE) - 1)
    threshold = np.where(which[place] & bit, ones, others)
    undecided[:] = 0
    for array, chosen in ((happened, drawn < threshold), (undecided, drawn == threshold)):
        np.bitwise_or.at(array, place[chosen], bit[chosen])
    return int(np.count_nonzero(drawn == threshold))


def _words(rng: np.random.Generator, count: int) -> Words:
    return rng.integers(0, _WHOLE - 1, size=count, dtype=np.uint64, endpoint=True)
