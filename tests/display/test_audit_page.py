"""The pages in a real browser, without a network: nothing is fetched, nothing complains, everything is drawn."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import browsers
from tests.browser.page_checks import serious_violations
from tests.display.chart_checks import chart_faults, opened
from untrackable import Deck, Rappor, audit, compare
from untrackable.auditing.floor import compare_with_floor
from untrackable.display.audit import audit_page
from untrackable.display.comparison import comparison_page
from untrackable.display.floor import floor_page
from untrackable.mechanisms import Unary

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with browsers.started() as result:
        yield result


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    mechanisms = {
        "infinite": Rappor(bloom_bits=8, hashes=1, f=0.5, p=0.5, q=0.75, cohorts=4),
        "followed": Unary.for_budget("L-SUE", values=4, eps=2, eps_report=1),
        "hidden": Deck(bits=4, slots=6, eps_report=0.3),
    }
    made = {}
    for name, mechanism in mechanisms.items():
        result = audit(mechanism, reports=4, crowd=50, people=1000)
        made[name] = audit_page(result, mechanism, name, ["audit", name, "note=</script><b>&"])
    made["compared"] = comparison_page(compare(reports=4, crowd=50, people=1000), ["compare"])
    made["floor"] = floor_page(compare_with_floor(rounds=(20, None)), ["compare"])
    paths = {}
    for name, text in made.items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(text, encoding="utf-8")
    return paths


CHARTS = {"infinite": 4, "followed": 6, "hidden": 5, "compared": 1, "floor": 2}


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_page_loads_offline_without_complaint(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    page, complaints = opened(browser, width, scheme)
    page.on("request", lambda request: complaints.append(request.url) if "file:" not in request.url else None)
    page.goto(pages[name].as_uri())
    page.wait_for_function(
        f"document.querySelectorAll('.chart svg.marks').length >= {CHARTS[name]}", timeout=20_000
    )
    complaints = [text for text in complaints if not text.startswith("data:")]
    assert complaints == []
    # as many pictures as announced, each with marks in it, none wider than the screen
    assert page.locator("figure").count() == page.locator(".chart svg.marks").count()
    for chart in page.locator(".chart svg.marks").all():
        assert chart.locator("path, line").count() > 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = (page.evaluate(f"getComputedStyle(document.body).{what}") for what in ("color", "backgroundColor"))
    light = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ink, paper)]
    assert (light[0] < light[1]) == (scheme == "light")
    # text in the pictures has the page's own colour
    assert page.evaluate("getComputedStyle(document.querySelector('.chart svg.marks text')).fill") == ink
    last = "compare" if name in ("compared", "floor") else "</script><b>&'"
    assert page.locator("pre").first.inner_text().endswith(last)
    assert chart_faults(page) == []
    if name == "followed":  # Reports are whole numbers.
        assert page.locator("#chart-gammas .role-axis-label text").all_text_contents()[:3] == ["2", "3", "4"]
    if scheme == "dark":
        assert serious_violations(page) == []
    elif name == "followed":  # When a window becomes narrow, legends take as many columns as fit.
        page.set_viewport_size({"width": 390, "height": 900})
        page.wait_for_function("document.querySelector('.chart svg.marks').clientWidth < 390")
        assert chart_faults(page) == []
    page.context.close()


def test_a_change_to_the_page_that_calls_out_is_caught(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    """The page's own policy stops it, and the console says so."""
    broken = tmp_path / "broken.html"
    text = pages["hidden"].read_text(encoding="utf-8")
    broken.write_text(text.replace("</main>", '<img src="https://example.org/x.png"></main>'), encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(broken.as_uri())
    assert any("Content Security Policy" in text for text in complaints)
    context.close()
