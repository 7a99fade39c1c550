"""Parquet: a row group for each block, page checksums written and verified."""

from collections.abc import Iterator, Sequence
from typing import IO, Any

from untrackable.extras import extra
from untrackable.reports.arrow_format import (
    FAILURES,
    Position,
    RecordBatchTable,
    columns_of,
    metadata_text,
    schema_of,
)
from untrackable.reports.header import Footer, Header
from untrackable.reports.report_columns import FOOTER_KEY, HEADER_KEY, REPORT, ROUND, Block
from untrackable.reports.storage_layout import StorageLayout
from untrackable.reports.table import SourceFile

with extra("files"):
    import pyarrow as pa
    import pyarrow.parquet as pq


def write(file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
    """Sorted integers are stored as differences, which are short; rounds are stored in runs."""
    layout = StorageLayout(header.mechanism.report_bits)
    schema, footer = schema_of(layout, header.text()), Footer(header.text())
    shape = {} if layout.in_bytes else {"column_encoding": {REPORT: "DELTA_BINARY_PACKED"}}
    options = {"use_dictionary": [ROUND], "compression": "none", "write_page_checksum": True, **shape}
    with pq.ParquetWriter(file, schema, write_statistics=False, **options) as writer:
        for block in blocks:
            table = pa.table(columns_of(block, layout), schema=schema)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            footer.add(*block)
        writer.add_key_value_metadata({FOOTER_KEY: footer.text()})


class ParquetTable(RecordBatchTable):
    """A Parquet file, read by row groups."""

    part_name = "row group"

    def __init__(self, file: SourceFile) -> None:
        super().__init__(file)
        try:
            with pq.ParquetFile(file.path) as opened:
                metadata = opened.metadata.metadata or {}
                self.columns = list(opened.schema_arrow.names)
            self.header = metadata_text(metadata, HEADER_KEY)
            self.footer = metadata_text(metadata, FOOTER_KEY)
        except FAILURES as error:
            raise file.damaged_somewhere(error) from None

    def _batches(self, columns: Sequence[str], size: int, position: Position) -> Iterator[tuple[Any, float]]:
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
