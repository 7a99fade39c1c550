"""The type of a file, recognised by its first bytes, and the table that reads it."""

from os import PathLike
from pathlib import Path
from typing import Literal

from untrackable.errors import UntrackableError
from untrackable.reports.table import ArrowStream, CellTable, Source, SourceFile, Table

FileType = Literal["parquet", "arrow", "stream", "npz", "npy", "gzip", "text", "empty", "unknown"]

_FIRST_BYTES: dict[bytes, FileType] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "stream",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x93NUMPY": "npy",
    b"\x1f\x8b": "gzip",
}


def is_parquet(path: Path) -> bool:
    """Whether it is a Parquet file that can be read."""
    try:
        return type_of(path) == "parquet"
    except OSError:
        return False


def type_of(path: Path) -> FileType:
    """By content; `OSError` if the file cannot be read."""
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        return "empty"
    for first, found in _FIRST_BYTES.items():
        if head.startswith(first):
            return found
    return "unknown" if b"\0" in head or not any(end in head for end in (b"\n", b"\r")) else "text"


def recognise(file: SourceFile) -> FileType:
    """By content; a file that cannot be read or is empty is an error."""
    try:
        found = type_of(file.path)
    except OSError as error:
        raise file.unreadable(error) from None
    if found == "empty":
        raise file.error(f"{file.path} is empty (0 bytes)")
    return found


def open_source(source: Source, error: type[UntrackableError]) -> Table:
    """A file, or anything else that gives Arrow data, as a table."""
    if not isinstance(source, (str, PathLike)):
        return open_stream(source, error)
    file = SourceFile(Path(source), error)
    found = recognise(file)
    if found == "unknown":
        raise file.error(f"{file.path} is not Parquet, Arrow, CSV or NumPy: it does not begin as any of them does")
    return open_table(file, found)


def open_stream(source: ArrowStream, error: type[UntrackableError]) -> CellTable:
    """Arrow data of another library as a table of cells."""
    if not hasattr(source, "__arrow_c_stream__"):
        raise TypeError(
            f"reports must be in a file or in something with __arrow_c_stream__, not in a {type(source).__name__}"
        )
    from untrackable.reports.arrow_stream import StreamTable

    return StreamTable(source, error)


def open_table(file: SourceFile, found: FileType) -> Table:
    """A file of a known type as a table."""
    if found in ("npz", "npy"):
        from untrackable.reports.numpy_format import NpyTable, NpzTable

        return NpzTable(file) if found == "npz" else NpyTable(file)
    return open_cells(file, found)


def open_cells(file: SourceFile, found: FileType, *, any_separator: bool = False) -> CellTable:
    """A file of Parquet, Arrow or CSV as a table of cells; see `CsvTable` for `any_separator`."""
    if found == "parquet":
        from untrackable.reports.parquet_format import ParquetTable

        return ParquetTable(file)
    if found in ("arrow", "stream"):
        from untrackable.reports.arrow_format import ArrowTable

        return ArrowTable(file, stream=found == "stream")
    from untrackable.reports.csv_format import CsvTable

    return CsvTable(file, compressed=found == "gzip", any_separator=any_separator)
