"""`POST /campaigns/{id}/reports`: anybody may send reports. The collector reads nothing about the sender.

Nearly all requests are small reports that have arrived whole, with a head in a plain way. A regular expression
reads such a head in a tenth of the time of the general parser, and finds the same. Their connection stores them
without a task. The general parser gets every other request: in parts, with several requests at once, or with a
header that changes how a request is read or answered.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from untrackable.collector.metrics import Metrics
from untrackable.collector.problems import Problem, Refused
from untrackable.collector.service import Service
from untrackable.collector.settings import Settings
from untrackable.collector.writer import SMALL_BODY, Writer
from untrackable.protocol.campaign import LARGEST
from untrackable.serving.connections import BoundedProtocol
from untrackable.serving.problems import NO_SNIFFING, ProblemType

# Lazy, not possessive: Python 3.11.2 loses its place after a possessive group. Each line can be read in one
# way only, so both find the same, and are as fast.
_OTHER_HEADERS = (
    rb"(?:(?!(?i:connection|content-|expect|keep-alive|origin|proxy-connection|te:|trailer|transfer-encoding|upgrade))"
    rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t\x20-\x7e\x80-\xff]*+\r\n)*?"
)
_TYPE, _LENGTH = rb"[Cc]ontent-[Tt]ype: ([!-~]++)\r\n", rb"[Cc]ontent-[Ll]ength: ([0-9]{1,4})\r\n"
_HEAD = re.compile(
    rb"POST (/[0-9A-Za-z/._-]*+) HTTP/1\.1\r\n%(others)s"
    rb"(?:%(type)s%(others)s%(length)s|%(length)s%(others)s%(type)s)%(others)s\r\n"
    % {b"others": _OTHER_HEADERS, b"type": _TYPE, b"length": _LENGTH}
)
LARGEST_HEAD = 1 << 10
"""The largest head that is read here. No server refuses a head of this size."""


class SmallPost(NamedTuple):
    """Where a request goes, its media type, and its body."""

    path: str
    media_type: bytes
    body: bytes

    def __repr__(self) -> str:
        """Say where it goes, and nothing of the reports."""
        return f"{type(self).__name__}({self.path!r})"


def read_small_post(data: bytes) -> SmallPost | None:
    """The request that is all of the data, or None if the general parser must read the data."""
    head = _HEAD.match(data, 0, LARGEST_HEAD)
    if head is None:
        return None
    path, media_type, length, other_length, other_media_type = head.groups()
    body = data[head.end() :]
    if len(body) != int(length or other_length):
        return None
    return SmallPost(path.decode("ascii"), media_type or other_media_type, body)


def parsed_small_post(scope: Any, body: bytes) -> SmallPost | None:
    """A request that the general parser has read whole. None if it is not a POST, or is from a web page."""
    media_type = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            media_type = value
        elif name == b"origin":
            return None
    return SmallPost(scope["path"], media_type, body) if scope["method"] == "POST" else None


MEDIA_TYPE = b"application/octet-stream"
REPORTS = re.compile("/campaigns/([^/]+)/reports")
"""The address of a campaign's reports."""
GATEWAY = "/.well-known/ohttp-gateway"
"""The address of the gateway (RFC 9540)."""
Answer = Refused | bytes | None
"""The answer to a small request: a refusal, a sealed answer, or None if its reports are stored."""
AnswerSmall = Callable[[Answer], None]
"""Answers a small request. It is called once, in the event loop's thread."""
StoreSmall = Callable[[bytes, AnswerSmall], None]
"""Queues a small body, which is answered later."""
_SEALED = b"message/ohttp-req"
_HEADERS = [(b"cache-control", b"no-store")]
_BEFORE_ID, _AFTER_ID = "/campaigns/", "/reports"
"""The parts of the address before and after the campaign's id."""


class Disconnected(Exception):
    """The sender disconnected before the body was complete."""


