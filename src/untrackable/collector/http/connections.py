"""HTTP connections with limits on their number, on the size of a request, and on the time of request and answer."""

import asyncio
import functools
from typing import Any, ClassVar, NamedTuple, NoReturn

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from untrackable.collector.http.problems import NO_SNIFFING, Problem, Refused, response
from untrackable.collector.http.report_upload import ReportUpload
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import CampaignAcceptance
from untrackable.collector.rounds.group_commit import Outcome
from untrackable.collector.settings import Settings
from untrackable.protocol.campaign import LARGEST

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
_OTHER_HEADS = 4
"""The number of other heads on a connection from which on no head is kept, because it does not repeat them."""
_STORED = STATUS_LINE[204] + b"cache-control: no-store\r\n%s: %s\r\n\r\n" % NO_SNIFFING
_STORED_LAST = _STORED[:-2] + b"connection: close\r\n\r\n"
"""The answer to stored reports, and the same as the last answer of a connection."""


class _Stopped(Exception):
    """The rest of the received bytes is ignored."""


class _SmallReport(NamedTuple):
    """A small report on its way to the store: where its answer goes, and who accepts it."""

    cycle: RequestResponseCycle
    acceptance: CampaignAcceptance


class _KnownHead(NamedTuple):
    """The head of the last small report on a connection, and the size of that request with its body.

    Senders that keep a connection open repeat the same head byte by byte. Parsing it again would find the same.
    """

    head: bytes
    size: int
    last: _SmallReport


class _HeldFlow(FlowControl):
    """Flow control that resumes reading only if no request waits. uvicorn would also resume for every answer."""

    held = False

    def resume_reading(self) -> None:
        """Read again, unless requests wait on this connection."""
        if not self.held:
            super().resume_reading()


