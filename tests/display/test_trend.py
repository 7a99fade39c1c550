"""Numbers round by round for people: units that can be read, and tables that fit a terminal."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.display.notebook_results import result
from tests.display.test_charts import charts, drawn
from untrackable.answers.trend import NumberTrend
from untrackable.cli.terminal import parts
from untrackable.display.estimate import common_unit, quantity_in
from untrackable.display.trend import Trends, notes, tables, unchanged_sentence

pytestmark = pytest.mark.xdist_group("notebooks")  # they share the results


@pytest.mark.parametrize(
    ("numbers", "unit", "suited"),
    [
        ([890_000.0, 5_000.0, math.inf], "ms", "min"),
        ([16_000.0, -3.0], "ms", "s"),
        ([0.02], "s", "ms"),
        ([0.0], "ms", "ms"),
        ([math.inf], "ms", "ms"),
        ([2_500_000.0], "B", "MB"),
        ([7.0], "", ""),
    ],
)
def test_all_numbers_of_an_axis_have_one_unit(numbers: list[float], unit: str, suited: str) -> None:
    assert common_unit(numbers, unit) == suited


def test_ends_are_rounded_outwards_in_the_unit_of_the_column() -> None:
    assert quantity_in(58_740.0, "ms", "min", "down") == "0.979"
    assert quantity_in(58_741.0, "ms", "min", "up") == "0.98"
    assert quantity_in(-math.inf, "ms", "min") == "-∞"


def _median(**changes: object) -> NumberTrend:
    made: NumberTrend = replace(result("median"), **changes)
    return made


def test_axes_say_a_unit_that_suits_them() -> None:
    trend = _median(
        unit="ms", estimates=np.full(6, 9e5), lower=np.full(6, 3e5), upper=np.full(6, 1.2e6), changes=()
    )
    assert _axis(trend) == "min"
    (chart,) = charts(trend.plot())
    assert drawn(chart, "line", "estimate") == [[15.0] * 6]
    assert _axis(_median()) == "number"


def _axis(trend: NumberTrend) -> str:
    (chart,) = charts(trend.plot())
    return str(chart["layer"][0]["encoding"]["y"]["title"])


def test_numbers_beside_each_other_fit_the_terminal() -> None:
    result = Trends((), (_median(), _median(quantile=0.9), _median(quantile=0.95)), 0.05, "")
    (table,) = tables(result)
    assert table.headings == ("round", "reports", "median", "90th percentile", "95th percentile")
    assert list(parts(table, 200)) == [[0, 1, 2, 3, 4]]
    assert list(parts(table, 40)) == [[0, 1, 2, 3], [0, 1, 4]]
    assert [row[0] for row in table.rows] == [str(number) for number in range(1, 7)]


def test_values_that_did_not_change_for_certain_are_named() -> None:
    mean, share = _median(name="mean", quantile=None, changes=()), replace(result("share trend"), changes=())
    words = "it is not certain that these changed: the mean, the shares of 2, 2, 2, 2 and 1 more"
    assert unchanged_sentence([(mean, ""), *[(share, None)] * 5]) == words
    assert unchanged_sentence([(share, None)]) == "it is not certain that these changed: the share of 2"
    assert unchanged_sentence([(result("median"), "")]) == ""


def test_notes_are_of_what_is_shown() -> None:
    numbers = notes(Trends((), (_median(),), 0.05, ""))
    assert numbers[0] == "estimate: unbiased; a mean may be out of range; behind it, its band"
    assert "changes: all of them are real, except with probability 0.05 (upper)" in numbers[2]
    shares = notes(Trends((result("share trend"),) * 2, (), 0.05, ""))
    assert shares[0] == "estimate: unbiased; shares are cut off at 0 and 100 %"
    assert "changes: all of them of all values are real" in shares[2]
