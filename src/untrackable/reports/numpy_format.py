"""NumPy archives: `report` and `round` in an .npz, or one array in an .npy, streamed rather than loaded."""

import lzma
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from untrackable.errors import ReportFileError
from untrackable.reports.file_format import BATCH, HEADER_KEY, REPORT, ROUND, SEAL_KEY, Batch, Block, damaged
from untrackable.reports.header import Footer, Header
from untrackable.reports.storage_layout import StorageLayout

_BROKEN = (zipfile.BadZipFile, OSError, ValueError, EOFError, KeyError, RuntimeError, zlib.error, struct.error)
FAILURES = (*_BROKEN, lzma.LZMAError, OverflowError)
_COPY = 1 << 22
_MOST_BYTES = 1 << 24
"""Of reports that are read at a time."""


def write(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """An .npz: columns are put aside in the same folder first, as an archive has them one after the other."""
    layout, seal = StorageLayout(header.mechanism.report_bits), Footer(header.text())
    folder = Path(file.name).parent
    with (
        tempfile.TemporaryFile(dir=folder) as rounds,
        tempfile.TemporaryFile(dir=folder) as reports,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        for block in blocks:
            rounds.write(np.ascontiguousarray(block.rounds, dtype="<i8").data)
            reports.write(np.ascontiguousarray(block.reports).data)
            seal.add(*block)
        row = (layout.size,) if layout.in_bytes else ()
        _member(archive, REPORT, reports, layout.dtype, (seal.count, *row))
        _member(archive, ROUND, rounds, np.dtype("<i8"), (seal.count,))
        for name, text in ((HEADER_KEY, header.text()), (SEAL_KEY, seal.text())):
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


class _Array(NamedTuple):
    """An array to be read from the front: its type and shape, and where its entries come from."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: IO[bytes]

    @staticmethod
    def of(data: IO[bytes]) -> "_Array":
        version = np.lib.format.read_magic(data)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"unknown version {version} of an array")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(data)
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


class Archive:
    """An .npz with `report` and perhaps `round`; its checksums are verified while it is read."""

    unit, first = "row", 1

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._names = {name.removesuffix(".npy") for name in archive.namelist()}
                self.header, self.seal = (self._text(archive, key) for key in (HEADER_KEY, SEAL_KEY))
        except FAILURES as error:
            raise damaged(path, f"within its {path.stat().st_size} bytes", error) from None
        if REPORT not in self._names:
            raise ReportFileError(f"{path} has no array {REPORT!r}")

    def _text(self, archive: zipfile.ZipFile, name: str) -> str | None:
        if name not in self._names:
            return None
        with archive.open(f"{name}.npy") as member:
            return str(np.lib.format.read_array(member, allow_pickle=False))

    def batches(self, layout: StorageLayout) -> Iterator[Batch]:
        """All reports."""
        row = 0
        try:
            with ExitStack() as opened:
                archive = opened.enter_context(zipfile.ZipFile(self._path))
                names = [name for name in (ROUND, REPORT) if name in self._names]
                arrays = [_Array.of(opened.enter_context(archive.open(f"{name}.npy"))) for name in names]
                for batch in _read(self._path, arrays, layout):
                    yield batch
                    row += len(batch.reports)
                if any(array.data.read(1) for array in arrays):
                    raise ValueError("an array is longer than it says")
        except FAILURES as error:
            raise damaged(self._path, f"after row {row}", error) from None


class Plain:
    """An .npy: integers or rows of bytes of one round, or records with the fields `round` and `report`."""

    unit, first = "row", 1

    def __init__(self, path: Path) -> None:
        self._path = path
        self.header: str | None = None
        self.seal: str | None = None
        with path.open("rb") as file:
            try:
                array = _Array.of(file)
                found = path.stat().st_size - file.tell()
            except FAILURES as error:
                raise damaged(path, "at its beginning", error) from None
        wanted = int(np.prod([array.dtype.itemsize, *array.shape], dtype=object))
        if found != wanted:
            raise damaged(path, f"at byte {path.stat().st_size}", f"{found} bytes of entries instead of {wanted}")

    def batches(self, layout: StorageLayout) -> Iterator[Batch]:
        """All reports."""
        row = 0
        with self._path.open("rb") as file:
            array = _Array.of(file)
            if array.dtype.names is None:
                yield from _read(self._path, [array], layout)
                return
            if not array.shape or len(array.shape) > 1 or REPORT not in array.dtype.names:
                raise ReportFileError(f"{self._path} must have a field {REPORT!r}, and perhaps {ROUND!r}")
            while row < array.shape[0]:
                part = array.next(min(BATCH, array.shape[0] - row))
                _fits(self._path, part[REPORT].dtype, part[REPORT].shape, layout)
                row += len(part)
                rounds = part[ROUND] if ROUND in array.dtype.names else None
                yield Batch(rounds, np.ascontiguousarray(part[REPORT]), row / array.shape[0])


def _read(path: Path, arrays: list[_Array], layout: StorageLayout) -> Iterator[Batch]:
    """Two arrays side by side, or one of reports alone."""
    reports = arrays[-1]
    _fits(path, reports.dtype, reports.shape, layout)
    total = reports.shape[0]
    if len(arrays) == 2 and (arrays[0].shape != (total,) or arrays[0].dtype.kind not in "iu"):
        raise ReportFileError(f"{path}: {ROUND!r} must be {total} integers, as there are so many reports")
    row, size = 0, min(BATCH, max(1, _MOST_BYTES // layout.size))
    while row < total:
        parts = [array.next(min(size, total - row)) for array in arrays]
        row += len(parts[-1])
        yield Batch(parts[0] if len(parts) == 2 else None, parts[-1], row / total)


def _fits(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], layout: StorageLayout) -> None:
    rows = shape[1:] == (layout.size,) and dtype == np.uint8
    if not (len(shape) > 0 and (rows if layout.in_bytes else shape[1:] == () and dtype.kind in "iu")):
        wanted = f"rows of {layout.size} bytes" if layout.in_bytes else "a row of integers"
        raise ReportFileError(f"{path}: {REPORT!r} must be {wanted}, not {dtype} of shape {shape}")
