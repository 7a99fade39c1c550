"""Charts and pictures: series that coincide are all seen, numbers say how certain they are, nothing is cut off."""

import itertools
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.display.notebook_results import OTHERS, TABLES, result
from untrackable.display.charts import Key, Picture, Series, axis_label, line_series, log_ticks, picture_of, points
from untrackable.display.view import Chart
from untrackable.errors import ExtraMissing

pytestmark = pytest.mark.xdist_group("notebooks")  # they share the results


@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_lines_and_marks_that_coincide_are_all_seen(count: int) -> None:
    """Dashes have one period and get shorter, marks get smaller: each leaves a part of those before it."""
    series = line_series([str(i) for i in range(count)], marks=True)
    assert series[0].dash[1] == 0
    assert len({round(sum(each.dash), 9) for each in series}) == 1
    for before, after in itertools.pairwise(series):
        assert before.dash[0] - after.dash[0] >= 2
        assert before.size**0.5 - after.size**0.5 >= 1.4
    assert len({each.mark for each in series}) == len({each.colour for each in series}) == count


def test_a_legend_shows_marks_and_dashes() -> None:
    assert Series("a", "#000000", mark="diamond").sample == "diamond"
    assert Series("a", "#000000", (1, 0)).sample == "M-1.5,0L0,0M0,0L1.5,0"
    assert Series("a", "#000000", (5, 5)).sample == "M-1.5,0L-0.75,0M0,0L0.75,0"
    names = ["it's", 'a "name"', "c"]
    domain = Key(line_series(names)).legend.to_dict()["encoding"]["shape"]["scale"]["domain"]
    assert domain == names


def test_names_are_short_and_printable() -> None:
    assert axis_label("news", 8) == "news"
    assert axis_label("a very long name", 8) == "a very …"
    assert axis_label("$x$\x1b[2J", 20) == "$x$�[2J"


def test_a_logarithmic_axis_marks_a_few_numbers() -> None:
    assert log_ticks(0.02, 0.3) == pytest.approx([0.02, 0.05, 0.1, 0.2])
    assert log_ticks(0.1, 50) == pytest.approx([0.1, 0.3, 1, 3, 10, 30])
    assert log_ticks(1, 10_000) == [1, 10, 100, 1000, 10_000]


def test_the_same_numbers_give_the_same_file(tmp_path: Path) -> None:
    """Also where the font lacks a letter, which is no warning."""
    written = []
    for name in ("one.png", "two.png"):
        drawing = points([{"x": 0}, {"x": 1}]).mark_point().encode(x="x:Q")
        picture = Picture.of([Chart(name="a", title="ꙮ", drawing=drawing)])
        written.append(picture.save(tmp_path / name).read_bytes())
    assert written[0] == written[1]


PHONE = 390
"""The width of a phone in pixels."""


def charts(picture: Any) -> list[dict[str, Any]]:
    """The charts of a picture, from above. Each layer has its rows."""
    spec = picture.chart.to_dict()
    made: list[dict[str, Any]] = spec["vconcat"]
    for chart in made:
        for layer in chart["layer"]:
            data = layer.get("data") or chart["data"]
            layer["rows"] = spec["datasets"][data["name"]] if "name" in data else data["values"]
    return made


def charts_of(name: str, **given: Any) -> list[dict[str, Any]]:
    return charts(result(name).plot(**given))


def title(chart: dict[str, Any]) -> str:
    return " ".join(chart["title"]["text"])


def legend(chart: dict[str, Any]) -> list[str]:
    """What the marks of a chart mean."""
    keys = [layer["encoding"]["shape"] for layer in chart["layer"] if "shape" in layer.get("encoding", {})]
    return [name for key in keys if key["scale"] for name in key["scale"]["domain"]]


def drawn(chart: dict[str, Any], mark: str, field: str) -> list[list[Any]]:
    """A field of the rows of each layer with this mark."""
    tables = [layer["rows"] for layer in chart["layer"] if layer["mark"]["type"] == mark and layer["rows"]]
    return [[row[field] for row in rows] for rows in tables if field in rows[0]]


def names(chart: dict[str, Any]) -> str:
    """The names beside the rows, as the axis has them."""
    (axis,) = {
        layer["encoding"]["y"]["axis"]["labelExpr"]
        for layer in chart["layer"]
        if "axis" in layer["encoding"].get("y", {})
    }
    return str(axis)


