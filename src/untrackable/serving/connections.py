"""HTTP connections with limits on their number, on the size of a request, and on the time of request and answer.

uvicorn's connection has none of these limits, so strangers could use up the memory of a server or keep it busy.
"""

import asyncio
from typing import Any, ClassVar, NoReturn, Protocol

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from untrackable.serving.problems import NO_SNIFFING, ProblemType, problem_response

_QUEUED = 8
"""The number of requests that wait on one connection from which on nothing more is parsed."""
_BACKLOG_BYTES = 16 << 20
"""The largest total of the memory for requests that wait on connections. Beyond it, the next one is refused."""
_REQUEST_BYTES = 8 << 10
"""The memory of a parsed request that waits, not counting its bytes (upper)."""
_PIECE, _BODY_PIECE = 1 << 10, 1 << 15
"""The number of bytes that are parsed at a time, outside and inside a body. A piece may hold several requests."""
_SPARE = 192
"""The number of refused connections that are kept open until their senders have read the refusal."""
_REFUSED_SECONDS = 2.0
"""The longest time for which a refused connection is kept open."""
_BUSY_SECONDS = 1.0
"""How long a sender waits to hear that too many requests wait. Otherwise it would send as many again at once."""


class ConnectionLimits(Protocol):
    """The limits that a server chooses. Times are in seconds, and sizes are in bytes."""

    @property
    def connections(self) -> int:
        """The largest number of open connections."""

    @property
    def largest_head(self) -> int:
        """The largest address of a request, and the largest total of its headers."""

    @property
    def largest_body(self) -> int:
        """The largest body of a request."""

    @property
    def request_seconds(self) -> float:
        """How long a request may take to arrive, and how long its sender may take to read the answer."""

    @property
    def retry_after(self) -> int:
        """The Retry-After delay for senders that are asked to retry later."""


class _Stopped(Exception):
    """The rest of the received bytes is ignored."""


class _HeldFlow(FlowControl):
    """Flow control that resumes reading only if no request waits. uvicorn would also resume for every answer."""

    held = False

    def resume_reading(self) -> None:
        """Read again, unless requests wait on this connection."""
        if not self.held:
            super().resume_reading()


