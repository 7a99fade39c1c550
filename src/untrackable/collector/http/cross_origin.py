"""Access for web pages of other origins (CORS), to the addresses that a client in a browser needs."""

import re
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from untrackable.collector.http.problems import Problem, Refused

_SHARED = re.compile("/campaigns/[^/]+(/guarantee|/reports|/rounds|(/rounds/[0-9]+)?/estimate)?")
"""The addresses for pages of other origins: campaigns, their reports and their estimates."""


class CrossOrigin(CORSMiddleware):
    """Lets web pages of these origins send reports and read what is public. They have no other access.

    A refusal is a problem, like any other refusal.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str], refusal: Callable[[Exception], Response]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST"],
            allow_headers=["content-type"],
            expose_headers=["retry-after"],
            max_age=86400,
        )
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers for browsers at the addresses that pages may use. Other addresses get none."""
        shared = scope["type"] == "http" and _SHARED.fullmatch(scope["path"]) is not None
        await (super().__call__ if shared else self.app)(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer a browser's question whether a page may send a request."""
        found = super().preflight_response(request_headers)
        if found.status_code < 400:
            return found
        detail = "pages of this origin may not send this request"
        problem = self._refusal(Refused(Problem.MALFORMED_REQUEST, detail))
        kept = [name for name in found.headers if name == "vary" or name.startswith("access-control-")]
        problem.headers.update({name: found.headers[name] for name in kept})
        return problem
