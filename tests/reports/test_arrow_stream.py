"""Arrow data of other libraries in place of files, and estimates for other libraries."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from untrackable import Deck, Fading, audit_file, estimate_files, write_reports
from untrackable.discovery.discovery import Discovered, FoundString
from untrackable.errors import AuditError, ReportFileError
from untrackable.reports.reader import read_reports

NARROW = Deck(bits=4, slots=3, eps_report=2.0)
WIDE = Deck(bits=40, slots=3, eps_report=2.0)


def made(mechanism: Any, path: Path, people: int = 300, rounds: int = 2) -> Path:
    """A file of reports of this mechanism."""
    values = np.arange(people) % 3
    (batch,) = mechanism.simulate(values, rounds=rounds, seed=3)
    write_reports(path, [(r, batch.reports[:, r - 1]) for r in range(1, rounds + 1)], mechanism=mechanism)
    return path


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(NARROW, tmp_path_factory.mktemp("narrow") / "reports.parquet")


def all_libraries(path: Path) -> dict[str, Any]:
    table = pq.read_table(path)
    return {
        "duckdb": duckdb.read_parquet(str(path)),
        "polars": pl.read_parquet(path),
        "pandas": pd.read_parquet(path),
        "arrow": table,
        "batches": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7)),
    }


@pytest.mark.parametrize("library", ["duckdb", "polars", "pandas", "arrow", "batches"])
def test_data_of_every_library_gives_the_estimate_of_the_file(narrow: Path, library: str) -> None:
    expected, answer = estimate_files(narrow), estimate_files(all_libraries(narrow)[library], mechanism=NARROW)
    assert answer.best.frequencies.tolist() == expected.best.frequencies.tolist()
    assert answer.best.n == expected.best.n == 600
    assert not answer.files[0].checked  # Nothing seals what was selected on the way.


@pytest.mark.parametrize("library", ["duckdb", "polars", "pandas", "arrow", "batches"])
def test_reports_of_many_bytes_come_as_bytes_of_any_kind(tmp_path: Path, library: str) -> None:
    path = made(WIDE, tmp_path / "wide.parquet", people=60)
    asked: dict[str, Any] = {"mechanism": WIDE, "candidates": [0, 1, 2]}
    expected, answer = estimate_files(path, **asked), estimate_files(all_libraries(path)[library], **asked)
    assert answer.best.frequencies.tolist() == expected.best.frequencies.tolist()


def test_a_report_of_a_wrong_length_is_named_by_its_row() -> None:
    wide = WIDE.report_bits // 8 + 1
    table = pa.table({"round": [1, 1, 1], "report": [bytes(wide), bytes(wide), bytes(wide - 1)]})
    with pytest.raises(ReportFileError, match=f"<Table>, row 3: a report must have {wide} bytes, not {wide - 1}"):
        estimate_files(table, mechanism=WIDE, candidates=[0])


def test_a_selection_of_rounds_is_estimated_although_its_table_says_how_it_was_made(narrow: Path) -> None:
    table = pq.read_table(narrow)
    assert read_reports(table).mechanism == NARROW
    assert estimate_files(table.filter(pa.compute.equal(table["round"], 2))).best.n == 300


def test_files_and_data_are_counted_together(narrow: Path) -> None:
    both = estimate_files([pl.read_parquet(narrow), narrow], mechanism=NARROW)
    assert both.best.n == 1200
    assert [str(file.path) for file in both.files] == [str(narrow), "<DataFrame>"]


def test_data_given_twice_is_refused(narrow: Path) -> None:
    frame = pl.read_parquet(narrow)
    with pytest.raises(ReportFileError, match="<DataFrame> is given twice"):
        estimate_files([frame, frame], mechanism=NARROW)


def test_data_that_can_be_read_once_only_is_never_read_as_empty(tmp_path: Path) -> None:
    """Fading's rounds take the reports of other rounds, so its data is read twice."""
    fading = Fading(bits=2, eps=6.0, delta=1e-3)
    path = made(fading, tmp_path / "fading.parquet", people=40, rounds=3)
    table = pq.read_table(path)
    assert estimate_files(table).best.frequencies.tolist() == estimate_files(path).best.frequencies.tolist()
    once = read_reports(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), mechanism=fading)
    assert sum(len(piece.reports) for piece in once.pieces()) == 120
    with pytest.raises(ReportFileError, match=r"gave 120 rows at first and 0 when read again"):
        list(once.pieces())


@pytest.mark.parametrize("given", [[1, 2], 7, {"report": 1}, None])
def test_what_is_neither_file_nor_data_is_refused(given: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        estimate_files(given, mechanism=NARROW)


def test_data_without_reports_names_its_columns() -> None:
    with pytest.raises(ReportFileError, match="<DataFrame> has no column 'report': its columns are round, answer"):
        estimate_files(pl.DataFrame({"round": [1], "answer": [3]}), mechanism=NARROW)


def test_a_gap_is_named_by_its_row() -> None:
    with pytest.raises(ReportFileError, match="<DataFrame>, row 2: there is no report"):
        estimate_files(pl.DataFrame({"round": [1, 1], "report": [3, None]}), mechanism=NARROW)


def test_data_that_fails_while_it_is_read_is_an_error() -> None:
    failing = duckdb.sql("select 1 as round, cast('x' || range as bigint) as report from range(3)")
    assert failing is not None
    with pytest.raises(ReportFileError, match="DuckDBPyRelation"):
        estimate_files(failing, mechanism=NARROW)


def test_recorded_reports_are_audited_from_a_query(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    people = np.arange(60)
    rows = {
        "pseudonym": np.repeat(people, 4),
        "window": np.tile(["home", "home", "work", "work"], 60),
        "report": np.repeat(rng.integers(0, 1 << 30, 60), 4),
    }
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "recorded.csv")
    from_file, from_frame = audit_file(tmp_path / "recorded.csv"), audit_file(frame)
    assert from_frame.people == from_file.people == 60
    assert from_frame.as_dict()["file"] == "<DataFrame>"
    assert from_frame.tracking == from_file.tracking
    with pytest.raises(AuditError, match="no column of reports called report or irr: its columns are"):
        audit_file(frame.drop("report"))


def test_estimates_are_tables_for_other_libraries(narrow: Path) -> None:
    answer = estimate_files(narrow)
    estimate = answer.best
    expected = estimate.to_arrow()
    (total,) = duckdb.execute("select count(*), sum(unclamped) from estimate").fetchall()
    assert total == (16, pytest.approx(estimate.frequencies.sum()))
    assert pl.DataFrame(estimate)["frequency"].to_list() == expected["frequency"].to_pylist()
    assert pa.table(answer)["value"].to_pylist() == [str(value) for value in range(16)]


def test_discovered_strings_are_a_table_for_other_libraries() -> None:
    sure = FoundString("sure", 0.2, 0.01, 0.1, 0.3, 1e-9)
    strings = Discovered((sure,), (sure._replace(string="maybe"),), 10, 0.05, 1, 5, None, 8)  # noqa: F841
    rows = duckdb.execute("select string, certain, frequency from strings").fetchall()
    assert rows == [("sure", True, 0.2), ("maybe", False, 0.2)]
    empty = Discovered((), (), 10, 0.05, 1, 5, None, 8)
    assert pl.DataFrame(empty).shape == (0, 9)
