"""What must hold for every page: axe finds nothing serious, the width fits, and the page does not complain."""

from functools import cache
from typing import Any

from playwright.sync_api import Page

from tests.browser.built import SOURCES

SERIOUS = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
    .filter(({ impact }) => impact == "serious" || impact == "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`)"""


DRAWN = """() => [...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
    const box = svg.getBoundingClientRect(), found = [];
    if (box.right > innerWidth) found.push('a drawing is wider than the page');
    const texts = [...svg.querySelectorAll('text')]
        .map(text => [text.textContent, text.getBoundingClientRect(), getComputedStyle(text).opacity])
        .filter(([said, { width }, opacity]) => said && width && opacity != 0);
    for (const [said, { left, right, top, bottom }] of texts) {
        if (left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1)
            found.push('cut off: ' + said);
        if (Math.min(bottom - top, right - left) < 11 && said.length > 2) found.push('too small: ' + said);
    }
    texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 3) found.push(one + ' upon ' + other);
    }));
    return found;
})"""


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


def drawing_faults(page: Page) -> list[str]:
    """Texts of drawings that are cut off, too small to read, or upon each other."""
    found: list[str] = page.evaluate(DRAWN)
    return found


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
