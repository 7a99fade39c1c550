"""Files of reports, read piece by piece: CSV with line numbers, Parquet and Arrow with row numbers."""

import csv
import io
import itertools
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from untrackable.errors import AuditError
from untrackable.extras import extra
from untrackable.reports.file_type import kind_of

with extra("files"):
    import pyarrow as pa
    import pyarrow.parquet as pq

_CHUNK = 1 << 12
_DELIMITERS = ",;\t|"
_LONGEST_LINE = 1 << 20
_LONGEST_FIELD = 100  # lines
_TOO_LONG = "\0"


class Row(NamedTuple):
    """Its line or row number, from 1; its cells in the order asked for, or what is wrong with it."""

    number: int
    cells: tuple[Any, ...]
    wrong: str = ""


class Chunk(NamedTuple):
    """Consecutive rows, and how much of the file has been read."""

    rows: list[Row]
    done: float


class Table(Protocol):
    """A file of rows."""

    @property
    def unit(self) -> str:
        """What numbers count: lines or rows."""

    @property
    def columns(self) -> Sequence[str]:
        """Their names."""

    @property
    def names_may_be_shown(self) -> bool:
        """False where the first line may be data rather than names."""

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read these columns from the beginning."""


def open_table(path: Path) -> Table:
    """A file as a table, by its content; whatever it is not, the error says."""
    try:
        kind = kind_of(path)
    except IsADirectoryError:
        raise AuditError(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise AuditError(f"cannot read {path}: {error.strerror}") from None
    if kind == "empty":
        raise AuditError(f"{path} is empty")
    if kind == "parquet":
        return Parquet(path)
    if kind in ("arrow", "stream"):
        return Arrow(path, stream=kind == "stream")
    if path.suffix in (".parquet", ".arrow", ".feather", ".ipc"):
        raise AuditError(f"{path} is not what its name says: it does not begin as a {path.suffix[1:]} file does")
    if kind != "text":
        raise AuditError(f"{path} is neither CSV (lines of text, the first one naming columns), Parquet nor Arrow")
    return Csv(path)


class Csv:
    """Comma, semicolon, tab or bar separated text in UTF-8, the first line naming the columns."""

    unit = "line"
    names_may_be_shown = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = max(1, path.stat().st_size)
        with path.open("rb") as raw, closing(_lines(raw)) as lines:
            first = next(lines)[1]
        self._delimiter = max(_DELIMITERS, key=first.count)
        self.columns = self._cells(first) or []

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read these columns from the beginning."""
        places = [self.columns.index(name) for name in columns]
        with self._path.open("rb") as raw, closing(_lines(raw)) as lines:
            rows = self._rows(lines, places)
            next(rows, None)
            while chunk := list(itertools.islice(rows, _CHUNK)):
                yield Chunk(chunk, min(1.0, raw.tell() / self._size))

    def _rows(self, lines: Iterator[tuple[int, str]], places: list[int]) -> Iterator[Row]:
        while block := list(itertools.islice(lines, _CHUNK)):
            quick = self._quick(block, places)
            yield from self._careful(deque(block), lines, places) if quick is None else quick

    def _quick(self, block: list[tuple[int, str]], places: list[int]) -> list[Row] | None:
        """All lines at once, if each is plainly a row of its own."""
        texts = [line for _, line in block]
        together = "".join(texts)
        if not together.isascii() or "\0" in together or any(line.count('"') % 2 for line in texts):
            return None
        try:
            parsed = list(csv.reader(texts, delimiter=self._delimiter, strict=True))
        except csv.Error:
            return None
        if len(parsed) != len(block):
            return None
        width, found = len(self.columns), []
        for (number, _), cells in zip(block, parsed, strict=True):
            if len(cells) == width:
                found.append(Row(number, tuple([cells[place] for place in places])))
            elif cells:
                found.append(_checked(number, cells, width, places))
        return found

    def _careful(
        self, waiting: deque[tuple[int, str]], lines: Iterator[tuple[int, str]], places: list[int]
    ) -> Iterator[Row]:
        width = len(self.columns)
        while waiting:
            number, line = waiting.popleft()
            if not line.rstrip("\r\n"):
                continue  # a blank line
            cells = self._cells(line)
            # A quoted field may go on for a few lines; if it does not end well, they are lines of their own.
            taken = line
            for ahead in range(_LONGEST_FIELD if cells is None else 0):
                if ahead == len(waiting):
                    waiting.extend(itertools.islice(lines, 1))
                if ahead == len(waiting):
                    break
                taken += waiting[ahead][1]
                if '"' in waiting[ahead][1]:
                    cells = self._cells(taken)
                    if cells is not None:
                        for _ in range(ahead + 1 if len(cells) == width else 0):
                            waiting.popleft()
                        cells = cells if len(cells) == width else None
                        break
            yield _checked(number, cells, width, places)

    def _cells(self, line: str) -> list[str] | None:
        """The fields of a line, or None if a quotation mark is left open."""
        if '"' not in line:
            return line.rstrip("\r\n").split(self._delimiter)
        try:
            return next(csv.reader([line], delimiter=self._delimiter, strict=True), [])
        except csv.Error:
            return None


