"""HTTP connections with limits: how many, how large a request is, and how long it and its answer may take."""

import asyncio
from typing import Any, ClassVar, NoReturn

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from untrackable.collector.http.problems import Problem, response
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings
from untrackable.protocol.campaign import LARGEST

_AT_ONCE = 64
"""Requests that may wait on one connection for the answer to the one before; then no more is read."""
_PIECE, _BODY_PIECE = 1 << 10, 1 << 15
"""Bytes that are read at a time, more within a body: the last of them may have some more requests."""
_SPARE = 64
"""Connections beyond the most, which are told so; those beyond are not even read."""


class _Stopped(Exception):
    """The rest of what came is not looked at."""


class LimitedProtocol(HttpToolsProtocol):
    """Cuts off who sends too slowly or too much, or does not take the answers."""

    settings: ClassVar[Settings] = Settings()
    metrics: ClassVar[Metrics] = Metrics()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._since: float | None = None
        """When the request that is arriving, or owed, began; None while one is answered."""
        self._arriving = False
        self._headed = False
        """Whether the head of the request that is arriving is whole."""
        self._head = self._size = 0
        self._untaken: float | None = None
        """Since when there has been something that the other side does not take."""
        self._why = (Problem.MALFORMED_REQUEST, "the request is not HTTP")
        self._watch: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        self._unread = b""
        """What has come and is looked at when some of the requests before it are answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A new connection owes a request."""
        super().connection_made(transport)
        beyond = len(self.connections) - self.settings.connections
        if beyond > _SPARE:
            transport.abort()
            return
        if beyond > 0:
            self.app = self._full
        self._since = self.loop.time()
        self._look()

    async def _full(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.metrics.refused(Problem.BUSY)
        found = response(Problem.BUSY, "there are too many connections", retry_after=self.settings.retry_after)
        found.headers["connection"] = "close"
        await found(scope, receive, send)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to look at any more; what is being answered is told, as well as what came last."""
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
        super().connection_lost(exc)
        self._unread = b""
        if self._watch is not None:
            self._watch.cancel()

    def data_received(self, data: bytes) -> None:
        """More of a request, or of several."""
        self._unread += data
        self._read()

    def _read(self) -> None:
        """Until too many requests wait; what has come behind them stays where it is, and no more is taken."""
        unread, at = self._unread, 0
        while at < len(unread) and len(self.pipeline) < _AT_ONCE and not self.transport.is_closing():
            size = _BODY_PIECE if self._headed else _PIECE
            self._feed(unread[at : at + size])
            at += size
        self._unread = b"" if self.transport.is_closing() else unread[at:]
        if self._unread:
            self.flow.pause_reading()

    def _feed(self, data: bytes) -> None:
        if self._since is None:
            self._since = self.loop.time()
        self._size += len(data)
        super().data_received(data)
        settings = self.settings
        if self._size > settings.largest_head:
            if not self._headed:
                self._cut(Problem.HEAD_TOO_LARGE, f"a head must be at most {settings.largest_head} bytes")
            elif self._size > settings.largest_head + 2 * max(settings.largest_body, LARGEST):
                self._cut(Problem.TOO_LARGE, "the request is too long for what a body may be")

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._arriving, self._since = True, self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; those after the body are not taken."""
        if self._headed:
            self._stop(Problem.MALFORMED_REQUEST, "headers must come before the body")
        self._head += len(name) + len(value) + 4
        if self._head > self.settings.largest_head:
            self._stop(Problem.HEAD_TOO_LARGE, f"a head must be at most {self.settings.largest_head} bytes")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if len(self.url) > self.settings.largest_head:
            self._stop(Problem.HEAD_TOO_LARGE, f"a head must be at most {self.settings.largest_head} bytes")
        super().on_headers_complete()
        self._headed = True

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_message_complete(self) -> None:
        """The request is whole. If it was answered before that, the next one is owed from now on."""
        super().on_message_complete()
        self._since = self.loop.time() if self.cycle.response_complete else None
        self._arriving = self._headed = False
        self._head = self._size = 0

    def on_response_complete(self) -> None:
        """What arrived behind it has its time from now on: it was not read in between."""
        super().on_response_complete()
        if self._since is not None:
            self._since = self.loop.time()
        if self._unread:
            self._read()

    def send_400_response(self, msg: str) -> None:
        """Bytes that are not HTTP are a problem like others."""
        self._cut(*self._why)

    def _stop(self, problem: Problem, detail: str) -> NoReturn:
        """Make the parser give up, which comes to `send_400_response`."""
        self._why = (problem, detail)
        raise _Stopped

    def _look(self) -> None:
        """Now and then, until the connection is gone, also when it is being closed."""
        now, seconds = self.loop.time(), self.settings.request_seconds
        if self.transport.get_write_buffer_size() == 0:
            self._untaken = None
        elif self._untaken is None:
            self._untaken = now
        elif now - self._untaken > seconds:
            self.transport.abort()
            return
        if self._since is not None and now - self._since > seconds and not self.pipeline:
            self._cut(Problem.TOO_SLOW, f"a request must have come within {seconds:g} seconds")
        self._watch = self.loop.call_later(seconds / 4, self._look)

    def _cut(self, problem: Problem, detail: str) -> None:
        """Hang up; with an answer, if the request has none and it would not be taken for another's."""
        if self.transport.is_closing():
            return
        self.metrics.refused(problem)
        if self._unanswered():
            found = response(problem, detail)
            head = b"".join(b"%s: %s\r\n" % pair for pair in found.raw_headers)
            self.transport.write(STATUS_LINE[problem.status] + head + b"connection: close\r\n\r\n" + found.body)
            if self._headed:
                self.cycle.disconnected = True  # nothing more is written
        self.transport.close()

    def _unanswered(self) -> bool:
        if self._headed:
            return not self.pipeline and not self.cycle.response_started
        return self.cycle is None or (self._arriving and self.cycle.response_complete)
