"""Where mechanisms get their randomness. Otherwise a mechanism is a deterministic function of these bytes.

The byte-level rules below are part of the client format: golden vectors pin them down, and a client in another
language follows them bit for bit. All integers are big-endian.
"""

import os
from collections.abc import Callable

Entropy = Callable[[int], bytes]
"""A function that takes a number of bytes and returns that many new random bytes."""

system: Entropy = os.urandom
"""The operating system's CSPRNG. Every client draws from it."""


class Recorded:
    """Entropy from a given byte string, for test vectors. Running out of bytes is an error."""

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
    """A uniform 64-bit integer, from 8 bytes."""
    return int.from_bytes(entropy(8), "big")


def below(limit: int, entropy: Entropy) -> int:
    """A uniform integer in [0, limit), from 8 bytes, or as many times 8 bytes as a limit above 2^64 needs.

    Numbers at or above the last multiple of limit are redrawn.
    """
    size = 8 * max(1, ((limit - 1).bit_length() + 63) // 64)
    usable = (1 << 8 * size) // limit * limit
    while (drawn := int.from_bytes(entropy(size), "big")) >= usable:
        pass
    return drawn % limit


def nonzero_vector(bits: int, entropy: Entropy) -> int:
    """A uniform non-zero vector, from ⌈bits/8⌉ bytes. Surplus high bits are cleared, and 0 is redrawn."""
    size, mask = (bits + 7) // 8, (1 << bits) - 1
    while not (vector := int.from_bytes(entropy(size), "big") & mask):
        pass
    return vector


def independent_vectors(bits: int, width: int, entropy: Entropy) -> list[int]:
    """A list of `width` linearly independent vectors, uniform among all such lists.

    Non-zero vectors are drawn one after the other. A vector that is a sum of earlier ones is redrawn.
    """
    vectors: list[int] = []
    sums = {0}
    while len(vectors) < width:
        vector = nonzero_vector(bits, entropy)
        if vector not in sums:
            vectors.append(vector)
            sums |= {vector ^ earlier for earlier in sums}
    return vectors
