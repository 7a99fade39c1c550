"""CSV, perhaps compressed with gzip: what the file says of itself is a comment on its first line."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import ReportFileError
from untrackable.extras import extra
from untrackable.reports.file_format import REPORT, ROUND, Batch, Block, damaged
from untrackable.reports.header import Footer, Header
from untrackable.reports.storage_layout import WORD, StorageLayout

with extra("files"):
    import pyarrow as pa
    import pyarrow.csv

FAILURES = (OSError, EOFError, zlib.error)
_MARK = "# untrackable "
_FIRST = re.compile(_MARK + r"(reports=\S+ crc32=\S+) (.*)", re.DOTALL)
_PIECE = 1 << 23
_LONGEST_HEADER = 1 << 26


def write(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """A comment, the names of the columns, a line for each report."""
    _write(file, header, blocks, compressed=False)


def write_compressed(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """The same with gzip."""
    _write(file, header, blocks, compressed=True)


def _write(file: IO[bytes], header: Header, blocks: Iterator[Block], *, compressed: bool) -> None:
    layout, seal = StorageLayout(header.mechanism.report_bits), Footer(header.text())
    schema = pa.schema([(ROUND, pa.int64()), (REPORT, _written(layout))])
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    file.write(_comment(seal, header, compressed=compressed))
    with _compressed(file) if compressed else nullcontext(file) as body:
        body.write(f"{ROUND},{REPORT}\n".encode())
        with pa.csv.CSVWriter(body, schema, write_options=options) as writer:
            for block in blocks:
                columns = [pa.array(block.rounds), _digits(block.reports, layout)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                seal.add(*block)
    file.seek(0)  # the comment again, now with the seal: it is as long as before
    file.write(_comment(seal, header, compressed=compressed))
    file.seek(0, io.SEEK_END)


def _compressed(file: IO[bytes]) -> gzip.GzipFile:
    """A member of its own, without a date or a name."""
    return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)


def _comment(seal: Footer, header: Header, *, compressed: bool) -> bytes:
    line = f"{_MARK}{seal.text()} {header.text()}\n".encode()
    return gzip.compress(line, compresslevel=0, mtime=0) if compressed else line  # stored, so of a known length


def _written(layout: StorageLayout) -> Any:
    return pa.string() if layout.in_bytes else pa.from_numpy_dtype(layout.dtype)


def _digits(reports: NDArray[Any], layout: StorageLayout) -> Any:
    """Integers as they are, wider reports in hexadecimal, the most significant digit first."""
    if not layout.in_bytes:
        return pa.array(reports)
    text = reports[:, ::-1].tobytes().hex().encode()
    ends = np.arange(len(reports) + 1, dtype=np.int32) * np.int32(2 * layout.size)
    return pa.Array.from_buffers(pa.string(), len(reports), [None, pa.py_buffer(ends), pa.py_buffer(text)])


class Text:
    """Lines of decimal digits, hexadecimal ones for reports wider than 64 bits; the first names the columns."""

    unit = "line"

    def __init__(self, path: Path, *, compressed: bool) -> None:
        self._path, self._compressed = path, compressed
        self.header: str | None = None
        self.seal: str | None = None
        try:
            with self._open() as file:
                line = self._line(file)
                self.first = 2
                if line.startswith(_MARK.encode()):
                    self._read_comment(line)
                    line, self.first = self._line(file), 3
        except FAILURES as error:
            raise damaged(path, "at its beginning", error) from None
        self._names = _cells(line.decode("utf-8-sig", errors="replace"))
        if REPORT not in self._names:
            raise ReportFileError(f"{path}, line {self.first - 1}: there must be a column {REPORT!r}")

    def batches(self, layout: StorageLayout) -> Iterator[Batch]:
        """All reports; a line that is not one is an error with its number."""
        number, size = self.first, max(1, self._path.stat().st_size)
        with self._path.open("rb") as raw, self._open(raw) as file:
            try:
                for _ in range(self.first - 1):
                    file.readline(_LONGEST_HEADER)
                rest = b""
                while piece := file.read(_PIECE):
                    whole, newline, rest = (rest + piece).rpartition(b"\n")
                    if newline:
                        yield (batch := self._batch(whole + newline, layout, number, raw.tell() / size))
                        number += len(batch.reports)
            except FAILURES as error:
                raise damaged(self._path, f"after line {number - 1}", error) from None
            if rest:
                if self.header is not None:
                    raise damaged(self._path, f"in line {number}", "it does not end")
                yield self._batch(rest + b"\n", layout, number, 1.0)

    def _open(self, raw: IO[bytes] | None = None) -> Any:
        if raw is None:
            return gzip.open(self._path) if self._compressed else self._path.open("rb")
        return gzip.GzipFile(fileobj=raw) if self._compressed else nullcontext(raw)

    def _line(self, file: IO[bytes]) -> bytes:
        line = file.readline(_LONGEST_HEADER)
        if not line.endswith(b"\n"):
            raise damaged(self._path, "within its first lines", "a line does not end")
        return line

    def _read_comment(self, line: bytes) -> None:
        try:
            found = _FIRST.fullmatch(line.decode().removesuffix("\n"))
        except UnicodeDecodeError:
            found = None
        if not found:
            raise damaged(self._path, "in line 1", "it does not describe the reports")
        self.seal, self.header = found[1], found[2]

    def _batch(self, lines: bytes, layout: StorageLayout, number: int, done: float) -> Batch:
        kinds = {name: pa.string() for name in self._names}
        kinds |= {ROUND: pa.int64(), REPORT: _read_kind(layout)}
        options = pa.csv.ConvertOptions(column_types=kinds, null_values=[], include_columns=self._wanted())
        parsing = pa.csv.ParseOptions(ignore_empty_lines=False)
        reading = pa.csv.ReadOptions(column_names=self._names, block_size=max(len(lines), 1))
        try:
            table = pa.csv.read_csv(pa.BufferReader(lines), reading, parsing, options)
        except (pa.ArrowException, UnicodeDecodeError):
            raise self._first_wrong(lines, layout, number) from None
        table = table.combine_chunks()
        if table.num_rows != lines.count(b"\n"):
            raise self._first_wrong(lines, layout, number)
        rounds = table.column(ROUND).to_numpy() if ROUND in self._names else None
        reports = table.column(REPORT)
        if not layout.in_bytes:
            return Batch(rounds, reports.to_numpy(), done)
        rows = _undigits(reports.to_pylist(), layout)
        if rows is None:
            raise self._first_wrong(lines, layout, number)
        return Batch(rounds, rows, done)

    def _wanted(self) -> list[str]:
        return [name for name in (ROUND, REPORT) if name in self._names]

    def _first_wrong(self, lines: bytes, layout: StorageLayout, number: int) -> ReportFileError:
        """Which line is the first that is not a report, and why."""
        digits = f"[0-9a-fA-F]{{{2 * layout.size}}}" if layout.in_bytes else "[0-9]{1,20}"
        wanted = f"{2 * layout.size} hexadecimal digits" if layout.in_bytes else f"an integer of {layout.bits} bits"
        last = number
        for last, line in enumerate(lines.split(b"\n")[:-1], start=number):
            cells = _cells(line.decode(errors="replace"))
            if len(cells) != len(self._names):
                return self._wrong(last, f"{len(cells)} columns instead of {len(self._names)}")
            held = dict(zip(self._names, cells, strict=True))
            if not re.fullmatch(digits, held[REPORT].strip()) or (
                not layout.in_bytes and int(held[REPORT]) >> min(layout.bits, WORD)
            ):
                return self._wrong(last, f"the report is not {wanted}")
            if ROUND in held and (not re.fullmatch("[0-9]{1,19}", held[ROUND].strip()) or int(held[ROUND]) >> 63):
                return self._wrong(last, "the round is not an integer")
        return self._wrong(last, "it, or one of those before, is not a report")

    def _wrong(self, line: int, why: str) -> ReportFileError:
        return ReportFileError(f"{self._path}, line {line}: {why}")


def _cells(line: str) -> list[str]:
    """The fields of a line; one with a quotation mark left open is a field as it is."""
    try:
        return next(csv.reader([line], strict=True), [""])
    except csv.Error:
        return [line]


def _read_kind(layout: StorageLayout) -> Any:
    return pa.string() if layout.in_bytes else pa.uint64()


def _undigits(texts: list[str], layout: StorageLayout) -> NDArray[np.uint8] | None:
    if any(len(text) != 2 * layout.size for text in texts):
        return None
    try:
        data = bytes.fromhex("".join(texts))
    except ValueError:
        return None
    if len(data) != len(texts) * layout.size:
        return None
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, layout.size)[:, ::-1]
