"""What is written is read again, in every format and for every mechanism; what others write is read, too."""

import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.encodings.samples import encodings
from tests.reports.samples import DECK, FORMATS, MECHANISMS, pieces, sums_in, sums_of, written
from untrackable import Categories, Deck, Fresh, NoisyInnerProduct
from untrackable.errors import AuditError, ReportFileError
from untrackable.reports import files as report_files
from untrackable.reports.files import SourceFile, StorageLayout, write_reports
from untrackable.reports.reader import open_cells, open_table, read_reports, recognise, type_of

WIDE = Fresh(NoisyInnerProduct(bits=100, eps=1.0, width=1))


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_in_every_format(name: str, ending: str, tmp_path: Path) -> None:
    mechanism, path = MECHANISMS[name], tmp_path / f"reports{ending}"
    made = pieces(mechanism, 20, 4)
    told = write_reports(path, made, mechanism=mechanism)
    assert (told.reports, told.rounds, told.bytes) == (80, (1, 2, 3, 4), path.stat().st_size)
    file = read_reports(path)
    assert file.mechanism == mechanism
    assert file.has_footer
    assert sum(len(piece.reports) for piece in file.pieces()) == 80
    assert sums_in(path) == sums_of(mechanism, made)


@settings(max_examples=60, deadline=None)
@given(
    bits=st.integers(1, 255),
    ending=st.sampled_from(FORMATS),
    block=st.integers(8, 500),
    data=st.data(),
    encoding=st.none() | encodings(),
)
def test_any_reports_of_any_width_come_back(
    bits: int, ending: str, block: int, data: st.DataObject, encoding: Any
) -> None:
    mechanism = Fresh(NoisyInnerProduct(bits=bits, eps=1.0, width=1))
    reports = st.lists(st.integers(0, (2 << bits) - 1), max_size=30)
    given_pieces = data.draw(st.lists(st.tuples(st.integers(1, 1 << 53), reports), max_size=6))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_files, "BLOCK_BYTES", block)
        path = Path(folder, f"x{ending}")
        write_reports(path, given_pieces, mechanism=mechanism, encoding=encoding)
        file = read_reports(path)
        assert file.encoding == encoding
        result: dict[int, list[int]] = {}
        rows: list[int] = []
        for piece in file.pieces():
            numbers = piece.reports.tolist()
            if piece.reports.ndim == 2:
                numbers = [int.from_bytes(bytes(row), "little") for row in numbers]
            result.setdefault(piece.round, []).extend(numbers)
            rows += [int(row) for row in piece.rows]
    wanted: dict[int, list[int]] = {}
    for number, some in given_pieces:
        if some:
            wanted.setdefault(number, []).extend(some)
    assert {n: sorted(some) for n, some in result.items()} == {n: sorted(some) for n, some in wanted.items()}
    assert sorted(rows) == list(range(file._table.first, file._table.first + len(rows)))


@pytest.mark.parametrize("ending", FORMATS)
def test_the_same_reports_in_another_order_make_the_same_file(ending: str, tmp_path: Path) -> None:
    for mechanism in (DECK, MECHANISMS["wide rappor"]):
        made = pieces(mechanism, 30, 3)
        shuffled = [(number, reports[::-1]) for number, reports in reversed(made)]
        paths = [tmp_path / f"{name}{ending}" for name in "ab"]
        for path, some in zip(paths, (made, shuffled), strict=True):
            write_reports(path, some, mechanism=mechanism)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_numpy_and_others_read_what_is_written(tmp_path: Path) -> None:
    for ending in FORMATS:
        written(tmp_path / f"x{ending}", DECK)
    tables = {
        "parquet": pq.read_table(tmp_path / "x.parquet"),
        "arrow": pa.feather.read_table(tmp_path / "x.arrow"),
        "csv": pa.csv.read_csv(tmp_path / "x.csv", pa.csv.ReadOptions(skip_rows=1)),
    }
    with np.load(tmp_path / "x.npz", allow_pickle=False) as archive:
        rounds, reports = archive["round"].tolist(), archive["report"].tolist()
        assert '"mechanism":"deck"' in str(archive["untrackable"])
    assert rounds == [1] * 20 + [2] * 20
    for table in tables.values():
        assert table.column_names == ["round", "report"]
        assert table.column("round").to_pylist() == rounds
        assert table.column("report").to_pylist() == reports
    assert b'"mechanism":"deck"' in tables["parquet"].schema.metadata[b"untrackable"]


