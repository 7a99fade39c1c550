"""The Bloom filter of RAPPOR: which positions the hashes of a string set, as the published clients have it."""

import hashlib
import operator
from typing import SupportsIndex

Value = str | SupportsIndex
"""A string, or an integer, whose decimal digits are the string."""


def bloom_positions(text: bytes, cohort: int, bloom_bits: int, hashes: int) -> list[int]:
    """The position that each hash sets: byte i of MD5(cohort as four bytes, then the text), modulo the bits."""
    digest = hashlib.md5(cohort.to_bytes(4, "big") + text, usedforsecurity=False).digest()
    return [byte % bloom_bits for byte in digest[:hashes]]


def utf8_text(value: Value) -> bytes:
    """The text of a value in UTF-8. The text of an integer is its decimal digits."""
    if isinstance(value, bool) or not isinstance(value, (str, SupportsIndex)):
        raise TypeError("value must be a string or an integer")
    try:
        return (value if isinstance(value, str) else str(operator.index(value))).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "value must be text that UTF-8 can encode; the one given is not (it is not shown)"
        ) from None
