"""A file that is cut or damaged gives an error with its position, or the same reports as before; nothing else."""

import gzip
import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.limited_memory import in_little_memory
from tests.reports.samples import DECK, FORMATS, MECHANISMS, sums_in, written
from untrackable import Fresh, NoisyInnerProduct, RandomizedResponse
from untrackable.errors import ReportFileError
from untrackable.reports import csv
from untrackable.reports.csv import LONGEST_LINE, TOO_LONG
from untrackable.reports.files import HEADER_KEY, LARGEST_HEADER
from untrackable.reports.reader import read_reports

EACH = pytest.mark.parametrize("ending", FORMATS)


@EACH
@pytest.mark.parametrize("name", ["deck", "256 bits"])
def test_cut_anywhere(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{ending}"
    written(path, MECHANISMS[name], people=9)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ReportFileError, match=rf"{ending}.*(byte|row|line|beginning)"):
            sums_in(path)


@EACH
def test_any_byte_changed(ending: str, tmp_path: Path) -> None:
    """An error, or the same sums: padding and names that nobody reads are not data."""
    path = tmp_path / f"x{ending}"
    written(path, DECK, people=9)
    data, whole = path.read_bytes(), sums_in(path)
    noticed = 0
    for position in range(len(data)):
        for flip in (1, 0x80):
            path.write_bytes(data[:position] + bytes([data[position] ^ flip]) + data[position + 1 :])
            try:
                assert sums_in(path) == whole, position
            except ReportFileError:
                noticed += 1
    assert noticed > len(data)  # of twice as many


@EACH
def test_something_appended_or_inserted(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{ending}"
    written(path, DECK)
    data, whole = path.read_bytes(), sums_in(path)
    for position in (0, 1, len(data) // 3, len(data) // 2, len(data) - 1, len(data)):
        for more in (b"\0", b"1,5\n", data):
            path.write_bytes(data[:position] + more + data[position:])
            try:
                assert sums_in(path) == whole
            except ReportFileError:
                continue


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"is empty \(0 bytes\)"),
        (b"\0\1\2", "is not Parquet, Arrow, CSV or NumPy"),
        (b"no line", "is not Parquet, Arrow, CSV or NumPy"),
        (b"round,answer\n1,5\n", "has no column 'report': its columns are round, answer"),
        (b"round,report\n1,5\n1,40\n", "line 3: a report must have 5 bits"),
        (b"round,report\n1,5\n1,1\n", "line 3: a report must be between 2 and 31"),
        (b"round,report\n1,5\n1,6\n1,0\n1,6\n", "line 4: a report must be between 2 and 31"),
        (b"round,report\n1,5\n0,6\n", "line 3: a round must be between 1 and"),
        (b"round,report\n1,5\n10,6\n", "line 3: round must be between 1 and 9"),
        (b"round,report\n1,5\n1\n", "line 3: 1 columns instead of 2"),
        (b"round,report\n1,5\n1,6,7\n", "line 3: 3 columns instead of 2"),
        (b"round,report\n1,5\n\n1,6\n", "line 3: 0 columns instead of 2"),
        (b"round,report\n1,5\n1,six\n", "line 3: the report is not an integer of 5 bits"),
        (b"round,report\n1,5\n1,-6\n", "line 3: the report is not an integer of 5 bits"),
        (b"round,report\n1,5\n1,\n", "line 3: the report is not an integer of 5 bits"),
        (b"round,report\n1,5\n1,99999999999999999999\n", "line 3: the report is not an integer of 5 bits"),
        (b"round,report\n1,5\nx,6\n", "line 3: the round is not an integer"),
        (b"round,report\n1,5\n99999999999999999999,6\n", "line 3: the round is not an integer"),
        (b"round,report\n1,5\n1,\xff\n", "line 3: the report is not an integer"),
        (b'round,report\n1,5\n1,"6\n1,5\n', "line 3: 1 columns instead of 2"),
    ],
)
def test_text_that_is_wrong_names_the_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(ReportFileError, match=message):
        sums_in(path, mechanism=DECK)


def test_lines_are_counted_over_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "_PIECE", 64)
    path = tmp_path / "x.csv"
    lines = ["round,report", *["1,5"] * 500]
    path.write_text("\n".join(lines))
    assert sums_in(path, mechanism=DECK)
    lines[321] = "1;5"
    path.write_text("\n".join(lines))
    with pytest.raises(ReportFileError, match="line 322: 1 columns"):
        sums_in(path, mechanism=DECK)


def test_wide_text_names_the_line(tmp_path: Path) -> None:
    path, wide = tmp_path / "x.csv", Fresh(NoisyInnerProduct(bits=100, eps=1.0, width=1))
    good = "0" * 24 + "12"
    for bad in ("0" * 25, "0" * 24 + "zz", "f" * 26, "0" * 24 + "1 "):
        path.write_text(f"round,report\n1,{good}\n1,{bad}\n")
        with pytest.raises(ReportFileError, match="line 3: "):
            sums_in(path, mechanism=wide)