class ReportUpload:
    """The endpoint that takes reports. It answers 204 once all reports of the body are safely on disk."""

    def __init__(self, service: Service, store_sealed: StoreSmall | None = None) -> None:
        self._service, self._store_sealed = service, store_sealed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as an ASGI application."""
        service = self._service
        id = scope["path_params"]["campaign"]
        acceptance = service.cached_acceptance(id)
        if acceptance is None:
            acceptance = await run_in_threadpool(service.acceptance, id)
        if acceptance.sealed_only:
            raise Refused(Problem.SEALED_NEEDED, "its people are promised that reports come through a relay")
        with reserved_room(service.writer) as hold:
            body = await read_body(scope, receive, MEDIA_TYPE, service.settings.largest_body, hold)
            outcome = await service.writer.write(acceptance, body)
        if outcome is not None:
            raise outcome
        await send({"type": "http.response.start", "status": 204, "headers": _HEADERS})
        await send({"type": "http.response.body"})

    def store_small(self, post: SmallPost, answer: AnswerSmall) -> bool:
        """Queue a small body that has arrived whole. False if this request needs to be handled as a task.

        Nearly all requests are such bodies. They are stored without a task and without any layer in between.
        """
        path, media_type, body = post
        if len(body) > SMALL_BODY:
            return False
        if path == GATEWAY:
            if self._store_sealed is None or media_type != _SEALED:
                return False
            self._store_sealed(body, answer)
            return True
        if media_type != MEDIA_TYPE or not path.endswith(_AFTER_ID) or not path.startswith(_BEFORE_ID):
            return False
        acceptance = self._service.cached_acceptance(path[len(_BEFORE_ID) : -len(_AFTER_ID)])
        if acceptance is None or acceptance.sealed_only:
            return False
        return self._service.writer.try_write(acceptance, body, answer)


@contextmanager
def reserved_room(writer: Writer) -> Iterator[Callable[[int], None]]:
    """Reserve memory for the parts of a body within the block, and give it back afterwards."""
    held = 0

    def hold(size: int) -> None:
        nonlocal held
        writer.reserve(size, large=held + size > SMALL_BODY)
        held += size

    try:
        yield hold
    finally:
        writer.release(held)


async def read_body(
    scope: Scope, receive: Receive, media_type: bytes, largest: int, hold: Callable[[int], None] | None = None
) -> bytes:
    """Read the body of a request. A wrong media type is refused, and so is a body as soon as it is too large.

    `hold` is called with the size of each part before the part is kept.
    """
    typed = False
    for name, value in scope["headers"]:
        if name == b"content-type":
            typed = is_media_type(value, media_type)
        elif name == b"content-length" and value.isdigit() and _above(value, largest):
            raise Refused(Problem.TOO_LARGE, f"a body must be at most {largest} bytes")
    if not typed:
        raise Refused(Problem.MEDIA_TYPE, f"the body must have the media type {media_type.decode()}")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > largest:
            raise Refused(Problem.TOO_LARGE, f"a body must be at most {largest} bytes")
        if hold is not None:
            hold(len(part))
        if not message.get("more_body", False):
            return part if not parts else b"".join([*parts, part])
        parts.append(part)


def is_media_type(value: bytes, media_type: bytes) -> bool:
    """Whether a content-type is this one, whatever parameters it has."""
    return value == media_type or value.split(b";", 1)[0].strip().lower() == media_type


def _above(digits: bytes, bound: int) -> bool:
    """Whether a number is above a bound. It may have more digits than Python converts."""
    digits = digits.lstrip(b"0")
    return len(digits) > len(str(bound)) or int(digits or b"0") > bound


_STORED = STATUS_LINE[204] + b"cache-control: no-store\r\n%s: %s\r\n\r\n" % NO_SNIFFING
_STORED_LAST = _STORED[:-2] + b"connection: close\r\n\r\n"
"""The answer to stored reports, and the same as the last answer of a connection."""
_SEALED_HEAD = (
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
    problems = Problem
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
            self.transport.write(b"%s%scontent-length: %d\r\n\r\n%s" % (_SEALED_HEAD, last, len(answer), answer))
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
