"""Files are recognised by their content, never by their name, and open as tables with the same columns."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from untrackable.errors import AuditError, ReportFileError
from untrackable.reports.files import SourceFile, StorageLayout
from untrackable.reports.reader import open_cells, open_table, recognise, type_of

COLUMNS = {"round": [1, 1, 2], "report": [7, 5, 6]}
TEXT = "round,report\n1,7\n1,5\n2,6\n"


def files(folder: Path) -> dict[str, Path]:
    """The same columns in every format, none of them with a name that says so."""
    found = {name: folder / name for name in ("parquet", "arrow", "stream", "npz", "npy", "gzip", "text")}
    table = pa.table(COLUMNS)
    pq.write_table(table, found["parquet"])
    pa.feather.write_feather(table, found["arrow"])
    with pa.OSFile(str(found["stream"]), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    with found["npz"].open("wb") as file:
        np.savez(file, **{name: np.array(column) for name, column in COLUMNS.items()})  # type: ignore[arg-type]
    records = np.zeros(3, dtype=[("round", "i4"), ("report", "u2")])
    for name, column in COLUMNS.items():
        records[name] = column
    with found["npy"].open("wb") as file:
        np.save(file, records)
    found["gzip"].write_bytes(gzip.compress(TEXT.encode()))
    found["text"].write_text(TEXT)
    return found


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
