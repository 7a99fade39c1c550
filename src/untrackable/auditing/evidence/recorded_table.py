"""Opens a file of reports that were recorded elsewhere as a table, and finds its columns by their usual names."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from untrackable.errors import AuditError
from untrackable.reports.column_names import column_words
from untrackable.reports.file_type import open_cells, open_stream, recognise
from untrackable.reports.table import CellTable, Source, SourceFile

# The usual names of the columns. The first that a file has is used.
PSEUDONYMS = ("pseudonym", "user", "user_id", "id")
WINDOWS = ("window", "place", "device", "day")
REPORTS = ("report", "irr")
ROUNDS = ("round", "date", "day", "time", "timestamp")


class RecordedColumns(NamedTuple):
    """The names of the columns to read. Those for the window and for the round may be missing."""

    pseudonym: str
    window: str | None
    round: str | None
    report: str

    @property
    def present(self) -> list[str]:
        """The names of the columns that are there, in this order."""
        return [name for name in self if name is not None]


def open_recorded(source: Source) -> CellTable:
    """Open a CSV, Parquet or Arrow file as a table; its content says which it is. Or take given Arrow data."""
    if not isinstance(source, (str, PathLike)):
        return open_stream(source, AuditError)
    path = Path(source)
    file = SourceFile(path, AuditError)
    found = recognise(file)
    tabular = found in ("parquet", "arrow", "stream")
    if not tabular and path.suffix in (".parquet", ".arrow", ".feather", ".ipc"):
        raise AuditError(f"{path} is not a {path.suffix[1:]} file, although its name says so")
    if not tabular and found != "text":
        raise AuditError(
            f"{path} must be Parquet, Arrow or CSV (lines of text, the first of which names the columns)"
        )
    return open_cells(file, found, any_separator=True)


def find_columns(
    table: CellTable, pseudonym: str | None, window: str | None, report: str | None, round: str | None = None
) -> RecordedColumns:
    """The columns with the given names, or else those with a usual name. Rounds are read only beside windows."""
    who = _find(table, "pseudonym", pseudonym, PSEUDONYMS)
    what = _find(table, "report", report, REPORTS)
    when = _find(table, "window", window, WINDOWS) if window is not None or _usual(table, WINDOWS) else None
    moment = round
    if round is None:
        moment = next((name for name in ROUNDS if name in table.columns and name not in (who, when, what)), None)
    elif when is None:
        raise AuditError("rounds are of use only beside a window column, and there is none")
    else:
        _find(table, "round", round, ROUNDS)
    return RecordedColumns(who, when, moment if when is not None else None, what)


def _find(table: CellTable, what: str, asked: str | None, usual: Sequence[str]) -> str:
    names = (asked,) if asked is not None else usual
    found = _usual(table, names)
    if found is None:
        there = column_words(table.columns, shown=table.names_may_be_shown)
        raise AuditError(f"the file has no column of {what}s called {' or '.join(names)}: {there}")
    return found


def _usual(table: CellTable, names: Sequence[str]) -> str | None:
    return next((name for name in names if name in table.columns), None)
