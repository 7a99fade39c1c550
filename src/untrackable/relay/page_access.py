"""Access for web pages (CORS): a client in a browser sends sealed reports to the relay, and reads the answers."""

import re
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from untrackable.relay.relay_problems import NotRelayed, RelayProblem

_SHARED = re.compile("/gateways/[^/]+")
"""The addresses for pages: those that take sealed reports."""


class PageAccess(CORSMiddleware):
    """Lets web pages of every origin send sealed reports, without cookies, and nothing else."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Exception], Response]) -> None:
        super().__init__(
            app,
            allow_origins=["*"],
            allow_methods=["POST"],
            allow_headers=["content-type"],
            expose_headers=["retry-after"],
            max_age=86400,
        )
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers for browsers where sealed reports are taken. Other addresses get none."""
        shared = scope["type"] == "http" and _SHARED.fullmatch(scope["path"]) is not None
        await (super().__call__ if shared else self.app)(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer a browser's question whether a page may send a request. A refusal is a problem, like any other."""
        found = super().preflight_response(request_headers)
        if found.status_code < 400:
            return found
        detail = "pages may send sealed reports, and no other request"
        problem = self._refusal(NotRelayed(RelayProblem.MALFORMED_REQUEST, detail))
        kept = [name for name in found.headers if name == "vary" or name.startswith("access-control-")]
        problem.headers.update({name: found.headers[name] for name in kept})
        return problem
