"""Strict CSV: the first thing that is wrong is an error of the given class, with file and line."""

from pathlib import Path

import pytest

from untrackable.errors import DecodeError, ReportFileError
from untrackable.reports.strict_csv import CsvRow, StrictCsv


def given(folder: Path, content: bytes) -> StrictCsv:
    path = folder / "given.csv"
    path.write_bytes(content)
    return StrictCsv(path, ReportFileError)


def test_rows_and_lines(tmp_path: Path) -> None:
    file = given(tmp_path, b'a,"b\nc"\r\nd,e\n\n\n')
    assert list(file.rows()) == [CsvRow(1, ["a", "b\nc"]), CsvRow(3, ["d", "e"])]
    assert list(file.lines()) == [(1, 'a,"b\n'), (2, 'c"\r\n'), (3, "d,e\n"), (4, "\n"), (5, "\n")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\nb\n", "line 2: a blank line between rows"),
        (b'a\n"b\n', "line 2: a quotation mark is left open or misplaced"),
        (b"a\n\xff\n", "line 2: not UTF-8"),
        (b"a\nb\0\n", "line 2: there is a zero byte in it"),
        (b"a\nb\rc\n", "line 2: a carriage return inside a row"),
    ],
)
def test_malformed_rows(content: bytes, message: str, tmp_path: Path) -> None:
    file = given(tmp_path, content)
    rows = file.rows()
    assert next(rows) == CsvRow(1, ["a"])  # what comes before is read
    with pytest.raises(ReportFileError, match=f"given.csv, {message}"):
        list(rows)


def test_cells(tmp_path: Path) -> None:
    file = given(tmp_path, b"")
    assert file.whole(1, "n", " 12 ", low=0, high=12) == 12
    assert file.real(1, "x", "1e-3") == 0.001
    for cell in ("", "-1", "1.0", "²", "9" * 19):
        with pytest.raises(ReportFileError, match="line 7: n must be a whole number"):
            file.whole(7, "n", cell, low=0, high=12)
    with pytest.raises(ReportFileError, match="line 7: n must be between 0 and 12, got 13"):
        file.whole(7, "n", "13", low=0, high=12)
    for cell in ("", "1_0", "x", "１"):
        with pytest.raises(ReportFileError, match="line 7: x must be a number"):
            file.real(7, "x", cell)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match=r"cannot read .*none.csv: No such file"):
        list(StrictCsv(tmp_path / "none.csv", DecodeError).rows())
