"""Reasons to refuse a request, as problem types (RFC 9457). Each server lists its own."""

from enum import Enum

from starlette.responses import Response

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


def problem_response(problem: ProblemType, detail: str, *, retry_after: int | None = None) -> Response:
    """The HTTP response for a problem."""
    body = {"type": problem.uri, "title": problem.title, "status": problem.status, "detail": detail}
    headers = {"cache-control": "no-store", **retry_headers(problem, retry_after)}
    content = strict_json.write(body).encode()
    return Response(content, problem.status, headers, MEDIA_TYPE)


def retry_headers(problem: ProblemType, retry_after: int | None) -> dict[str, str]:
    """The header that says when a later attempt may help, if one may."""
    return {"retry-after": str(retry_after)} if problem.status in _RETRIED and retry_after is not None else {}
