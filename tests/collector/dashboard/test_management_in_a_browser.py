"""Managing campaigns in a real browser: by keyboard, on a phone, in the dark, with a script and without."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import browsers
from tests.collector.servers import process
from untrackable.collector.api import new_key, valid_key
from untrackable.collector.settings import open_store
from untrackable.collector.store import Store
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
_PATIENCE = 60_000
"""Milliseconds for what is expected, on a machine that is busy with other tests."""


class Site(NamedTuple):
    """A collector as a process of its own, its store, a key for it, and a browser."""

    address: str
    store: Store
    key: str
    browser: Browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    url = f"sqlite:///{tmp_path_factory.mktemp('site')}/store.db"
    store = open_store(url)
    _, key = new_key(store, "admin")
    write_keys(keys := tmp_path_factory.mktemp("keys") / "gateway.keys", GatewayKeys().with_list(2, 30))
    with process(url, "--gateway-keys", str(keys)) as server, browsers.started() as browser:
        expect.set_options(timeout=_PATIENCE)
        yield Site(server.address, store, key, browser)
        expect.set_options(timeout=5_000)
    store.close()


def signed_in(site: Site, page: Page) -> None:
    page.goto(f"{site.address}/new")
    expect(page).to_have_url(f"{site.address}/sign-in?next=%2Fnew")
    page.keyboard.type(site.key)  # The field has the focus.
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.address}/new")


def fits(page: Page) -> bool:
    result: bool = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return result


def test_with_a_script_on_a_phone(site: Site) -> None:
    page = site.browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark").new_page()
    complaints, asked = list[str](), list[str]()
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    signed_in(site, page)
    page.get_by_label("Question", exact=True).fill("Do you smoke?")
    page.get_by_label("yes or no").check()
    state = page.get_by_role("status")
    expect(state).to_have_text(re.compile("^About .* people answer one round"))
    before = state.inner_text()
    expect(page.get_by_label("From", exact=True)).to_be_hidden()
    assert fits(page)

    page.get_by_text("More", exact=True).first.click()
    page.get_by_label("Margin", exact=True).fill("2")
    expect(page.locator("#margin-error")).to_have_text(re.compile("^The margin must be"))
    expect(page.get_by_label("Margin", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Margin", exact=True).fill("0.05")
    expect(page.locator("#margin-error")).to_have_text("")
    slider = page.get_by_label("People, as a slider")
    slider.focus()
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    assert page.get_by_label("People", exact=True).input_value() == "100"
    assert slider.get_attribute("aria-valuetext") == "100"
    assert page.get_by_label("Largest error, as a slider").get_attribute("aria-valuetext") == "empty"
    expect(state).to_have_text(re.compile("^Not met"))
    page.locator(".change").first.click()
    expect(state).to_have_text(re.compile("^About"))
    assert page.get_by_label("Question", exact=True).input_value() == "Do you smoke?"
    assert state.inner_text() != before

    page.get_by_role("button", name="Preview the campaign").click()
    expect(page.get_by_role("heading", name="The document")).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name="Create the campaign").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("^The campaign is created."))
    [stored] = site.store.campaigns()
    assert page.url == f"{site.address}/view/{stored.id}?done=created"
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("status")).to_have_text("This campaign is published.")
    page.get_by_text("End the campaign …").click()
    page.get_by_role("button", name="End the campaign").click()
    expect(page.get_by_role("status")).to_have_text("This campaign ends before its first round.")
    assert fits(page)

    page.get_by_role("link", name="Keys").click()
    page.get_by_role("button", name="Make a key").click()
    made = page.locator(".secret").inner_text()
    assert (found := valid_key(site.store, made)) is not None
    assert found.role == "reader"
    assert fits(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    assert complaints == []
    assert all(address.startswith((site.address, "data:")) for address in asked)
    assert not any(site.key in address or made in address for address in asked)


def test_a_relay_that_holds_is_named_by_keyboard_on_a_phone(site: Site) -> None:
    page = site.browser.new_context(viewport={"width": 390, "height": 800}).new_page()
    signed_in(site, page)
    page.get_by_label("Question", exact=True).fill("Do you cycle?")
    page.get_by_label("yes or no").check()
    page.get_by_text("More", exact=True).first.click()
    address, after = page.get_by_label("The relay that holds reports"), page.get_by_label("It releases them after")
    address.fill("https://relay.example/gateways/study")
    expect(page.locator("#hold_at-error")).to_have_text("Tick above that reports go through a relay, or name none.")
    expect(address).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Reports go through a relay").check()
    expect(page.locator("#hold_at-error")).to_have_text("")
    address.focus()
    page.keyboard.press("Tab")
    expect(after).to_be_focused()
    page.keyboard.type("31")
    page.keyboard.press("Tab")
    page.keyboard.type("days")
    expect(page.locator("#release_after-error")).to_have_text("A release must come within 30 days after a round.")
    after.fill("2")
    page.get_by_label("Unit of the time until the release").select_option("hours")
    held = "https://relay.example/gateways/study holds the reports of a round and releases them once, 2 hours after"
    expect(page.locator("#results")).to_contain_text(held)
    assert fits(page)
    page.get_by_role("button", name="Preview the campaign").click()
    expect(page.get_by_role("heading", name="The relay")).to_be_visible()
    expect(page.locator("main")).to_contain_text(held)
    assert fits(page)
    page.get_by_role("button", name="Create the campaign").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("^The campaign is created."))
    expect(page.locator("main")).to_contain_text(held)
    assert fits(page)


def test_without_a_script(site: Site) -> None:
    page = site.browser.new_context(java_script_enabled=False).new_page()
    signed_in(site, page)
    expect(page.locator("input[type=range]")).to_have_count(0)
    page.get_by_label("several attributes of a person").check()
    expect(page.get_by_label("Attributes, one on each line")).to_be_visible()
    expect(page.get_by_label("Possible answers, one on each line")).to_be_hidden()
    page.get_by_label("one of a list").check()
    page.get_by_label("Possible answers, one on each line").fill("a\nb")
    page.get_by_label("People", exact=True).fill("none")
    page.get_by_role("button", name="Show what I will get").click()
    expect(page.get_by_role("alert")).to_contain_text("One field needs another look")
    page.get_by_role("alert").get_by_role("link").click()
    assert page.get_by_label("Possible answers, one on each line").input_value() == "a\nb"
    page.get_by_label("People", exact=True).fill("1,000,000")
    page.get_by_role("button", name="Show what I will get").click()
    plans = page.locator("#results")
    expect(page.get_by_role("button", name="Show what I will get")).to_be_visible()
    for _ in range(5):  # On a busy machine, the page says that it is still computing.
        if plans.locator(".lead").count():
            break
        page.get_by_role("button", name="Show what I will get").click()
    expect(plans).to_contain_text("Nobody can follow a person")
