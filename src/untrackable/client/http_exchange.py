"""HTTP requests over one connection, within one time limit. No more of an answer is read than asked for.

The exchange ends when the time is up, even if the other side sends slowly, repeats itself or sends nothing.
"""

import contextlib
import re
import socket
import ssl
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any

_LONGEST_HEAD = 1 << 16
_LONGEST_LINE = 1 << 10
"""The longest line between the chunks of an answer."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")
_FINAL = 200
_MOST_DIGITS = 16


class ExchangeFailed(Exception):
    """There was no connection, no answer in time, or the answer was not HTTP."""


class _Closed(ExchangeFailed):
    """The other side has closed the connection."""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer: its status and its header lines."""

    status: int
    lines: tuple[bytes, ...] = ()

    def header(self, name: str) -> str | None:
        """The value of a header, if it is there."""
        for line in self.lines:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.encode():
                return value.strip().decode("latin-1")
        return None


class Exchange:
    """A new connection, which is closed at the end. `seconds` is the time limit for everything on it."""

    def __init__(self, host: str, port: int, *, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._left = b""
        self._socket = self._connect(host, port)

    def __enter__(self) -> "Exchange":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def secure(self, host: str) -> None:
        """Use verified TLS from here on. The context is new, so that no session is resumed."""
        if self._left:
            raise ExchangeFailed("the server sent data before the request")
        context = ssl.create_default_context()
        context.options |= ssl.OP_NO_TICKET
        try:
            self._socket.settimeout(self._remaining())
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except (OSError, ValueError) as error:
            raise ExchangeFailed(type(error).__name__) from None

    def certified_for(self, host: str) -> bool:
        """Whether the certificate of the other side is also valid for this host."""
        if not isinstance(self._socket, ssl.SSLSocket):
            return False
        certificate: Any = self._socket.getpeercert() or {}
        names = [value.lower() for _, value in certificate.get("subjectAltName", ())]
        return any(host == name or name == f"*.{host.partition('.')[2]}" for name in names)

    def addresses(self) -> tuple[str, str]:
        """The numeric addresses of this side and of the other side."""
        try:
            return str(self._socket.getsockname()[0]), str(self._socket.getpeername()[0])
        except OSError as error:
            raise ExchangeFailed(type(error).__name__) from None

    def ask(self, request: bytes) -> Head:
        """Send a request and read the head of the answer. Interim answers (1xx) are skipped."""
        try:
            self._socket.settimeout(self._remaining())
            self._socket.sendall(request)
        except OSError as error:
            raise ExchangeFailed(type(error).__name__) from None
        read = 0
        while True:
            line = self._line(_LONGEST_HEAD - read)
            match = _STATUS.fullmatch(line)
            if match is None:
                raise ExchangeFailed("not HTTP")
            status, lines = int(match[1]), []
            read += len(line)
            try:
                while line := self._line(_LONGEST_HEAD - read):
                    read += len(line)
                    lines.append(line)
            except ExchangeFailed:
                if status < _FINAL:
                    raise
            if status >= _FINAL:
                return Head(status, tuple(lines))
            # Even empty interim answers count, so that they cannot go on for ever.
            read += 1

    def content(self, head: Head, largest: int) -> bytes:
        """The content of the answer with this head. It is an error if it is cut off or larger than allowed."""
        if (head.header("transfer-encoding") or "").lower() == "chunked":
            return self._chunks(largest)
        length = head.header("content-length")
        if length is not None:
            return self._take(_number(length, 10, largest))
        with contextlib.suppress(_Closed):
            self._fill(largest + 1)
            raise ExchangeFailed("too long")
        return self._left

    def _chunks(self, largest: int) -> bytes:
        content = b""
        while size := _number(self._line(_LONGEST_LINE).partition(b";")[0].decode("latin-1"), 16, largest):
            content += self._take(size)
            if len(content) > largest:
                raise ExchangeFailed("too long")
            if self._line(_LONGEST_LINE):
                raise ExchangeFailed("not HTTP")
        return content

    def _take(self, size: int) -> bytes:
        self._fill(size)
        taken, self._left = self._left[:size], self._left[size:]
        return taken

    def _fill(self, size: int) -> None:
        """Read until so many bytes are there."""
        while len(self._left) < size:
            self._receive()

    def _receive(self) -> None:
        try:
            self._socket.settimeout(self._remaining())
            more = self._socket.recv(1 << 12)
        except OSError as error:
            raise ExchangeFailed(type(error).__name__) from None
        if not more:
            raise _Closed("closed")
        self._left += more

    def _line(self, most: int) -> bytes:
        while b"\n" not in self._left:
            if len(self._left) > most:
                raise ExchangeFailed("too long")
            self._receive()
        line, self._left = self._left.split(b"\n", 1)
        if len(line) > most:
            raise ExchangeFailed("too long")
        return line.removesuffix(b"\r")

    def _connect(self, host: str, port: int) -> socket.socket:
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ExchangeFailed(type(error).__name__) from None
        for tried, (family, kind, protocol, _, address) in enumerate(addresses):
            # The time is divided, so that an address that does not answer leaves some for the others.
            seconds = self._remaining() / (len(addresses) - tried)
            try:
                connection = socket.socket(family, kind, protocol)
            except OSError:
                continue  # This machine does not support the address family.
            try:
                connection.settimeout(seconds)
                connection.connect(address)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError:
                connection.close()
            else:
                return connection
        raise ExchangeFailed("no address answers")

    def _remaining(self) -> float:
        """The seconds that are left. It is an error if there are none."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise ExchangeFailed("out of time")
        return left


def _number(digits: str, base: int, largest: int) -> int:
    """A number that is at most the largest. It is an error if it is none."""
    if not digits.isascii() or not digits.isalnum() or len(digits) > _MOST_DIGITS:
        raise ExchangeFailed("not HTTP")
    try:
        number = int(digits, base)
    except ValueError:
        raise ExchangeFailed("not HTTP") from None
    if number > largest:
        raise ExchangeFailed("too long")
    return number
