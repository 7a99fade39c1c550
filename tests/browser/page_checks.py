"""What must hold for every page: axe finds nothing serious, the width fits, and the page does not complain."""

from functools import cache
from typing import Any

from playwright.sync_api import Page

from tests.browser.built import SOURCES

SERIOUS = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
    .filter(({ impact }) => impact == "serious" || impact == "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`)"""


@cache
def _axe() -> str:
    return (SOURCES / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def serious_violations(page: Page) -> list[str]:
    """What axe finds on a page that hinders people."""
    page.evaluate(_axe())
    found: list[str] = page.evaluate(SERIOUS)
    return found


def too_wide(page: Page) -> bool:
    """Whether people must scroll to the side."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


class Watched:
    """A page with all that it fetches, all that it complains about, and the headers of its documents."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.urls: list[str] = []
        self.policies: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.urls.append(request.url))
        page.on("response", self._note)

    def _note(self, response: Any) -> None:
        if response.request.resource_type == "document":
            self.policies.append(response.headers.get("content-security-policy", ""))
