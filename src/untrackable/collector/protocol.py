"""HTTP connections with limits: a request must arrive whole within some seconds, with a head of bounded size."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from untrackable.collector.problems import Problem, response

_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class LimitedProtocol(HttpToolsProtocol):
    """Cuts off senders that are too slow, or whose headers do not end."""

    seconds = 20.0
    largest_head = 32 << 10

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._since: float | None = None
        """When the request that is arriving began; None between requests."""
        self._head = 0
        self._watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A new connection owes a request."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to look at any more."""
        super().connection_lost(exc)
        if self._watch is not None:
            self._watch.cancel()

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        if self._since is None:
            self._since = self.loop.time()
        if self._head >= 0:
            self._head += len(data)
        super().data_received(data)
        if self._head > self.largest_head:
            self._cut(_LARGE)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._head = -1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole."""
        super().on_message_complete()
        self._since, self._head = None, 0

    def send_400_response(self, msg: str) -> None:
        """Bytes that are not HTTP, or an address of more than 64 kB, are a problem like others."""
        found = response(Problem.MALFORMED_REQUEST, "the request is not HTTP, or its address is too long")
        head = b"".join(b"%s: %s\r\n" % pair for pair in found.raw_headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"connection: close\r\n\r\n" + found.body)
        self.transport.close()

    def _look(self) -> None:
        if self._since is not None and self.loop.time() - self._since > self.seconds:
            self._cut(_SLOW)
            return
        self._watch = self.loop.call_later(self.seconds / 4, self._look)

    def _cut(self, words: bytes) -> None:
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(words)
            self.transport.close()
