"""The page of a plan in a real browser: pictures are drawn, sliders change them and agree with the library."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser

from tests.browser.page_checks import serious_violations
from tests.display.chart_checks import chart_faults, opened
from tests.display.test_audit_page import browser as browser  # the same browser, as a fixture
from untrackable import Goals, plan
from untrackable.brackets import at_most
from untrackable.display.plan_page import plan_page
from untrackable.planning import slider_grids
from untrackable.planning.forecast import errors, radius_beta, reports_counted
from untrackable.planning.plans import Plan
from untrackable.planning.slider_grids import Grids, grids

pytestmark = pytest.mark.xdist_group("browser")


class Made(NamedTuple):
    """A plan, the grids that were computed for its page, and the page."""

    plan: Plan
    grids: Grids
    path: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    found = plan(goals=Goals(people=10**6, values=2, rounds=8, eps=1.0, advantage=0.05, error=0.05))
    path = tmp_path_factory.mktemp("plan") / "plan.html"
    done: list[float] = []
    drawn: list[Grids] = []

    def kept(*given: Any) -> Grids:
        drawn.append(grids(*given))
        return drawn[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("untrackable.display.plan_page.grids", kept)
        page = plan_page(found, ["plan", "x=</script><b>"], lambda what, part: done.append(part or 0.0))
    path.write_text(page, "utf-8")
    assert done == sorted(done)
    assert 0 <= done[0] < 0.1
    assert 0.9 < done[-1] <= 1
    return Made(found, drawn[0], path)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_page_loads_and_sliders_move(browser: Browser, made: Made, width: int, scheme: str) -> None:
    found, _, path = made
    page, complaints = opened(browser, width, scheme)
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelectorAll('.chart svg.marks').length >= 5", timeout=60_000)
    assert complaints == []
    assert page.locator("figure").count() == 5
    assert page.locator("#chart-participation-recognition .role-legend-label text").all_text_contents() == [
        "stays of 1 round",
        "stays of 7 rounds",
        "stays of 30 rounds",
        "the plan",
        "tolerable limit",
    ]
    assert chart_faults(page) == []
    if scheme == "dark":
        assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = {cells[0]: cells for cells in _table(page)}
    best = found.options[0]
    assert float(rows[best.name][2].removeprefix("≤ ")) == pytest.approx(best.error_upper, rel=0.006)
    assert rows[best.name][1] == "yes"
    assert rows["deck"][4] == "one in 5"
    assert rows["deck"][5] == "0"
    assert rows["memoized"][1] == "no"
    assert rows["memoized"][6].startswith("Its reports can be followed")
    legend = page.locator("#chart-tracking .role-legend-label text").all_text_contents()
    assert best.name in legend
    assert "memoized" not in legend
    assert legend[-1] == "tolerable limit"
    assert page.locator("#live-verdict[role=status]").inner_text().startswith(f"These meet the goals: {best.name}")
    seen = page.locator("#live thead th").nth(1).bounding_box()
    assert seen is not None
    assert seen["x"] + seen["width"] <= width
    # ten thousand times fewer people: more than a hundred times the error, and no longer within the goal
    # a slider says its name and what it stands for, not the logarithm that it holds
    people = page.get_by_role("slider", name="people", exact=True)
    assert people.get_attribute("aria-valuetext") == "1 million"
    assert page.get_by_role("slider", name="largest error", exact=True).get_attribute("aria-valuetext") == "0.05"
    assert page.locator("output[for=set-people]").inner_text() == "1 million"
    before = page.locator("#chart-errors svg.marks").inner_html()
    page.evaluate(
        "s => { s = document.getElementById('set-people'); s.value = 2; s.dispatchEvent(new Event('input')); }"
    )
    page.wait_for_function(
        "before => document.querySelector('#chart-errors svg.marks').innerHTML !== before",
        arg=before,
        timeout=20_000,
    )
    assert people.get_attribute("aria-valuetext") == "100"
    assert page.locator("#live-verdict[role=status]").inner_text() == "No mechanism meets these goals."
    assert chart_faults(page) == []
    after = {cells[0]: cells for cells in _table(page)}
    more = errors(best.mechanism, best.goals, 100).figure
    assert more * (1 - 1e-9) <= float(after[best.name][2].removeprefix("≤ ")) <= 1.01 * more
    assert after[best.name][1] == "no"
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize(
    "demands",
    [
        {"people": 1_234_567, "values": 2, "rounds": 8, "eps": 1.0},
        {"values": 2, "rounds": 8, "eps": 1.0, "error": 0.0123},
        {"people": 1_234_567, "values": 2, "rounds": 8, "error": 0.0123},
        {"people": 50_000_000, "strings": 6, "rounds": 4, "eps": 4.0},
        {"people": 10**8, "values": 4, "rounds": "forever", "eps": 2.0, "pooled": 3, "one_network": True},
        {"people": 1_234_567, "values": 2, "rounds": 8, "eps": 1.0, "recognition": 1.0},
        {"people": 10**9, "values": 2, "rounds": 1200, "eps": 1.0, "advantage": 0.0},
        {"people": 1_234_567, "values": 20, "rounds": 8, "eps": 2.0, "want": "quantiles", "recognition": 1.0},
        {"values": 20, "rounds": 8, "eps": 2.0, "error": 0.0456, "want": "quantiles", "pooled": 2},
        {"people": 1_234_567, "values": 20, "rounds": 8, "error": 0.0123, "want": "mean"},
    ],
)
def test_the_page_starts_at_the_plan(
    browser: Browser, demands: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slider_grids, "_EPS", (1 / 2, 1))
    monkeypatch.setattr(slider_grids, "_ROUNDS", (1 / 2, 1))
    found = plan(**demands)
    path = tmp_path / "plan.html"
    path.write_text(plan_page(found, ["plan"]), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    best = found.options[0]
    row = next(cells for cells in _table(page) if cells[0] == best.name)
    assert row[1] == "yes"
    assert row[2] == ("≈ " if "strings" in demands else "≤ ") + at_most(best.error_upper, 3)
    text = page.locator("main").inner_text()
    assert ("All are upper bounds" in text) == ("Hoeffding" in text) == ("strings" not in demands)
    page.close()


MOVED = """numbers => numbers.map(people => {
  const slider = document.getElementById("set-people");
  slider.value = Math.log10(people);
  slider.dispatchEvent(new Event("input"));
  return Object.fromEntries([...document.querySelectorAll("#live tbody tr")].map(row => [row.cells[0].textContent, row.cells[2].textContent]));
})"""


@pytest.mark.parametrize(
    "demands",
    [
        {"people": 1_234_567, "values": 2, "rounds": 8, "eps": 1.0},
        {"people": 10**7, "values": 16, "rounds": 30, "eps": 2.0, "pooled": 7},
        {"people": 10**6, "values": 4, "rounds": 3, "eps": 6.0, "recognition": 1.0, "pooled": 2},
    ],
)
def test_the_page_has_the_errors_of_the_library(
    browser: Browser, demands: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of people: never less, and hardly more where an error is small enough to be of use."""
    monkeypatch.setattr(slider_grids, "_EPS", (1,))
    monkeypatch.setattr(slider_grids, "_ROUNDS", (1,))
    found = plan(**demands)
    path = tmp_path / "plan.html"
    path.write_text(plan_page(found, ["plan"]), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    numbers = sorted({100, 10**12, *(round(10 ** (2 + i / 7)) for i in range(70))})
    rows = page.evaluate(MOVED, numbers)
    page.close()
    compared = 0
    for option in found.options:
        for people, row in zip(numbers, rows, strict=True):
            error = errors(option.mechanism, option.goals, people).figure
            if (said := row.get(option.name, "–")) == "–":
                assert option.name not in row or error > 1
                continue
            shown = float(said.removeprefix("≤ "))
            digits = 3 if error >= 1e-4 else 2  # As the page rounds up.
            most = float(at_most((1.01 if error < 0.3 else 1.5) * error, digits))
            assert error * (1 - 1e-9) <= shown <= most * (1 + 1e-9), (option.name, people)
            compared += 1
    assert compared > 100


def _table(page: object) -> list[list[str]]:
    script = "() => [...document.querySelectorAll('#live tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    found: list[list[str]] = page.evaluate(script)  # type: ignore[attr-defined]
    return found


def test_grids_are_plans_themselves(made: Made) -> None:
    found, drawn, path = made
    assert {"deck", "fading", "rnip", "memoized", "bitwise"} <= {line.name for line in drawn.lines}
    deck = next(line for line in drawn.lines if line.name == "deck")
    memoized = next(line for line in drawn.lines if line.name == "memoized")
    said = {refusal.name: refusal.why for refusal in found.refusals}
    assert memoized.why[drawn.start["eps"]][drawn.start["rounds"]] == said["memoized"]
    assert all(
        (known is None) == bool(why)
        for line in drawn.lines
        for row, whys in zip(line.errors, line.why, strict=True)
        for known, why in zip(row, whys, strict=True)
    )
    for i, j in ((0, 0), (len(drawn.eps) - 1, len(drawn.rounds) - 1)):
        goals = found.goals.replace(eps=drawn.eps[i], rounds=drawn.rounds[j], error=None)
        option = next(o for o in plan(goals=goals).options if o.name == "deck")
        known = deck.errors[i][j]
        assert known is not None
        reports = reports_counted(10**6, option.goals.answered, radius_beta(option.mechanism, option.goals))
        assert (reports, option.error_upper) in known.knots
    assert json.loads(path.read_text("utf-8").split('id="audit-data">')[1].split("</script>")[0])["options"]
