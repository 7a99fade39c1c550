"""The page of a plan in a real browser: pictures are drawn, and nothing is loaded or wrong."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.page_checks import serious_violations
from tests.display.chart_checks import chart_faults, opened
from tests.display.test_audit_page import browser as browser  # the same browser, as a fixture
from untrackable import plan, plan_together
from untrackable.display.plan import plan_page

pytestmark = pytest.mark.xdist_group("browser")

SET = plan_together({"smokes": {"values": 2}, "<i>age</i>": {"values": 8}}, people=10**6, rounds=12, eps=2.0)
PAGES = {
    "plan": lambda: plan_page(plan(people=10**6, values=16, rounds=8, eps=1.0), ["plan", "x=</script><b>"]),
    "not met": lambda: plan_page(plan(people=10_000, values=2, rounds=9, eps=0.5, error=0.001), ["plan"]),
    "together": lambda: plan_page(SET, ["plan", "--together", "q.toml"]),
}


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_pages_load(browser: Browser, name: str, width: int, scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    path.write_text(PAGES[name](), "utf-8")
    page, complaints = opened(browser, width, scheme)
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelectorAll('.chart svg.marks').length >= 2", timeout=60_000)
    assert complaints == []
    assert chart_faults(page) == []
    assert serious_violations(page) == []
    text = page.inner_text("main")
    assert ("Not met." in text) == (name == "not met")
    assert ("<i>age</i>" in text) == (name == "together")
    page.close()


def test_charts_in_which_nothing_could_be_drawn_are_left_out() -> None:
    page = plan_page(plan(people=100, values=2, rounds=9, eps=0.1, error=0.001), ["plan"])
    assert "Not met." in page
    assert "The error by rounds" not in page
