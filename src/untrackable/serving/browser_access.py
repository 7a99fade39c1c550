"""Access for web pages of other origins (CORS), to the addresses of a server that a client in a browser needs."""

import re
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send


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
        found = super().preflight_response(request_headers)
        if found.status_code < 400:
            return found
        problem = self._refused()
        kept = [name for name in found.headers if name == "vary" or name.startswith("access-control-")]
        problem.headers.update({name: found.headers[name] for name in kept})
        return problem
