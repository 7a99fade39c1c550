"""Asking over one connection within one time limit, and reading no more of the answer than its head.

Whatever the other side does, drip, repeat itself or say nothing, it is over when the time is.
"""

import re
import socket
import ssl
import time
from dataclasses import dataclass
from types import TracebackType

_LONGEST_HEAD = 1 << 16
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")
_FINAL = 200


class ExchangeFailed(Exception):
    """No connection, no answer in time, or none that is HTTP."""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer: its status, and the header lines that came."""

    status: int
    lines: tuple[bytes, ...] = ()

    def header(self, name: str) -> str | None:
        """The value of a header, if it is there."""
        for line in self.lines:
            found, _, value = line.partition(b":")
            if found.strip().lower() == name.encode():
                return value.strip().decode("latin-1")
        return None


class Exchange:
    """A new connection, closed for good at the end; `seconds` are for all that happens on it."""

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
        """From here on under TLS, verified, with a context made anew, so that no session is resumed."""
        if self._left:
            raise ExchangeFailed("something was said before it was asked for")
        context = ssl.create_default_context()
        context.options |= ssl.OP_NO_TICKET
        try:
            self._socket.settimeout(self._remaining())
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except (OSError, ValueError) as error:
            raise ExchangeFailed(type(error).__name__) from None

    def way(self) -> tuple[str, str]:
        """The local address and the other side's, as numbers."""
        try:
            return str(self._socket.getsockname()[0]), str(self._socket.getpeername()[0])
        except OSError as error:
            raise ExchangeFailed(type(error).__name__) from None

    def ask(self, request: bytes) -> Head:
        """Send, and read the head of the answer; what is announced before it (1xx) is passed over."""
        try:
            self._socket.settimeout(self._remaining())
            self._socket.sendall(request)
        except OSError as error:
            raise ExchangeFailed(type(error).__name__) from None
        read = 0
        while True:
            line = self._line(_LONGEST_HEAD - read)
            found = _STATUS.fullmatch(line)
            if found is None:
                raise ExchangeFailed("not HTTP")
            status, lines = int(found[1]), []
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
            read += 1  # so that even empty announcements come to an end

    def _line(self, most: int) -> bytes:
        while b"\n" not in self._left:
            if len(self._left) > most:
                raise ExchangeFailed("too long")
            try:
                self._socket.settimeout(self._remaining())
                more = self._socket.recv(1 << 12)
            except OSError as error:
                raise ExchangeFailed(type(error).__name__) from None
            if not more:
                raise ExchangeFailed("closed")
            self._left += more
        line, self._left = self._left.split(b"\n", 1)
        if len(line) > most:
            raise ExchangeFailed("too long")
        return line.removesuffix(b"\r")

    def _connect(self, host: str, port: int) -> socket.socket:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ExchangeFailed(type(error).__name__) from None
        for tried, (family, kind, protocol, _, address) in enumerate(found):
            seconds = self._remaining() / (len(found) - tried)  # an address that is silent leaves time for others
            try:
                made = socket.socket(family, kind, protocol)
            except OSError:
                continue  # of a family that this machine does not speak
            try:
                made.settimeout(seconds)
                made.connect(address)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError:
                made.close()
            else:
                return made
        raise ExchangeFailed("nobody there")

    def _remaining(self) -> float:
        """Seconds, of which there must be some."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise ExchangeFailed("out of time")
        return left
