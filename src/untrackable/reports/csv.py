"""CSV: reports, perhaps compressed with gzip, and rows of cells, each with the line that it begins on.

A comment on the first line of reports holds the header and the footer. `RowParser` names malformed rows and reads
the others. For `StrictCsv`, the first thing that is not right is an error with its line.
"""

import csv
import gzip
import io
import itertools
import re
import zlib
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import UntrackableError
from untrackable.reports import files

FAILURES = (OSError, EOFError, zlib.error)
"""The errors that a damaged file raises."""

_SEPARATORS = ",;\t|"
_MARK = "# untrackable "
_FIRST = re.compile(_MARK + r"(reports=\S+ crc32=\S+) (.*)", re.DOTALL)
_PIECE = 1 << 23
_LONGEST_COMMENT = files.LARGEST_HEADER + 128
"""The most bytes of the line with the header, the footer and a mark."""
_MOST_COLUMNS = 4096


def write(
    file: IO[bytes], header: files.Header, blocks: Iterator[files.Block], *, compressed: bool = False
) -> None:
    """Write a comment, the names of the columns, and a line for each report; with gzip if `compressed`."""
    pa = files.arrow()
    layout, footer = files.StorageLayout(header.mechanism.report_bits), files.Footer(header.text())
    kind = pa.string() if layout.in_bytes else pa.from_numpy_dtype(layout.dtype)
    schema = pa.schema([(files.ROUND, pa.int64()), (files.REPORT, kind)])
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    file.write(_comment(footer, header, compressed=compressed))
    # A gzip member has no date and no name.
    member = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) if compressed else nullcontext(file)
    with member as body:
        body.write(f"{files.ROUND},{files.REPORT}\n".encode())
        with pa.csv.CSVWriter(body, schema, write_options=options) as writer:
            for block in blocks:
                columns = [pa.array(block.rounds), _digits(block.reports, layout)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                footer.add(*block)
    # The comment is written again, now with the footer. It has the same length as before.
    file.seek(0)
    file.write(_comment(footer, header, compressed=compressed))
    file.seek(0, io.SEEK_END)


def _comment(footer: files.Footer, header: files.Header, *, compressed: bool) -> bytes:
    line = f"{_MARK}{footer.text()} {header.text()}\n".encode()
    # Without compression, the length of the member is known in advance.
    return gzip.compress(line, compresslevel=0, mtime=0) if compressed else line


def _digits(reports: NDArray[Any], layout: files.StorageLayout) -> Any:
    """Integers as they are, wider reports in hexadecimal, the most significant digit first."""
    pa = files.arrow()
    if not layout.in_bytes:
        return pa.array(reports)
    text = reports[:, ::-1].tobytes().hex().encode()
    ends = np.arange(len(reports) + 1, dtype=np.int32) * np.int32(2 * layout.size)
    return pa.Array.from_buffers(pa.string(), len(reports), [None, pa.py_buffer(ends), pa.py_buffer(text)])


class CsvTable:
    """Lines of text, the first of which names the columns; before it there may be a comment with header and footer.

    With `any_separator`, cells may also be separated by semicolons, tabs or bars, and lines may end in a carriage
    return alone; then only cells can be read.
    """

    unit = "line"

    def __init__(self, file: files.SourceFile, *, compressed: bool, any_separator: bool = False) -> None:
        self.file, self._arrow = file, files.arrow()
        self._compressed, self._any_separator = compressed, any_separator
        self.header: str | None = None
        self.footer: str | None = None
        try:
            with file.path.open("rb") as raw, self._open(raw) as opened:
                line, self.first = self._line(opened, 1), 2
                if line.startswith(_MARK.encode()):
                    self._read_comment(line)
                    line, self.first = self._line(opened, 2), 3
        except FAILURES as error:
            raise file.damaged("at its beginning", error) from None
        names = line.decode("utf-8-sig", errors="replace")
        if any_separator:
            names = names.split("\r", 1)[0]
        self._delimiter = max(_SEPARATORS, key=names.count) if any_separator else ","
        self.columns = split_line(names, self._delimiter) or []
        if len(self.columns) > _MOST_COLUMNS:
            many = f"it names {len(self.columns):,} columns, and at most {_MOST_COLUMNS:,} are read"
            raise self._malformed(self.first - 1, many)
        self.names_may_be_shown = files.are_names(self.columns)

    def cells(self, columns: Sequence[str]) -> Iterator[files.CellBatch]:
        wanted = tuple(self.columns.index(name) for name in columns)
        parser = RowParser(self._delimiter, len(self.columns), wanted)
        size, number = max(1, self.file.path.stat().st_size), self.first
        try:
            with (
                self.file.path.open("rb") as raw,
                self._open(raw) as opened,
                closing(numbered_lines(opened, ends="")) as lines,
            ):
                for block in parser.blocks(itertools.islice(lines, self.first - 1, None)):
                    yield files.CellBatch(*block, min(1.0, raw.tell() / size))
                    number = block.numbers[-1] + 1 if block.numbers else number
        except FAILURES as error:
            raise self.file.damaged(f"after line {number - 1}", error) from None

    def arrays(self, layouts: Mapping[str, files.StorageLayout]) -> Iterator[files.ArrayBatch]:
        """These columns from the beginning; a line that does not fit their layouts is an error with its number."""
        number, size = self.first, max(1, self.file.path.stat().st_size)
        with self.file.path.open("rb") as raw, self._open(raw) as opened:
            try:
                for _ in range(self.first - 1):
                    opened.readline(_LONGEST_COMMENT)
                rest = b""
                while piece := opened.read(_PIECE):
                    piece = rest + piece
                    self._check_lines(piece, number)
                    whole, newline, rest = piece.rpartition(b"\n")
                    if newline:
                        lines = whole + newline
                        yield files.ArrayBatch(self._parsed(lines, layouts, number), raw.tell() / size)
                        number += lines.count(b"\n")
            except FAILURES as error:
                raise self.file.damaged(f"after line {number - 1}", error) from None
            if rest:
                if self.header is not None:
                    raise self.file.damaged(f"in line {number}", "it does not end")
                yield files.ArrayBatch(self._parsed(rest + b"\n", layouts, number), 1.0)

    def _open(self, raw: IO[bytes]) -> Any:
        return gzip.GzipFile(fileobj=raw) if self._compressed else nullcontext(raw)

    def _check_lines(self, data: bytes, number: int) -> None:
        """Refuse a line that is too long, before it is parsed or more of it is read."""
        begin = 0
        while begin + LONGEST_LINE < len(data):
            end = data.rfind(b"\n", begin, begin + LONGEST_LINE + 1)
            if end < 0:
                raise self._malformed(number + data.count(b"\n", 0, begin), TOO_LONG)
            begin = end + 1

    def _line(self, opened: IO[bytes], number: int) -> bytes:
        """One of the first lines: the comment, or the names of the columns."""
        line = opened.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE and line.startswith(_MARK.encode()):
            line += opened.readline(_LONGEST_COMMENT - len(line))
            if not line.endswith(b"\n") and len(line) == _LONGEST_COMMENT:
                raise self._malformed(number, f"it has more than {_LONGEST_COMMENT:,} characters")
        elif len(line) > LONGEST_LINE and not line.endswith(b"\n") and not (self._any_separator and b"\r" in line):
            raise self._malformed(number, TOO_LONG)
        if not line.endswith(b"\n") and not self._any_separator:
            raise self.file.damaged("within its first lines", "a line does not end")
        return line

    def _read_comment(self, line: bytes) -> None:
        try:
            match = _FIRST.fullmatch(line.decode().removesuffix("\n"))
        except UnicodeDecodeError:
            match = None
        if not match:
            raise self.file.damaged("in line 1", "it does not describe the reports")
        self.footer, self.header = match[1], match[2]

    def _parsed(
        self, lines: bytes, layouts: Mapping[str, files.StorageLayout], number: int
    ) -> dict[str, NDArray[Any]]:
        """The columns of whole lines, the first of which has this number."""
        pa = self._arrow
        kinds = {name: pa.string() for name in self.columns}
        kinds |= {name: pa.string() if layout.in_bytes else pa.uint64() for name, layout in layouts.items()}
        options = pa.csv.ConvertOptions(column_types=kinds, null_values=[], include_columns=list(layouts))
        parsing = pa.csv.ParseOptions(ignore_empty_lines=False)
        reading = pa.csv.ReadOptions(column_names=self.columns, block_size=max(len(lines), 1))
        try:
            table = pa.csv.read_csv(pa.BufferReader(lines), reading, parsing, options)
        except (pa.ArrowException, UnicodeDecodeError):
            raise self._first_malformed(lines, layouts, number) from None
        table = table.combine_chunks()
        if table.num_rows != lines.count(b"\n"):
            raise self._first_malformed(lines, layouts, number)
        arrays = {}
        for name, layout in layouts.items():
            column = table.column(name)
            array = _byte_rows(column.to_pylist(), layout) if layout.in_bytes else column.to_numpy()
            if array is None:
                raise self._first_malformed(lines, layouts, number)
            arrays[name] = array
        return arrays

    def _first_malformed(
        self, lines: bytes, layouts: Mapping[str, files.StorageLayout], number: int
    ) -> UntrackableError:
        """The error that names the first line that does not fit, and why."""
        last = number
        for last, line in enumerate(lines.split(b"\n")[:-1], start=number):
            text = line.decode(errors="replace")
            cells = [] if not text.rstrip("\r") else split_line(text) or [text]
            if len(cells) != len(self.columns):
                return self._malformed(last, f"{len(cells)} columns instead of {len(self.columns)}")
            held = dict(zip(self.columns, cells, strict=True))
            for name, layout in layouts.items():
                if not _fits(held[name].strip(), layout):
                    return self._malformed(last, f"the {name} is not {_described(layout)}")
        return self._malformed(last, "this line, or one before it, does not fit the columns")

    def _malformed(self, line: int, why: str) -> UntrackableError:
        return self.file.malformed(self.unit, line, why)


def _fits(cell: str, layout: files.StorageLayout) -> bool:
    if layout.in_bytes:
        return re.fullmatch(f"[0-9a-fA-F]{{{2 * layout.size}}}", cell) is not None
    return re.fullmatch("[0-9]{1,20}", cell) is not None and not int(cell) >> min(layout.bits, files.WORD)


def _described(layout: files.StorageLayout) -> str:
    return f"{2 * layout.size} hexadecimal digits" if layout.in_bytes else f"an integer of {layout.bits} bits"


def _byte_rows(texts: list[str], layout: files.StorageLayout) -> NDArray[np.uint8] | None:
    """Hexadecimal digits as bytes, the least significant first; None if some are not of this layout."""
    if any(len(text) != 2 * layout.size for text in texts):
        return None
    try:
        data = bytes.fromhex("".join(texts))
    except ValueError:
        return None
    if len(data) != len(texts) * layout.size:
        return None
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, layout.size)[:, ::-1]


