"""HTTP connections with limits on their number, on the size of a request, and on the time of request and answer."""

import asyncio
from typing import Any, ClassVar, NoReturn

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from untrackable.collector.http.problems import Problem, response
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings
from untrackable.protocol.campaign import LARGEST

_AT_ONCE = 64
"""The largest number of requests that wait on one connection. Beyond it, nothing more is read."""
_PIECE, _BODY_PIECE = 1 << 10, 1 << 15
"""The number of bytes that are parsed at a time, outside and inside a body. A piece may hold several requests."""
_SPARE = 64
"""The number of connections above the limit that still get an answer. Connections above that are dropped unread."""


class _Stopped(Exception):
    """The rest of the received bytes is ignored."""


class LimitedProtocol(HttpToolsProtocol):
    """An HTTP connection that is closed if the sender is too slow, sends too much, or does not read answers."""

    settings: ClassVar[Settings] = Settings()
    metrics: ClassVar[Metrics] = Metrics()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waiting_since: float | None = None
        """When the arriving or expected request began. None while a request is being answered."""
        self._arriving = False
        self._head_complete = False
        """Whether the head of the arriving request is complete."""
        self._head = self._size = 0
        self._unsent_since: float | None = None
        """Since when there has been output that the other side does not read."""
        self._refusal = (Problem.MALFORMED_REQUEST, "the request is not HTTP")
        self._timer: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        self._unread = b""
        """Received bytes that are parsed once some of the requests before them are answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request of a new connection."""
        super().connection_made(transport)
        self.metrics.set_gauge("connections", len(self.connections))
        beyond = len(self.connections) - self.settings.connections
        if beyond > _SPARE:
            transport.abort()
            return
        if beyond > 0:
            self.app = self._full
        self._waiting_since = self.loop.time()
        self._check_times()

    async def _full(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.metrics.count_problem(Problem.BUSY)
        found = response(
            Problem.BUSY, "the collector has too many connections", retry_after=self.settings.retry_after
        )
        found.headers["connection"] = "close"
        await found(scope, receive, send)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer, and tell the request being answered that its sender is gone."""
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
        super().connection_lost(exc)
        self.metrics.set_gauge("connections", len(self.connections))
        self._unread = b""
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take more bytes of one request or of several."""
        self._unread += data
        self._read()

    def _read(self) -> None:
        """Parse received bytes until too many requests wait. Then keep the rest and stop receiving."""
        unread, at = self._unread, 0
        while at < len(unread) and len(self.pipeline) < _AT_ONCE and not self.transport.is_closing():
            size = _BODY_PIECE if self._head_complete else _PIECE
            self._feed(unread[at : at + size])
            at += size
        self._unread = b"" if self.transport.is_closing() else unread[at:]
        if self._unread:
            self.flow.pause_reading()

    def _feed(self, data: bytes) -> None:
        if self._waiting_since is None:
            self._waiting_since = self.loop.time()
        self._size += len(data)
        super().data_received(data)
        settings = self.settings
        if self._size > settings.largest_head:
            if not self._head_complete:
                self._hang_up(Problem.HEAD_TOO_LARGE, f"a head must be at most {settings.largest_head} bytes")
            elif self._size > settings.largest_head + 2 * max(settings.largest_body, LARGEST):
                self._hang_up(Problem.TOO_LARGE, "the request is longer than any allowed body")

    def on_message_begin(self) -> None:
        """Note the first byte of a request."""
        super().on_message_begin()
        self._arriving, self._waiting_since = True, self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header. Headers after the body are refused."""
        if self._head_complete:
            self._stop(Problem.MALFORMED_REQUEST, "headers must come before the body")
        self._head += len(name) + len(value) + 4
        if self._head > self.settings.largest_head:
            self._stop(Problem.HEAD_TOO_LARGE, f"a head must be at most {self.settings.largest_head} bytes")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that the head is complete."""
        if len(self.url) > self.settings.largest_head:
            self._stop(Problem.HEAD_TOO_LARGE, f"a head must be at most {self.settings.largest_head} bytes")
        super().on_headers_complete()
        self._head_complete = True

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_message_complete(self) -> None:
        """Note that the request is complete. If it is already answered, the next one is expected from now on."""
        super().on_message_complete()
        self._waiting_since = self.loop.time() if self.cycle.response_complete else None
        self._arriving = self._head_complete = False
        self._head = self._size = 0

    def on_response_complete(self) -> None:
        """Restart the time of the next request, since it was not read during the answer."""
        super().on_response_complete()
        if self._waiting_since is not None:
            self._waiting_since = self.loop.time()
        if self._unread:
            self._read()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP with a problem, like any other refusal."""
        self._hang_up(*self._refusal)

    def _stop(self, problem: Problem, detail: str) -> NoReturn:
        """Make the parser give up. It then calls `send_400_response`."""
        self._refusal = (problem, detail)
        raise _Stopped

    def _check_times(self) -> None:
        """Check the time limits now and again later, until the connection is gone, even while it is closing."""
        now, seconds = self.loop.time(), self.settings.request_seconds
        if self.transport.get_write_buffer_size() == 0:
            self._unsent_since = None
        elif self._unsent_since is None:
            self._unsent_since = now
        elif now - self._unsent_since > seconds:
            self.transport.abort()
            return
        if self._waiting_since is not None and now - self._waiting_since > seconds and not self.pipeline:
            self._hang_up(Problem.TOO_SLOW, f"a request must arrive within {seconds:g} seconds")
        self._timer = self.loop.call_later(seconds / 4, self._check_times)

    def _hang_up(self, problem: Problem, detail: str) -> None:
        """Close the connection, with an answer if the request has none and nobody can mistake it for another's."""
        if self.transport.is_closing():
            return
        self.metrics.count_problem(problem)
        if self._unanswered():
            found = response(problem, detail)
            head = b"".join(b"%s: %s\r\n" % pair for pair in found.raw_headers)
            self.transport.write(STATUS_LINE[problem.status] + head + b"connection: close\r\n\r\n" + found.body)
            if self._head_complete:
                self.cycle.disconnected = True  # The application must not write anything more.
        self.transport.close()

    def _unanswered(self) -> bool:
        if self._head_complete:
            return not self.pipeline and not self.cycle.response_started
        return self.cycle is None or (self._arriving and self.cycle.response_complete)
