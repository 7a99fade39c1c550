"""Rows of CSV text: numbered by the line they begin on, malformed ones named, the others read."""

import io
from pathlib import Path
from typing import Any

import pytest

from untrackable.errors import DecodeError, ReportFileError
from untrackable.reports import csv as report_csv
from untrackable.reports.csv import TOO_LONG, CsvRow, RowParser, StrictCsv, numbered_lines
from untrackable.reports.files import CELL_BATCH

NAMED = RowParser(",", 2, (1, 0))
"""Rows of two cells, the second one first."""

OPEN = "a quotation mark is left open or misplaced"


def parsed(text: str | bytes, parser: RowParser, **options: Any) -> list[tuple[int, list[str], str]]:
    """Every row with its line and what is wrong with it."""
    data = text.encode() if isinstance(text, str) else text
    lines = numbered_lines(io.BytesIO(data), **{"ends": "", **options})
    return [
        (number, cells, block.problems.get(index, ""))
        for block in parser.blocks(lines)
        for index, (number, cells) in enumerate(zip(block.numbers, block.rows, strict=True))
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a,1\nb,2\n", [(1, ["1", "a"], ""), (2, ["2", "b"], "")]),
        ("\ufeffa,1\r\nb,2", [(1, ["1", "a"], ""), (2, ["2", "b"], "")]),
        ("a,1\rb,2\r", [(1, ["1", "a"], ""), (2, ["2", "b"], "")]),
        ("a,1\n\nb,2\n", [(1, ["1", "a"], ""), (3, ["2", "b"], "")]),
        ("é,1\nb\n", [(1, ["1", "é"], ""), (2, [], "1 columns instead of 2")]),
        ('"a,b",1\n', [(1, ["1", "a,b"], "")]),
        ('"a\nb",1\nc,2\n', [(1, ["1", "a\nb"], ""), (3, ["2", "c"], "")]),
        ('"a,1\nb,2\n', [(1, [], OPEN), (2, ["2", "b"], "")]),
        ('"a"b,1\nc,2\n', [(1, [], OPEN), (2, ["2", "c"], "")]),
        ('"a\nb",1,1\nc,2\n', [(1, [], OPEN), (2, [], "3 columns instead of 2"), (3, ["2", "c"], "")]),
        (b"\xff,1\nb,2\n", [(1, [], "not UTF-8"), (2, ["2", "b"], "")]),
    ],
)
def test_rows_of_a_table(text: str | bytes, wanted: list[tuple[int, list[str], str]]) -> None:
    assert parsed(text, NAMED) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\n\nb,c\n", [(1, ["a"], ""), (2, [], ""), (3, ["b", "c"], "")]),
        ("a\rb\nc\n", [(1, [], "a carriage return inside a row"), (2, ["c"], "")]),
        ('"a\rb"\r\n', [(1, ["a\rb"], "")]),
        ("a\0b\nc\n", [(1, [], "there is a zero byte in it"), (2, ["c"], "")]),
        ("é" + "a" * 131072 + "\n", [(1, [], "a cell has more than 131072 characters")]),
    ],
)
def test_rows_of_any_width(text: str, wanted: list[tuple[int, list[str], str]]) -> None:
    assert parsed(text, RowParser(), ends="\n") == wanted


def test_bytes_that_are_not_utf8_matter_only_where_they_are_wanted() -> None:
    assert parsed(b"a,\xff\n", RowParser(",", 2, (0,))) == [(1, ["a"], "")]


def test_lines_that_are_too_long_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_csv, "LONGEST_LINE", 32)
    text = f"a,1\n{'x' * 70},2\nb,3"
    wanted = [(1, ["1", "a"], ""), (2, [], TOO_LONG), (3, ["3", "b"], "")]
    assert parsed(text, NAMED) == wanted
    text = f'"a\n{"x" * 70}\nb",2\n'
    assert parsed(text, NAMED)[:2] == [(1, [], OPEN), (2, [], TOO_LONG)]
    assert parsed(f"{'x' * 30},2\n", NAMED) == [(1, ["2", "x" * 30], "")]
    assert parsed(f"{'x' * 31},2\n", NAMED) == [(1, [], TOO_LONG)]
    # A cell that goes on for several lines is not longer either.
    assert parsed('"' + "x\n" * 10 + '",2\n', NAMED) == [(1, ["2", "x\n" * 10], "")]
    assert parsed('"' + "x\n" * 20 + '",2\n', NAMED)[0] == (1, [], OPEN)


def test_the_words_for_a_long_line_are_no_long_line() -> None:
    assert parsed("".join(TOO_LONG.split(",")), RowParser(), ends="\n") == [(1, ["".join(TOO_LONG.split(","))], "")]
    assert parsed(f'"{TOO_LONG}"', RowParser(), ends="\n") == [(1, [TOO_LONG], "")]


def test_few_long_lines_are_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the first one is short."""
    monkeypatch.setattr(report_csv, "_BLOCK_CHARACTERS", 1000)
    lines = numbered_lines(io.BytesIO(b"a\n" + (b"x" * 99 + b"\n") * 100), ends="\n")
    assert [len(block.rows) for block in RowParser().blocks(lines)][:3] == [11, 10, 10]


def test_the_rest_of_a_long_line_is_read_only_if_asked_for() -> None:
    class Endless(io.RawIOBase):
        """Bytes that never end, as of a device."""

        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.given += len(buffer)
            assert self.given < 1 << 22
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    lines = numbered_lines(io.BufferedReader(Endless()), ends="\n")
    assert next(lines)[1] is TOO_LONG


@pytest.mark.parametrize("long", [CELL_BATCH - 2, CELL_BATCH - 1, CELL_BATCH])
def test_numbers_go_on_from_block_to_block(long: int) -> None:
    """Also where a quoted cell goes on from one block to the next."""
    rows = [f"u{i},{i}" for i in range(3 * CELL_BATCH)]
    rows[long] = '"two\nlines",0'
    result = parsed("\n".join(rows), RowParser(",", 2, (0,)))
    assert [number for number, _, _ in result] == [i + 1 + (i > long) for i in range(len(rows))]
    assert result[long] == (long + 1, ["two\nlines"], "")
    assert result[-1] == (3 * CELL_BATCH + 1, [f"u{3 * CELL_BATCH - 1}"], "")


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
