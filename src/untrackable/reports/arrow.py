"""Reports as Arrow data: Arrow IPC files and streams, Parquet, and tables of other libraries.

Arrow IPC has record batches, the last one empty and with the footer. Parquet has a row group for each block, with
page checksums. Tables that are not files are anything that gives Arrow data, such as a DuckDB query or a Polars
data frame.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import UntrackableError
from untrackable.extras import extra
from untrackable.reports import files

with extra("files"):
    import pyarrow as pa
    import pyarrow.parquet as pq


FAILURES = (pa.ArrowException, OSError, ValueError, UnicodeDecodeError)
"""The errors that a damaged file raises."""
_OF_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
"""Whether entries are bytes of any length. Data frames and databases know no others."""
_AnyBatch = TypeVar("_AnyBatch")


# --- writing ----------------------------------------------------------------------------------------------


def write(file: IO[bytes], header: files.Header, blocks: Iterator[files.Block], *, stream: bool = False) -> None:
    """The format with an index at its end, which is also Feather version 2, or the one read from front to back."""
    opener = pa.ipc.new_stream if stream else pa.ipc.new_file
    layout = files.StorageLayout(header.mechanism.report_bits)
    schema, footer = _schema_of(layout, header.text()), files.Footer(header.text())
    with opener(file, schema) as writer:
        for block in blocks:
            writer.write_batch(pa.record_batch(_columns_of(block, layout), schema=schema))
            footer.add(*block)
        nothing = files.Block(np.empty(0, dtype=np.int64), layout.empty)
        end = pa.record_batch(_columns_of(nothing, layout), schema=schema)
        writer.write_batch(end, custom_metadata={files.FOOTER_KEY: footer.text()})


def write_parquet(file: IO[bytes], header: files.Header, blocks: Iterator[files.Block]) -> None:
    """Sorted integers are stored as differences, which are short; rounds are stored in runs."""
    layout = files.StorageLayout(header.mechanism.report_bits)
    schema, footer = _schema_of(layout, header.text()), files.Footer(header.text())
    shape = {} if layout.in_bytes else {"column_encoding": {files.REPORT: "DELTA_BINARY_PACKED"}}
    options = {"use_dictionary": [files.ROUND], "compression": "none", "write_page_checksum": True, **shape}
    with pq.ParquetWriter(file, schema, write_statistics=False, **options) as writer:
        for block in blocks:
            table = pa.table(_columns_of(block, layout), schema=schema)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            footer.add(*block)
        writer.add_key_value_metadata({files.FOOTER_KEY: footer.text()})


def _schema_of(layout: files.StorageLayout, header: str) -> Any:
    """Two columns without gaps, and the header in the metadata."""
    kind = pa.binary(layout.size) if layout.in_bytes else pa.from_numpy_dtype(layout.dtype)
    fields = [pa.field(files.ROUND, pa.int64(), nullable=False), pa.field(files.REPORT, kind, nullable=False)]
    return pa.schema(fields, metadata={files.HEADER_KEY: header})


def _columns_of(block: files.Block, layout: files.StorageLayout) -> list[Any]:
    """The columns of a block."""
    rounds = pa.array(block.rounds)
    if not layout.in_bytes:
        return [rounds, pa.array(block.reports)]
    data = pa.py_buffer(np.ascontiguousarray(block.reports))
    return [rounds, pa.Array.from_buffers(pa.binary(layout.size), len(block.reports), [None, data])]


# --- reading ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Position:
    """The place up to which a file has been read: the row group or record batch, from 1, and the rows before."""

    part: int = 1
    row: int = 0


class RecordBatchTable:
    """A file that is read by record batches: Arrow or Parquet."""

    unit, first = "row", 1
    names_may_be_shown = True
    part_name: str

    def __init__(self, file: files.SourceFile) -> None:
        self.file = file
        self.columns: list[str] = []
        self.header: str | None = None
        self.footer: str | None = None

    def arrays(self, layouts: Mapping[str, files.StorageLayout]) -> Iterator[files.ArrayBatch]:
        """These columns from the beginning, each with entries of its layout."""

        def convert(batch: Any, row: int, done: float) -> files.ArrayBatch:
            return files.ArrayBatch({name: self._array(batch, name, layouts[name], row) for name in layouts}, done)

        return self._converted(list(layouts), files.BATCH, convert)

    def cells(self, columns: Sequence[str]) -> Iterator[files.CellBatch]:
        def convert(batch: Any, row: int, done: float) -> files.CellBatch:
            cells = [_column(batch, name).to_pylist() for name in columns]
            return files.CellBatch(
                range(row + 1, row + 1 + batch.num_rows), list(zip(*cells, strict=True)), {}, done
            )

        return self._converted(columns, files.CELL_BATCH, convert)

    def _converted(
        self, columns: Sequence[str], size: int, convert: Callable[[Any, int, float], _AnyBatch]
    ) -> Iterator[_AnyBatch]:
        position = _Position()
        try:
            for batch, done in self._batches(columns, size, position):
                yield convert(batch, position.row, done)
                position.row += batch.num_rows
        except FAILURES as error:
            where = f"in {self.part_name} {position.part}, after row {position.row}"
            raise self.file.damaged(where, error) from None

    def _batches(self, columns: Sequence[str], size: int, position: _Position) -> Iterator[tuple[Any, float]]:
        """Record batches of at most `size` rows with at least these columns, and how much has been read."""
        raise NotImplementedError

    def _array(self, batch: Any, name: str, layout: files.StorageLayout, row: int) -> NDArray[Any]:
        """A column of a record batch. `row` is the number of rows before the batch."""
        column = _column(batch, name)
        if column.null_count:
            gap = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise self.file.malformed(self.unit, row + gap + 1, f"there is no {name}")
        if layout.in_bytes and any(is_kind(column.type) for is_kind in _OF_BYTES):
            column = self._fixed_size(column, layout.size, row)
        if not layout.in_bytes and pa.types.is_decimal128(column.type) and column.type.scale == 0:
            column = self._words(column, row)
        fits = column.type == pa.binary(layout.size) if layout.in_bytes else pa.types.is_integer(column.type)
        if not fits:
            wanted = f"fixed_size_binary[{layout.size}]" if layout.in_bytes else "integers"
            raise self.file.refused(f"column {name!r} must be {wanted}, not {column.type}")
        return _byte_rows(column, layout.size) if layout.in_bytes else column.to_numpy()

    def _fixed_size(self, column: Any, size: int, row: int) -> Any:
        """Entries of bytes as entries of this many bytes."""
        try:
            return column.cast(pa.binary(size))
        except pa.ArrowInvalid:
            lengths = [len(entry) for entry in column.to_pylist()]
            wrong = next(place for place, length in enumerate(lengths) if length != size)
            why = f"a report must have {size} bytes, not {lengths[wrong]}"
            raise self.file.malformed(self.unit, row + wrong + 1, why) from None

    def _words(self, column: Any, row: int) -> Any:
        """Decimal numbers without fractions as words. Databases give large integers in this form."""
        words = np.frombuffer(column.buffers()[1], dtype="<u8")[2 * column.offset :][: 2 * len(column)]
        high = words[1::2]
        if high.any():
            raise self.file.malformed(
                self.unit, row + int(np.argmax(high != 0)) + 1, "it does not fit into 64 bits"
            )
        return pa.array(words[::2].copy())


def _column(batch: Any, name: str) -> Any:
    return batch.column(batch.schema.names.index(name))


def _byte_rows(column: Any, size: int) -> NDArray[np.uint8]:
    data = np.frombuffer(column.buffers()[1] or b"", dtype=np.uint8)
    start = column.offset * size
    return data[start : start + len(column) * size].reshape(-1, size)


class ArrowTable(RecordBatchTable):
    """An Arrow IPC file (Feather version 2) or stream."""

    part_name = "record batch"

    def __init__(self, file: files.SourceFile, *, stream: bool) -> None:
        super().__init__(file)
        self._stream = stream
        try:
            with self._source() as source, self._reader(source) as reader:
                self.columns = list(reader.schema.names)
                self.header = files.metadata_text(reader.schema.metadata or {}, files.HEADER_KEY)
        except FAILURES as error:
            raise file.damaged_somewhere(error) from None

    def _batches(self, columns: Sequence[str], size: int, position: _Position) -> Iterator[tuple[Any, float]]:
        with self._source() as source, self._reader(source) as reader:
            for batch, metadata, done in self._whole_batches(reader, source):
                batch.validate()
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size), done
                self.footer = files.metadata_text(metadata, files.FOOTER_KEY) if metadata else None
                position.part += 1

    def _source(self) -> Any:
        """Mapped into memory, so that a large record batch of others need not fit into it."""
        return pa.memory_map(str(self.file.path))

    def _reader(self, source: Any) -> Any:
        return pa.ipc.open_stream(source) if self._stream else pa.ipc.open_file(source)

    def _whole_batches(self, reader: Any, source: Any) -> Iterator[tuple[Any, Any, float]]:
        if not self._stream:
            for number in range(reader.num_record_batches):
                batch, metadata = reader.get_batch_with_custom_metadata(number)
                yield batch, metadata, (number + 1) / reader.num_record_batches
            return
        while True:
            if source.tell() >= source.size():
                raise ValueError("the stream has no end mark")
            try:
                batch, metadata = reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            yield batch, metadata, source.tell() / source.size()


class ParquetTable(RecordBatchTable):
    """A Parquet file, read by row groups."""

    part_name = "row group"

    def __init__(self, file: files.SourceFile) -> None:
        super().__init__(file)
        try:
            with pq.ParquetFile(file.path) as opened:
                metadata = opened.metadata.metadata or {}
                self.columns = list(opened.schema_arrow.names)
            self.header = files.metadata_text(metadata, files.HEADER_KEY)
            self.footer = files.metadata_text(metadata, files.FOOTER_KEY)
        except FAILURES as error:
            raise file.damaged_somewhere(error) from None

    def _batches(self, columns: Sequence[str], size: int, position: _Position) -> Iterator[tuple[Any, float]]:
        with pq.ParquetFile(self.file.path, page_checksum_verification=True) as opened:
            total, read = max(1, opened.metadata.num_rows), 0
            for group in range(opened.num_row_groups):
                position.part = group + 1
                expected = read + opened.metadata.row_group(group).num_rows
                for batch in opened.iter_batches(size, row_groups=[group], columns=list(columns)):
                    read += batch.num_rows
                    yield batch, read / total
                if read != expected:
                    raise self.file.damaged(f"in row group {group + 1}, which ends after row {read}")


@dataclass(frozen=True, slots=True)
class _GivenData(files.SourceFile):
    """Data that is no file. Its path is the name of its type in angle brackets, for messages.

    `place` says where a row of this number comes from, if that is known.
    """

    place: Callable[[int], str] | None = None

    @property
    def size(self) -> int:
        """Unknown. All such data counts the same when progress is shown."""
        return 1

    @property
    def sealed(self) -> bool:
        """Whether a checksum of our own covers it. Rows may be selected on the way, so none does."""
        return False

    def malformed(self, unit: str, number: int, why: object) -> UntrackableError:
        return self.error(f"{f'{self.path}, {unit} {number}' if self.place is None else self.place(number)}: {why}")


class StreamTable(RecordBatchTable):
    """Arrow data of another library as a table. It may have to be read twice, with the same result."""

    part_name = "record batch"

    def __init__(
        self, source: files.ArrowStream, error: type[UntrackableError], place: Callable[[int], str] | None = None
    ) -> None:
        super().__init__(_GivenData(Path(f"<{type(source).__name__}>"), error, place))
        self._source = source
        self._rows: int | None = None
        self._opened: Any = self._open()
        self.columns = list(self._opened.schema.names)
        self.header = files.metadata_text(self._opened.schema.metadata or {}, files.HEADER_KEY)

    def _open(self) -> Any:
        try:
            return pa.RecordBatchReader.from_stream(self._source)
        except Exception as error:  # Whatever the library raises that made it.
            raise self.file.refused(f"it gives no Arrow data: {' '.join(str(error).split())[:200]}") from None

    def _batches(self, columns: Sequence[str], size: int, position: _Position) -> Iterator[tuple[Any, float]]:
        # Some data can be read once only, and opening it counts.
        reader, self._opened = self._opened or self._open(), None
        rows = 0
        for batch in reader:
            rows += batch.num_rows
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size), 0.0
            position.part += 1
        if self._rows not in (None, rows):
            raise self.file.error(
                f"{self.file.path} gave {self._rows} rows at first and {rows} when read again; give a table instead"
            )
        self._rows = rows
