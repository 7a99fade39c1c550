"""Noisy inner products of a simulated population, with vectors and noise from the words of a random generator.

A vector of at most 32 bits takes the highest bits of a word, and the noise takes the rest. The noise is compared
with the highest bits of the flip probability. If they are equal, which is rare, another word decides by the lowest
bits. So the probability stays exact, an integer over 2^64. A vector that is zero is drawn again.
"""

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels.compilation import compiled, read_only

Words = NDArray[np.uint64]

_CHUNK = 1 << 15
"""The number of reports that are drawn together, so that their words stay in the second-level cache.

It determines the order of the draws, so changing it changes the results of a seed."""
_NARROW = 32
"""The largest number of bits of a vector that leaves enough bits of the same word for the noise."""
_ONE = np.uint64(1)


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
    for start in range(0, flat.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
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


def _words(rng: np.random.Generator, count: int) -> Words:
    return rng.integers(0, (1 << 64) - 1, size=count, dtype=np.uint64, endpoint=True)
