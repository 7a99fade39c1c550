"""The connections of a collector: bounded, and with a short way for small reports."""

import asyncio
import functools
from typing import Any, ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.report_upload import Answer, ReportUpload, StoreSmall
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings
from untrackable.protocol.campaign import LARGEST
from untrackable.serving.bounded_connections import PIECE, BoundedProtocol, ConnectionProblems
from untrackable.serving.problem_types import NO_SNIFFING, ProblemType

_OTHER_HEADS = 4
"""The number of other heads on a connection from which on no head is kept, because it does not repeat them."""
_STORED = STATUS_LINE[204] + b"cache-control: no-store\r\n%s: %s\r\n\r\n" % NO_SNIFFING
_STORED_LAST = _STORED[:-2] + b"connection: close\r\n\r\n"
"""The answer to stored reports, and the same as the last answer of a connection."""
_SEALED = (
    STATUS_LINE[200] + b"cache-control: no-store\r\n%s: %s\r\ncontent-type: message/ohttp-res\r\n" % NO_SNIFFING
)
"""The first headers of a sealed answer."""


class _SmallReport(NamedTuple):
    """A small report on its way to the store: where its answer goes, and what stores it."""

    cycle: RequestResponseCycle
    store: StoreSmall


class _KnownHead(NamedTuple):
    """The head of the last small report on a connection, and the size of that request with its body.

    Senders that keep a connection open repeat the same head byte by byte. Parsing it again would find the same.
    """

    head: bytes
    size: int
    last: _SmallReport


class LimitedProtocol(BoundedProtocol):
    """An HTTP connection of a collector. Small reports on it are stored without a task."""

    settings: ClassVar[Settings] = Settings()
    problems: ClassVar[ConnectionProblems] = ConnectionProblems(
        Problem.BUSY, Problem.HEAD_TOO_LARGE, Problem.MALFORMED_REQUEST, Problem.TOO_LARGE, Problem.TOO_SLOW
    )
    metrics: ClassVar[Metrics] = Metrics()
    upload: ClassVar[ReportUpload | None] = None
    """Takes small reports that have arrived whole. Other requests are answered by the application."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tasks: Any = self.tasks
        """All that uvicorn waits for when the server ends. It may be tasks or other futures."""
        self._postponed: tuple[RequestResponseCycle, Any] | None = None
        """The request that is answered once its body has arrived or the received bytes are all parsed."""
        self._small: _SmallReport | None = None
        """The last small report among the bytes that are being parsed."""
        self._known: _KnownHead | None = None
        self._other_heads = 0
        """How often a request did not have the head of the one before."""

    def data_received(self, data: bytes) -> None:
        """Take more bytes of one request or of several."""
        if self._ignoring or self._repeats(data):
            return
        idle = not self._arriving and not self._unread
        self._known = self._small = None
        super().data_received(data)
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
        stored = known.last.store(data[len(known.head) :])
        if stored is None:
            return False
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        cycle.response_started = cycle.response_complete = False
        self._answer_once_stored(cycle, stored)
        return True

    def _parse(self, unread: bytes) -> None:
        super()._parse(unread)
        self._complete()

    def _complete(self) -> None:
        """Answer the request that was postponed."""
        if self._postponed is not None:
            self._begin_answer(*self._postponed)

    def _largest_body(self) -> int:
        """The largest body that any request may have. Campaigns may be larger than reports."""
        return max(self.settings.largest_body, LARGEST)

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
            store = self.upload.storing_small(cycle.scope, len(cycle.body))
            stored = None if store is None else store(bytes(cycle.body))
            if store is not None and stored is not None:
                self._small = _SmallReport(cycle, store)
                self._answer_once_stored(cycle, stored)
                return
        super()._start_asgi_task(cycle, app)

    def _answer_once_stored(self, cycle: RequestResponseCycle, stored: "asyncio.Future[Answer]") -> None:
        self._tasks.add(stored)
        stored.add_done_callback(functools.partial(self._stored, cycle))

    def _stored(self, cycle: RequestResponseCycle, stored: "asyncio.Future[Answer]") -> None:
        """Answer a small report. uvicorn cancels it like a task if the collector ends and cannot wait longer."""
        self._tasks.discard(stored)
        if cycle.disconnected or self.transport.is_closing():
            return
        ending = "the collector is shutting down; it did not acknowledge this request"
        answer = Refused(Problem.BUSY, ending) if stored.cancelled() else stored.result()
        cycle.response_started = cycle.response_complete = True
        if answer is None:
            self.transport.write(_STORED if cycle.keep_alive else _STORED_LAST)
        elif isinstance(answer, bytes):
            last = b"" if cycle.keep_alive else b"connection: close\r\n"
            self.transport.write(b"%s%scontent-length: %d\r\n\r\n%s" % (_SEALED, last, len(answer), answer))
        else:
            self.metrics.count_problem(answer.problem)
            self._write_problem(answer.problem, answer.detail, close=not cycle.keep_alive)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _count_problem(self, problem: ProblemType) -> None:
        self.metrics.count_problem(problem)

    def _note_connections(self) -> None:
        self.metrics.set_gauge("connections", len(self.connections))


def _known_head(data: bytes, small: _SmallReport) -> _KnownHead | None:
    """The head of a request that is all of the data, or None if its body is not simply the rest of the data."""
    size = len(small.cycle.body)
    head = data[: len(data) - size]
    lengths = [
        value for name, value in small.cycle.scope["headers"] if name in (b"content-length", b"transfer-encoding")
    ]
    if lengths != [b"%d" % size] or len(head) > PIECE or not head.endswith(b"\r\n\r\n"):
        return None
    return _KnownHead(head, len(data), small)
