"""How every page is made: a template in `templates/`, with the same header, style and security headers."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from untrackable import __version__
from untrackable.collector.dashboard.sessions import signed_in
from untrackable.collector.dashboard.static_files import static_address
from untrackable.display.page_shell import page_template

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


def plain_page(template: str, *, status: int, **parts: Any) -> Response:
    """A page that does not ask who is signed in, for when the store cannot answer that."""
    return _rendered(template, status, path="", session=None, **parts)


def _rendered(template: str, status: int, **parts: Any) -> Response:
    made = page_template("untrackable.collector.dashboard", f"templates/{template}")
    return HTMLResponse(made.render(static=static_address, version=__version__, **parts), status, HEADERS)
