"""How a server refuses a request: with one of its problem types (RFC 9457), also after a fault, and to web pages.

No answer and no line of a log repeats private data, so both say where an error happened and not its message.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Collection
from enum import Enum
from typing import ClassVar, TypeVar

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untrackable import strict_json

MEDIA_TYPE = "application/problem+json"
NO_SNIFFING = (b"x-content-type-options", b"nosniff")
"""The header of every response that keeps browsers from guessing another media type."""
_RETRIED = (429, 503)
"""The statuses after which a later attempt may help, so that the response says when."""


class ProblemType(Enum):
    """A type of problem: its name, HTTP status and title."""

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.slug, self.status, self.title = slug, status, title

    @property
    def uri(self) -> str:
        """The `type` of the problem in a response."""
        return f"urn:untrackable:problem:{self.slug}"


class Refused(Exception):
    """A request is refused. `detail` says why, and contains nothing that the sender must not see."""

    def __init__(self, problem: ProblemType, detail: str) -> None:
        super().__init__(detail)
        self.problem, self.detail = problem, detail


Kind = TypeVar("Kind", bound=ProblemType)


def problem_response(problem: ProblemType, detail: str, *, retry_after: int | None = None) -> Response:
    """The HTTP response for a problem."""
    body = {"type": problem.uri, "title": problem.title, "status": problem.status, "detail": detail}
    headers = {"cache-control": "no-store", **retry_headers(problem, retry_after)}
    content = strict_json.write(body).encode()
    return Response(content, problem.status, headers, MEDIA_TYPE)


def retry_headers(problem: ProblemType, retry_after: int | None) -> dict[str, str]:
    """The header that says when a later attempt may help, if one may."""
    return {"retry-after": str(retry_after)} if problem.status in _RETRIED and retry_after is not None else {}


def error_location(error: BaseException) -> str:
    """The type of an error and the lines it passed through, without its message."""
    trace, lines = error.__traceback__, []
    while trace is not None:
        lines.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' '.join(lines)}"


class ErrorGuard:
    """Turns every error of an application into a problem. The log shows where it happened, but not its message."""

    log: ClassVar[logging.Logger]
    ending: ClassVar[Exception]
    """Refuses a request for which the server does not wait any longer when it ends."""
    expected: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors that are not logged, because they are no fault of the server."""
    disconnected: ClassVar[type[Exception]]
    """The error of a request whose sender is gone, so that nobody needs an answer."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Exception, Scope], Response]) -> None:
        self._app, self._refusal = app, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.guarded(self._app, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def guarded(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request with an application, and with a problem if it fails before the answer begins."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], NO_SNIFFING]}
            await send(message)

        try:
            await app(scope, receive, noted)
        except self.disconnected:
            return
        except asyncio.CancelledError:
            if not begun:
                await self._refusal(self.ending, scope)(scope, receive, noted)
        except Exception as error:
            if not isinstance(error, self.expected):
                self.log.error("A request failed because of a fault: %s", error_location(error))
            if not begun:
                await self._refusal(error, scope)(scope, receive, noted)


def common_problem(problems: type[Kind], error: Exception, server: str) -> tuple[Kind, str]:
    """The problem and the words for an error that every server may have: a wrong address, or a fault."""
    if not isinstance(error, HTTPException):
        return problems["INTERNAL"], f"this is a fault of the {server}; the operator finds it in the log"
    if error.status_code == 404:
        return problems["NOT_FOUND"], "there is nothing at this address"
    if error.status_code == 405:
        return problems["METHOD_NOT_ALLOWED"], "this address does not allow this method"
    return problems["MALFORMED_REQUEST"], "the request does not follow the documentation"


class BrowserAccess(CORSMiddleware):
    """Lets web pages of these origins use some addresses, without cookies. They have no other access.

    `refused` makes the answer to a page that may not send its request: a problem, like any other refusal.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        addresses: re.Pattern[str],
        origins: Collection[str],
        methods: Collection[str],
        refused: Callable[[], Response],
    ) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=methods,
            allow_headers=["content-type"],
            expose_headers=["retry-after"],
            max_age=86400,
        )
        self._addresses, self._refused = addresses, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers for browsers at the addresses that pages may use. Other addresses get none."""
        shared = scope["type"] == "http" and self._addresses.fullmatch(scope["path"]) is not None
        await (super().__call__ if shared else self.app)(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer a browser's question whether a page may send a request."""
        answer = super().preflight_response(request_headers)
        if answer.status_code < 400:
            return answer
        problem = self._refused()
        kept = [name for name in answer.headers if name == "vary" or name.startswith("access-control-")]
        problem.headers.update({name: answer.headers[name] for name in kept})
        return problem
