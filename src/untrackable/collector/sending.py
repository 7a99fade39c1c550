"""`POST /campaigns/{id}/reports`: one report or many, from anybody. Nothing about the sender is looked at."""

from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from untrackable.collector.problems import Problem, Refused
from untrackable.collector.service import Service

MEDIA_TYPE = "application/octet-stream"
_ACCEPTED = Response(status_code=204, headers={"cache-control": "no-store"})


class Disconnected(Exception):
    """The sender went away before the body was whole."""


class Sending:
    """Answers 204 once all reports of the body are stored and synced."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        service = self._service
        id = scope["path_params"]["campaign"]
        expect(scope, MEDIA_TYPE)
        accepting = service.known(id)
        if accepting is None:
            accepting = await run_in_threadpool(service.accepting, id)
        held = 0
        parts = []
        try:
            async for part in parts_of(scope, receive, service.settings.largest_body):
                service.writer.hold(len(part))
                held += len(part)
                parts.append(part)
            await service.writer.write(accepting, parts[0] if len(parts) == 1 else b"".join(parts))
        finally:
            service.writer.release(held)
        await _ACCEPTED(scope, receive, send)


def expect(scope: Scope, media_type: str) -> None:
    """Refuse a body of another media type."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            if value.split(b";", 1)[0].strip().lower() == media_type.encode():
                return
            break
    raise Refused(Problem.MEDIA_TYPE, f"the body must be {media_type}")


async def parts_of(scope: Scope, receive: Receive, largest: int) -> AsyncIterator[bytes]:
    """The parts of a body as they come; refused as soon as they are too many."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > largest:
            raise Refused(Problem.TOO_LARGE, f"a body must be at most {largest} bytes")
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > largest:
            raise Refused(Problem.TOO_LARGE, f"a body must be at most {largest} bytes")
        if part:
            yield part
        if not message.get("more_body", False):
            return
