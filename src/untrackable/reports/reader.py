"""Reads files of reports of all formats, recognised by their first bytes, piece by piece.

Every error names the file and the row.
"""

import itertools
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError, UntrackableError
from untrackable.mechanisms.interface import LARGEST_ROUND, Mechanism, round_number
from untrackable.reports import files
from untrackable.reports.csv import CsvTable
from untrackable.reports.numpy import NpyTable, NpzTable
from untrackable.theory.turns import Turns

_ROUND_LAYOUT = files.StorageLayout(63)


class Piece(NamedTuple):
    """Reports of one round, the numbers of their rows or lines, and the share of the file that has been read."""

    round: int
    reports: files.StoredReports
    rows: Sequence[int] | NDArray[np.int64]
    done: float


def read_reports(
    path: files.Source,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
) -> "ReportFile":
    """Open a file of reports: Parquet, Arrow (file or stream), CSV (also with gzip), .npz or .npy, by its content.

    Files written here say how their reports were made. For others give the mechanism, and the round if they have no
    column for it. What is given must not contradict the file. Anything that gives Arrow data may take the
    place of a file, such as a DuckDB query, or a Polars or pandas data frame.
    """
    table = open_source(path, ReportFileError)
    path = table.file.path
    if files.REPORT not in table.columns and {"campaign", files.SUMS} <= set(table.columns):
        raise ReportFileError(
            f"{path} has the sums of a closed round, not reports; `untrackable estimate` and "
            "Mechanism.restore_sums take them"
        )
    if files.REPORT not in table.columns:
        there = files.column_words(table.columns, shown=table.names_may_be_shown)
        raise ReportFileError(f"{path} has no column {files.REPORT!r}: {there}")
    if table.header is None and table.footer is not None:
        raise ReportFileError(f"{path}: the description of its mechanism is missing, so the file is damaged")
    made, meant, turns = files.declared(path, table.header, mechanism, encoding)
    number = None if assume_round is None else round_number(assume_round)
    return ReportFile(table, made, meant, number, turns)


class ReportFile:
    """A file of reports: how they were made, and the reports themselves, streamed."""

    def __init__(
        self,
        table: files.Table,
        mechanism: Mechanism,
        encoding: Encoding | None,
        round: int | None,
        turns: Turns | None = None,
    ) -> None:
        self.path = table.file.path
        self.mechanism = mechanism
        self.encoding = encoding
        self.turns = turns
        """The rounds in which each person answered once, if the file says so."""
        self.unit = table.unit
        self.size = table.file.size
        self.has_footer = table.header is not None and table.file.sealed
        """Whether it has a count and a checksum, so that any damage is noticed."""
        self._table, self._round = table, round

    def __repr__(self) -> str:
        return f"<reports of {self.mechanism!r} in {self.path}>"

    def pieces(self) -> Iterator[Piece]:
        """All reports, up to about a million at a time.

        The checksum is of the whole file, so an error may come after the last piece. Nothing is certain before the
        end has been reached without an error.
        """
        layout, number = files.StorageLayout(self.mechanism.report_bits), self._table.first
        layouts = {files.REPORT: layout} | (
            {files.ROUND: _ROUND_LAYOUT} if files.ROUND in self._table.columns else {}
        )
        footer = files.Footer(self._table.header or "")
        for batch in self._table.arrays(layouts):
            try:
                reports, rounds = layout.checked(batch.columns[files.REPORT]), self._rounds(batch)
            except files.OutOfRangeError as error:
                raise self.refused(number + error.index, error) from None
            if self.has_footer:
                footer.add(rounds, reports)
            yield from _by_round(rounds, reports, number, batch.done)
            number += len(reports)
        if self.has_footer:
            try:
                footer.confirm(self._table.footer)
            except ReportFileError as error:
                read = f"read up to {self.unit} {number - 1}"
                raise ReportFileError(f"{self.path} is damaged or truncated ({read}): {error}") from None

    def refused(self, row: int, why: object) -> UntrackableError:
        """A report that is not one of this mechanism's."""
        return self._table.file.malformed(self.unit, row, why)

    def _rounds(self, batch: files.ArrayBatch) -> NDArray[np.int64]:
        rounds = batch.columns.get(files.ROUND)
        if rounds is None:
            if self._round is None:
                raise ReportFileError(f"{self.path} does not say of which round its reports are; give the round")
            return np.full(len(batch.columns[files.REPORT]), self._round, dtype=np.int64)
        if rounds.size and not 1 <= rounds.min() <= rounds.max() <= LARGEST_ROUND:
            wrong = (rounds < 1) | (rounds > LARGEST_ROUND)
            raise files.OutOfRangeError(int(np.argmax(wrong)), f"a round must be between 1 and {LARGEST_ROUND}")
        if self._round is not None and (rounds != self._round).any():
            index = int(np.argmax(rounds != self._round))
            raise files.OutOfRangeError(index, "it is of another round than the one given")
        return rounds.astype(np.int64, copy=False)


