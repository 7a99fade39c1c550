"""`POST /campaigns/{id}/reports`: anybody may send reports. The collector reads nothing about the sender."""

from asyncio import Future
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service
from untrackable.collector.rounds.acceptance import CampaignAcceptance
from untrackable.collector.rounds.group_commit import SMALL_BODY, Outcome

MEDIA_TYPE = b"application/octet-stream"
_HEADERS = [(b"cache-control", b"no-store")]
_BEFORE_ID, _AFTER_ID = "/campaigns/", "/reports"
"""The parts of the address before and after the campaign's id."""


class Disconnected(Exception):
    """The sender disconnected before the body was complete."""


class ReportUpload:
    """The endpoint that takes reports. It answers 204 once all reports of the body are safely on disk."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as an ASGI application."""
        service = self._service
        id = scope["path_params"]["campaign"]
        acceptance = service.cached_acceptance(id)
        if acceptance is None:
            acceptance = await run_in_threadpool(service.acceptance, id)
        writer, held = service.writer, 0

        def hold(size: int) -> None:
            nonlocal held
            writer.reserve(size, large=held + size > SMALL_BODY)
            held += size

        try:
            body = await read_body(scope, receive, MEDIA_TYPE, service.settings.largest_body, hold)
            outcome = await writer.write(acceptance, body)
        finally:
            writer.release(held)
        if outcome is not None:
            raise outcome
        await send({"type": "http.response.start", "status": 204, "headers": _HEADERS})
        await send({"type": "http.response.body"})

    def acceptance_of_small(self, scope: Any, size: int) -> CampaignAcceptance | None:
        """Who accepts a small body that has arrived whole. None if this request needs to be handled as a task.

        Nearly all requests are such bodies. They are stored without a task and without any layer in between.
        """
        path = scope["path"]
        if scope["method"] != "POST" or not path.endswith(_AFTER_ID) or size > SMALL_BODY:
            return None
        acceptance = self._service.cached_acceptance(path[len(_BEFORE_ID) : -len(_AFTER_ID)])
        if acceptance is None or not path.startswith(_BEFORE_ID):
            return None
        typed = False
        for name, value in scope["headers"]:
            if name == b"content-type":
                typed = value == MEDIA_TYPE
            elif name == b"origin":
                return None
        return acceptance if typed else None

    def store(self, acceptance: CampaignAcceptance, body: bytes) -> "Future[Outcome] | None":
        """Queue a small body, or return None if there is no room for it now."""
        return self._service.writer.try_write(acceptance, body)


async def read_body(
    scope: Scope, receive: Receive, media_type: bytes, largest: int, hold: Callable[[int], None] | None = None
) -> bytes:
    """Read the body of a request. A wrong media type is refused, and so is a body as soon as it is too large.

    `hold` is called with the size of each part before the part is kept.
    """
    typed = False
    for name, value in scope["headers"]:
        if name == b"content-type":
            typed = value == media_type or value.split(b";", 1)[0].strip().lower() == media_type
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


def _above(digits: bytes, bound: int) -> bool:
    """Whether a number is above a bound. It may have more digits than Python converts."""
    digits = digits.lstrip(b"0")
    return len(digits) > len(str(bound)) or int(digits or b"0") > bound
