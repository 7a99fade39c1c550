"""Reports that are only compared for equality, as keyed or plain digests."""

import hashlib
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Told(Protocol):
    """Told what is going on and, where known, how much of it is done."""

    def __call__(self, what: str, done: float | None = None) -> None:
        """Show it."""


def digest(data: bytes, key: bytes = b"") -> int:
    """64 bits that are equal for equal bytes, and otherwise equal by accident only."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "little")


def digest_bits(data: bytes) -> NDArray[np.uint8]:
    """32 places for something that has no bits of its own: equal for equal bytes, unrelated otherwise."""
    return np.unpackbits(np.frombuffer(hashlib.blake2b(data, digest_size=4).digest(), dtype=np.uint8))