def _by_round(rounds: NDArray[np.int64], reports: files.StoredReports, number: int, done: float) -> Iterator[Piece]:
    """Pieces of one round each. If rounds are in order, nothing is copied."""
    rows: Sequence[int] | NDArray[np.int64] = range(number, number + len(reports))
    same_round = files.runs(rounds)
    if any(later[0] < earlier[0] for earlier, later in itertools.pairwise(same_round)):
        order = np.argsort(rounds, kind="stable")
        rounds, reports, rows = rounds[order], reports[order], number + order
        same_round = files.runs(rounds)
    for round, start, end in same_round:
        yield Piece(round, reports[start:end], rows[start:end], done)


# --- the type of a file, and the table that reads it ------------------------------------------------------

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


def type_of(path: Path) -> FileType:
    """The type by content; `OSError` if the file cannot be read."""
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        return "empty"
    for first, file_type in _FIRST_BYTES.items():
        if head.startswith(first):
            return file_type
    return "unknown" if b"\0" in head or not any(end in head for end in (b"\n", b"\r")) else "text"


def recognise(file: files.SourceFile) -> FileType:
    """The type by content; a file that cannot be read or is empty is an error."""
    try:
        file_type = type_of(file.path)
    except OSError as error:
        raise file.unreadable(error) from None
    if file_type == "empty":
        raise file.error(f"{file.path} is empty (0 bytes)")
    return file_type


def open_source(source: files.Source, error: type[UntrackableError]) -> files.Table:
    """A file, or anything else that gives Arrow data, as a table."""
    if not isinstance(source, (str, PathLike)):
        return open_stream(source, error)
    file = files.SourceFile(Path(source), error)
    file_type = recognise(file)
    if file_type == "unknown":
        raise file.error(f"{file.path} is not Parquet, Arrow, CSV or NumPy: it does not begin as any of them does")
    return open_table(file, file_type)


def open_stream(source: files.ArrowStream, error: type[UntrackableError]) -> files.CellTable:
    """Arrow data of another library as a table of cells."""
    if not hasattr(source, "__arrow_c_stream__"):
        raise TypeError(
            f"reports must be in a file or in something with __arrow_c_stream__, not in a {type(source).__name__}"
        )
    from untrackable.reports.arrow import StreamTable

    return StreamTable(source, error)


def open_table(file: files.SourceFile, file_type: FileType) -> files.Table:
    """A file of a known type as a table."""
    if file_type in ("npz", "npy"):
        return NpzTable(file) if file_type == "npz" else NpyTable(file)
    return open_cells(file, file_type)


def open_cells(file: files.SourceFile, file_type: FileType, *, any_separator: bool = False) -> files.CellTable:
    """A file of Parquet, Arrow or CSV as a table of cells; see `CsvTable` for `any_separator`."""
    if file_type == "parquet":
        from untrackable.reports.arrow import ParquetTable

        return ParquetTable(file)
    if file_type in ("arrow", "stream"):
        from untrackable.reports.arrow import ArrowTable

        return ArrowTable(file, stream=file_type == "stream")
    return CsvTable(file, compressed=file_type == "gzip", any_separator=any_separator)
