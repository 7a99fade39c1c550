"""`POST /campaigns/{id}/reports`: anybody may send reports. The collector reads nothing about the sender."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from untrackable.collector.metrics import Metrics
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.collector.settings import Settings
from untrackable.collector.writer import Writer
from untrackable.protocol.campaign import LARGEST
from untrackable.serving.problems import ProblemType, Refused
from untrackable.serving.small_posts import SMALL_BODY, AnswerSmall, SmallPost, SmallPostProtocol, answer_head

MEDIA_TYPE = b"application/octet-stream"
REPORTS = re.compile("/campaigns/([^/]+)/reports")
"""The address of a campaign's reports."""
GATEWAY = "/.well-known/ohttp-gateway"
"""The address of the gateway (RFC 9540)."""
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
        path, media_type, body, _ = post
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


class LimitedProtocol(SmallPostProtocol):
    """An HTTP connection of a collector. Small reports on it are stored without a task."""

    settings: ClassVar[Settings] = Settings()
    problems = Problem
    metrics: ClassVar[Metrics] = Metrics()
    upload: ClassVar[ReportUpload | None] = None
    """Takes small reports that have arrived whole. Other requests are answered by the application."""
    stored = answer_head(204)
    answered = answer_head(200, (b"content-type", b"message/ohttp-res"))

    def store_small(self, post: SmallPost, answer: AnswerSmall) -> bool:
        return self.upload is not None and self.upload.store_small(post, answer)

    def _largest_body(self) -> int:
        """The largest body that any request may have. Campaigns may be larger than reports."""
        return max(self.settings.largest_body, LARGEST)

    def _count_problem(self, problem: ProblemType) -> None:
        self.metrics.count_problem(problem)

    def _note_connections(self) -> None:
        self.metrics.set_gauge("connections", len(self.connections))
