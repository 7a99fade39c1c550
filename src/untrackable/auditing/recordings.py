"""Reports that were recorded elsewhere: the columns and windows of a file, the format of reports, attendance."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from untrackable.arrays import FloatArray
from untrackable.auditing.attacks import first_choices, share
from untrackable.auditing.black_box import Advantage, held_out_advantage, held_out_parts
from untrackable.auditing.streams import Index, digest
from untrackable.errors import AuditError
from untrackable.reports.files import CellTable, Source, SourceFile, column_words
from untrackable.reports.reader import open_cells, open_stream, recognise
from untrackable.theory.accuracy import Matched

# --- the columns and the windows of a file ----------------------------------------------------------------

# The usual names of the columns. The first that a file has is used.
_PSEUDONYMS = ("pseudonym", "user", "user_id", "id")
WINDOWS = ("window", "place", "network", "device")
REPORTS = ("report", "irr")
ROUNDS = ("round", "date", "day", "week", "time", "timestamp")
NO_WINDOW = "none"
"""The name of no column: a person's reports are dealt into two halves."""
MOST_WINDOWS = 100_000
"""A file with more windows is refused, since counting them takes memory."""
_NAMED = 3
"""A window of more values is named by its first and its last one."""
_SECONDS = 86_400
_MILLISECONDS_FROM = 1e11
"""Larger numbers in a column of times are milliseconds since 1970, smaller ones seconds."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\d\d:.*")
_TIME_COLUMNS = ("time", "timestamp")


def open_recorded(source: Source) -> CellTable:
    """Open a CSV, Parquet or Arrow file, recognised by its content, as a table; or take Arrow data."""
    if not isinstance(source, (str, PathLike)):
        return open_stream(source, AuditError)
    path = Path(source)
    file = SourceFile(path, AuditError)
    file_type = recognise(file)
    tabular = file_type in ("parquet", "arrow", "stream")
    if not tabular and path.suffix in (".parquet", ".arrow", ".feather", ".ipc"):
        raise AuditError(f"{path} is not a {path.suffix[1:]} file, although its name says so")
    if not tabular and file_type != "text":
        raise AuditError(
            f"{path} must be Parquet, Arrow or CSV (lines of text, the first of which names the columns)"
        )
    return open_cells(file, file_type, any_separator=True)


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
    who = _find(table, "pseudonym", pseudonym, _PSEUDONYMS)
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
    name = next((name for name in names if name in table.columns), None)
    if name is None:
        there = column_words(table.columns, shown=table.names_may_be_shown)
        raise AuditError(f"the file has no column of {what}s called {' or '.join(names)}: {there}")
    return name


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


def as_bytes(cell: Any) -> bytes:
    """A pseudonym or a text as bytes, for digests."""
    return cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass")


def has_two_values(cells: Iterable[Any], column: str) -> bool:
    """Whether cells of a column have exactly two values; a time counts as its day. It stops at the third."""
    values: set[str] = set()
    for cell in cells:
        if not missing(cell):
            values.add(round_label(cell, column))
        if len(values) > 2:
            return False
    return len(values) == 2


def round_label(cell: Any, column: str) -> str:
    """The round of a cell: what it says, or the day of a time."""
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    text = str(cell)
    if time := _TIME.fullmatch(text):
        return time[1]
    if column in _TIME_COLUMNS and re.fullmatch(r"\d{1,15}(\.\d*)?", text):
        seconds = float(text) / (1000 if float(text) >= _MILLISECONDS_FROM else 1)
        return str(int(seconds // _SECONDS))
    return text


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


# --- the format of reports: integers, hexadecimal digits, bits, or text, which is only compared -----------

FormatName = Literal["auto", "integer", "hex", "bits", "text"]
FORMATS: tuple[FormatName, ...] = ("auto", "integer", "hex", "bits", "text")
_WIDEST = 4096
"""The largest width of a report in bits."""
_TEXT_BITS = 32
"""The width in bits of the digest that stands for a text."""
_ENOUGH = 0.9
"""A format is recognised if at least this share of a file's first reports look like it."""
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)")


class UnreadableReport(ValueError):
    """A report that does not have the format of its file. The message never shows the report."""


