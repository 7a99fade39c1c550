"""The demonstration's page: one answers with the real client, and sees one's own reports go out."""

import time
from dataclasses import replace

import pytest
from playwright.sync_api import Browser

from tests.browser.page_checks import Watched, serious_violations
from tests.browser.people import Asking, posted
from untrackable.demo.answer_page import answer_page
from untrackable.demo.visitor_question import visitor_campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]


def test_a_visitor_sees_reports_go_out(browser: Browser, asking: Asking) -> None:
    now = time.time()
    asked = asking.ask(replace(visitor_campaign(now), round_seconds=3))
    asking.clock.now = now + 300  # All rounds of the next minutes have begun, and none is over for good.
    context = browser.new_context()
    page = context.new_page()
    watched, bodies = Watched(page), posted(page)
    with answer_page(asked, asking.server) as address:
        page.goto(address)
        page.select_option("#choice", "wiki")
        page.click("#answer")
        page.wait_for_selector("#status:has-text('Tick the box first')")
        assert bodies == []
        page.check("#agree")
        page.click("#answer")
        page.wait_for_selector("#status:has-text('The next report goes out at')")
        page.wait_for_selector("#reports li:has-text('The collector says: stored')")
        card = page.locator("#reports li").last.text_content() or ""
        assert bodies[0] is not None
        assert bodies[0][5:21].hex() in card
        assert bodies[0][21:].hex() in card
        assert serious_violations(page) == []
        page.reload()
        page.wait_for_selector("#status:has-text('Your earlier answer is stored in this browser')")
        assert page.locator("#leave").is_enabled()
        sent = len(bodies)
        page.check("#agree")
        page.wait_for_selector("#reports li:has-text('The collector says: stored')")
        assert len(bodies) > sent
        page.click("#leave")
        page.wait_for_selector("#leave:disabled")
        assert page.evaluate("indexedDB.databases().then(found => found.length)") == 1
        context.set_offline(True)
    assert watched.complaints == []
    assert len(set(bodies)) == len(bodies)
    origins = {url.split("/", 3)[2] for url in watched.urls if not url.startswith("data:")}
    assert origins == {each.split("/", 3)[2] for each in (asking.server, address)}
    assert asking.store.rounds(asked.id)
    context.close()
