"""Every page of the dashboard and of the demonstration, as people see it: wide and light, narrow and dark."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.page_checks import Watched, drawing_faults, serious_violations, too_wide
from tests.browser.shown_pages import EVERYBODY, MANAGERS, Shown, shown, sign_in

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with shown(tmp_path_factory.mktemp("shown"), people=600, rounds=6) as found:
        yield found


@pytest.mark.parametrize("name", [*EVERYBODY, *MANAGERS])
def test_pages_are_for_everybody(browser: Browser, collector: Shown, name: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    if name in MANAGERS:
        sign_in(page, collector)
    watched = Watched(page)
    (EVERYBODY | MANAGERS)[name](page, collector)
    assert serious_violations(page) == []
    assert not too_wide(page)
    assert drawing_faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme="dark")
    assert serious_violations(page) == []
    assert not too_wide(page)
    assert drawing_faults(page) == []

    complaints = [text for text in watched.complaints if name != "not-found" or "404" not in text]
    assert complaints == []
    origins = {url.split("/", 3)[2] for url in watched.urls if not url.startswith("data:")}
    assert origins <= {each.split("/", 3)[2] for each in (collector.server, collector.application)}
    if name == "answer":
        assert "script-src 'self' " + collector.server in watched.policies[0]
        assert "unsafe" not in watched.policies[0]
    else:
        assert origins == {collector.server.split("/", 3)[2]}
        assert set(watched.policies) == {POLICY}
    context.close()
