"""Access for web pages (CORS): a client in a browser sends sealed reports to the relay, and reads the answers."""

import re
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import ASGIApp

from untrackable.relay.relay_problems import NotRelayed, RelayProblem
from untrackable.serving.browser_access import BrowserAccess

_SHARED = re.compile("/gateways/[^/]+")
"""The addresses for pages: those that take sealed reports."""


class PageAccess(BrowserAccess):
    """Lets web pages of every origin send sealed reports, and nothing else."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Exception], Response]) -> None:
        refused = NotRelayed(RelayProblem.MALFORMED_REQUEST, "pages may send sealed reports, and no other request")
        super().__init__(app, addresses=_SHARED, origins=["*"], methods=["POST"], refused=lambda: refusal(refused))