@dataclass(frozen=True, slots=True)
class RecordedFormat:
    """The format of the reports in one file. `width` is in bits, and 0 for integers, which may have any width."""

    name: FormatName
    width: int

    @staticmethod
    def of(sample: Sequence[Any], asked: FormatName) -> "RecordedFormat":
        """The format that a file's first reports suggest, or the one asked for, with the most frequent width."""
        texts = [cell for cell in sample if isinstance(cell, str)]
        if asked == "auto":
            asked = _guess(sample, texts)
        lengths: Counter[int] = Counter()
        if asked == "bits":
            lengths.update(len(cell) for cell in sample if isinstance(cell, (str, bytes, list)))
            if any(isinstance(cell, bytes) for cell in sample):
                lengths = Counter({8 * length: count for length, count in lengths.items()})
        elif asked == "hex":
            lengths.update(4 * len(digits[1]) for cell in texts if (digits := _HEX.fullmatch(cell)))
        width = lengths.most_common(1)[0][0] if lengths else 0
        return RecordedFormat(asked, _TEXT_BITS if asked == "text" else width)

    def read(self, cell: Any) -> int:
        """Read a report as an integer. Digits have the highest first; lists and bytes have the lowest first."""
        if self.name == "text":
            return digest(as_bytes(cell))
        if self.name == "integer" or isinstance(cell, (bool, int, float)):
            return _as_integer(cell)
        if isinstance(cell, list):
            return self._listed(cell)
        if isinstance(cell, bytes):
            return self._sized(int.from_bytes(cell, "little"), 8 * len(cell))
        if not isinstance(cell, str):
            raise UnreadableReport(f"the report is a {type(cell).__name__}")
        if self.name == "hex":
            digits = _HEX.fullmatch(cell)
            if not digits:
                raise UnreadableReport("the report is not hexadecimal")
            return self._sized(int(digits[1], 16) if len(digits[1]) <= _WIDEST // 4 else 0, 4 * len(digits[1]))
        if not cell or cell.strip("01"):
            raise UnreadableReport("the report is not a row of 0 and 1")
        return self._sized(int(cell, 2), len(cell))

    def _listed(self, cell: list[Any]) -> int:
        if not all(item in (0, 1) for item in cell):
            raise UnreadableReport("the report is not a list of 0 and 1")
        return self._sized(sum(1 << index for index, item in enumerate(cell) if item), len(cell))

    def _sized(self, number: int, width: int) -> int:
        if width > _WIDEST:
            raise UnreadableReport(f"the report has more than {_WIDEST} bits")
        if width != self.width:
            raise UnreadableReport(f"the report has {width} bits, but most have {self.width}")
        return number


def _guess(sample: Sequence[Any], texts: Sequence[str]) -> FormatName:
    if sample and 2 * len(texts) < len(sample):
        whole = sum(isinstance(cell, (bool, int, float)) for cell in sample)
        listed = sum(isinstance(cell, (list, bytes)) for cell in sample)
        return "integer" if 2 * whole > len(sample) else "bits" if 2 * listed > len(sample) else "text"
    needed = _ENOUGH * len(texts)
    rows = Counter(len(text) for text in texts if text and not text.strip("01"))
    # A row of bits has one length, and more than one bit. Single digits, or 1 beside 10, are numbers.
    if rows and rows.most_common(1)[0][1] >= needed and rows.most_common(1)[0][0] > 1:
        return "bits"
    if sum(text.strip().removeprefix("-").isdecimal() for text in texts) >= needed:
        return "integer"
    if sum(_HEX.fullmatch(text) is not None for text in texts) >= needed:
        return "hex"
    return "text"


def _as_integer(cell: Any) -> int:
    if isinstance(cell, str):
        stripped = cell.strip()
        if not stripped.isascii() or not stripped.removeprefix("-").removeprefix("+").isdigit():
            raise UnreadableReport("the report is not an integer")
        if len(stripped) > _WIDEST // 4:
            raise UnreadableReport(f"the report has more than {_WIDEST} bits")
        cell = int(stripped)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        cell = int(cell)
    if not isinstance(cell, int):
        raise UnreadableReport("the report is not an integer")
    if cell < 0:
        raise UnreadableReport("the report is negative")
    if cell.bit_length() > _WIDEST:
        raise UnreadableReport(f"the report has more than {_WIDEST} bits")
    return int(cell)


# --- following people by attendance: the rounds in which they were seen in each of two windows ------------

MOST_ROUNDS = 4096
"""The largest number of different rounds of a file in which attendance is looked at."""
_BLOCK = 1 << 22
"""This many scores are kept at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenRounds:
    """Whether each person (row) was seen in each round (column), in one window."""

    seen: NDArray[np.bool_]

    @staticmethod
    def of(people: Sequence[int], rounds: int) -> "SeenRounds":
        """From one number for each person, whose bits are the rounds."""
        size = (rounds + 7) // 8
        raw = np.frombuffer(b"".join(person.to_bytes(size, "little") for person in people), dtype=np.uint8)
        bits = np.unpackbits(raw.reshape(len(people), size), axis=1, count=rounds, bitorder="little")
        return SeenRounds(bits.astype(np.bool_))

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of rounds in which each person was seen."""
        return np.asarray(self.seen.sum(axis=1), dtype=np.int64)

    def take(self, people: Index) -> "SeenRounds":
        """Some of the people."""
        return SeenRounds(self.seen[people])


class AttendanceScore:
    """ln(one person/two people), from how often a round was seen in both windows, in one of them, and in none.

    The rates are estimated from people of whom both windows are known. Two people are expected to be seen as often
    as each round's own rates say, so that what everybody does alike tells nothing.
    """

    def __init__(self, first: SeenRounds, second: SeenRounds) -> None:
        people = len(first.seen)
        here, there = first.seen.mean(axis=0), second.seen.mean(axis=0)
        both = (first.seen & second.seen).sum()
        seen = np.array([both, first.seen.sum() - both, second.seen.sum() - both, 0.0])
        expected = people * np.array([here @ there, here @ (1 - there), (1 - here) @ there, 0.0])
        seen[3], expected[3] = (people * here.size - counts.sum() for counts in (seen, expected))
        # Half a sighting more on each side: what was not seen yet is improbable, and not impossible.
        self._both, self._first, self._second, self._none = np.log((seen + 0.5) / (expected + 0.5))

    def __call__(self, first: SeenRounds, second: SeenRounds) -> FloatArray:
        """The scores of person i in the first window and person i in the second."""
        return self._score((first.seen & second.seen).sum(axis=1), first.counts, second.counts, first.seen.shape[1])

    def pairs(self, first: SeenRounds, second: SeenRounds) -> FloatArray:
        """The scores of all pairs of a row of the first window and a row of the second."""
        both = first.seen.astype(np.float32) @ second.seen.astype(np.float32).T
        return self._score(both.astype(np.float64), first.counts[:, None], second.counts, first.seen.shape[1])

    def _score(self, both: Any, first: Any, second: Any, rounds: int) -> FloatArray:
        none = rounds - first - second + both
        one = self._first * (first - both) + self._second * (second - both)
        return np.asarray(self._both * both + one + self._none * none)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAttendance:
    """What attendance alone says about the people of a file, without reading their reports.

    `tracking` is as for reports. `matched` is the share of held-out people for whom the right match came first,
    among all who were held out (sampled).
    """

    rounds: int
    tracking: Advantage
    matched: Matched

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "rounds": self.rounds,
            "advantage_lower": self.tracking.lower,
            "advantage_sampled": self.tracking.sampled,
            "tracking": self.tracking.as_dict(),
            "matched_sampled": asdict(self.matched),
        }


def follow_by_attendance(first: SeenRounds, second: SeenRounds, *, level: float, seed: int) -> RecordedAttendance:
    """Tell one person from two by attendance, and match people. Rates are learned from others than are tested."""

    def fitted(one: SeenRounds, two: SeenRounds) -> dict[str, AttendanceScore]:
        return {"attendance": AttendanceScore(one, two)}

    tracking = held_out_advantage(first, second, fitted, level=level, seed=seed)
    fit, _, test = held_out_parts(len(first.seen), seed)
    score = AttendanceScore(first.take(fit), second.take(fit))
    left, right = first.take(test), second.take(test)
    size = max(1, _BLOCK // test.size)
    hits = []
    for start in range(0, test.size, size):
        rows = np.arange(start, min(test.size, start + size))
        hits.append(first_choices(score.pairs(left.take(rows), right), rows))
    return RecordedAttendance(
        rounds=first.seen.shape[1], tracking=tracking, matched=share(np.concatenate(hits), level)
    )
