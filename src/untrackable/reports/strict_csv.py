"""A CSV file in which everything must be right: the first thing that is not is an error with its line."""

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from untrackable.errors import UntrackableError
from untrackable.reports.csv_rows import TOO_LONG, RowParser, not_utf8, numbered_lines
from untrackable.reports.table import SourceFile


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
