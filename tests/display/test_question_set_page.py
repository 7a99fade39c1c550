"""The page of several questions in a real browser: its charts are drawn, on a wide screen and on a phone."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.page_checks import serious_violations
from tests.display.chart_checks import chart_faults, opened
from tests.display.test_audit_page import browser as browser  # the same browser, as a fixture
from untrackable import plan_together
from untrackable.display.question_set_page import question_set_page

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    questions: dict[str, dict[str, Any]] = {
        "smoking": {"values": 2},
        "how-large-is-the-screen-in-use": {"values": 4, "error": 0.02},
    }
    found = plan_together(questions, people=10**6, rounds=1)
    path = tmp_path_factory.mktemp("set") / "set.html"
    path.write_text(question_set_page(found, ["plan", "--together", "x=</script><b>"]), "utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_charts_are_drawn_and_can_be_read(browser: Browser, page_file: Path, width: int, scheme: str) -> None:
    page, complaints = opened(browser, width, scheme)
    page.goto(page_file.as_uri())
    assert chart_faults(page) == []
    assert complaints == []
    assert page.locator("#chart-errors .role-legend-label text").all_text_contents() == [
        "in this plan (upper)",
        "if asked alone (upper)",
        "in one campaign for all (upper)",
        "asked for, at most",
    ]
    rows = page.locator("#chart-parts .role-axis-label text").all_text_contents()
    assert {"smoking", "how-large-is-the-screen-in-use", "all together"} <= {*rows}
    assert page.locator(".lead p").first.inner_text().startswith("Both questions fit into one budget of eps 1")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if scheme == "dark":
        assert serious_violations(page) == []
    told = json.loads(page.locator("#audit-data").text_content() or "")
    assert [*told["questions"]] == ["smoking", "how-large-is-the-screen-in-use"]
    page.context.close()
