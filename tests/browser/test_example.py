"""The web site of the guide: nothing before somebody agrees, one report afterwards, nothing after leaving."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import application
from tests.browser.people import Asking, posted
from tests.browser.questions import BEGIN, HOUR, question
from tests.browser.test_consent import button
from tests.browser.test_refusals import KEPT
from untrackable.collector import browser as browser_client
from untrackable.encodings.encoding import Categories
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

SITE = Path(__file__).parents[2] / "docs" / "examples" / "web_site.html"
Visit = Callable[[BrowserContext, float], Page]


@pytest.fixture
def asked(asking: Asking) -> Campaign:
    return asking.ask(question(encoding=Categories(names=["small", "medium", "large"]), rounds=1))


@pytest.fixture
def visit(asking: Asking, asked: Campaign) -> Iterator[Visit]:
    """Somebody opens the site at a time."""
    name, content = next(item for item in browser_client.files().items() if item[0].startswith("untrackable-"))
    site = SITE.read_text(encoding="utf-8")
    for example, own in (
        ("https://collect.example", asking.server),
        ("untrackable-….js", name),
        ("sha384-…", browser_client.integrity(content)),
        ("3f5a…", asked.id),
    ):
        assert example in site
        site = site.replace(example, own)
    with application(site) as address:

        def opened(context: BrowserContext, now: float) -> Page:
            asking.clock.now = now
            page = context.new_page()
            page.clock.install(time=now)
            page.on("console", lambda message: asking.complaints.append(message.text))
            page.on("pageerror", lambda error: asking.complaints.append(str(error)))
            page.goto(address)
            return page

        yield opened


def kept(page: Page) -> Any:
    """All that the site keeps in this browser."""
    return page.evaluate(KEPT)


def test_the_site_of_the_guide(browser: Browser, asking: Asking, asked: Campaign, visit: Visit) -> None:
    stays, leaves = (browser.new_context(viewport={"width": 1000, "height": 800}) for _ in range(2))
    for context in (stays, leaves):
        page = visit(context, BEGIN - HOUR - 100)
        expect(page.get_by_role("region", name="May we ask you once?")).to_be_visible()
        button(page, "What is sent?").click()
        expect(page.get_by_role("group", name="What is sent")).to_contain_text("The bytes")
        assert (kept(page), page.evaluate("localStorage.length")) == ({}, 0)
        button(page, "Take part").click()
        expect(page.get_by_role("status")).to_have_text("Thank you. You take part.")
        page = visit(context, BEGIN - 100)
        expect(page.get_by_role("region", name="You take part")).to_be_visible()
        assert kept(page).keys() == {"ledger", asked.id}
        assert json.loads(kept(page)[asked.id])["turn"] == 1
    button(page, "Stop").click()
    expect(page.get_by_role("status")).to_contain_text("Nothing is sent")
    assert kept(page).keys() == {"ledger"}
    left, page = (visit(context, BEGIN + HOUR - 20) for context in (leaves, stays))
    bodies = posted(left)
    with page.expect_response("**/reports") as answer:  # Within ten seconds.
        expect(left.get_by_role("region", name="You do not take part")).to_have_count(0)
    assert answer.value.ok
    assert bodies == []
    assert asking.counted(asked, 1) == 1
    assert asking.complaints == []
    for context in (stays, leaves):
        context.close()
