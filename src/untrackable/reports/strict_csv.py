"""CSV read as rows of cells, each with the line that it begins on.

`RowParser` names malformed rows and reads the others. For `StrictCsv`, the first thing that is not right is an
error with its line.
"""

import csv
import io
import itertools
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, NamedTuple

from untrackable.errors import UntrackableError
from untrackable.reports.files import CELL_BATCH, SourceFile

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
    """Consecutive rows, the line that each begins on, and by index what is wrong with those that are malformed."""

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
            while part := list(itertools.islice(rows, CELL_BATCH)):
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
    for line in itertools.islice(lines, CELL_BATCH):
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
        self._file = SourceFile(self.path, error)

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
