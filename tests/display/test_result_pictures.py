"""Pictures of results: they show the numbers, say how certain they are, and nothing of them is cut off."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from tests.display.notebook_results import OTHERS, TABLES, result
from untrackable.display.picture import Picture
from untrackable.display.result_pictures import picture_of
from untrackable.errors import ExtraMissing

pytestmark = pytest.mark.xdist_group("notebooks")  # they share the results
PHONE, INCH = 390, 96
"""The width of a phone, and of an inch, in pixels."""


def texts(picture: Any) -> list[Text]:
    """All texts of a picture that are seen, where they are drawn."""
    picture.figure.draw_without_rendering()
    found = picture.figure.findobj(lambda artist: isinstance(artist, Text))
    return [text for text in found if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("name", [*TABLES, *OTHERS])
def test_pictures_say_how_certain_they_are_and_can_be_read_on_a_phone(name: str) -> None:
    picture = result(name).plot()
    assert isinstance(picture, Picture)
    assert repr(picture) == f"<Picture: {picture.words}>"
    drawn = texts(picture)
    legends = " ".join(text.get_text() for panel in picture.figure.subfigs for text in panel.legends[0].get_texts())
    assert re.search(r"\((exact|upper|sampled|approximate)|upper bound|was asked|asked for", legends), legends
    assert all(panel.legends for panel in picture.figure.subfigs), "every panel says what its marks mean"
    scale = PHONE / (picture.figure.get_figwidth() * INCH)
    assert min(float(text.get_fontsize()) for text in drawn) * INCH / 72 * scale > 8
    inside, (width, height) = picture.figure.get_tightbbox(), picture.figure.get_size_inches()
    assert min(inside.x0, inside.y0) >= -0.01, "something is cut off at the left or below"
    assert max(inside.x1 - width, inside.y1 - height) <= 0.01, "something is cut off at the right or above"


def test_a_notebook_shows_letters_that_can_be_read_aloud() -> None:
    svg = result("answer").plot()._repr_svg_()
    assert svg.startswith("<svg")
    assert "<script" not in svg
    assert "&lt;b&gt;one&lt;/b&gt;" in svg
    assert "$four$ and a name" in svg
    assert "<title>Shares of 3 values, from 3,000 reports</title>" in svg
    assert not re.search(r"\d{4}-\d{2}-\d{2}", svg), "no date"


@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")])
def test_the_ending_chooses_the_format(ending: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"picture{ending}"
    picture = result("estimate").plot(path)
    written = path.read_bytes()
    assert written.startswith(start)
    assert picture.save(tmp_path / f"again{ending}").read_bytes() == written


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
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for module in [name for name in sys.modules if name.startswith("untrackable.display.")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ExtraMissing, match=r"pip install 'untrackable\[plots\]'"):
        result("estimate").plot("picture.png")


def test_other_things_have_no_picture() -> None:
    with pytest.raises(TypeError, match="there is no picture of int"):
        picture_of(3, 20)


def axes_of(name: str, **given: Any) -> list[Any]:
    figure = result(name).plot(**given).figure
    return [axes for panel in figure.subfigs for axes in panel.axes]


def test_bars_are_the_shares_and_their_intervals() -> None:
    (axes,) = axes_of("estimate")
    rows = result("estimate").top(3)
    assert [bar.get_width() for bar in axes.patches] == [row.frequency for row in rows]
    (intervals,) = axes.collections
    ends = [[(row.lower, i), (row.upper, i)] for i, row in enumerate(rows)]
    assert np.allclose(intervals.get_segments(), ends)
    (first, *_), few = axes_of("estimate", top=1), result("discovered").plot(top=30)
    assert len(first.patches) == 1
    assert "25 strings found in 1,000 reports, and 1 lead" in few.words
    colors = [bar.get_facecolor() for bar in few.figure.subfigs[0].axes[0].patches]
    assert len(set(colors[:25])) == 1
    assert colors[25] != colors[0]


def test_numbers_are_in_order_and_changes_are_marked() -> None:
    bars, *trends = axes_of("numbers")
    assert [label.get_text() for label in bars.get_yticklabels()] == ["0", "1", "2", "3"]
    assert len(trends) == 4
    assert [line.get_marker() for line in axes_of("median")[0].lines] == [".", "^"]


def test_numbers_without_bounds_can_be_drawn() -> None:
    endless = np.full(6, np.inf)
    trend = replace(result("median"), estimates=endless, lower=-endless, upper=endless)
    (axes,) = [axes for panel in trend.plot().figure.subfigs for axes in panel.axes]
    assert np.isfinite(axes.lines[0].get_ydata()).all()


def test_an_audit_draws_the_limits_and_the_attacks() -> None:
    audit = result("attacked")
    followed, privacy = axes_of("attacked")
    limits = [line for line in followed.lines if line.get_linewidth() == 2]
    assert limits[0].get_ydata().tolist() == [point.recognised.upper for point in audit.curves.points]
    assert limits[1].get_ydata().tolist() == [point.recognised.upper for point in audit.attended.curve]
    marks = {line.get_marker(): float(line.get_ydata()[0]) for line in followed.lines if line.get_markersize() == 8}
    assert marks["D"] == max(audit.linked.top1.sampled, 0.5 / audit.crowd)
    assert marks["o"] == max(audit.attended.matched.alone.sampled, 0.5 / audit.crowd)
    shown = {
        label.get_text(): bar.get_width()
        for label, bar in zip(privacy.get_yticklabels(), privacy.patches, strict=True)
    }
    assert shown["for ever"] == audit.everlasting.gamma.upper


def test_an_audited_file_draws_what_is_certain_and_what_was_seen() -> None:
    audit = result("file")
    (axes,) = axes_of("file")
    attacks = list(audit.attacks.values())
    assert [bar.get_width() for bar in axes.patches[len(attacks) :]] == [attack.lower for attack in attacks]
    assert axes.lines[0].get_xdata().tolist() == [attack.sampled for attack in attacks]


def test_an_audited_client_draws_bounds_beside_claims() -> None:
    audit = result("client")
    eps, shares = axes_of("client")
    assert [bar.get_width() for bar in eps.patches] == [
        audit.eps.lower,
        audit.eps_one.lower,
        audit.gamma.lower,
    ]
    assert eps.lines[-1].get_data() == ((9.0,), (0,)), "nothing is claimed of one report"
    found = (audit.tracking, audit.recovered, audit.recovered_one)
    assert [bar.get_width() for bar in shares.patches] == [each.lower for each in found]
    assert [line.get_xdata()[0] for line in shares.lines[:3]] == [each.sampled for each in found]
    assert shares.lines[3].get_xdata().tolist() == [0.0, 0.5, 0.5], "without reports"
    naked = replace(audit, eps=replace(audit.eps, sampled=np.inf, lower=1.0), claimed_eps=0.5)
    told = [text.get_text() for text in texts(naked.plot())]
    assert any(text.endswith("; seen: ∞") for text in told)
    assert "CLAIM REFUTED: eps is larger than claimed" in told
    linked = replace(audit, tracking=replace(audit.tracking, lower=0.4), claimed_advantage=0.2)
    told = [text.get_text() for text in texts(linked.plot())]
    assert "CLAIM REFUTED: advantage is larger than claimed" in told
    assert "claimed, at most" in told


def test_a_comparison_has_every_mechanism_in_a_row() -> None:
    rows = result("comparison").rows
    followed, accurate = axes_of("comparison")
    assert [label.get_text() for label in followed.get_yticklabels()] == [row.name for row in rows]
    assert followed.collections[-1].get_offsets()[:, 0].tolist() == [row.recognised.upper for row in rows]
    assert accurate.collections[-1].get_offsets()[:, 0].tolist() == [row.all_rounds for row in rows]
    (rings,) = (line for line in followed.lines if line.get_marker() == "o")
    assert rings.get_markersize() ** 2 > 2 * followed.collections[-1].get_sizes()[0], "seen around a dot"


@pytest.mark.parametrize("name", ["plan", "crowd plan", "strings plan", "no plan"])
def test_a_plan_shows_its_errors_and_those_with_other_people(name: str) -> None:
    plan = result(name)
    errors, people = axes_of(name)
    promised = [min(1.0, each.radius_upper) for each in (plan.one_round, plan.quarter, plan.all_rounds)]
    (bars,) = (each for each in errors.collections if hasattr(each, "get_segments"))
    assert [segment[1][0] for segment in bars.get_segments()] == promised
    if plan.one_round.radius_upper <= 1:
        at, error = people.lines[-1].get_data()
        assert (at[0], error[0]) == (plan.solved.people, plan.one_round.radius_upper)
    told = [text.get_text() for text in texts(plan.plot())]
    assert any("asked for: at most" in text for text in told) == (name == "no plan")
    assert result("together").plot().words.startswith("The error of a share, at most (upper), for one round, ")


@pytest.mark.parametrize("name", ["experiment", "upper", "infinite", "nothing"])
def test_an_experiment_draws_its_upper_ends(name: str) -> None:
    pair = result(name)
    deltas, trade_off = axes_of(name)
    gammas, drawn = deltas.lines[0].get_data()
    for gamma, delta in list(zip(gammas, drawn, strict=True))[::12]:
        assert delta == pair.delta(float(gamma)).upper
    rates, powers = trade_off.lines[0].get_data()
    assert np.array_equal(powers, pair.roc(len(rates)).upper)
    legend = " ".join(text.get_text() for text in deltas.figure.legends[0].get_texts())
    assert ("(upper)" in legend) == (name == "upper")