def test_columns_that_are_wrong_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    cases = [
        ({"round": [1, 1], "report": [5, None]}, "row 2: there is no report"),
        ({"round": [1, None], "report": [5, 6]}, "row 2: there is no round"),
        ({"round": [1, 1, 1], "report": [5, 6, 32]}, "row 3: a report must have 5 bits"),
        ({"round": [1, 1, 1], "report": [5, 6, -1]}, "row 3: a report must have 5 bits"),
        ({"round": [1, 2, 1], "report": [5, 6, 1]}, "row 3: a report must be between 2"),
        ({"round": [1, 1, -2], "report": [5, 6, 6]}, "row 3: a round must be"),
        ({"round": [1, 1], "report": ["5", "6"]}, "'report' must be integers, not string"),
        ({"round": [1, 1], "report": [5.0, 6.0]}, "'report' must be integers, not double"),
        ({"round": [1, 1], "answer": [5, 6]}, "has no column 'report'"),
    ]
    for columns, message in cases:
        pq.write_table(pa.table(columns), path, row_group_size=1)
        with pytest.raises(ReportFileError, match=message):
            sums_in(path, mechanism=DECK)


def test_arrays_that_are_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    cases = [
        ({"report": np.array([5, 40]), "round": np.array([1, 1])}, "row 2: a report must have 5 bits"),
        ({"report": np.array([5, 6]), "round": np.array([1])}, "'round' has 1 entries, where 'report' has 2"),
        ({"report": np.array([5.0]), "round": np.array([1])}, "must be a row of integers"),
        ({"report": np.array([[5]]), "round": np.array([1])}, "must be a row of integers"),
        ({"report": np.array(5), "round": np.array([1])}, "must be a row of integers"),
        ({"report": np.array([None]), "round": np.array([1])}, "plain numbers"),
        ({"answer": np.array([5])}, "has no column 'report'"),
    ]
    for arrays, message in cases:
        np.savez(path, **arrays)  # type: ignore[arg-type]
        with pytest.raises(ReportFileError, match=message):
            sums_in(path, mechanism=DECK)
    plain = tmp_path / "x.npy"
    np.save(plain, np.arange(2, 20))
    data = plain.read_bytes()
    for length in range(1, len(data)):
        plain.write_bytes(data[:length])
        with pytest.raises(ReportFileError, match=r"byte|beginning|is not"):
            sums_in(plain, mechanism=DECK, assume_round=1)


def test_a_report_that_its_mechanism_cannot_have_made(tmp_path: Path) -> None:
    """Within its bits, and still impossible: found by halves, in any layout."""
    for name, report in (("rappor", (3 << 16) + 5), ("dbitflip", 0), ("lgrr", 12), ("one-change", 3)):
        mechanism = MECHANISMS[name]
        assert not report >> mechanism.report_bits
        good = int(mechanism.client("a" if name == "rappor" else 1).report(1))
        path = tmp_path / "x.csv"
        path.write_text("round,report\n" + "".join(f"1,{good}\n" for _ in range(100)) + f"1,{report}\n1,{good}\n")
        with pytest.raises(ReportFileError, match="line 102: a report must"):
            sums_in(path, mechanism=mechanism)


def test_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReportFileError, match=r"cannot read .*Is a directory"):
        read_reports(tmp_path)
    with pytest.raises(ReportFileError, match=r"cannot read .*No such file"):
        read_reports(tmp_path / "x.csv")


@pytest.fixture(scope="module")
def endless() -> bytes:
    """4 GiB of a line that does not end, in 0.3 MB."""
    return gzip.compress(b"1" * (1 << 26)) * 64


@pytest.mark.parametrize(
    ("beginning", "message"),
    [
        ("", "line 1: it has more than 1,048,576 characters, the most that are read"),
        ("round,report\n1,0\n", "line 3: it has more than 1,048,576 characters, the most that are read"),
        ('# untrackable reports=00000000000000000003 crc32=995c90df {"', "line 1: it has more than 8,388,736 char"),
    ],
)
def test_lines_without_end_take_little_memory(beginning: str, message: str, endless: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(beginning.encode()) + endless)
    done = in_little_memory("estimate", path, "--mechanism", "bitwise eps_state=1 eps_report=1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {path}, {message}"), done.stderr


def test_long_lines_are_refused_wherever_they_are(tmp_path: Path) -> None:
    """At the beginning of what is read at a time, in the middle, and later."""
    path = tmp_path / "x.csv"
    for before in (0, 3, 700_000):
        for digits, long in ((LONGEST_LINE - 2, False), (LONGEST_LINE - 1, True), (3 * LONGEST_LINE, True)):
            path.write_text("round,report\n" + "1,1\n" * before + f"1,{'0' * digits}\n" + "1,1\n")
            if not long:
                assert [*sums_in(path, mechanism=Fresh(RandomizedResponse(eps=1.0)))] == [1]
                continue
            with pytest.raises(ReportFileError, match=re.escape(f"x.csv, line {before + 2}: {TOO_LONG}")):
                sums_in(path, mechanism=Fresh(RandomizedResponse(eps=1.0)))


def test_a_table_has_a_limited_number_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"round,report" + b"," * 5000 + b"\n"))
    with pytest.raises(ReportFileError, match="line 1: it names 5,002 columns, and at most 4,096 are read"):
        read_reports(path, mechanism=DECK)


def test_arrays_with_headers_of_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("report.npy", b"\x93NUMPY\x02\x00" + (1 << 31).to_bytes(4, "little"))
    with pytest.raises(ReportFileError, match="the header of an array has more than 10,000 bytes"):
        sums_in(path, mechanism=DECK, assume_round=1)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(f"{HEADER_KEY}.npy", "w") as member,
    ):
        np.save(member, np.array("x" * (LARGEST_HEADER + 3000)))
    with pytest.raises(ReportFileError, match="has more than 33,564,432 bytes"):
        read_reports(path)
