"""Arrow IPC, file and stream: record batches, the last one empty and with the seal."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import ReportFileError
from untrackable.extras import extra
from untrackable.reports.file_format import BATCH, HEADER_KEY, REPORT, ROUND, SEAL_KEY, Batch, Block, damaged
from untrackable.reports.header import Footer, Header
from untrackable.reports.storage_layout import StorageLayout

with extra("files"):
    import pyarrow as pa

FAILURES = (pa.ArrowException, OSError, ValueError, UnicodeDecodeError)


def write_file(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """The format with a footer, which is also Feather version 2."""
    _write(pa.ipc.new_file, file, header, blocks)


def write_stream(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """The format that is read from front to back."""
    _write(pa.ipc.new_stream, file, header, blocks)


def _write(opener: Any, file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    layout = StorageLayout(header.mechanism.report_bits)
    schema, seal = schema_of(layout, header.text()), Footer(header.text())
    with opener(file, schema) as writer:
        for block in blocks:
            writer.write_batch(pa.record_batch(arrays(block, layout), schema=schema))
            seal.add(*block)
        nothing = Block(np.empty(0, dtype=np.int64), layout.empty)
        end = pa.record_batch(arrays(nothing, layout), schema=schema)
        writer.write_batch(end, custom_metadata={SEAL_KEY: seal.text()})


class Arrow:
    """An Arrow IPC file or stream, read by record batches."""

    unit, first = "row", 1

    def __init__(self, path: Path, *, stream: bool) -> None:
        self._path, self._stream = path, stream
        self.seal: str | None = None
        try:
            with pa.OSFile(str(path)) as source, self._reader(source) as reader:
                self.header = text_of(reader.schema.metadata or {}, HEADER_KEY)
        except FAILURES as error:
            raise damaged(path, f"within its {path.stat().st_size} bytes", error) from None

    def batches(self, layout: StorageLayout) -> Iterator[Batch]:
        """All reports; the seal is known when they have been read."""
        row = read_batches = 0
        try:
            with pa.OSFile(str(self._path)) as source, self._reader(source) as reader:
                for batch, said in self._record_batches(reader, source):
                    batch.validate()
                    for start in range(0, batch.num_rows, BATCH):
                        part = batch.slice(start, BATCH)
                        read = read_batch(self._path, part, layout, row)
                        row += part.num_rows
                        yield Batch(*read, source.tell() / max(1, source.size()))
                    self.seal = text_of(said, SEAL_KEY) if said else None
                    read_batches += 1
        except FAILURES as error:
            raise damaged(self._path, f"in record batch {read_batches + 1}, after row {row}", error) from None

    def _reader(self, source: Any) -> Any:
        return pa.ipc.open_stream(source) if self._stream else pa.ipc.open_file(source)

    def _record_batches(self, reader: Any, source: Any) -> Iterator[tuple[Any, Any]]:
        if not self._stream:
            for number in range(reader.num_record_batches):
                yield tuple(reader.get_batch_with_custom_metadata(number))
            return
        while True:
            if source.tell() >= source.size():
                raise ValueError("the stream has no end mark")
            try:
                batch, said = reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            yield batch, said


def schema_of(layout: StorageLayout, header: str) -> Any:
    """Two columns, none of them with gaps; what the file says of itself in the metadata."""
    kind = pa.binary(layout.size) if layout.in_bytes else pa.from_numpy_dtype(layout.dtype)
    fields = [pa.field(ROUND, pa.int64(), nullable=False), pa.field(REPORT, kind, nullable=False)]
    return pa.schema(fields, metadata={HEADER_KEY: header})


def arrays(block: Block, layout: StorageLayout) -> list[Any]:
    """The columns of a block."""
    rounds = pa.array(block.rounds)
    if not layout.in_bytes:
        return [rounds, pa.array(block.reports)]
    data = pa.py_buffer(np.ascontiguousarray(block.reports))
    return [rounds, pa.Array.from_buffers(pa.binary(layout.size), len(block.reports), [None, data])]


def read_batch(path: Path, batch: Any, layout: StorageLayout, row: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """Rounds, if there are any, and reports of a record batch that begins after so many rows."""
    names = batch.schema.names
    if REPORT not in names:
        raise ReportFileError(f"{path} has no column {REPORT!r}; it has {', '.join(map(repr, names)) or 'none'}")
    found: list[Any] = []
    for name in (ROUND, REPORT):
        if name not in names:
            found.append(None)
            continue
        column = batch.column(names.index(name))
        if column.null_count:
            gap = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise ReportFileError(f"{path}, row {row + gap + 1}: there is no {name}")
        wide = name == REPORT and layout.in_bytes
        if not (column.type == pa.binary(layout.size) if wide else pa.types.is_integer(column.type)):
            wanted = f"fixed_size_binary[{layout.size}]" if wide else "integers"
            raise ReportFileError(f"{path}: column {name!r} must be {wanted}, not {column.type}")
        found.append(_rows(column, layout.size) if wide else column.to_numpy())
    return found[0], found[1]


def _rows(column: Any, size: int) -> NDArray[np.uint8]:
    data = np.frombuffer(column.buffers()[1] or b"", dtype=np.uint8)
    start = column.offset * size
    return data[start : start + len(column) * size].reshape(-1, size)


def text_of(metadata: Mapping[bytes, bytes], key: str) -> str | None:
    """An entry of the metadata."""
    found = metadata.get(key.encode())
    return None if found is None else found.decode()
