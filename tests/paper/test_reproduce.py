"""The paper reproduced: computed once, then looked at from all sides, through the command line too."""

import copy
import csv
import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from untrackable.cli import main
from untrackable.paper import paper

pytestmark = pytest.mark.xdist_group("paper")
ERRATA = (Path(__file__).parent.parent.parent / "docs" / "errata.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reproduction() -> paper.Reproduction:
    return paper.reproduce()


def test_all_worst_cases_to_nine_digits(reproduction: paper.Reproduction) -> None:
    worst = [row for row in reproduction.rows if row.statement.startswith("tight γ for")]
    assert len(worst) == 14
    for row, point in zip(worst, paper.published()["worst_case"], strict=True):
        assert float(row.ours) == pytest.approx(point["gamma"], rel=1e-12)
        assert row.verdict == "pass"
    assert float(worst[0].published) == 7.714008349934885
    assert float(worst[-1].published) == 288.6453266158751


def test_percentile_points(reproduction: paper.Reproduction) -> None:
    assert len(reproduction.points) == 28
    missed = [(point.reports, point.level) for point in reproduction.points if not point.agrees]
    assert missed == [(4, 0.5), (4, 0.9)]
    median = next(p for p in reproduction.points if (p.reports, p.level) == (4, 0.5))
    assert median.plotted[0] == pytest.approx(1.104, abs=0.001)
    assert median.signed.lower < 1.159 < median.signed.upper
    for point in reproduction.points:
        assert not point.plotted[1] <= point.absolute.upper <= point.plotted[2]
        assert point.absolute.lower > point.signed.upper
        assert point.sampled.level >= 0.95
        assert point.signed.width < 0.015


def test_samples_agree_with_the_exact_law(reproduction: paper.Reproduction) -> None:
    """28 intervals of level 0.954 each: 14 or more misses would happen once in 10^12."""
    misses = sum(
        not p.sampled.lower <= p.signed.upper or not p.signed.lower <= p.sampled.upper for p in reproduction.points
    )
    assert misses < 14


def test_every_difference_has_its_erratum_and_every_erratum_its_difference(
    reproduction: paper.Reproduction,
) -> None:
    listed = set(re.findall(r"^\| (E\d+) \|", ERRATA, re.M))
    shown = {row.erratum for row in reproduction.rows if row.verdict == "differs"}
    assert shown == listed
    for row in reproduction.rows:
        assert row.kind in ("exact", "upper", "lower", "bracket", "sampled")
        assert row.verdict == "pass" or row.erratum, row.statement


def test_published_values_are_only_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misprint in the data changes the verdict and nothing of ours."""
    before = [(row.ours, row.verdict) for row in (*paper.worst_cases(), *paper.confidence_rows())]
    data = copy.deepcopy(paper.published())
    data["worst_case"][3]["gamma"] *= 1 + 1e-8
    data["confidence"][0]["level"] += 1e-9
    data["remarks"]["gamma_after_6_reports_at_least"] = 56
    monkeypatch.setattr(paper, "published", lambda: data)
    after = [(row.ours, row.verdict) for row in (*paper.worst_cases(), *paper.confidence_rows())]
    assert [ours for ours, _ in before] == [ours for ours, _ in after]
    changed = [i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one[1] != other[1]]
    assert changed == [3, 15, len(before) - 2]


def test_formulas_as_printed() -> None:
    shown = {row.erratum: row for row in (*paper.bitwise_rows(), *paper.inner_product_rows()) if row.erratum}
    assert shown["E6"].verdict == shown["E9"].verdict == shown["E10"].verdict == "differs"
    assert float(shown["E9"].ours) == pytest.approx(0.38)
    assert float(shown["E10"].ours) < 0.02 * float(shown["E10"].published)


def test_command_line(reproduction: paper.Reproduction, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paper, "reproduce", lambda seed, progress: reproduction)
    table, picture = tmp_path / "rows.csv", tmp_path / "figures.png"
    run = CliRunner().invoke(main, ["paper", "--json", "--export", str(table), "--plot", str(picture)])
    assert run.exit_code == 0, run.output
    data = json.loads(run.stdout)
    assert len(data["rows"]) == len(reproduction.rows)
    assert len(data["percentiles"]) == 28
    numbers = [(row["published_number"], row["ours_number"]) for row in data["rows"]]
    assert sum(None not in pair for pair in numbers) >= 30
    assert picture.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["statement"] for row in written] == [row["statement"] for row in data["rows"]]
    assert float(written[-1]["ours_number"] or "nan") == pytest.approx(
        math.nan if numbers[-1][1] is None else numbers[-1][1], nan_ok=True
    )
    text = CliRunner().invoke(main, ["paper"]).stdout
    differs = sum(row.verdict == "differs" for row in reproduction.rows)
    assert f"{len(reproduction.rows) - differs} pass, {differs} differ" in text
    assert text.count("288.6453266158751") == 2


def test_an_unexplained_difference_fails(reproduction: paper.Reproduction, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = paper.PaperStatement(
        section="S", statement="s", published="1", ours="2", kind="exact", verdict="differs"
    )
    broken = paper.Reproduction([*reproduction.rows, wrong], reproduction.points)
    monkeypatch.setattr(paper, "reproduce", lambda seed, progress: broken)
    assert CliRunner().invoke(main, ["paper", "--json"]).exit_code == 1