@pytest.mark.parametrize("name", [*TABLES, *OTHERS])
def test_pictures_say_how_certain_they_are_and_can_be_read_on_a_phone(name: str) -> None:
    picture = result(name).plot()
    assert isinstance(picture, Picture)
    assert repr(picture) == f"<Picture: {picture.words}>"
    meanings = " ".join(each for chart in charts(picture) for each in legend(chart))
    certain = r"\((exact|upper|sampled|approximate|lower)|upper bound|private for|asked for"
    assert re.search(certain, meanings), meanings
    assert legend(charts(picture)[-1]), "the picture says what its marks mean"
    svg = picture._repr_svg_()
    width = int(re.findall(r'width="(\d+)"', svg)[0])
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)]
    assert min(sizes) * PHONE / width > 8
    assert width < 530


def test_a_notebook_shows_letters_that_can_be_read_aloud() -> None:
    svg = result("answer").plot()._repr_svg_()
    assert svg.startswith("<svg")
    assert "<script" not in svg
    assert "&lt;b&gt;one&lt;/b&gt;" in svg
    assert "$four$ and a name" in svg
    assert "<title>Shares of 3 values, from 3,000 reports</title>" in svg
    assert not re.search(r"\d{4}-\d{2}-\d{2}", svg), "no date"


@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<svg"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")])
def test_the_ending_chooses_the_format(ending: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"picture{ending}"
    picture = result("estimate").plot(path)
    written = path.read_bytes()
    assert written.startswith(start)
    again = picture.save(tmp_path / f"again{ending}").read_bytes()
    assert again == written if ending != ".pdf" else len(again) == len(written)
    if ending == ".PNG":
        assert Image.open(path).text["Description"] == picture.words  # type: ignore[attr-defined]


def test_nothing_is_overwritten_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    path.write_text("mine")
    with pytest.raises(
        FileExistsError, match=r"picture\.svg exists already; choose another name, or give force=True"
    ):
        result("estimate").plot(path)
    assert path.read_text() == "mine"
    result("estimate").plot(str(path), force=True)
    assert path.read_text() != "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_bad_paths_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in one of .png, .svg, .pdf, got 'picture.jpg'"):
        result("estimate").plot(tmp_path / "picture.jpg")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        result("estimate").plot(tmp_path / "nowhere" / "picture.png")
    with pytest.raises(ValueError, match="top must be at least 1"):
        result("estimate").plot(top=0)
    assert not list(tmp_path.iterdir())


def test_without_the_extra_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for module in [name for name in sys.modules if name.startswith("untrackable.display.")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ExtraMissing, match=r"pip install 'untrackable\[plots\]'"):
        result("estimate").plot("picture.png")


def test_other_things_have_no_picture() -> None:
    with pytest.raises(TypeError, match="there are no charts of int"):
        picture_of(3, 20)


def test_bars_are_the_shares_and_their_intervals() -> None:
    (chart,) = charts_of("estimate")
    rows = result("estimate").top(3)
    assert drawn(chart, "bar", "length") == [[row.frequency for row in rows]]
    for end in ("lower", "upper"):
        assert drawn(chart, "rule", end) == [[getattr(row, end) for row in rows]]
    (first,), few = charts_of("estimate", top=1), result("discovered").plot(top=30)
    assert drawn(first, "bar", "place") == [[0]]
    assert "25 strings found in 1,000 reports, and 1 lead" in few.words
    certain, leads = drawn(charts(few)[0], "bar", "place")
    assert (certain, leads) == (list(range(25)), [25])


def test_numbers_are_in_order_and_changes_are_marked() -> None:
    bars, *trends = charts_of("numbers")
    assert '["0","1","2","3"]' in names(bars).replace(" ", "")
    assert [title(trend) for trend in trends] == ["The values round by round: 0", "1", "2", "3"]
    (median,) = charts_of("median")
    assert drawn(median, "point", "height") != []
    assert legend(median)[-1].startswith("rose, for certain within")


def test_numbers_without_bounds_can_be_drawn() -> None:
    endless = np.full(6, np.inf)
    trend = replace(result("median"), estimates=endless, lower=-endless, upper=endless)
    (chart,) = charts(trend.plot())
    assert all(np.isfinite(drawn(chart, "line", "estimate")[0]))


