"""States and sums as bytes: format, fingerprint of the mechanism, payload, checksum. States are secret.

The fingerprint is of the mechanism's JSON, so files stay readable when a class is renamed. Format 2 is written;
format 1, which version 0.1 wrote, is still read.
"""

import functools
import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from untrackable.errors import MechanismError, StateError, SumsError, UntrackableError
from untrackable.old_names import old_name
from untrackable.strict_json import canonical

_STATE, _SUMS, _COUNTS = b"UTS", b"UTA", b"UTC"
_FORMAT, _OLD_FORMAT = 2, 1
_FORMAT_AT = 3
"""Where the number of the format is, after three letters that say what the bytes are."""
_HEAD = 12
"""Bytes before the payload: letters, format and fingerprint."""
_FINGERPRINT = 8
_CHECKSUM = 4


def frame_state(mechanism: object, payload: bytes) -> bytes:
    """A client's state as bytes that only the same mechanism opens, and only undamaged."""
    return _frame(_STATE, mechanism, payload)


def unframe_state(mechanism: object, data: bytes) -> bytes:
    """The payload of a framed state; other bytes are a `StateError`."""
    return bytes(_unframe(_STATE, mechanism, data, StateError, "a state"))


def frame_sums(mechanism: object, *payload: bytes) -> bytes:
    """Sums as bytes that only the same mechanism opens. They may be large, so their parts are joined only once."""
    return _frame(_SUMS, mechanism, *payload)


def unframe_sums(mechanism: object, data: bytes) -> memoryview:
    """The payload of framed sums, without copying it; other bytes are a `SumsError`."""
    return _unframe(_SUMS, mechanism, data, SumsError, "sums")


def frame_counts(mechanism: object, *payload: bytes) -> bytes:
    """Counts of candidates as bytes, with letters of their own so that nothing takes them for sums."""
    return _frame(_COUNTS, mechanism, *payload)


def unframe_counts(mechanism: object, data: bytes) -> memoryview:
    """The payload of framed counts of candidates; other bytes are a `SumsError`."""
    return _unframe(_COUNTS, mechanism, data, SumsError, "counts of candidates")


def identity(mechanism: object) -> bytes:
    """The bytes whose fingerprint is taken: the mechanism's canonical JSON.

    A mechanism from outside this library may have no JSON. Then they are its module, its class and its repr.
    """
    description = _description(mechanism)
    if description is not None:
        return canonical(description)
    kind = type(mechanism)
    return f"{kind.__module__}.{kind.__qualname__} {mechanism!r}".encode()


def _description(mechanism: object) -> Mapping[str, Any] | None:
    describe: Callable[[], Mapping[str, Any]] | None = getattr(mechanism, "to_json", None)
    try:
        return None if describe is None else describe()
    except MechanismError:
        return None


def _fingerprint(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:_FINGERPRINT]


def _old_fingerprints(mechanism: object) -> set[bytes]:
    """Those that version 0.1 may have written, which hashed what Python printed for the mechanism."""
    description = _description(mechanism)
    names = {repr(mechanism), None if description is None else old_name(description)}
    return {_fingerprint(name.encode()) for name in names if name is not None}


def _frame(letters: bytes, mechanism: object, *payload: bytes) -> bytes:
    parts = (letters, bytes([_FORMAT]), _fingerprint(identity(mechanism)), *payload)
    checksum = functools.reduce(lambda sum, part: zlib.crc32(part, sum), parts, 0)
    return b"".join((*parts, checksum.to_bytes(_CHECKSUM, "big")))


def _unframe(
    letters: bytes, mechanism: object, data: bytes, error: type[UntrackableError], what: str
) -> memoryview:
    if len(data) < _HEAD + _CHECKSUM or not data.startswith(letters):
        raise error(f"these bytes are not {what}, or are truncated")
    format = data[_FORMAT_AT]
    if format not in (_FORMAT, _OLD_FORMAT):
        raise error(
            f"these bytes are {what} of format {format}, or are damaged; this version of untrackable reads formats "
            f"{_OLD_FORMAT} and {_FORMAT}: read them with the version that wrote them, or a newer one"
        )
    body, checksum = memoryview(data)[:-_CHECKSUM], data[-_CHECKSUM:]
    if zlib.crc32(body).to_bytes(_CHECKSUM, "big") != checksum:
        raise error(f"these bytes are {what} with damage: the checksum does not match")
    found = bytes(body[_FORMAT_AT + 1 : _HEAD])
    if format == _OLD_FORMAT:
        if found not in _old_fingerprints(mechanism):
            raise error(
                f"these bytes are {what} that untrackable 0.1 wrote, of another mechanism than {mechanism!r}; if "
                "the mechanism is your own and now prints differently, read them with the code that wrote them"
            )
    elif found != _fingerprint(identity(mechanism)):
        raise error(f"these bytes are {what} of another mechanism than {mechanism!r}")
    return body[_HEAD:]


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
