"""Where bars, bands and dots are."""

import math

import pytest

from untrackable.collector.dashboard.chart_shapes import bars, ticks, trend_panels


def test_bars_are_shares_of_the_widest() -> None:
    row = {"label": "a", "frequency": 0.2, "lower": 0.1, "upper": 0.4, "stands_out": True}
    below = {"label": "b", "frequency": 0.0, "lower": 0.0, "upper": 0.02, "stands_out": False}
    unknown = {"label": "c", "frequency": None, "lower": 0.0, "upper": 0.4, "stands_out": False}
    first, second, third = bars([row, below, unknown], [row, below, unknown])
    assert (third.share, third.length, third.low, third.high) == ("cannot tell", 0, 0, 100)
    beyond = {"label": "d", "frequency": 0.5, "lower": 0.1, "upper": 0.4, "stands_out": True}
    assert bars([beyond], [beyond])[0].length == 100  # No bar is longer than its interval.
    assert (first.length, first.low, first.high) == (50, 25, 100)
    assert (first.share, first.range) == ("20.00 %", "10.00 to 40.00 %")
    assert (second.length, second.low, second.high) == (0, 0, 5)
    assert bars([], []) == []


def test_panels_have_one_scale() -> None:
    found = trend_panels(
        {
            "rounds": [3, 5, 7],
            "labels": ["a", "b"],
            "frequencies": [[0.2, 0.3, 0.4], [0.0, None, 0.1]],
            "lower": [[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]],
            "upper": [[0.3, 0.4, 0.5], [0.1, 0.2, 0.3]],
        },
        width=100,
        height=60,
    )
    a, b = found.panels
    assert a.dots == [(0, 36, "round 3: 20.00 %"), (50, 24, "round 5: 30.00 %"), (100, 12, "round 7: 40.00 %")]
    assert a.line == "0,36 50,24 100,12"
    assert a.band == "0,24 50,12 100,0 100,24 50,36 0,48"
    assert b.dots == [(0, 60, "round 3: 0.00 %"), (100, 48, "round 7: 10.00 %")]
    assert found.across == [(0, "3"), (100, "7")]
    assert found.up[0] == (60, "0 %")
    assert found.left == 44


def test_numbers_without_a_bound_end_at_the_edge_and_long_marks_have_room() -> None:
    found = trend_panels(
        {
            "rounds": [1, 2],
            "labels": ["median"],
            "frequencies": [[2e6, 3e6]],
            "lower": [[1e6, -math.inf]],
            "upper": [[math.inf, 4e6]],
        },
        width=100,
        height=40,
        words="{:,.0f}".format,
    )
    assert found.panels[0].band == "0,0 100,0 100,40 0,30"
    assert found.panels[0].dots[0] == (0, 20, "round 1: 2,000,000")
    assert found.up[-1] == (0, "4,000,000")
    assert found.left > 9 * 6.5


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.5, 1]), (0, 0.04, [0, 0.01, 0.02, 0.03, 0.04]), (-0.1, 0.3, [-0.1, 0, 0.1, 0.2, 0.3])],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_a_number_that_reports_do_not_tell_has_a_band_and_no_dot() -> None:
    trend = {
        "rounds": [1, 2, 3],
        "labels": ["median"],
        "frequencies": [[math.nan, 0.4, math.nan]],
        "lower": [[0.0, 0.3, 0.0]],
        "upper": [[1.0, 0.5, 1.0]],
    }
    (panel,) = trend_panels(trend).panels
    assert [words for _, _, words in panel.dots] == ["round 2: 40.00 %"]
    assert "nan" not in repr(panel)