class BoundedProtocol(HttpToolsProtocol):
    """An HTTP connection that is closed if the sender is too slow, sends too much, or does not read answers."""

    settings: ClassVar[ConnectionLimits]
    problems: ClassVar[type[ProblemType]]
    backlog: ClassVar[int] = 0
    """The memory for requests that wait on any connection, in bytes (upper)."""
    refused: ClassVar[int] = 0
    """The number of refused connections that are still open."""

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
        self._refusal = (self.problems["MALFORMED_REQUEST"], "the request is not HTTP")
        self._timer: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        self._unread, self._parsed = b"", 0
        """The last received bytes, and the number of them that are parsed already."""
        self._flow: _HeldFlow
        self._backlog = 0
        """This connection's share of the backlog."""
        self._ignoring = False
        """Whether everything that still arrives is ignored."""
        self._refused = False
        """Whether this connection is one too many."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request of a new connection."""
        super().connection_made(transport)
        self.flow = self._flow = _HeldFlow(transport)
        if len(self.connections) > self.settings.connections:
            self._refuse_connection()
            return
        self._note_connections()
        self._waiting_since = self.loop.time()
        self._check_times()

    def _refuse_connection(self) -> None:
        """Answer at once without reading. The connection stays open until the sender had time to read the answer.

        Closing it earlier could reset it, because unread bytes may have arrived, and the answer would be lost.
        """
        self.connections.discard(self)
        self._refused = self._ignoring = True
        self._count_problem(self.problems["BUSY"])
        self._write_problem(self.problems["BUSY"], "there are too many connections")
        BoundedProtocol.refused += 1
        if BoundedProtocol.refused > _SPARE:
            self.transport.close()
        else:
            self.transport.write_eof()
            self._timer = self.loop.call_later(_REFUSED_SECONDS, self.transport.abort)

    async def _busy(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that waited on this connection while too many others waited elsewhere."""
        self._count_problem(self.problems["BUSY"])
        await asyncio.sleep(_BUSY_SECONDS)
        answer = problem_response(
            self.problems["BUSY"], "too many requests wait to be answered", retry_after=self.settings.retry_after
        )
        answer.raw_headers += [(b"connection", b"close"), NO_SNIFFING]
        await answer(scope, receive, send)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer, and tell the request being answered that its sender is gone."""
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
        if self._refused:
            BoundedProtocol.refused -= 1
        super().connection_lost(exc)
        self._note_connections()
        self._unread = b""
        self._count_backlog(0)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._ignoring:
            return
        # Reading is paused while bytes wait, so there is nothing to put together as a rule.
        self._unread = self._unread[self._parsed :] + data if self._unread else data
        self._parsed = 0
        self._read()

    def _read(self) -> None:
        """Parse received bytes until too many requests wait. Read more once all of them are being answered."""
        unread = self._unread
        while self._parsed < len(unread) and len(self.pipeline) < _QUEUED and not self.transport.is_closing():
            at = self._parsed
            self._parsed += _BODY_PIECE if self._head_complete else _PIECE
            self._feed(unread[at : self._parsed])
        if self._parsed >= len(unread) or self.transport.is_closing():
            self._unread = b""
        if self.pipeline or self._unread:
            self._flow.held = True
            self._flow.pause_reading()
            self._count_backlog(len(unread) + _REQUEST_BYTES * len(self.pipeline))
            if BoundedProtocol.backlog > _BACKLOG_BYTES:
                self._refuse_waiting()
        elif self._flow.held:
            self._flow.held = False
            self._count_backlog(0)
            self._flow.resume_reading()

    def _count_backlog(self, size: int) -> None:
        BoundedProtocol.backlog += size - self._backlog
        self._backlog = size

    def _refuse_waiting(self) -> None:
        """Forget the requests that wait here. The next one gets the last answer: the server is busy."""
        self._ignoring, self._unread = True, b""
        if self.pipeline:
            following, _ = self.pipeline.pop()
            self.pipeline.clear()
            following.body.clear()
            busy: Any = self._busy
            self.pipeline.append((following, busy))
        self._count_backlog(_REQUEST_BYTES)

    def _feed(self, data: bytes) -> None:
        if self._waiting_since is None:
            self._waiting_since = self.loop.time()
        self._size += len(data)
        super().data_received(data)
        settings = self.settings
        if self._size > settings.largest_head:
            if not self._head_complete:
                self._hang_up(*self._head_problem())
            elif self._size > settings.largest_head + 2 * self._largest_body():
                self._hang_up(self.problems["TOO_LARGE"], "the request is longer than any allowed body")

    def _head_problem(self) -> tuple[ProblemType, str]:
        return self.problems["HEAD_TOO_LARGE"], f"a head must be at most {self.settings.largest_head} bytes"

    def _largest_body(self) -> int:
        """The largest body that any request may have."""
        return self.settings.largest_body

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._arriving, self._waiting_since = True, self.loop.time()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header. Headers after the body are refused."""
        if self._head_complete:
            self._stop(self.problems["MALFORMED_REQUEST"], "headers must come before the body")
        self._head += len(name) + len(value) + 4
        if self._head > self.settings.largest_head:
            self._stop(*self._head_problem())
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.url) > self.settings.largest_head:
            self._stop(*self._head_problem())
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
        """Restart the time of the next request, since it was not read during the answer. Forget an unread body."""
        if self._answering is not None:
            self._answering.body.clear()
        super().on_response_complete()
        if self._waiting_since is not None:
            self._waiting_since = self.loop.time()
        if self._flow.held and not self._ignoring:
            self._read()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP with a problem, like any other refusal."""
        self._hang_up(*self._refusal)

    def _stop(self, problem: ProblemType, detail: str) -> NoReturn:
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
            self._hang_up(self.problems["TOO_SLOW"], f"a request must arrive within {seconds:g} seconds")
        self._timer = self.loop.call_later(seconds / 4, self._check_times)

    def _hang_up(self, problem: ProblemType, detail: str) -> None:
        """Close the connection, with an answer if the request has none and nobody can mistake it for another's."""
        if self.transport.is_closing():
            return
        self._count_problem(problem)
        if self._head_complete:
            unanswered = not self.pipeline and not self.cycle.response_started
        else:
            unanswered = self.cycle is None or (self._arriving and self.cycle.response_complete)
        if unanswered:
            self._write_problem(problem, detail)
            if self._head_complete:
                self.cycle.disconnected = True  # The application must not write anything more.
        self.transport.close()

    def _write_problem(self, problem: ProblemType, detail: str, *, close: bool = True) -> None:
        answer = problem_response(problem, detail, retry_after=self.settings.retry_after)
        head = b"".join(b"%s: %s\r\n" % pair for pair in (*answer.raw_headers, NO_SNIFFING))
        head += b"connection: close\r\n\r\n" if close else b"\r\n"
        self.transport.write(STATUS_LINE[problem.status] + head + answer.body)

    def _count_problem(self, problem: ProblemType) -> None:
        """Count a refusal, where the server has counters."""

    def _note_connections(self) -> None:
        """Note the number of open connections, where the server has counters."""
