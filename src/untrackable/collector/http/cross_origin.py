"""Access for web pages of other origins (CORS), to the addresses that a client in a browser needs."""

import re
from collections.abc import Callable, Collection

from starlette.responses import Response
from starlette.types import ASGIApp

from untrackable.collector.http.problems import Problem, Refused
from untrackable.serving.browser_access import BrowserAccess

_SHARED = re.compile("/campaigns/[^/]+(/guarantee|/reports|/rounds|(/rounds/[0-9]+)?/estimate)?")
"""The addresses for pages of other origins: campaigns, their reports and their estimates."""


class CrossOrigin(BrowserAccess):
    """Lets web pages of these origins send reports and read what is public. They have no other access."""

    def __init__(self, app: ASGIApp, origins: Collection[str], refusal: Callable[[Exception], Response]) -> None:
        refused = Refused(Problem.MALFORMED_REQUEST, "pages of this origin may not send this request")
        super().__init__(
            app, addresses=_SHARED, origins=origins, methods=["GET", "POST"], refused=lambda: refusal(refused)
        )
