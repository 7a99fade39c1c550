"""Randomness at the edge. Everything else is a deterministic function of the bytes drawn here.

The byte-level rules below are part of the client format: golden vectors pin them down, and a client in another
language follows them bit for bit. All integers are big-endian.
"""

import os
from collections.abc import Callable

Entropy = Callable[[int], bytes]
"""Called with a number of bytes, returns that many, never the same ones twice."""

system: Entropy = os.urandom
"""The operating system's CSPRNG: what every client draws from."""


class Recorded:
    """Entropy from a given byte string, for vectors; running out is an error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.used = 0

    def __call__(self, size: int) -> bytes:
        """The next bytes."""
        if self.used + size > len(self._data):
            raise ValueError(f"recorded entropy has {len(self._data)} bytes, more are needed")
        self.used += size
        return self._data[self.used - size : self.used]


def word(entropy: Entropy) -> int:
    """A uniform 64-bit integer: 8 bytes."""
    return int.from_bytes(entropy(8), "big")


def below(limit: int, entropy: Entropy) -> int:
    """A uniform integer in [0, limit), limit ≤ 2^64: words at or above the last multiple of limit are redrawn."""
    usable = (1 << 64) // limit * limit
    while (drawn := word(entropy)) >= usable:
        pass
    return drawn % limit


def nonzero_vector(bits: int, entropy: Entropy) -> int:
    """A uniform non-zero vector of `bits` bits: ⌈bits/8⌉ bytes, surplus high bits cleared, zero redrawn."""
    size, mask = (bits + 7) // 8, (1 << bits) - 1
    while not (vector := int.from_bytes(entropy(size), "big") & mask):
        pass
    return vector


def independent_vectors(bits: int, width: int, entropy: Entropy) -> list[int]:
    """Uniform among all lists of so many linearly independent vectors.

    One non-zero vector after the other; one that is a sum of earlier ones is redrawn.
    """
    vectors: list[int] = []
    sums = {0}
    while len(vectors) < width:
        vector = nonzero_vector(bits, entropy)
        if vector not in sums:
            vectors.append(vector)
            sums |= {vector ^ earlier for earlier in sums}
    return vectors
