"""Digests of reports and pseudonyms that are only compared."""

import hashlib

import numpy as np
from numpy.typing import NDArray


def digest(data: bytes, key: bytes = b"") -> int:
    """A digest of 64 bits. Different bytes have equal digests only by accident."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "little")


def digest_bits(data: bytes) -> NDArray[np.uint8]:
    """A digest of 32 bits, for a part of a report that is not made of bits."""
    return np.unpackbits(np.frombuffer(hashlib.blake2b(data, digest_size=4).digest(), dtype=np.uint8))
