"""A file as a table: batches of named columns, numbered rows, and errors that name the file and the row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from untrackable.errors import UntrackableError
from untrackable.reports.storage_layout import StorageLayout

BATCH = 1 << 20
"""The number of rows of arrays that are read at a time."""

CELL_BATCH = 1 << 9
"""The number of rows of cells that are read at a time."""


class ArrowStream(Protocol):
    """An object of any library that gives its rows as Arrow data, by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with a stream of record batches."""


Source = str | PathLike[str] | ArrowStream
"""Where reports are: a file, or anything that gives Arrow data."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be read, and the class of the errors that are raised about it."""

    path: Path
    error: type[UntrackableError]

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.path.stat().st_size

    @property
    def sealed(self) -> bool:
        """Whether a file that says how its reports were made has a checksum of all of it as well."""
        return True

    def unreadable(self, error: OSError) -> UntrackableError:
        """The error for a file that the operating system does not open."""
        return self.error(f"cannot read {self.path}: {error.strerror or error}")

    def refused(self, why: object) -> UntrackableError:
        """The error for a problem with the file as a whole."""
        return self.error(f"{self.path}: {why}")

    def malformed(self, unit: str, number: int, why: object) -> UntrackableError:
        """The error for a problem with one row or line."""
        return self.error(f"{self.path}, {unit} {number}: {why}")

    def damaged(self, where: str, why: object = "") -> UntrackableError:
        """The error for a file that is damaged from a certain position on."""
        reason = " ".join(str(why).split())
        return self.error(f"{self.path} is damaged or truncated {where}{': ' if reason else ''}{reason[:200]}")

    def damaged_somewhere(self, why: object) -> UntrackableError:
        """The error for a file that is damaged at its beginning."""
        return self.damaged(f"within its {self.size} bytes", why)


class ArrayBatch(NamedTuple):
    """Consecutive rows as arrays, one for each column; `done` is the share of the file that has been read."""

    columns: dict[str, NDArray[Any]]
    done: float


class CellBatch(NamedTuple):
    """Consecutive rows as Python objects, with their numbers; `done` is the share of the file that has been read.

    `problems` says what is wrong with malformed rows, by their index in the batch; such a row has no cells.
    """

    numbers: Sequence[int]
    rows: Sequence[Sequence[Any]]
    problems: Mapping[int, str]
    done: float


class Table(Protocol):
    """A file that gives its columns as arrays, and raises an error at the first row that does not fit."""

    file: SourceFile
    unit: str
    """The unit of row numbers: rows or lines."""
    first: int
    """The number of the first row of data."""
    columns: list[str]
    names_may_be_shown: bool
    """False if the first line may be data rather than names."""
    header: str | None
    footer: str | None
    """The header and the footer of a file of reports. The footer may be known only after the last batch."""

    def arrays(self, layouts: Mapping[str, StorageLayout]) -> Iterator[ArrayBatch]:
        """These columns from the beginning, each with entries of its layout."""


class CellTable(Table, Protocol):
    """A table that also gives single cells, and goes on after malformed rows."""

    def cells(self, columns: Sequence[str]) -> Iterator[CellBatch]:
        """The cells of these columns from the beginning, without checks of their content."""
