"""Opens a file of reports that were recorded elsewhere as a table, and finds its columns and its windows."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from untrackable.auditing.evidence.recorded_attendance import round_label
from untrackable.errors import AuditError
from untrackable.reports.column_names import column_words
from untrackable.reports.file_type import open_cells, open_stream, recognise
from untrackable.reports.table import CellTable, Source, SourceFile

# The usual names of the columns. The first that a file has is used.
PSEUDONYMS = ("pseudonym", "user", "user_id", "id")
WINDOWS = ("window", "place", "network", "device")
REPORTS = ("report", "irr")
ROUNDS = ("round", "date", "day", "week", "time", "timestamp")

NO_WINDOW = "none"
"""The name of no column: a person's reports are dealt into two halves."""

MOST_WINDOWS = 100_000
"""A file with more windows is refused, since counting them takes memory."""

_NAMED = 3
"""A window of more values is named by its first and its last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedColumns:
    """The names of the columns to read. Those for the window and for the round may be missing.

    `passed_over` is a column with the usual name of a window that was not taken for one, since it does not have
    exactly two values.
    """

    pseudonym: str
    window: str | None
    round: str | None
    report: str
    passed_over: str | None = None

    @property
    def present(self) -> list[str]:
        """The names of the columns that are there: pseudonym, window, round, report."""
        return [name for name in (self.pseudonym, self.window, self.round, self.report) if name is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWindows:
    """Two sets of values of a column. The reports of the first are compared with those of the second."""

    first: tuple[str, ...]
    second: tuple[str, ...]

    @property
    def names(self) -> tuple[str, str]:
        """Each window in words."""
        return _named(self.first), _named(self.second)

    @staticmethod
    def of(rows: Counter[str], asked: tuple[str, str] | None) -> "TwoWindows":
        """The two values that were asked for; or all values in order, cut where the smaller part has most rows."""
        if asked is not None:
            for window in asked:
                if window not in rows:
                    raise AuditError(f"there are no rows in the window {window!r}")
            if asked[0] == asked[1]:
                raise ValueError("the two windows must differ")
            return TwoWindows(first=(asked[0],), second=(asked[1],))
        if not rows:
            raise AuditError("no row says which window it is in")
        if len(rows) < 2:
            raise AuditError("all rows are in one window; following people takes two")
        values, total, before = _in_order(rows), rows.total(), 0
        smaller = []
        for value in values[:-1]:
            before += rows[value]
            smaller.append(min(before, total - before))
        cut = 1 + smaller.index(max(smaller))
        return TwoWindows(first=tuple(values[:cut]), second=tuple(values[cut:]))


def missing(cell: Any) -> bool:
    """Whether a cell is empty."""
    if isinstance(cell, str):
        return not cell
    return cell is None or cell == b"" or cell != cell  # Only NaN differs from itself.


def has_two_values(cells: Iterable[Any], column: str) -> bool:
    """Whether cells of a column have exactly two values; a time counts as its day. It stops at the third."""
    values: set[str] = set()
    for cell in cells:
        if not missing(cell):
            values.add(round_label(cell, column))
        if len(values) > 2:
            return False
    return len(values) == 2


def _in_order(values: Iterable[str]) -> list[str]:
    """Numbers by size, anything else as text. (Dates are written so that this is their order.)"""
    texts = sorted(values)
    try:
        return sorted(texts, key=float)
    except ValueError:
        return texts


def _named(values: Sequence[str]) -> str:
    if len(values) <= _NAMED:
        return " or ".join(values)
    return f"{values[0]} to {values[-1]} ({len(values):,} values)"


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
    table: CellTable,
    pseudonym: str | None,
    window: str | None,
    report: str | None,
    round: str | None,
    windows: tuple[str, str] | None,
    two_values: Callable[[str], bool],
) -> RecordedColumns:
    """The columns with the given names, or else those with a usual name.

    A column with the usual name of a window is one only if `two_values` says so, or if `windows` were asked for. To
    choose from many values would be to decide for the reader.
    """
    who = _find(table, "pseudonym", pseudonym, PSEUDONYMS)
    what = _find(table, "report", report, REPORTS)
    where = passed_over = None
    if window is None:
        usual = [name for name in WINDOWS if name in table.columns and name not in (who, what, round)]
        where = next((name for name in usual if windows is not None or two_values(name)), None)
        passed_over = usual[0] if usual and where is None else None
    elif window != NO_WINDOW:
        where = _find(table, "window", window, WINDOWS)
    if where is None and windows is not None:
        why = "no column of windows is to be used" if window else "the file has no column of windows"
        there = column_words(table.columns, shown=table.names_may_be_shown)
        raise ValueError(f"windows were given, but {why} (usually {', '.join(WINDOWS)}): {there}")
    when = next((name for name in ROUNDS if name in table.columns and name not in (who, where, what)), None)
    if round is not None:
        when = _find(table, "round", round, ROUNDS)
    return RecordedColumns(pseudonym=who, window=where, round=when, report=what, passed_over=passed_over)


def _find(table: CellTable, what: str, asked: str | None, usual: Sequence[str]) -> str:
    names = (asked,) if asked is not None else usual
    found = _usual(table, names)
    if found is None:
        there = column_words(table.columns, shown=table.names_may_be_shown)
        raise AuditError(f"the file has no column of {what}s called {' or '.join(names)}: {there}")
    return found


def _usual(table: CellTable, names: Sequence[str]) -> str | None:
    return next((name for name in names if name in table.columns), None)
