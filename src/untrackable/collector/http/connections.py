"""The connections of a collector: bounded, and with a short way for small reports."""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.report_upload import Answer, ReportUpload
from untrackable.collector.http.small_post import parsed_small_post, read_small_post
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.group_commit import SMALL_BODY
from untrackable.collector.settings import Settings
from untrackable.protocol.campaign import LARGEST
from untrackable.serving.bounded_connections import BoundedProtocol, ConnectionProblems
from untrackable.serving.problem_types import NO_SNIFFING, ProblemType

_STORED = STATUS_LINE[204] + b"cache-control: no-store\r\n%s: %s\r\n\r\n" % NO_SNIFFING
_STORED_LAST = _STORED[:-2] + b"connection: close\r\n\r\n"
"""The answer to stored reports, and the same as the last answer of a connection."""
_SEALED = (
    STATUS_LINE[200] + b"cache-control: no-store\r\n%s: %s\r\ncontent-type: message/ohttp-res\r\n" % NO_SNIFFING
)
"""The first headers of a sealed answer."""


class _SmallAnswer:
    """Where the answers to small reports of one connection go. uvicorn cancels it like a task if it must end."""

    def __init__(self, connection: "LimitedProtocol", cycle: RequestResponseCycle) -> None:
        self._connection, self.cycle = connection, cycle

    def __call__(self, answer: Answer) -> None:
        """Answer the report that waits."""
        self._connection.answer_small(self, answer)

    def cancel(self, msg: str | None = None) -> None:
        """Answer soon that the collector ends, and close the connection."""
        self.cycle.keep_alive = False
        ending = "the collector is shutting down; it did not acknowledge this request"
        self._connection.loop.call_soon(self, Refused(Problem.BUSY, ending))


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
        """All that uvicorn waits for when the server ends, and cancels if it takes too long."""
        self._small: _SmallAnswer | None = None
        """Where the answers to small reports go. None if there was none on this connection."""

    def data_received(self, data: bytes) -> None:
        """Take more bytes of one request or of several."""
        if self._ignoring or self._stores_small(data):
            return
        super().data_received(data)

    def _stores_small(self, data: bytes) -> bool:
        """Queue a small report. False if the connection is not idle, or if these bytes are anything else."""
        if self.upload is None or self._arriving or self._unread or self.flow.write_paused:
            return False
        if self.cycle is not None and not self.cycle.response_complete:
            return False
        post = read_small_post(data)
        if post is None:
            return False
        small = self._small
        if small is None:
            small = self._small = _SmallAnswer(self, self._new_cycle())
        if not self.upload.store_small(post, small):
            return False
        self._waiting_since = None
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        self.cycle = self._answering = cycle = small.cycle
        cycle.response_started = cycle.response_complete = False
        self._tasks.add(small)
        return True

    def _new_cycle(self) -> RequestResponseCycle:
        """What uvicorn knows about a request that is being answered. Nothing of it says which request."""
        scope: Any = {}
        return RequestResponseCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=[],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer a request. A small report that waited for the answer to another one needs no task either."""
        small_body = not cycle.more_body and len(cycle.body) <= SMALL_BODY
        if small_body and self.upload is not None and app is self.app and not self.flow.write_paused:
            post, small = parsed_small_post(cycle.scope, bytes(cycle.body)), _SmallAnswer(self, cycle)
            if post is not None and self.upload.store_small(post, small):
                self._answering = cycle
                self._tasks.add(small)
                return
        super()._start_asgi_task(cycle, app)

    def answer_small(self, small: _SmallAnswer, answer: Answer) -> None:
        """Answer a small report, unless its sender is gone."""
        self._tasks.discard(small)
        cycle = small.cycle
        if cycle.disconnected or self.transport.is_closing():
            return
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

    def _largest_body(self) -> int:
        """The largest body that any request may have. Campaigns may be larger than reports."""
        return max(self.settings.largest_body, LARGEST)

    def _count_problem(self, problem: ProblemType) -> None:
        self.metrics.count_problem(problem)

    def _note_connections(self) -> None:
        self.metrics.set_gauge("connections", len(self.connections))