def test_an_audit_draws_the_limits_and_the_attacks() -> None:
    audit = result("attacked")
    recognised, attended, eps = charts_of("attacked")
    for chart, curve in ((recognised, audit.curves.points), (attended, audit.attended.curve)):
        rows = drawn(chart, "line", "y")[0]
        assert rows[: len(curve)] == [point.recognised.upper for point in curve]
    same, apart = audit.linked.top1, audit.linked_apart.top1
    assert drawn(recognised, "point", "y")[-2:] == [[same.sampled], [apart.sampled]]
    matched = audit.attended.matched
    least = 0.5 / audit.crowd
    assert drawn(attended, "point", "y") == [
        [max(least, each.sampled)] for each in (matched.alone, matched.together)
    ]
    bounded = [bar for bars in drawn(eps, "bar", "length") for bar in bars]
    assert audit.everlasting.gamma.upper in bounded
    assert '"for ever"' in names(eps)


def test_an_audited_file_draws_what_is_certain_and_what_was_seen() -> None:
    audit = result("file")
    advantages, pairs = charts_of("file")
    attacks = audit.attacks.values()
    assert drawn(advantages, "bar", "length") == [[attack.lower for attack in attacks]]
    assert drawn(advantages, "point", "seen") == [[attack.sampled for attack in attacks]]
    assert audit.tracking.same.sampled in drawn(pairs, "bar", "length")[0]


def test_an_audited_client_draws_bounds_beside_claims() -> None:
    audit = result("client")
    eps, shares = charts_of("client")
    assert drawn(eps, "bar", "length") == [[audit.eps.lower, audit.eps_one.lower, audit.gamma.lower]]
    assert drawn(eps, "tick", "claimed") == [[9.0]], "nothing is claimed of one report"
    measured = (audit.tracking, audit.recovered, audit.recovered_one)
    assert drawn(shares, "bar", "length") == [[each.lower for each in measured]]
    assert drawn(shares, "point", "seen") == [[each.sampled for each in measured]]
    assert drawn(shares, "tick", "guess") == [[0.0, 0.5, 0.5]], "without reports"
    naked = replace(audit, eps=replace(audit.eps, sampled=np.inf, lower=1.0), claimed_eps=0.5)
    above, _ = charts(naked.plot())
    assert drawn(above, "text", "told")[0][0].endswith("; seen: ∞")
    assert title(above) == "CLAIM REFUTED: eps is larger than claimed"
    linked = replace(audit, tracking=replace(audit.tracking, lower=0.4), claimed_advantage=0.2)
    _, below = charts(linked.plot())
    assert title(below) == "CLAIM REFUTED: advantage is larger than claimed"
    assert "claimed, at most" in legend(below)


def test_a_comparison_has_every_mechanism() -> None:
    rows = result("comparison").rows
    (chart,) = charts_of("comparison")
    marks = [row for layer in drawn(chart, "point", "name") for row in layer]
    assert sorted(marks) == sorted(row.name for row in rows)
    text = ", ".join(name for names in drawn(chart, "text", "names") for name in names).replace(",\n", ", ")
    assert sorted(text.split(", ")) == sorted(row.name for row in rows), "every name is seen"


@pytest.mark.parametrize("name", ["plan", "crowd plan", "strings plan", "no plan"])
def test_a_plan_shows_its_errors_and_those_with_other_people(name: str) -> None:
    plan = result(name)
    errors, *others = charts_of(name)
    promised = [min(1.0, each.radius_upper) for each in (plan.one_round, plan.quarter, plan.all_rounds)]
    assert drawn(errors, "bar", "length") == [promised]
    if plan.one_round.radius_upper <= 1:
        people, _ = others
        assert drawn(people, "point", "x")[-1] == [plan.solved.people]
        assert drawn(people, "point", "y")[-1] == [plan.one_round.radius_upper]
    assert any("asked for: at most" in each for each in legend(errors)) == (name == "no plan")
    assert result("together").plot().words.startswith("The error of a share, at most (upper), for one round, ")


@pytest.mark.parametrize("name", ["experiment", "upper", "infinite", "nothing"])
def test_an_experiment_draws_its_upper_ends(name: str) -> None:
    pair = result(name)
    deltas, trade_off = charts_of(name)
    for gammas, drawn_deltas in zip(drawn(deltas, "line", "gamma"), drawn(deltas, "line", "delta"), strict=True):
        for gamma, delta in list(zip(gammas, drawn_deltas, strict=True))[::12]:
            assert delta == pair.delta(float(gamma)).upper
    powers = drawn(trade_off, "line", "power")[0]
    assert np.array_equal(powers, pair.roc(len(powers)).upper)
    assert any("(upper)" in each for each in legend(deltas)) == (name == "upper")
