"""Reports as CSV, perhaps compressed with gzip. A comment on the first line holds the header and the footer."""

import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import UntrackableError
from untrackable.extras import extra
from untrackable.reports.files import (
    LARGEST_HEADER,
    REPORT,
    ROUND,
    WORD,
    ArrayBatch,
    Block,
    CellBatch,
    Footer,
    Header,
    SourceFile,
    StorageLayout,
    are_names,
)
from untrackable.reports.strict_csv import LONGEST_LINE, TOO_LONG, RowParser, numbered_lines, split_line

with extra("files"):
    import pyarrow as pa
    import pyarrow.csv

FAILURES = (OSError, EOFError, zlib.error)
"""The errors that a damaged file raises."""

_SEPARATORS = ",;\t|"
_MARK = "# untrackable "
_FIRST = re.compile(_MARK + r"(reports=\S+ crc32=\S+) (.*)", re.DOTALL)
_PIECE = 1 << 23
_LONGEST_COMMENT = LARGEST_HEADER + 128
"""The most bytes of the line with the header, the footer and a mark."""
_MOST_COLUMNS = 4096


def write(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """Write a comment, the names of the columns, and a line for each report."""
    _write(file, header, blocks, compressed=False)


def write_compressed(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """Write the text of `write`, compressed with gzip."""
    _write(file, header, blocks, compressed=True)


def _write(file: IO[bytes], header: Header, blocks: Iterator[Block], *, compressed: bool) -> None:
    layout, footer = StorageLayout(header.mechanism.report_bits), Footer(header.text())
    kind = pa.string() if layout.in_bytes else pa.from_numpy_dtype(layout.dtype)
    schema = pa.schema([(ROUND, pa.int64()), (REPORT, kind)])
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    file.write(_comment(footer, header, compressed=compressed))
    with _compressed(file) if compressed else nullcontext(file) as body:
        body.write(f"{ROUND},{REPORT}\n".encode())
        with pa.csv.CSVWriter(body, schema, write_options=options) as writer:
            for block in blocks:
                columns = [pa.array(block.rounds), _digits(block.reports, layout)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                footer.add(*block)
    # The comment is written again, now with the footer. It has the same length as before.
    file.seek(0)
    file.write(_comment(footer, header, compressed=compressed))
    file.seek(0, io.SEEK_END)


def _compressed(file: IO[bytes]) -> gzip.GzipFile:
    """A gzip member without a date or a name."""
    return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)


def _comment(footer: Footer, header: Header, *, compressed: bool) -> bytes:
    line = f"{_MARK}{footer.text()} {header.text()}\n".encode()
    # Without compression, the length of the member is known in advance.
    return gzip.compress(line, compresslevel=0, mtime=0) if compressed else line


def _digits(reports: NDArray[Any], layout: StorageLayout) -> Any:
    """Integers as they are, wider reports in hexadecimal, the most significant digit first."""
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

    def __init__(self, file: SourceFile, *, compressed: bool, any_separator: bool = False) -> None:
        self.file = file
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
        self.names_may_be_shown = are_names(self.columns)

    def cells(self, columns: Sequence[str]) -> Iterator[CellBatch]:
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
                    yield CellBatch(*block, min(1.0, raw.tell() / size))
                    number = block.numbers[-1] + 1 if block.numbers else number
        except FAILURES as error:
            raise self.file.damaged(f"after line {number - 1}", error) from None

    def arrays(self, layouts: Mapping[str, StorageLayout]) -> Iterator[ArrayBatch]:
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
                        yield ArrayBatch(self._parsed(lines, layouts, number), raw.tell() / size)
                        number += lines.count(b"\n")
            except FAILURES as error:
                raise self.file.damaged(f"after line {number - 1}", error) from None
            if rest:
                if self.header is not None:
                    raise self.file.damaged(f"in line {number}", "it does not end")
                yield ArrayBatch(self._parsed(rest + b"\n", layouts, number), 1.0)

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

    def _parsed(self, lines: bytes, layouts: Mapping[str, StorageLayout], number: int) -> dict[str, NDArray[Any]]:
        """The columns of whole lines, the first of which has this number."""
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

    def _first_malformed(self, lines: bytes, layouts: Mapping[str, StorageLayout], number: int) -> UntrackableError:
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


def _fits(cell: str, layout: StorageLayout) -> bool:
    if layout.in_bytes:
        return re.fullmatch(f"[0-9a-fA-F]{{{2 * layout.size}}}", cell) is not None
    return re.fullmatch("[0-9]{1,20}", cell) is not None and not int(cell) >> min(layout.bits, WORD)


def _described(layout: StorageLayout) -> str:
    return f"{2 * layout.size} hexadecimal digits" if layout.in_bytes else f"an integer of {layout.bits} bits"


def _byte_rows(texts: list[str], layout: StorageLayout) -> NDArray[np.uint8] | None:
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
