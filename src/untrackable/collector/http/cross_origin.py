"""Pages of other origins (CORS): what browsers want to know before a page may ask."""

from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from untrackable.collector.http.problems import Problem, Refused


class CrossOrigin(CORSMiddleware):
    """Lets pages of these origins use the collector; a refusal is a problem like others."""

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
        """Whether a page may."""
        found = super().preflight_response(request_headers)
        if found.status_code < 400:
            return found
        words = "pages of this origin may not ask this, or not in this way"
        problem = self._refusal(Refused(Problem.MALFORMED_REQUEST, words))
        told = [name for name in found.headers if name == "vary" or name.startswith("access-control-")]
        problem.headers.update({name: found.headers[name] for name in told})
        return problem
