"""HTTP requests and responses as bytes of known length (RFC 9292), the form in which they are sealed.

The reader accepts every message of known length and nothing else: leftover bytes must be zero (padding), and names
of fields are in lower case. Trailers and interim responses are checked and left out.
"""

import re
from dataclasses import dataclass

from untrackable.errors import SealingError

Fields = tuple[tuple[bytes, bytes], ...]
"""The header fields of a message, in their order."""
_REQUEST, _RESPONSE = 0, 1
"""Framing indicators of messages of known length."""
_LARGEST_FIELDS = 64
"""The largest number of fields in one section."""
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_VALUE = re.compile(rb"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")
_VISIBLE = re.compile(rb"[\x21-\x7e]*")


@dataclass(frozen=True, slots=True)
class BinaryRequest:
    """A request: its method, address, fields and content."""

    method: bytes
    scheme: bytes
    authority: bytes
    path: bytes
    fields: Fields = ()
    content: bytes = b""

    def to_bytes(self) -> bytes:
        """The request as bytes, without padding. `SealingError` if it is not a valid request."""
        _check_request(self)
        control = b"".join(map(_with_length, (self.method, self.scheme, self.authority, self.path)))
        return _written(_REQUEST, control, self.fields, self.content)

    @classmethod
    def from_bytes(cls, data: bytes) -> "BinaryRequest":
        """Read a request of known length, with or without padding. `SealingError` if it is none."""
        reader = _Reader(data)
        if reader.number() != _REQUEST:
            raise SealingError("binary HTTP: this is not a request of known length")
        method, scheme, authority, path = (reader.text() for _ in range(4))
        fields, content = reader.rest_of_message()
        request = cls(method, scheme, authority, path, fields, content)
        _check_request(request)
        return request


AUTHORITY = b"collector.invalid"
"""The collector's name in every request with reports. Its real name could have been made for one person."""


def reports_request(campaign: str, reports: bytes) -> bytes:
    """The request that brings reports to a campaign, as bytes. It is the same for everyone but for the reports."""
    fields = ((b"content-type", b"application/octet-stream"),)
    path = f"/campaigns/{campaign}/reports".encode()
    return BinaryRequest(b"POST", b"https", AUTHORITY, path, fields, reports).to_bytes()


@dataclass(frozen=True, slots=True)
class BinaryResponse:
    """A final response: its status, its fields, and its content."""

    status: int
    fields: Fields = ()
    content: bytes = b""

    def to_bytes(self) -> bytes:
        """The response as bytes, without padding. `SealingError` if it is not a valid response."""
        if not 200 <= self.status <= 599:
            raise SealingError("binary HTTP: a final status must be between 200 and 599")
        return _written(_RESPONSE, write_number(self.status), self.fields, self.content)

    @classmethod
    def from_bytes(cls, data: bytes) -> "BinaryResponse":
        """Read a response of known length, with or without padding. `SealingError` if it is none."""
        reader = _Reader(data)
        if reader.number() != _RESPONSE:
            raise SealingError("binary HTTP: this is not a response of known length")
        status = reader.number()
        while 100 <= status <= 199 and status != 101:  # 101 changes the protocol, which a message cannot do.
            _read_fields(reader.text())
            status = reader.number()
        if not 200 <= status <= 599:
            raise SealingError("binary HTTP: a final status must be between 200 and 599")
        return cls(status, *reader.rest_of_message())


class _Reader:
    """Reads a message from its beginning. Every length is checked before anything is taken."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def at_end(self) -> bool:
        """Whether all bytes are read."""
        return self._at == len(self._data)

    def number(self) -> int:
        """A number of 1, 2, 4 or 8 bytes, whose first two bits give its length (RFC 9000, section 16)."""
        if self.at_end():
            raise SealingError("binary HTTP: the message is cut off")
        size = 1 << (self._data[self._at] >> 6)
        return int.from_bytes(self._take(size), "big") & ((1 << (8 * size - 2)) - 1)

    def text(self) -> bytes:
        """Bytes with their length before them."""
        return self._take(self.number())

    def rest_of_message(self) -> tuple[Fields, bytes]:
        """The fields and the content. Empty parts at the end may be missing, and zeros may follow."""
        fields = _read_fields(self._part())
        content = self._part()
        _read_fields(self._part())
        if self._data[self._at :] != bytes(len(self._data) - self._at):
            raise SealingError("binary HTTP: the padding must be zero")
        return fields, content

    def _part(self) -> bytes:
        return b"" if self.at_end() else self.text()

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise SealingError("binary HTTP: the message is cut off")
        self._at += size
        return self._data[self._at - size : self._at]


def write_number(number: int) -> bytes:
    """A number in the fewest of 1, 2, 4 or 8 bytes (RFC 9000, section 16)."""
    for power in range(4):
        size = 1 << power
        if 0 <= number < 1 << (8 * size - 2):
            return (number | power << (8 * size - 2)).to_bytes(size, "big")
    raise SealingError("binary HTTP: a number must be at least 0 and below 2^62")


def _with_length(text: bytes) -> bytes:
    return write_number(len(text)) + text


def _written(framing: int, control: bytes, fields: Fields, content: bytes) -> bytes:
    for field in fields:
        _check_field(*field)
    if len(fields) > _LARGEST_FIELDS:
        raise SealingError(f"binary HTTP: a message has at most {_LARGEST_FIELDS} fields")
    section = b"".join([_with_length(text) for field in fields for text in field])
    return write_number(framing) + control + b"".join(map(_with_length, (section, content, b"")))


def _read_fields(section: bytes) -> Fields:
    fields: list[tuple[bytes, bytes]] = []
    reader = _Reader(section)
    while not reader.at_end():
        name, value = reader.text(), reader.text()
        _check_field(name, value)
        fields.append((name, value))
        if len(fields) > _LARGEST_FIELDS:
            raise SealingError(f"binary HTTP: a message has at most {_LARGEST_FIELDS} fields")
    return tuple(fields)


def _check_field(name: bytes, value: bytes) -> None:
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise SealingError("binary HTTP: a field has a wrong name or value")


def _check_request(request: BinaryRequest) -> None:
    visible = (request.scheme, request.authority, request.path)
    if not _TOKEN.fullmatch(request.method) or not all(map(_VISIBLE.fullmatch, visible)):
        raise SealingError("binary HTTP: the method, the scheme, the authority or the path is not valid")