class LimitedProtocol(HttpToolsProtocol):
    """An HTTP connection that is closed if the sender is too slow, sends too much, or does not read answers."""

    settings: ClassVar[Settings] = Settings()
    metrics: ClassVar[Metrics] = Metrics()
    upload: ClassVar[ReportUpload | None] = None
    """Takes small reports that have arrived whole. Other requests are answered by the application."""
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
        self._refusal = (Problem.MALFORMED_REQUEST, "the request is not HTTP")
        self._timer: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        self._tasks: Any = self.tasks
        """All that uvicorn waits for when the server ends. It may be tasks or other futures."""
        self._postponed: tuple[RequestResponseCycle, Any] | None = None
        """The request that is answered once its body has arrived or the received bytes are all parsed."""
        self._unread, self._parsed = b"", 0
        """The last received bytes, and the number of them that are parsed already."""
        self._small: _SmallReport | None = None
        """The last small report among the bytes that are being parsed."""
        self._known: _KnownHead | None = None
        self._other_heads = 0
        """How often a request did not have the head of the one before."""
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
        self.metrics.set_gauge("connections", len(self.connections))
        self._waiting_since = self.loop.time()
        self._check_times()

    def _refuse_connection(self) -> None:
        """Answer at once without reading. The connection stays open until the sender had time to read the answer.

        Closing it earlier could reset it, because unread bytes may have arrived, and the answer would be lost.
        """
        self.connections.discard(self)
        self._refused = self._ignoring = True
        self.metrics.count_problem(Problem.BUSY)
        self._write_problem(Problem.BUSY, "the collector has too many connections")
        LimitedProtocol.refused += 1
        if LimitedProtocol.refused > _SPARE:
            self.transport.close()
        else:
            self.transport.write_eof()
            self._timer = self.loop.call_later(_REFUSED_SECONDS, self.transport.abort)

    async def _busy(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that waited on this connection while too many others waited elsewhere."""
        self.metrics.count_problem(Problem.BUSY)
        found = response(
            Problem.BUSY, "too many requests wait to be answered", retry_after=self.settings.retry_after
        )
        found.raw_headers += [(b"connection", b"close"), NO_SNIFFING]
        await found(scope, receive, send)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer, and tell the request being answered that its sender is gone."""
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
        if self._refused:
            LimitedProtocol.refused -= 1
        super().connection_lost(exc)
        self.metrics.set_gauge("connections", len(self.connections))
        self._unread = b""
        self._count_backlog(0)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take more bytes of one request or of several."""
        if self._ignoring or self._repeats(data):
            return
        idle = not self._arriving and not self._unread
        self._known = self._small = None
        # Reading is paused while bytes wait, so there is nothing to put together as a rule.
        self._unread = self._unread[self._parsed :] + data if self._unread else data
        self._parsed = 0
        self._read()
        repeating = self._other_heads < _OTHER_HEADS
        if repeating and idle and self._small is not None and not self.pipeline and not self._arriving:
            self._known = _known_head(data, self._small)

    def _repeats(self, data: bytes) -> bool:
        """Store a small report with the same head as the last one. False if these bytes must be parsed."""
        known = self._known
        if known is None:
            return False
        if len(data) != known.size or not data.startswith(known.head):
            self._other_heads += 1
            return False
        cycle = known.last.cycle
        if not cycle.response_complete or not cycle.keep_alive or self.flow.write_paused or self.upload is None:
            return False
        stored = self.upload.store(known.last.acceptance, data[len(known.head) :])
        if stored is None:
            return False
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        cycle.response_started = cycle.response_complete = False
        self._answer_once_stored(cycle, stored)
        return True

    def _read(self) -> None:
        """Parse received bytes until too many requests wait. Read more once all of them are being answered."""
        unread = self._unread
        while self._parsed < len(unread) and len(self.pipeline) < _QUEUED and not self.transport.is_closing():
            at = self._parsed
            self._parsed += _BODY_PIECE if self._head_complete else _PIECE
            self._feed(unread[at : self._parsed])
        if self._postponed is not None:
            self._begin_answer(*self._postponed)
        if self._parsed >= len(unread) or self.transport.is_closing():
            self._unread = b""
        if self.pipeline or self._unread:
            self._flow.held = True
            self._flow.pause_reading()
            self._count_backlog(len(unread) + _REQUEST_BYTES * len(self.pipeline))
            if LimitedProtocol.backlog > _BACKLOG_BYTES:
                self._refuse_waiting()
        elif self._flow.held:
            self._flow.held = False
            self._count_backlog(0)
            self._flow.resume_reading()

    def _count_backlog(self, size: int) -> None:
        LimitedProtocol.backlog += size - self._backlog
        self._backlog = size

    def _refuse_waiting(self) -> None:
        """Forget the requests that wait here. The next one gets the last answer: the collector is busy."""
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
        if cycle.more_body and self.upload is not None:
            self._postponed = cycle, app
        else:
            self._begin_answer(cycle, app)

    def _begin_answer(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Store a small report without a task, or start the application in a task."""
        self._postponed = None
        if self.upload is not None and not cycle.more_body and not self.flow.write_paused:
            acceptance = self.upload.acceptance_of_small(cycle.scope, len(cycle.body))
            stored = None if acceptance is None else self.upload.store(acceptance, bytes(cycle.body))
            if acceptance is not None and stored is not None:
                self._small = _SmallReport(cycle, acceptance)
                self._answer_once_stored(cycle, stored)
                return
        super()._start_asgi_task(cycle, app)

    def _answer_once_stored(self, cycle: RequestResponseCycle, stored: "asyncio.Future[Outcome]") -> None:
        self._tasks.add(stored)
        stored.add_done_callback(functools.partial(self._stored, cycle))

    def _stored(self, cycle: RequestResponseCycle, stored: "asyncio.Future[Outcome]") -> None:
        """Answer a small report. uvicorn cancels it like a task if the collector ends and cannot wait longer."""
        self._tasks.discard(stored)
        if cycle.disconnected or self.transport.is_closing():
            return
        ending = "the collector is shutting down; it did not acknowledge this request"
        refused = Refused(Problem.BUSY, ending) if stored.cancelled() else stored.result()
        cycle.response_started = cycle.response_complete = True
        if refused is not None:
            self.metrics.count_problem(refused.problem)
            self._write_problem(refused.problem, refused.detail, close=not cycle.keep_alive)
        else:
            self.transport.write(_STORED if cycle.keep_alive else _STORED_LAST)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def on_message_complete(self) -> None:
        """Note that the request is complete. If it is already answered, the next one is expected from now on."""
        super().on_message_complete()
        if self._postponed is not None:
            self._begin_answer(*self._postponed)
        self._waiting_since = self.loop.time() if self.cycle.response_complete else None
        self._arriving = self._head_complete = False
        self._head = self._size = 0

    def on_response_complete(self) -> None:
        """Restart the time of the next request, since it was not read during the answer."""
        super().on_response_complete()
        if self._waiting_since is not None:
            self._waiting_since = self.loop.time()
        if self._flow.held and not self._ignoring:
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
            self._write_problem(problem, detail)
            if self._head_complete:
                self.cycle.disconnected = True  # The application must not write anything more.
        self.transport.close()

    def _write_problem(self, problem: Problem, detail: str, *, close: bool = True) -> None:
        found = response(problem, detail, retry_after=self.settings.retry_after)
        head = b"".join(b"%s: %s\r\n" % pair for pair in (*found.raw_headers, NO_SNIFFING))
        head += b"connection: close\r\n\r\n" if close else b"\r\n"
        self.transport.write(STATUS_LINE[problem.status] + head + found.body)

    def _unanswered(self) -> bool:
        if self._head_complete:
            return not self.pipeline and not self.cycle.response_started
        return self.cycle is None or (self._arriving and self.cycle.response_complete)


def _known_head(data: bytes, small: _SmallReport) -> _KnownHead | None:
    """The head of a request that is all of the data, or None if its body is not simply the rest of the data."""
    size = len(small.cycle.body)
    head = data[: len(data) - size]
    lengths = [
        value for name, value in small.cycle.scope["headers"] if name in (b"content-length", b"transfer-encoding")
    ]
    if lengths != [b"%d" % size] or len(head) > _PIECE or not head.endswith(b"\r\n\r\n"):
        return None
    return _KnownHead(head, len(data), small)
