"""Parquet: a row group for each block, page checksums written and verified."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from untrackable.errors import ReportFileError
from untrackable.extras import extra
from untrackable.reports.arrow_format import arrays, read_batch, schema_of, text_of
from untrackable.reports.file_format import BATCH, HEADER_KEY, REPORT, ROUND, SEAL_KEY, SUMS, Batch, Block, damaged
from untrackable.reports.header import Footer, Header
from untrackable.reports.storage_layout import StorageLayout

with extra("files"):
    import pyarrow as pa
    import pyarrow.parquet as pq

FAILURES = (pa.ArrowException, OSError, ValueError, UnicodeDecodeError)


def write(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """Sorted integers are stored as differences, which are short; rounds, in runs."""
    layout = StorageLayout(header.mechanism.report_bits)
    schema, seal = schema_of(layout, header.text()), Footer(header.text())
    shape = {} if layout.in_bytes else {"column_encoding": {REPORT: "DELTA_BINARY_PACKED"}}
    options = {"use_dictionary": [ROUND], "compression": "none", "write_page_checksum": True, **shape}
    with pq.ParquetWriter(file, schema, write_statistics=False, **options) as writer:
        for block in blocks:
            table = pa.table(arrays(block, layout), schema=schema)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            seal.add(*block)
        writer.add_key_value_metadata({SEAL_KEY: seal.text()})


class Parquet:
    """A Parquet file, read by row groups."""

    unit, first = "row", 1

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with pq.ParquetFile(path) as file:
                said = file.metadata.metadata or {}
                self._names = list(file.schema_arrow.names)
            self.header, self.seal = text_of(said, HEADER_KEY), text_of(said, SEAL_KEY)
        except FAILURES as error:
            raise damaged(path, f"within its {path.stat().st_size} bytes", error) from None
        if REPORT not in self._names and {"campaign", SUMS} <= set(self._names):
            raise ReportFileError(
                f"{path} has the sums of a closed round, not reports; `untrackable estimate` and "
                "Mechanism.restore_sums take them"
            )

    def batches(self, layout: StorageLayout) -> Iterator[Batch]:
        """All reports, a part of a row group at a time."""
        columns = [name for name in (ROUND, REPORT) if name in self._names]
        group = row = 0
        try:
            with pq.ParquetFile(self._path, page_checksum_verification=True) as file:
                total = max(1, file.metadata.num_rows)
                for group in range(file.num_row_groups):
                    expected = row + file.metadata.row_group(group).num_rows
                    for batch in file.iter_batches(BATCH, row_groups=[group], columns=columns):
                        read = read_batch(self._path, batch, layout, row)
                        row += batch.num_rows
                        yield Batch(*read, row / total)
                    if row != expected:
                        raise damaged(self._path, f"in row group {group + 1}, which ends after row {row}")
        except FAILURES as error:
            where = f"in row group {group + 1}, after row {row}"
            raise damaged(self._path, where, error) from None
