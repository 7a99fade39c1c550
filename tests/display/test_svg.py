"""Charts as SVG: the same numbers as Altair's, at one scale, and nothing where the reports do not tell a number."""

import math
import re

import numpy as np
import pytest

from untrackable.answers.trend import NumberTrend
from untrackable.auditing.attacks import Followed
from untrackable.display.charts import Bar, ShareBars
from untrackable.display.estimate import interval_bars
from untrackable.display.observer import following_chart
from untrackable.display.svg import bar_rows, legend, svg_of, ticks
from untrackable.display.trend import TrendBand, trend_group
from untrackable.estimation.rounds import Change
from untrackable.theory.accuracy import Matched


def bars(*shares: Bar) -> ShareBars:
    drawing: ShareBars = interval_bars("Shares", shares, 0.05).drawing
    return drawing


def number_trend(
    estimates: list[float], low: list[float], high: list[float], *, unit: str | None = None, name: str = "a"
) -> NumberTrend:
    return NumberTrend(
        name=name,
        rounds=tuple(range(3, 3 + 2 * len(estimates), 2)),
        reports=(100,) * len(estimates),
        estimates=np.array(estimates),
        standard_errors=None,
        lower=np.array(low),
        upper=np.array(high),
        beta=0.05,
        independent=True,
        changes=(),
        unit=unit,
    )


def bands(*trends: NumberTrend) -> list[TrendBand]:
    return [chart.drawing for chart in trend_group(trends, "Trends")]


def values_of(drawing: object, field: str) -> list[float]:
    """All numbers that Altair's chart has in a field."""
    text = str(drawing.altair().to_dict())  # type: ignore[attr-defined]
    return [float(number) for number in re.findall(rf"'{field}': (-?[0-9.e-]+)", text)]


def test_bars_are_shares_of_the_widest() -> None:
    drawing = bars(
        Bar("a", 0.2, 0.1, 0.4, True),
        Bar("b", 0.0, 0.0, 0.02, False),
        Bar("c", None, 0.0, 0.4, False),
        Bar("d", 0.5, 0.1, 0.4, True),
    )
    first, second, third, beyond = bar_rows(drawing)
    assert 'width="50.0"' in first
    assert 'd="M25.0 8H100.0M25.0 4V12M100.0 4V12"' in first
    assert 'width="0.0"' in second
    assert 'd="M0.0 8H5.0M0.0 4V12M5.0 4V12"' in second
    assert 'width="0.0"' in third
    assert 'width="100.0"' in beyond  # No bar is longer than its interval.
    assert ['class="bar"' in row for row in (first, second, third, beyond)] == [True, False, False, True]
    assert bar_rows(bars()) == []
    assert drawing.lengths() == [0.2, 0.0, None, 0.4]
    assert set(values_of(drawing, "length")) == {0.0, 0.2, 0.4}


def test_panels_have_one_scale_and_the_numbers_of_other_charts() -> None:
    first, second = bands(
        number_trend([0.2, 0.3, 0.4], [0.1, 0.2, 0.3], [0.3, 0.4, 0.5]),
        number_trend([0.0, math.nan, 0.1], [0.0, 0.0, 0.0], [0.1, 0.2, 0.3], name="b"),
    )
    a, b = svg_of(first, "a < b"), svg_of(second, "b")
    assert 'aria-label="a &lt; b"' in a
    assert re.findall('<circle class="dot" cx="(.*?)" cy="(.*?)" r="3"><title>(.*?)<', a) == [
        ("0.0", "66.0", "round 3: 20.00 %"),
        ("140.0", "44.0", "round 5: 30.00 %"),
        ("280.0", "22.0", "round 7: 40.00 %"),
    ]
    assert '<polyline class="line" points="0,66 140,44 280,22">' in a
    assert '<polygon class="band" points="0,44 140,22 280,0 280,44 140,66 0,88">' in a
    assert re.findall("<title>(.*?)<", b) == ["round 3: 0.00 %", "round 7: 10.00 %"]
    assert "nan" not in b
    assert ">round 3</text>" in a
    assert ">0 %</text>" in a
    assert values_of(first, "estimate") == [0.2, 0.3, 0.4]
    assert values_of(first, "low") == [0.1, 0.2, 0.3]


def test_numbers_without_a_bound_end_beyond_the_others_and_long_marks_have_room() -> None:
    (band,) = bands(number_trend([2e6, 3e6], [1e6, -math.inf], [math.inf, 4e6], unit=""))
    drawn = svg_of(band, "median")
    places = re.findall('points="([^"]*)"', drawn)[0].split()
    assert places[0] == "0,0"
    assert places[2] == "280,92.09"  # a little below the lowest end that has a bound
    assert "<title>round 3: 2,000,000</title>" in drawn
    assert ">4e+06</text>" not in drawn
    assert ">4,000,000</text>" in drawn
    assert -float(re.findall('viewBox="(\\S+) ', drawn)[0]) > 9 * 6.5
    assert svg_of(bands(number_trend([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]))[0], "flat")


def test_a_change_has_its_reach_and_its_mark() -> None:
    change = Change(
        rose=True, first=3, last=7, at=5, before=(3, 3), after=(5, 7), difference=0.2, lower=0.1, upper=0.3
    )
    (band,) = bands(number_trend([0.1, 0.3, 0.3], [0.0, 0.2, 0.2], [0.2, 0.4, 0.4]))
    drawn = svg_of(band._replace(changes=((change, 0.3),)), "a")
    assert '<path class="change rose reach" d="M0.0 27.5H280.0">' in drawn
    assert 'transform="translate(140.0 27.5)"' in drawn
    assert "change" not in svg_of(band, "a")


def test_lines_stand_beside_each_other() -> None:
    matched = Matched(300, 0.5, 0.4, 0.6, 0.95)
    points = [Followed(n, d, r, matched, None) for n in ("one", "two") for d in (False, True) for r in (1, 4)]
    drawing = following_chart(points).drawing
    drawn = svg_of(drawing, "matches")
    reach = re.findall('<path class="reach" d="M(\\S+) ', drawn)
    assert len(set(reach)) == len(reach) == 8  # no interval hides another
    assert drawn.count("<polyline ") == 4
    assert drawn.count("<polyline points") == 4
    assert drawn.count('stroke-dasharray="5 4"') == 2
    assert [name for _, name in legend(drawing.legend())] == [
        "one",
        "two",
        "people with different values",
        "95 % interval",
        "a guess",
    ]
    assert values_of(drawing, "share") == [0.5] * 8


def test_only_charts_with_numbers_are_drawn() -> None:
    with pytest.raises(TypeError, match="dict has no numbers to draw"):
        svg_of({}, "")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.5, 1]), (0, 0.04, [0, 0.01, 0.02, 0.03, 0.04]), (-0.1, 0.3, [-0.1, 0, 0.1, 0.2, 0.3])],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)
