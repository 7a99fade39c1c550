"""Noisy inner products of a simulated population: the words of a generator as vectors and noise.

A vector of at most 32 bits is the highest bits of a word, and the noise is drawn from the rest: it is below the
chance's highest bits, or above, or (almost never) equal, and then another word settles it by the lowest bits. So
the chance stays what it is, an integer over 2^64. A vector that is zero is drawn again.
"""

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.compilation import compiled, read_only

Words = NDArray[np.uint64]

_CHUNK = 1 << 15
"""Reports whose words are drawn at a time, and stay in the second-level cache; a part of what a seed gives."""
_NARROW = 32
"""Bits of a vector that leave enough of its word for the noise."""
_ONE = np.uint64(1)


def noisy_inner_products(values: Words, bits: int, threshold: int, rng: np.random.Generator) -> Words:
    """2·v + (⟨v, u⟩ ⊕ x) for every value u: v uniform among 1 … 2^bits-1, x being 1 with chance threshold/2^64."""
    if not 1 <= bits <= 63:
        raise ValueError(f"bits must be between 1 and 63, got {bits}")
    if not 0 <= threshold < 1 << 64:
        raise ValueError("threshold must be between 0 and 2^64 - 1")
    flat = np.ascontiguousarray(values).reshape(-1)
    reports = np.empty(flat.size, dtype=np.uint64)
    for start in range(0, flat.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        _draw(flat[chunk], reports[chunk], bits, threshold, rng)
    return reports.reshape(values.shape)


def _draw(values: Words, reports: Words, bits: int, threshold: int, rng: np.random.Generator) -> None:
    words = _words(rng, values.size)
    noise = words if bits <= _NARROW else _words(rng, values.size)
    kept = 64 - bits if bits <= _NARROW else 64
    mask, below, rest = (1 << kept) - 1, threshold >> (64 - kept), threshold & ((1 << (64 - kept)) - 1)
    kernels = compiled(0)  # if they are there; simulation itself is seldom worth loading them
    fill = _noisy_parities if kernels is None else kernels.noisy_parities
    given = (read_only(words), read_only(noise), read_only(values))
    strange = fill(*given, reports, np.uint64(bits), np.uint64(mask), np.uint64(below))
    shift = np.uint64(64 - bits)
    if strange & 2 and rest:
        ties = np.flatnonzero((noise & np.uint64(mask)) == np.uint64(below))
        reports[ties] ^= _words(rng, ties.size) >> np.uint64(kept) < np.uint64(rest)
    while strange & 1:
        again = np.flatnonzero(reports < 2)  # the vector is zero, so what is there is the noise
        vectors = _words(rng, again.size) >> shift
        strange = int(not vectors.all())
        parity = np.bitwise_count(vectors & values[again]) & np.uint8(1)
        reports[again] ^= vectors << _ONE | parity


def _noisy_parities(
    words: Words, noise: Words, values: Words, reports: Words, bits: np.uint64, mask: np.uint64, below: np.uint64
) -> int:
    """The same with NumPy alone."""
    vectors, drawn = words >> (np.uint64(64) - bits), noise & mask
    parity = np.bitwise_count(vectors & values) & np.uint8(1)
    reports[:] = vectors << _ONE | (parity ^ (drawn < below))
    return int(not vectors.all()) + 2 * int((drawn == below).any())


def _words(rng: np.random.Generator, count: int) -> Words:
    return rng.integers(0, (1 << 64) - 1, size=count, dtype=np.uint64, endpoint=True)
