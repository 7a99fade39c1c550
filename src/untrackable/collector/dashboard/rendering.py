"""How every page is made: a template in `templates/`, with the same header, style and security headers.

One page is made at a time, so that many readers leave the interpreter to those who send reports. The name of a
style or a script contains a digest, so its content never changes. Problems are pages for people who read them in a
browser.
"""

import functools
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from pathlib import PurePath
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from untrackable import __version__
from untrackable.collector.dashboard.sessions import signed_in
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.collector.store import StoredCampaign
from untrackable.display.page import page_template
from untrackable.serving.problems import ProblemType, Refused, retry_headers

_STATIC_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
}
_TYPES = {".css": "text/css", ".js": "text/javascript"}
_THEME = "page_theme.css"
"""The style that these pages share with those that commands write."""


def serve_static(request: Request) -> Response:
    """One of the files in `static/`."""
    name = request.path_params["name"]
    content = {_hashed(path, content): content for path, content in _files().items()}.get(name)
    if content is None:
        raise Refused(Problem.NOT_FOUND, "there is nothing at this address")
    return Response(content, headers=_STATIC_HEADERS, media_type=_TYPES[PurePath(name).suffix])


def static_address(name: str) -> str:
    """The address of a file in `static/`."""
    return f"/static/{_hashed(name, _files()[name])}"


def _hashed(name: str, content: bytes) -> str:
    path = PurePath(name)
    return f"{path.stem}-{hashlib.sha256(content).hexdigest()[:16]}{path.suffix}"


@lru_cache(maxsize=1)
def _files() -> dict[str, bytes]:
    folder = resources.files("untrackable.collector.dashboard") / "static"
    contents = {path.name: path.read_bytes() for path in folder.iterdir() if PurePath(path.name).suffix in _TYPES}
    theme = (resources.files("untrackable.display") / _THEME).read_bytes()
    return contents | {"dashboard.css": theme + contents["dashboard.css"]}


Made = TypeVar("Made")
_WAITING = 16
"""The largest number of pages that are made or wait. More would take the threads that other requests need."""
_room = threading.BoundedSemaphore(_WAITING)
_turn = threading.Lock()


@contextmanager
def page_turn() -> Iterator[None]:
    """Make a page within the block. `Refused` if too many wait."""
    if not _room.acquire(blocking=False):
        raise Refused(Problem.BUSY, "too many people look at pages now")
    try:
        with _turn:
            yield
    finally:
        _room.release()


def in_turn(endpoint: Callable[[Any, Request], Made]) -> Callable[[Any, Request], Made]:
    """An endpoint that makes its page in turn. It must not wait for heavy work meanwhile."""

    @functools.wraps(endpoint)
    def made(self: Any, request: Request) -> Made:
        with page_turn():
            return endpoint(self, request)

    return made


def visible_campaigns(service: Service, request: Request) -> list[StoredCampaign]:
    """The campaigns that a request may see: published ones, and all of them for somebody who is signed in."""
    everything = signed_in(request) is not None
    return [each for each in service.store.campaigns() if everything or each.published]


def visible_campaign(service: Service, request: Request) -> StoredCampaign:
    """The campaign that an address names. One that is hidden is refused exactly as one that does not exist."""
    stored = service.stored_campaign(request.path_params["campaign"])
    if not stored.published and signed_in(request) is None:
        raise Refused(Problem.NOT_FOUND, "there is no campaign with this id")
    return stored


HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Not `no-referrer`: forms would then have no origin, which is compared when they arrive.
    "referrer-policy": "same-origin",
}
"""The headers of every page."""


def page(request: Request, template: str, *, status: int = 200, **parts: Any) -> Response:
    """A page. Templates know `session`, which is None if nobody is signed in, and the page's own `parts`."""
    return _rendered(template, status, path=request.url.path, session=signed_in(request), **parts)


def part(template: str, **parts: Any) -> str:
    """What a template makes of some parts, such as a part of a page for a script that puts it there."""
    return page_template("untrackable.collector.dashboard", f"templates/{template}").render(**parts)


def _rendered(template: str, status: int, **parts: Any) -> Response:
    return HTMLResponse(part(template, static=static_address, version=__version__, **parts), status, HEADERS)


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


_ADDRESSES = ("/view/", "/new", "/keys", "/sign-in", "/sign-out")
"""The beginnings of the dashboard's addresses."""
_NOT_PAGES = ("/campaigns", "/client/", "/gateway", "/metrics", "/healthz", "/ready", "/openapi.json")
"""The beginnings of the addresses that programs use."""


def wants_page(scope: Scope) -> bool:
    """Whether a problem is answered with a page: at the dashboard's addresses, and for browsers at unknown ones."""
    path: str = scope["path"]
    if path == "/" or path.startswith(_ADDRESSES):
        return True
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return not path.startswith(_NOT_PAGES) and b"text/html" in accepted


def error_page(problem: ProblemType, detail: str, *, retry_after: int) -> Response:
    """The page for a problem. It says what to do, and does not ask the store who is signed in."""
    about: dict[str, Any] = {"title": problem.title, "detail": sentence(detail), "code": problem.status}
    page = _rendered("error.html", problem.status, path="", session=None, **about)
    page.headers.update(retry_headers(problem, retry_after))
    return page