LONGEST_LINE = 1 << 20
"""The most characters of a line, and of the lines that a quoted cell goes on for. Longer ones are malformed."""
TOO_LONG = f"it has more than {LONGEST_LINE:,} characters, the most that are read"
"""Stands for such a line. It is recognised as this very object, so that no text can be mistaken for it."""

_BLOCK_CHARACTERS = 1 << 22
_CELL_LINES = 100

_ENDS = {"": ("\r", "\n"), "\n": ("\n",)}
_OPEN_QUOTATION = "a quotation mark is left open or misplaced"

Line = tuple[int, str]


class RowBlock(NamedTuple):
    """Consecutive rows, the line that each begins on, and the problems of malformed rows by their index."""

    numbers: Sequence[int]
    rows: list[list[str]]
    problems: dict[int, str]


def numbered_lines(raw: IO[bytes], *, ends: Literal["", "\n"]) -> Generator[Line, None, None]:
    """Lines with their numbers, from 1. With `ends=""`, a carriage return alone ends a line, too.

    `TOO_LONG` stands for a line that is too long. What follows in this line is read only if the next one is asked
    for, and not kept. Bytes that are not UTF-8 become surrogates, which `not_utf8` finds.
    """
    text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline=ends)
    try:
        for number in itertools.count(1):
            line = text.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) <= LONGEST_LINE or line.endswith(_ENDS[ends]):
                yield number, line
                continue
            yield number, TOO_LONG
            while line and not line.endswith(_ENDS[ends]):
                line = text.readline(LONGEST_LINE)
    finally:
        text.detach()


