"""Rows of comma-separated text with their line numbers; whatever is malformed is an error that says where."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from untrackable.errors import DecodeError


class Row(NamedTuple):
    """The line that a row begins on, from 1, and its cells."""

    line: int
    cells: list[str]


def malformed(path: Path, line: int, why: str) -> DecodeError:
    """The error that says what is wrong, and where."""
    return DecodeError(f"{path}, line {line}: {why}")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of UTF-8 text with their ends, one at a time."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise malformed(path, number, "this is not UTF-8") from None
                if "\0" in text:
                    raise malformed(path, number, "there is a zero byte in it")
                yield number, text
    except OSError as error:
        raise DecodeError(f"cannot read {path}: {error.strerror}") from None


def rows(path: Path) -> Iterator[Row]:
    """Rows of a file; a quoted cell may go on over several lines. Blank lines are only allowed at the end."""
    numbered = lines(path)
    reader = csv.reader((text for _, text in numbered), strict=True)
    line, blank = 1, 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise malformed(path, line, f"not comma-separated values ({error})") from None
        if cells is None:
            return
        if not cells:
            blank = blank or line
        elif blank:
            raise malformed(path, blank, "a blank line between rows")
        else:
            yield Row(line, cells)
        line = reader.line_num + 1


def whole(path: Path, line: int, name: str, cell: str, *, low: int, high: int) -> int:
    """A cell that is an integer between two bounds."""
    digits = cell.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise malformed(path, line, f"{name} must be a whole number between {low} and {high}, in digits only")
    number = int(digits)
    if not low <= number <= high:
        raise malformed(path, line, f"{name} must be between {low} and {high}, got {number}")
    return number


def real(path: Path, line: int, name: str, cell: str) -> float:
    """A cell that is a number."""
    try:
        if not cell.isascii() or "_" in cell:
            raise ValueError
        return float(cell)
    except ValueError:
        raise malformed(path, line, f"{name} must be a number") from None
