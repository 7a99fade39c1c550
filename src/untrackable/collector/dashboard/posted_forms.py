"""Forms that pages send: read within limits, from pages of this collector only, and with the session's token."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.dashboard.page_turns import page_turn
from untrackable.collector.dashboard.sessions import (
    Session,
    check_same_origin,
    require_session,
    signed_in,
    token_is_right,
)
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.report_upload import read_body, reserved_room
from untrackable.collector.http.service import Service

Form = dict[str, str]
"""What somebody typed and chose, by the name of the field."""
TOKEN = "token"  # noqa: S105 (the name of a field)
"""The field that carries the session's token."""
_MEDIA_TYPE = b"application/x-www-form-urlencoded"
_MOST_FIELDS = 100
_STRANGERS_FORM = 64 << 10
"""The largest form of somebody who is not signed in, in bytes. It has room for what was typed in a session."""


async def read_form(request: Request) -> Form:
    """The form in the body of a request that a page of this collector sent.

    It takes a share of the memory for reports while it arrives, and is read in a thread, one at a time.
    """
    check_same_origin(request)
    service: Service = request.app.state.service
    stranger = await run_in_threadpool(signed_in, request) is None
    largest = min(_STRANGERS_FORM, service.settings.largest_body) if stranger else service.settings.largest_body
    with reserved_room(service.writer) as hold:
        body = await read_body(request.scope, request.receive, _MEDIA_TYPE, largest, hold)
        return await run_in_threadpool(_fields, body, stranger)


def _fields(body: bytes, stranger: bool) -> Form:
    with page_turn() if stranger else nullcontext():
        try:
            fields = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise Refused(Problem.MALFORMED_REQUEST, "the form cannot be read") from None
    found = dict(fields)
    if len(found) < len(fields):
        raise Refused(Problem.MALFORMED_REQUEST, "the form has a field twice")
    return found


def check_token(request: Request, form: Form) -> Session:
    """The session of whoever sent a form. Without one that may change something, or its token, it is refused."""
    session = require_session(request)
    if not token_is_right(session, form.get(TOKEN, "")):
        raise Refused(
            Problem.FORM_OUTDATED, "this form is from another session, and nothing was changed: load the page again"
        )
    return session


def posted(answer: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that takes a form. `answer` runs in a thread, so it may use the store."""

    async def endpoint(request: Request) -> Response:
        form = await read_form(request)
        return await run_in_threadpool(answer, request, form)

    return endpoint


def managing(answer: Callable[[Request, Session, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that changes something: `answer` is called with the request, the session and the form."""

    def checked(request: Request, form: Form) -> Response:
        return answer(request, check_token(request, form), form)

    return posted(checked)
