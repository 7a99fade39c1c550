"""NumPy arrays: the columns of an .npz, or one array in an .npy, streamed rather than loaded."""

import lzma
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from untrackable.reports import files

_BROKEN = (zipfile.BadZipFile, OSError, ValueError, EOFError, KeyError, RuntimeError, zlib.error, struct.error)
FAILURES = (*_BROKEN, lzma.LZMAError, OverflowError)
"""The errors that a damaged file raises."""

_COPY = 1 << 22
_MOST_BYTES = 1 << 24
"""The number of bytes of a column that are read at a time."""
_LONGEST_ARRAY_HEADER = 10_000
_LARGEST_TEXT = 4 * files.LARGEST_HEADER + _LONGEST_ARRAY_HEADER
"""The most bytes of an array with a header or a footer, of four bytes for each character."""


def write(file: IO[bytes], header: files.Header, blocks: Iterator[files.Block]) -> None:
    """An .npz. Columns go to temporary files in the same folder first, as an archive has one after the other."""
    layout, footer = files.StorageLayout(header.mechanism.report_bits), files.Footer(header.text())
    folder = Path(file.name).parent
    with (
        tempfile.TemporaryFile(dir=folder) as rounds,
        tempfile.TemporaryFile(dir=folder) as reports,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        for block in blocks:
            rounds.write(np.ascontiguousarray(block.rounds, dtype="<i8").data)
            reports.write(np.ascontiguousarray(block.reports).data)
            footer.add(*block)
        row = (layout.size,) if layout.in_bytes else ()
        _member(archive, files.REPORT, reports, layout.dtype, (footer.count, *row))
        _member(archive, files.ROUND, rounds, np.dtype("<i8"), (footer.count,))
        for name, text in ((files.HEADER_KEY, header.text()), (files.FOOTER_KEY, footer.text())):
            with archive.open(_named(name), "w") as member:
                np.lib.format.write_array(member, np.array(text), allow_pickle=False)


def _member(archive: zipfile.ZipFile, name: str, data: IO[bytes], dtype: np.dtype[Any], shape: Any) -> None:
    data.seek(0)
    with archive.open(_named(name), "w", force_zip64=True) as member:
        about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(member, about)
        while piece := data.read(_COPY):
            member.write(piece)


def _named(name: str) -> zipfile.ZipInfo:
    """A member of a fixed date, so that the same reports make the same file."""
    return zipfile.ZipInfo(f"{name}.npy")


class _ShortReads(NamedTuple):
    """The beginning of an array. It may say that its header has gigabytes, and NumPy would read all of them."""

    data: IO[bytes]

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        if not 0 <= size <= _LONGEST_ARRAY_HEADER:
            raise ValueError(f"the header of an array has more than {_LONGEST_ARRAY_HEADER:,} bytes")
        return self.data.read(size)


class _Array(NamedTuple):
    """An array that is read from the front: its type and shape, and where its entries come from."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: IO[bytes]

    @staticmethod
    def of(data: IO[bytes]) -> "_Array":
        version = np.lib.format.read_magic(data)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"unknown version {version} of an array")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(_ShortReads(data))
        if (fortran and len(shape) > 1) or dtype.hasobject:
            raise ValueError("an array must hold plain numbers, row by row")
        return _Array(dtype, shape, data)

    def next(self, count: int) -> Any:
        width = int(np.prod(self.shape[1:], dtype=np.int64))
        wanted = count * width * self.dtype.itemsize
        data = self.data.read(wanted)
        if len(data) != wanted:
            raise EOFError(f"{len(data)} bytes where {wanted} should follow")
        return np.frombuffer(data, dtype=self.dtype).reshape(count, *self.shape[1:])


class NpzTable:
    """An .npz: an array for each column. Its checksums are verified while it is read."""

    unit, first = "row", 1
    names_may_be_shown = True

    def __init__(self, file: files.SourceFile) -> None:
        self.file = file
        try:
            with zipfile.ZipFile(file.path) as archive:
                self.columns = [name.removesuffix(".npy") for name in archive.namelist()]
                self.header, self.footer = (
                    self._text(archive, key) for key in (files.HEADER_KEY, files.FOOTER_KEY)
                )
        except FAILURES as error:
            raise file.damaged_somewhere(error) from None

    def _text(self, archive: zipfile.ZipFile, name: str) -> str | None:
        if name not in self.columns:
            return None
        if archive.getinfo(f"{name}.npy").file_size > _LARGEST_TEXT:
            raise ValueError(f"{name} has more than {_LARGEST_TEXT:,} bytes")
        with archive.open(f"{name}.npy") as member:
            return str(np.lib.format.read_array(member, allow_pickle=False))

    def arrays(self, layouts: Mapping[str, files.StorageLayout]) -> Iterator[files.ArrayBatch]:
        """These columns from the beginning, each with entries of its layout."""
        row = 0
        try:
            with ExitStack() as opened:
                archive = opened.enter_context(zipfile.ZipFile(self.file.path))
                columns = {name: _Array.of(opened.enter_context(archive.open(f"{name}.npy"))) for name in layouts}
                total = _common_length(self.file, columns, layouts)
                size = min(_rows_at_a_time(layout) for layout in layouts.values())
                while row < total:
                    count = min(size, total - row)
                    part = {name: column.next(count) for name, column in columns.items()}
                    yield files.ArrayBatch(part, (row + count) / total)
                    row += count
                if any(column.data.read(1) for column in columns.values()):
                    raise ValueError("an array is longer than it says")
        except FAILURES as error:
            raise self.file.damaged(f"after row {row}", error) from None


class NpyTable:
    """An .npy: records with a field for each column, or the reports of one round, as integers or rows of bytes."""

    unit, first = "row", 1
    names_may_be_shown = True
    header: str | None = None
    footer: str | None = None

    def __init__(self, file: files.SourceFile) -> None:
        self.file = file
        size = file.path.stat().st_size
        with file.path.open("rb") as opened:
            try:
                array = _Array.of(opened)
                size_of_entries = size - opened.tell()
            except FAILURES as error:
                raise file.damaged("at its beginning", error) from None
        wanted = int(np.prod([array.dtype.itemsize, *array.shape], dtype=object))
        if size_of_entries != wanted:
            raise file.damaged(f"at byte {size}", f"{size_of_entries} bytes of entries instead of {wanted}")
        self._records = array.dtype.names is not None
        if self._records and len(array.shape) != 1:
            raise file.refused(f"its records must be in one row, not of shape {array.shape}")
        self.columns = list(array.dtype.names or (files.REPORT,))

    def arrays(self, layouts: Mapping[str, files.StorageLayout]) -> Iterator[files.ArrayBatch]:
        """These columns from the beginning, each with entries of its layout."""
        row = 0
        with self.file.path.open("rb") as opened:
            array = _Array.of(opened)
            if not self._records:
                _common_length(self.file, dict.fromkeys(layouts, array), layouts)
            size = min(_rows_at_a_time(layout) for layout in layouts.values())
            while row < array.shape[0]:
                part = array.next(min(size, array.shape[0] - row))
                columns = {name: part[name] if self._records else part for name in layouts}
                for name, column in columns.items():
                    _fits(self.file, name, column.dtype, column.shape, layouts[name])
                row += len(part)
                yield files.ArrayBatch(
                    {name: np.ascontiguousarray(columns[name]) for name in columns}, row / array.shape[0]
                )


def _rows_at_a_time(layout: files.StorageLayout) -> int:
    return min(files.BATCH, max(1, _MOST_BYTES // layout.size))


def _common_length(
    file: files.SourceFile, columns: Mapping[str, _Array], layouts: Mapping[str, files.StorageLayout]
) -> int:
    """The length of all columns, which must have entries of their layouts."""
    for name, column in columns.items():
        _fits(file, name, column.dtype, column.shape, layouts[name])
    lengths = {name: column.shape[0] for name, column in columns.items()}
    longest = max(lengths, key=lambda name: lengths[name])
    for name, length in lengths.items():
        if length != lengths[longest]:
            raise file.refused(f"{name!r} has {length} entries, where {longest!r} has {lengths[longest]}")
    return lengths[longest]


def _fits(
    file: files.SourceFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], layout: files.StorageLayout
) -> None:
    rows = shape[1:] == (layout.size,) and dtype == np.uint8
    if not (len(shape) > 0 and (rows if layout.in_bytes else shape[1:] == () and dtype.kind in "iu")):
        wanted = f"rows of {layout.size} bytes" if layout.in_bytes else "a row of integers"
        raise file.refused(f"{name!r} must be {wanted}, not {dtype} of shape {shape}")
