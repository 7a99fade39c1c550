"""States and sums as bytes: version, which mechanism, payload, checksum. States are secret, and never shown."""

import functools
import hashlib
import zlib
from collections.abc import Callable

from untrackable.errors import StateError, SumsError, UntrackableError

_STATE, _SUMS, _COUNTS = b"UTS\x01", b"UTA\x01", b"UTC\x01"
_FINGERPRINT = 8
_CHECKSUM = 4


def frame_state(mechanism: object, payload: bytes) -> bytes:
    """Frame a payload so that only the same mechanism opens it, and only undamaged."""
    return _framed(_STATE, mechanism, payload)


def unframe_state(mechanism: object, data: bytes) -> bytes:
    """The payload of a sealed state."""
    return bytes(_payload(_STATE, mechanism, data, StateError, "a state"))


def frame_sums(mechanism: object, *payload: bytes) -> bytes:
    """The same for sums, which are no secret, and may be large: their parts are put together once."""
    return _framed(_SUMS, mechanism, *payload)


def unframe_sums(mechanism: object, data: bytes) -> memoryview:
    """The payload of sealed sums, without copying it."""
    return _payload(_SUMS, mechanism, data, SumsError, "sums")


def frame_counts(mechanism: object, *payload: bytes) -> bytes:
    """The same for counts of candidates, which are not to be taken for sums."""
    return _framed(_COUNTS, mechanism, *payload)


def unframe_counts(mechanism: object, data: bytes) -> memoryview:
    """The payload of sealed counts of candidates."""
    return _payload(_COUNTS, mechanism, data, SumsError, "counts of candidates")


def _framed(magic: bytes, mechanism: object, *payload: bytes) -> bytes:
    parts = (magic, _fingerprint(mechanism), *payload)
    checksum = functools.reduce(lambda sum, part: zlib.crc32(part, sum), parts, 0)
    return b"".join((*parts, checksum.to_bytes(_CHECKSUM, "big")))


def _payload(magic: bytes, mechanism: object, data: bytes, error: type[UntrackableError], what: str) -> memoryview:
    head = len(magic) + _FINGERPRINT
    if len(data) < head + _CHECKSUM or data[: len(magic)] != magic:
        raise error(f"these bytes are not {what}, or are truncated")
    body, checksum = memoryview(data)[:-_CHECKSUM], data[-_CHECKSUM:]
    if zlib.crc32(body).to_bytes(_CHECKSUM, "big") != checksum:
        raise error(f"these bytes are {what} with damage: the checksum does not match")
    if body[len(magic) : head] != _fingerprint(mechanism):
        raise error(f"these bytes are {what} of another mechanism than {mechanism!r}")
    return body[head:]


def _fingerprint(mechanism: object) -> bytes:
    return hashlib.sha256(repr(mechanism).encode()).digest()[:_FINGERPRINT]


def pack_integers(numbers: list[int], bits: int) -> bytes:
    """Integers of a fixed width, each in ⌈bits/8⌉ bytes, big-endian."""
    size = (bits + 7) // 8
    return b"".join(number.to_bytes(size, "big") for number in numbers)


def unpack_reports(data: bytes, bits: int, count: int, possible: Callable[[int], bool]) -> list[int]:
    """Stored reports; one that its mechanism cannot have made is an error."""
    reports = unpack_integers(data, bits, count)
    if not all(possible(report) for report in reports):
        raise StateError("this state holds a report that its mechanism cannot have made")
    return reports


def unpack_integers(data: bytes, bits: int, count: int) -> list[int]:
    """The inverse; wrong length or surplus bits are an error."""
    size = (bits + 7) // 8
    if len(data) != size * count:
        raise StateError(f"this state should have a payload of {size * count} bytes, it has {len(data)}")
    numbers = [int.from_bytes(data[i : i + size], "big") for i in range(0, len(data), size)]
    if any(number >> bits for number in numbers):
        raise StateError("this state has bits set that its mechanism does not use")
    return numbers
