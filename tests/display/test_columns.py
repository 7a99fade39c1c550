"""Results as data frames: numbers are numbers, with their ends and their certainty."""

import math

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from tests.display.notebook_results import TABLES, result
from untrackable.display.audit import lines
from untrackable.notebook_view import NotebookTable

pytestmark = pytest.mark.xdist_group("notebooks")  # they share the results


@pytest.mark.parametrize("name", TABLES)
def test_tables_for_data_tools(name: str) -> None:
    outcome = result(name)
    assert isinstance(outcome, NotebookTable)
    table = outcome.to_arrow()
    assert isinstance(table, pa.Table)
    assert pa.table(outcome).equals(table)
    frame = outcome.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == table.num_rows
    assert len(frame) > 0
    assert not [field.name for field in table.schema if pa.types.is_null(field.type)]


def test_an_audit_has_the_numbers_that_its_words_say() -> None:
    audit = result("attacked")
    frame = audit.to_pandas()
    assert set(frame.certainty) >= {"exact", "upper", "sampled"}
    assert list(frame.number) == [line.what for line in lines(audit)]
    worst = frame[frame.number == "gamma, worst case"].iloc[0]
    assert (worst.lower, worst.upper) == (audit.tracking.pure.lower, audit.tracking.pure.upper)
    linked = frame[frame.about.str.startswith("Linking 50 people,") & (frame.number == "first choice right")].iloc[
        0
    ]
    top = audit.linked.top1
    assert (linked.estimate, linked.lower, linked.upper) == (top.sampled, top.lower, top.upper)
    radius = frame[frame.number == "error radius, one round"].iloc[0]
    assert radius.upper == audit.accuracy.radius
    assert math.isnan(radius.lower)
    exact = frame[frame.certainty == "exact"]
    assert (exact.upper - exact.lower).fillna(0).abs().max() <= 1e-6 * exact.upper[exact.upper < math.inf].max()
    assert frame[frame.certainty == "sampled"].estimate.notna().all()
    assert frame[frame.certainty != "sampled"].estimate.isna().all()


def test_a_comparison_has_the_ends_of_every_number() -> None:
    comparison = result("comparison")
    table = comparison.to_arrow()
    for row, plain in zip(comparison.rows, table.to_pylist(), strict=True):
        assert plain["mechanism"] == row.name
        assert plain["recognised_upper"] == row.recognised.upper
        assert plain["recognised_certainty"] == row.recognised.certainty
        known = row.privacy.gamma.certainty in ("exact", "bracket")
        assert plain["eps_lower"] == (row.privacy.gamma.lower if known else None)
        assert plain["error_all_rounds_exact"] == row.all_rounds
        assert (plain["eps_in_crowd_upper"] is None) == (row.in_crowd.eps is None)
    best = duckdb.execute(
        "select mechanism from comparison where private_for_ever order by recognised_upper limit 1"
    )
    assert len(best.fetchall()) == 1


def test_a_plan_has_a_row_for_each_figure() -> None:
    plan, none = result("plan"), result("no plan")
    table = plan.to_arrow()
    assert none.to_arrow().schema == table.schema
    figure, one, *_ = table.to_pylist()
    assert (figure["figure_of"], figure["rounds"], one["rounds"]) == ("figure", 4, 1)
    assert figure["error_upper"] == plan.error_upper < one["error_upper"]
    assert one["standard_error"] == plan.one_round.standard_error


def test_questions_planned_together_have_rows_each() -> None:
    rows = result("together").to_arrow().to_pylist()
    assert [row["question"] for row in rows] == ["smoking"] * 4 + ["<i>size</i>"] * 4


def test_an_audited_file_has_a_row_for_each_attack() -> None:
    audit = result("file")
    by_reports, by_rounds = audit.to_arrow().to_pylist()
    assert [by_reports["followed_by"], by_rounds["followed_by"]] == ["reports", "attendance"]
    assert by_reports["advantage_lower"] == audit.tracking.lower > 0
    assert by_rounds["advantage_sampled"] == audit.attendance.tracking.sampled


def test_an_audited_client_has_a_row_for_each_measure() -> None:
    audit, rows = result("client"), result("client").to_arrow().to_pylist()
    tracking = ["tracking_gamma", "tracking_advantage"]
    assert [row["what"] for row in rows] == ["eps", "eps", *tracking, "guessed", "guessed"]
    assert [row["reports"] for row in rows] == [3, 1, 3, 3, 3, 1]
    assert rows[0]["claimed"] == 9.0
    assert rows[1]["claimed"] is None
    assert rows[2]["lower"] == audit.gamma.lower
    assert rows[4]["sampled"] == audit.recovered.sampled


def test_worlds_have_the_curve_of_delta() -> None:
    for name in ("experiment", "upper", "infinite"):
        pair = result(name)
        frame = pair.to_pandas()
        for row in frame.iloc[::20].itertuples():
            assert (row.delta_upper, row.delta_certainty) == (
                pair.delta(row.gamma).upper,
                pair.delta(row.gamma).certainty,
            )
        assert frame.gamma[0] == 0
        assert frame.delta_upper.is_monotonic_decreasing
    assert result("nothing").to_pandas().delta_upper.max() == 0


def test_trends_and_distributions() -> None:
    median = result("median").to_arrow()
    assert median["estimate"].to_pylist() == result("median").estimates.tolist()
    assert median["standard_error"].null_count == 6
    assert median.schema.field("standard_error").type == pa.float64()
    shares = result("distribution").to_pandas()
    assert shares.number.tolist() == [0, 1, 2]
    assert (shares.lower_simultaneous <= shares.lower).all()


def test_answers_have_names() -> None:
    assert result("answer").to_arrow()["value"].to_pylist()[1] == "two & three"
    assert result("answer").to_pandas().unclamped.tolist() == result("estimate").frequencies.tolist()
