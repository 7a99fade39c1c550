"""Problems as pages, for people who read them in a browser."""

from typing import Any

from starlette.responses import Response
from starlette.types import Scope

from untrackable.collector.dashboard.page_rendering import plain_page
from untrackable.collector.http.problems import Problem
from untrackable.serving.problem_types import retry_headers

_ADDRESSES = ("/view/", "/new", "/keys", "/sign-in", "/sign-out")
"""The beginnings of the dashboard's addresses."""
_NOT_PAGES = ("/campaigns", "/client/", "/gateway", "/metrics", "/healthz", "/ready", "/openapi.json")
"""The beginnings of the addresses that programs use."""
_HELP = {
    401: "Sign in, then go back and send the form again: browsers keep what you typed.",
    403: "Load the page again and send the form from there. If your key only reads, ask for an admin key.",
    404: "The address may be mistyped, or the campaign may not be published. All published campaigns are on the "
    "first page; sign in to see the others.",
    500: "Nothing was changed. Try again; if it happens again, tell the people who run this collector: "
    "its log says where it failed.",
    503: "Nothing is lost, and reports are not affected by this page. Wait a few seconds, then load it again.",
}
_OTHERWISE = "Go back, and change what the sentence above names."


def wants_page(scope: Scope) -> bool:
    """Whether a problem is answered with a page: at the dashboard's addresses, and for browsers at unknown ones."""
    path: str = scope["path"]
    if path == "/" or path.startswith(_ADDRESSES):
        return True
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return not path.startswith(_NOT_PAGES) and b"text/html" in accepted


def error_page(problem: Problem, detail: str, *, retry_after: int) -> Response:
    """The page for a problem. It says what to do."""
    parts: dict[str, Any] = {
        "title": problem.title,
        "detail": f"{detail[:1].upper()}{detail[1:]}.",
        "help": _HELP.get(problem.status, _OTHERWISE),
    }
    found = plain_page("error.html", status=problem.status, **parts)
    found.headers.update(retry_headers(problem, retry_after))
    return found