def not_utf8(text: str) -> bool:
    """Whether bytes that are not UTF-8 were read as this text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def split_line(line: str, delimiter: str = ",") -> list[str] | None:
    """The cells of a line, or None if a quotation mark is left open or misplaced."""
    if '"' not in line and "\r" not in line.rstrip("\r\n"):
        return line.rstrip("\r\n").split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return None


@dataclass(frozen=True, slots=True)
class RowParser:
    """Splits lines into rows. With `width`, rows must have that many cells; those at `wanted` are kept.

    Blank lines are skipped then. Without `width`, all cells are kept and a blank line is a row without cells; zero
    bytes and cells that are very long are problems.
    """

    delimiter: str = ","
    width: int | None = None
    wanted: tuple[int, ...] = ()

    def blocks(self, lines: Iterator[Line]) -> Iterator[RowBlock]:
        """All rows, a few thousand at a time."""
        while block := _block(lines):
            quick = self._quick(block)
            if quick is not None:
                yield quick
                continue
            rows = self._careful(deque(block), lines)
            while part := list(itertools.islice(rows, files.CELL_BATCH)):
                problems = {index: problem for index, (_, _, problem) in enumerate(part) if problem}
                yield RowBlock([number for number, _, _ in part], [cells for _, cells, _ in part], problems)

    def _quick(self, block: list[Line]) -> RowBlock | None:
        """All lines at once, if each is plainly a row of its own."""
        texts = [line for _, line in block]
        together = "".join(texts)
        if "\0" in together or (not together.isascii() and not_utf8(together)):
            return None
        if any(line is TOO_LONG for line in texts):
            return None
        if '"' in together and any(line.count('"') % 2 for line in texts):
            return None
        try:
            parsed = list(csv.reader(texts, delimiter=self.delimiter, strict=True))
        except csv.Error:
            return None
        if len(parsed) != len(block):
            return None
        first = block[0][0]
        if self.width is None:
            return RowBlock(range(first, first + len(parsed)), parsed, {})
        numbers: list[int] = []
        rows: list[list[str]] = []
        problems: dict[int, str] = {}
        for number, cells in enumerate(parsed, start=first):
            if cells:
                if len(cells) != self.width:
                    problems[len(rows)] = self._wrong_width(cells)
                    cells = []
                numbers.append(number)
                rows.append([cells[index] for index in self.wanted] if cells else cells)
        return RowBlock(numbers, rows, problems)

    def _careful(self, waiting: deque[Line], lines: Iterator[Line]) -> Iterator[tuple[int, list[str], str]]:
        """Row by row: the line it begins on, its cells, and what is wrong with it."""
        while waiting:
            number, line = waiting.popleft()
            if not line.rstrip("\r\n"):
                if self.width is None:
                    yield number, [], ""
                continue
            if line is TOO_LONG:
                yield number, [], TOO_LONG
                continue
            cells = split_line(line, self.delimiter)
            # A quoted cell may go on for a few lines; if it does not end well, they are lines of their own.
            taken = line
            for ahead in range(_CELL_LINES if cells is None else 0):
                if ahead == len(waiting):
                    waiting.extend(itertools.islice(lines, 1))
                if ahead == len(waiting) or waiting[ahead][1] is TOO_LONG:
                    break
                taken += waiting[ahead][1]
                if len(taken) > LONGEST_LINE:
                    break
                if '"' in waiting[ahead][1]:
                    cells = split_line(taken, self.delimiter)
                    if cells is not None:
                        if self.width not in (None, len(cells)):
                            cells = None
                        for _ in range(0 if cells is None else ahead + 1):
                            waiting.popleft()
                        break
            if cells is None:
                yield number, [], _OPEN_QUOTATION if '"' in line else "a carriage return inside a row"
            else:
                yield number, *self._checked(cells)

    def _checked(self, cells: list[str]) -> tuple[list[str], str]:
        """The cells that are wanted, or what is wrong."""
        if self.width is not None:
            if len(cells) != self.width:
                return [], self._wrong_width(cells)
            cells = [cells[index] for index in self.wanted]
        if any(not cell.isascii() and not_utf8(cell) for cell in cells):
            return [], "not UTF-8"
        if self.width is None and any("\0" in cell for cell in cells):
            return [], "there is a zero byte in it"
        if self.width is None and max(map(len, cells)) > csv.field_size_limit():
            return [], f"a cell has more than {csv.field_size_limit()} characters"
        return cells, ""

    def _wrong_width(self, cells: list[str]) -> str:
        return f"{len(cells)} columns instead of {self.width}"


def _block(lines: Iterator[Line]) -> list[Line]:
    """The next few thousand lines, fewer of them if they are long."""
    block: list[Line] = []
    characters = 0
    for line in itertools.islice(lines, files.CELL_BATCH):
        block.append(line)
        characters += len(line[1])
        if characters >= _BLOCK_CHARACTERS:
            break
    return block


class CsvRow(NamedTuple):
    """The line that a row begins on, from 1, and its cells."""

    line: int
    cells: list[str]


class StrictCsv:
    """Comma-separated text in UTF-8, read row by row; errors are of the given class and name file and line."""

    def __init__(self, path: str | Path, error: type[UntrackableError]) -> None:
        self.path = Path(path)
        self._file = files.SourceFile(self.path, error)

    def malformed(self, line: int, why: object) -> UntrackableError:
        """The error that says what is wrong, and where."""
        return self._file.malformed("line", line, why)

    def empty(self, expected: str) -> UntrackableError:
        """The error that says what was expected of a file without rows."""
        return self._file.error(f"{self.path} is empty; {expected}")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines with their ends, one at a time."""
        for number, text in self._raw_lines():
            if not text.isascii() and not_utf8(text):
                raise self.malformed(number, "not UTF-8")
            if "\0" in text:
                raise self.malformed(number, "there is a zero byte in it")
            yield number, text

    def rows(self) -> Iterator[CsvRow]:
        """Rows of the file; a quoted cell may go on over several lines. Blank lines are only allowed at the end."""
        blank = 0
        with closing(self._raw_lines()) as lines:
            for block in RowParser().blocks(lines):
                for index, (line, cells) in enumerate(zip(block.numbers, block.rows, strict=True)):
                    if not cells:
                        if index in block.problems:
                            raise self.malformed(line, block.problems[index])
                        blank = blank or line
                        continue
                    if blank:
                        raise self.malformed(blank, "a blank line between rows")
                    yield CsvRow(line, cells)

    def whole(self, line: int, name: str, cell: str, *, low: int, high: int) -> int:
        """A cell that is an integer between two bounds."""
        digits = cell.strip()
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
            raise self.malformed(line, f"{name} must be a whole number between {low} and {high}, in digits only")
        number = int(digits)
        if not low <= number <= high:
            raise self.malformed(line, f"{name} must be between {low} and {high}, got {number}")
        return number

    def real(self, line: int, name: str, cell: str) -> float:
        """A cell that is a number."""
        try:
            if not cell.isascii() or "_" in cell:
                raise ValueError
            return float(cell)
        except ValueError:
            raise self.malformed(line, f"{name} must be a number") from None

    def _raw_lines(self) -> Generator[tuple[int, str], None, None]:
        try:
            with self.path.open("rb") as raw, closing(numbered_lines(raw, ends="\n")) as lines:
                for number, text in lines:
                    if text is TOO_LONG:
                        raise self.malformed(number, TOO_LONG)
                    yield number, text
        except OSError as error:
            raise self._file.unreadable(error) from None
