"""States and sums as bytes: format, fingerprint of the mechanism, payload, checksum. States are secret.

The fingerprint is of the mechanism's JSON, so files stay readable when a class is renamed.
"""

import contextlib
import functools
import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from untrackable.errors import MechanismError, StateError, SumsError, UntrackableError
from untrackable.strict_json import canonical

_STATE, _SUMS, _COUNTS = b"UTS", b"UTA", b"UTC"
_FORMAT = 2
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
    describe: Callable[[], Mapping[str, Any]] | None = getattr(mechanism, "to_json", None)
    if describe is not None:
        with contextlib.suppress(MechanismError):
            return canonical(describe())
    kind = type(mechanism)
    return f"{kind.__module__}.{kind.__qualname__} {mechanism!r}".encode()


def _fingerprint(mechanism: object) -> bytes:
    return hashlib.sha256(identity(mechanism)).digest()[:_FINGERPRINT]


def _frame(letters: bytes, mechanism: object, *payload: bytes) -> bytes:
    parts = (letters, bytes([_FORMAT]), _fingerprint(mechanism), *payload)
    checksum = functools.reduce(lambda sum, part: zlib.crc32(part, sum), parts, 0)
    return b"".join((*parts, checksum.to_bytes(_CHECKSUM, "big")))


def _unframe(
    letters: bytes, mechanism: object, data: bytes, error: type[UntrackableError], what: str
) -> memoryview:
    if len(data) < _HEAD + _CHECKSUM or not data.startswith(letters):
        raise error(f"these bytes are not {what}, or are truncated")
    if data[_FORMAT_AT] != _FORMAT:
        raise error(
            f"these bytes are {what} of format {data[_FORMAT_AT]}, or are damaged; this version of untrackable "
            f"reads format {_FORMAT}"
        )
    body, checksum = memoryview(data)[:-_CHECKSUM], data[-_CHECKSUM:]
    if zlib.crc32(body).to_bytes(_CHECKSUM, "big") != checksum:
        raise error(f"these bytes are {what} with damage: the checksum does not match")
    if body[_FORMAT_AT + 1 : _HEAD] != _fingerprint(mechanism):
        raise error(f"these bytes are {what} of another mechanism than {mechanism!r}")
    return body[_HEAD:]
