"""What charts share: series that coincide are all seen."""

import itertools
from pathlib import Path

import pytest

from untrackable.display.charts import Key, Series, axis_label, line_series, log_ticks, points
from untrackable.display.picture import Picture
from untrackable.display.view import Chart


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
