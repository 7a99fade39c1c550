"""Reports that are only compared for equality, as keyed or plain digests."""

import hashlib

import numpy as np
from numpy.typing import NDArray


def digest(data: bytes, key: bytes = b"") -> int:
    """64 bits: equal for equal bytes; for different bytes equal only by accident."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "little")


def digest_bits(data: bytes) -> NDArray[np.uint8]:
    """32 bits for a part of a report that has no bits of its own: equal for equal bytes, unrelated otherwise."""
    return np.unpackbits(np.frombuffer(hashlib.blake2b(data, digest_size=4).digest(), dtype=np.uint8))