def _checked(number: int, cells: list[str] | None, width: int, places: list[int]) -> Row:
    if cells is None:
        return Row(number, (), "a quotation mark is left open")
    if cells == [_TOO_LONG]:
        return Row(number, (), "the line is too long")
    if len(cells) != width:
        return Row(number, (), f"{len(cells)} columns instead of {width}")
    taken = tuple(cells[place] for place in places)
    if any(not cell.isascii() and any("\ud800" <= mark <= "\udfff" for mark in cell) for cell in taken):
        return Row(number, (), "not UTF-8")
    return Row(number, taken)


def _lines(raw: IO[bytes]) -> Generator[tuple[int, str], None, None]:
    """Numbered lines; a line that is too long to be one is not held in memory."""
    text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        for number in itertools.count(1):
            line = text.readline(_LONGEST_LINE)
            if not line:
                return
            if len(line) == _LONGEST_LINE and line[-1] not in "\r\n":
                while line and line[-1] not in "\r\n":
                    line = text.readline(_LONGEST_LINE)
                line = _TOO_LONG
            yield number, line
    finally:
        text.detach()


class Parquet:
    """A Parquet file, read by row groups."""

    unit = "row"
    names_may_be_shown = True

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with pq.ParquetFile(path) as file:
                self.columns = list(file.schema_arrow.names)
                self._rows = max(1, file.metadata.num_rows)
        except (pa.ArrowException, OSError):
            raise AuditError(f"{path} is a damaged or truncated Parquet file") from None

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read these columns from the beginning."""
        with pq.ParquetFile(self._path) as file:
            batches = file.iter_batches(batch_size=_CHUNK, columns=list(columns))
            yield from _batches(batches, columns, self._path, self._rows)


class Arrow:
    """An Arrow IPC file (Feather version 2) or stream."""

    unit = "row"
    names_may_be_shown = True

    def __init__(self, path: Path, *, stream: bool) -> None:
        self._path, self._stream = path, stream
        with self._open() as (reader, _):
            self.columns = list(reader.schema.names)

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read these columns from the beginning."""
        with self._open() as (reader, size):
            places = [self.columns.index(name) for name in columns]
            yield from _batches(_selected(reader, places, self._stream), columns, self._path, size)

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, int]]:
        try:
            source = pa.memory_map(os.fspath(self._path))
            opener = pa.ipc.open_stream if self._stream else pa.ipc.open_file
            reader = opener(source)
        except (pa.ArrowException, OSError):
            raise AuditError(f"{self._path} is a damaged or truncated Arrow file") from None
        with source, reader:
            yield reader, 0 if self._stream else reader.num_record_batches


def _selected(reader: Any, places: list[int], stream: bool) -> Iterator[Any]:
    count = itertools.count() if stream else range(reader.num_record_batches)
    for number in count:
        try:
            batch = reader.read_next_batch() if stream else reader.get_batch(number)
        except StopIteration:
            return
        yield batch.select(places)


def _batches(batches: Iterator[Any], columns: Sequence[str], path: Path, total: int) -> Iterator[Chunk]:
    """Record batches as rows; `total` is what `done` is relative to: rows of Parquet, nothing known of Arrow."""
    number = 0
    while True:
        try:
            batch = next(batches)
            for start in range(0, batch.num_rows, _CHUNK):
                part = batch.slice(start, _CHUNK)
                cells = [part.column(i).to_pylist() for i in range(len(columns))]
                rows = [Row(number + i, row) for i, row in enumerate(zip(*cells, strict=True), start=1)]
                number += len(rows)
                yield Chunk(rows, min(1.0, number / total) if total else 0.0)
        except StopIteration:
            return
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise AuditError(f"{path} is damaged: it cannot be read beyond row {number}") from None
