"""Access for web pages of other origins (CORS)."""

from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from untrackable.collector.http.problems import Problem, Refused


class CrossOrigin(CORSMiddleware):
    """Lets web pages of these origins use the collector. A refusal is a problem, like any other refusal."""

    def __init__(self, app: ASGIApp, origins: Collection[str], refusal: Callable[[Exception], Response]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["authorization", "content-type"],
            expose_headers=["retry-after"],
            max_age=86400,
        )
        self._refusal = refusal

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
