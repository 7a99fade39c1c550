"""The demonstration's page: one answers with the real client, and sees one's own report go out."""

import time
from dataclasses import replace

import pytest
from playwright.sync_api import Browser

from tests.browser.page_checks import Watched, serious_violations
from tests.browser.people import FORCED, Asking, key_of, posted
from untrackable.demo.answer_page import answer_page
from untrackable.demo.visitor_question import visitor_campaign

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]


def test_a_visitor_sees_the_report_go_out(browser: Browser, asking: Asking) -> None:
    now = time.time()
    asked = asking.ask(replace(visitor_campaign(now), first_round=int(now) + 6, round_seconds=3))
    asking.clock.now = now + 300  # All rounds have begun, and none is over for good.
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(f"({FORCED})({list(key_of(asked, 2))})")
    watched, bodies = Watched(page), posted(page)
    with answer_page(lambda: asked, asking.server) as address:
        page.goto(address)
        page.select_option("#choice", "wiki")
        page.click("#answer")
        page.wait_for_selector("#status:has-text('Tick the box first')")
        assert bodies == []
        page.check("#agree")
        page.click("#answer")
        page.wait_for_selector("#status:has-text('joins only once it has remembered an earlier round')")
        page.wait_for_selector("#status:has-text('It drew round 2 of 6')")
        assert serious_violations(page) == []
        page.reload()
        page.wait_for_selector("#status:has-text('Your earlier answer is stored in this browser')")
        assert page.locator("#leave").is_enabled()
        page.check("#agree")
        page.wait_for_selector("#reports li:has-text('The collector says: stored')")
        card = page.locator("#reports li").last.text_content() or ""
        (body,) = bodies
        assert body is not None
        assert body[5:21].hex() in card
        assert body[21:].hex() in card
        assert serious_violations(page) == []
        page.wait_for_selector("#status:has-text('No report is to come')")
        page.click("#answer")
        page.wait_for_selector("#status:has-text('Your turn in this campaign is over')")
        page.click("#leave")
        page.wait_for_selector("#leave:disabled")
        context.set_offline(True)
    assert watched.complaints == []
    assert len(bodies) == 1
    origins = {url.split("/", 3)[2] for url in watched.urls if not url.startswith("data:")}
    assert origins == {each.split("/", 3)[2] for each in (asking.server, address)}
    assert asking.counted(asked, 2) == 1
    context.close()
