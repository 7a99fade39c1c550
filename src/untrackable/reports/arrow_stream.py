"""Tables that are not files: whatever gives Arrow data, such as a DuckDB query or a Polars data frame."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from untrackable.errors import UntrackableError
from untrackable.extras import extra
from untrackable.reports.arrow_format import Position, RecordBatchTable, metadata_text
from untrackable.reports.report_columns import HEADER_KEY
from untrackable.reports.table import ArrowStream, SourceFile

with extra("files"):
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class GivenData(SourceFile):
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
        """The error for a problem with one row."""
        return self.error(f"{f'{self.path}, {unit} {number}' if self.place is None else self.place(number)}: {why}")


class StreamTable(RecordBatchTable):
    """Arrow data of another library as a table. It may have to be read twice, with the same result."""

    part_name = "record batch"

    def __init__(
        self, source: ArrowStream, error: type[UntrackableError], place: Callable[[int], str] | None = None
    ) -> None:
        super().__init__(GivenData(Path(f"<{type(source).__name__}>"), error, place))
        self._source = source
        self._rows: int | None = None
        self._opened: Any = self._open()
        self.columns = list(self._opened.schema.names)
        self.header = metadata_text(self._opened.schema.metadata or {}, HEADER_KEY)

    def _open(self) -> Any:
        try:
            return pa.RecordBatchReader.from_stream(self._source)
        except Exception as error:  # Whatever the library raises that made it.
            raise self.file.refused(f"it gives no Arrow data: {' '.join(str(error).split())[:200]}") from None

    def _batches(self, columns: Sequence[str], size: int, position: Position) -> Iterator[tuple[Any, float]]:
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