def foreign(folder: Path, rounds: Any, reports: Any) -> list[Path]:
    """Files that others wrote: no description, other types."""
    table = pa.table({"when": ["x, y"] * len(reports), "report": pa.array(reports, pa.int32()), "round": rounds})
    pq.write_table(table, folder / "x.parquet", row_group_size=7, compression="zstd")
    pa.feather.write_feather(table, folder / "x.feather", compression="lz4")
    pa.csv.write_csv(table, folder / "x.csv")
    (folder / "x.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes()))
    (folder / "crlf.csv").write_bytes((folder / "x.csv").read_bytes().replace(b"\n", b"\r\n").rstrip())
    np.savez_compressed(folder / "x.npz", report=np.array(reports), round=np.array(rounds), other=np.zeros(3))
    records = np.zeros(len(reports), dtype=[("round", "i4"), ("report", "u2")])
    records["round"], records["report"] = rounds, reports
    np.save(folder / "x.npy", records)
    return sorted(folder.iterdir())


def test_files_of_others_need_the_mechanism(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rounds, reports = rng.integers(1, 4, 50), rng.integers(2, 32, 50)
    wanted = sums_of(DECK, [(t, reports[rounds == t]) for t in (1, 2, 3)])
    for path in foreign(tmp_path, rounds, reports):
        assert sums_in(path, mechanism=DECK) == wanted, path
        file = read_reports(path, mechanism=DECK, encoding=Categories(names=["a", "b"]))
        assert not file.has_footer
        assert file.encoding == Categories(names=["a", "b"])
        with pytest.raises(ReportFileError, match="does not say which mechanism"):
            read_reports(path)


def test_files_without_rounds_need_the_round(tmp_path: Path) -> None:
    reports = np.arange(2, 32)
    np.save(tmp_path / "x.npy", reports)
    np.savez(tmp_path / "x.npz", report=reports)
    pq.write_table(pa.table({"report": reports}), tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("report\n" + "\n".join(map(str, reports)))
    for path in tmp_path.iterdir():
        assert sums_in(path, mechanism=DECK, assume_round=2) == sums_of(DECK, [(2, reports)])
        with pytest.raises(ReportFileError, match="does not say of which round"):
            sums_in(path, mechanism=DECK)


def test_wide_rows_of_others(tmp_path: Path) -> None:
    reports = np.random.default_rng(1).integers(0, 256, (9, 13), dtype=np.uint8)
    reports[:, -1] &= 31
    np.save(tmp_path / "x.npy", reports)
    np.savez(tmp_path / "x.npz", report=reports)
    text = "\n".join(row[::-1].tobytes().hex().upper() for row in reports)
    (tmp_path / "x.csv").write_text(f"report\n{text}\n")
    for path in tmp_path.iterdir():
        assert sums_in(path, mechanism=WIDE, assume_round=1) == sums_of(WIDE, [(1, reports)])


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_given_must_not_contradict_the_file(ending: str, tmp_path: Path) -> None:
    path, colours = tmp_path / f"x{ending}", Categories(names=["red", "blue"])
    written(path, DECK, encoding=colours)
    assert read_reports(path, mechanism=DECK, encoding=colours).mechanism == DECK
    with pytest.raises(ReportFileError, match=r"made with the mechanism Deck\(bits=4.*not with Deck\(bits=3"):
        read_reports(path, mechanism=Deck(bits=3, slots=9, eps_report=1.0))
    with pytest.raises(ReportFileError, match="made with the encoding"):
        read_reports(path, encoding=Categories(names=["red", "green"]))
    with pytest.raises(ReportFileError, match=r"row 21|line 23"):  # the first of round 2
        list(read_reports(path, assume_round=1).pieces())


COLUMNS = {"round": [1, 1, 2], "report": [7, 5, 6]}
TEXT = "round,report\n1,7\n1,5\n2,6\n"


def files(folder: Path) -> dict[str, Path]:
    """The same columns in every format, none of them with a name that says so."""
    result = {name: folder / name for name in ("parquet", "arrow", "stream", "npz", "npy", "gzip", "text")}
    table = pa.table(COLUMNS)
    pq.write_table(table, result["parquet"])
    pa.feather.write_feather(table, result["arrow"])
    with pa.OSFile(str(result["stream"]), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    with result["npz"].open("wb") as file:
        np.savez(file, **{name: np.array(column) for name, column in COLUMNS.items()})  # type: ignore[arg-type]
    records = np.zeros(3, dtype=[("round", "i4"), ("report", "u2")])
    for name, column in COLUMNS.items():
        records[name] = column
    with result["npy"].open("wb") as file:
        np.save(file, records)
    result["gzip"].write_bytes(gzip.compress(TEXT.encode()))
    result["text"].write_text(TEXT)
    return result


def test_every_format_gives_the_same_arrays(tmp_path: Path) -> None:
    layouts = {"report": StorageLayout(5), "round": StorageLayout(63)}
    for name, path in files(tmp_path).items():
        file = SourceFile(path, ReportFileError)
        assert recognise(file) == name
        table = open_table(file, recognise(file))
        assert table.columns == ["round", "report"], name
        assert (table.unit, table.first) == (("line", 2) if name in ("gzip", "text") else ("row", 1))
        (batch,) = table.arrays(layouts)
        assert {column: array.tolist() for column, array in batch.columns.items()} == COLUMNS, name
        assert 0 < batch.done <= 1


def test_every_format_with_cells_gives_the_same_cells(tmp_path: Path) -> None:
    for name, path in files(tmp_path).items():
        if name in ("npz", "npy"):
            continue
        file = SourceFile(path, AuditError)
        table = open_cells(file, recognise(file))
        (batch,) = table.cells(["report", "round"])
        assert list(batch.numbers) == [table.first, table.first + 1, table.first + 2]
        assert [tuple(map(int, cells)) for cells in batch.rows] == [(7, 1), (5, 1), (6, 2)], name
        assert batch.problems == {}


def test_what_is_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for content, wanted in ((b"", "empty"), (b"\0\n", "unknown"), (b"no end of line", "unknown"), (b"\r", "text")):
        path.write_bytes(content)
        assert type_of(path) == wanted
    path.write_bytes(b"")
    with pytest.raises(AuditError, match=r"x.csv is empty \(0 bytes\)"):
        recognise(SourceFile(path, AuditError))
    with pytest.raises(AuditError, match=r"cannot read .*: Is a directory"):
        recognise(SourceFile(tmp_path, AuditError))


def test_errors_name_file_and_row() -> None:
    file = SourceFile(Path("x.csv"), AuditError)
    assert str(file.malformed("line", 3, "why")) == "x.csv, line 3: why"
    assert str(file.refused("why")) == "x.csv: why"
    assert str(file.damaged("after row 3", " a\n b ")) == "x.csv is damaged or truncated after row 3: a b"
    assert str(file.damaged("after row 3")) == "x.csv is damaged or truncated after row 3"
