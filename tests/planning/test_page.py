"""The page of a plan in a real browser: pictures are drawn, sliders change them and agree with the library."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.auditing.test_page import browser as browser  # the same browser, as a fixture
from untrackable import Goals, Plan, plan
from untrackable.planning.grids import grids
from untrackable.planning.page import plan_page

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    found = plan(goals=Goals(people=10**6, values=2, rounds=8, eps=1.0, advantage=0.05, error=0.05))
    path = tmp_path_factory.mktemp("plan") / "plan.html"
    done: list[float] = []
    path.write_text(plan_page(found, ["plan", "x=</script><b>"], lambda what, part: done.append(part)), "utf-8")
    assert done == sorted(done)
    assert 0 <= done[0] < 0.1
    assert 0.9 < done[-1] <= 1
    return found, path


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_page_loads_and_sliders_move(browser: Browser, made: tuple[Plan, Path], width: int, scheme: str) -> None:
    found, path = made
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        offline=True,
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelectorAll('.chart svg.marks').length >= 3", timeout=60_000)
    assert complaints == []
    assert page.locator("figure").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = {cells[0]: cells for cells in _table(page)}
    best = found.options[0]
    assert float(rows[best.name][1].removeprefix("≤ ")) == pytest.approx(best.error_upper, rel=0.03)
    assert rows[best.name][4] == "yes"
    assert rows["deck"][3] == "0"
    assert rows["memoized"][4].startswith("no: its reports can be followed")
    # ten thousand times fewer people: a hundred times the error, and no longer within the goal
    before = page.locator("#chart-errors svg.marks").inner_html()
    page.evaluate(
        "s => { s = document.getElementById('set-people'); s.value = 2; s.dispatchEvent(new Event('input')); }"
    )
    page.wait_for_function(
        "before => document.querySelector('#chart-errors svg.marks').innerHTML !== before",
        arg=before,
        timeout=20_000,
    )
    after = {cells[0]: cells for cells in _table(page)}
    assert float(after[best.name][1].removeprefix("≤ ")) == pytest.approx(100 * best.error_upper, rel=0.03)
    assert after[best.name][4] == "no"
    assert complaints == []
    context.close()


def _table(page: object) -> list[list[str]]:
    script = "() => [...document.querySelectorAll('#live tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    found: list[list[str]] = page.evaluate(script)  # type: ignore[attr-defined]
    return found


def test_grids_are_plans_themselves(made: tuple[Plan, Path]) -> None:
    found, path = made
    drawn = grids(found)
    assert {"deck", "fading", "rnip", "memoized", "bitwise"} <= {line.name for line in drawn.lines}
    deck = next(line for line in drawn.lines if line.name == "deck")
    for i, j in ((0, 0), (len(drawn.eps) - 1, len(drawn.rounds) - 1)):
        goals = found.goals.replace(eps=drawn.eps[i], rounds=drawn.rounds[j], error=None)
        option = next(o for o in plan(goals=goals).options if o.name == "deck")
        unit = deck.units[i][j]
        assert unit is not None
        assert option.error_upper == pytest.approx(unit / 1000, rel=1e-9)
    assert json.loads(path.read_text("utf-8").split('id="audit-data">')[1].split("</script>")[0])["options"]
