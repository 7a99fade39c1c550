"""The demonstration's page: one answers with the real client, and sees one's own report go out."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.page_checks import Watched, serious_violations
from tests.browser.people import Asking, posted
from untrackable.demo.demo import answer_page, visitor_campaign
from untrackable.protocol.campaign import Campaign
from untrackable.theory.turns import Turns

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

ROUNDS, SECONDS, TRIES = 200, 60, 5
"""Nearly all rounds are still to come when a visitor joins, so that the turn is hardly ever lost."""


def begun(now: float) -> Campaign:
    """A campaign of as many rounds."""
    return replace(visitor_campaign(now), round_seconds=SECONDS, rounds=ROUNDS, turns=Turns(rounds=ROUNDS))


def joined(page: Page) -> bool:
    """Answer in one round and in the next. False if the browser draws a round that is over."""
    page.select_option("#choice", "wiki")
    page.click("#answer")
    page.wait_for_selector("#status:has-text('Tick the box first')")
    page.check("#agree")
    page.click("#answer")
    page.wait_for_selector("#status:has-text('It joins in the next round')")
    page.clock.fast_forward(1000 * SECONDS)
    page.wait_for_selector("#status:has-text('which has drawn round'), #status:has-text('sends no report')")
    return "drawn" in (page.locator("#status").text_content() or "")


def test_a_visitor_sees_the_one_report_go_out(browser: Browser, asking: Asking) -> None:
    for _ in range(TRIES):  # Each fails with a probability of 1/100.
        context = browser.new_context()
        page = context.new_page()
        page.clock.install()
        watched, bodies = Watched(page), posted(page)
        with answer_page(asking.server, asking.ask, begun) as address:
            page.goto(address)
            if not joined(page):
                continue
            page.wait_for_selector("#rounds .turn")
            assert serious_violations(page) == []
            page.reload()
            page.wait_for_selector("#status:has-text('Your answer is stored in this browser. Tick the box')")
            assert page.locator("#leave").is_enabled()
            page.check("#agree")
            page.wait_for_selector("#status:has-text('The report goes out at')")
            assert bodies == []
            wait = re.search(r"in (\d+) s", page.locator("#status").text_content() or "")
            assert wait
            asking.clock.now = page.evaluate("Date.now() / 1000") + int(wait[1])
            page.clock.fast_forward(1000 * int(wait[1]))
            page.wait_for_selector("#reports li:has-text('The collector says: stored')")
            card = page.locator("#reports li").text_content() or ""
            (body,) = bodies
            assert body is not None
            assert body[5:21].hex() in card
            assert body[21:].hex() in card
            page.clock.fast_forward(1000)
            page.wait_for_selector("#status:has-text('Done.')")
            assert page.locator("#leave").is_disabled()
            page.click("#answer")
            page.wait_for_selector("#status:has-text('sends no report')")
            assert len(bodies) == 1
        assert watched.complaints == []
        origins = {url.split("/", 3)[2] for url in watched.urls if not url.startswith("data:")}
        assert origins == {each.split("/", 3)[2] for each in (asking.server, address)}
        context.close()
        return
    pytest.fail("the turn was lost each time")
