"""What every format is read as: a column of rounds, perhaps, and a column of reports, batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import ReportFileError
from untrackable.reports.header import Header
from untrackable.reports.storage_layout import StorageLayout, Stored

ROUND, REPORT = "round", "report"
SUMS = "sums"
"""Has the sums of a closed round, in a file that is not one of reports."""
HEADER_KEY, SEAL_KEY = "untrackable", "untrackable.seal"

BATCH = 1 << 20
"""Reports that are read at a time."""


class Batch(NamedTuple):
    """Consecutive rows; no rounds where the file has no such column. `done` is how much has been read, of 1."""

    rounds: NDArray[Any] | None
    reports: NDArray[Any]
    done: float


class Block(NamedTuple):
    """Consecutive rows to be written, in order of round and report."""

    rounds: NDArray[np.int64]
    reports: Stored


class Source(Protocol):
    """A file of one format, opened."""

    unit: str
    """What is counted in messages: rows or lines."""
    first: int
    """The number of the first report's row or line."""
    header: str | None
    seal: str | None
    """What the file says of itself, if it does; the seal may be known only after the last batch."""

    def batches(self, layout: StorageLayout) -> Iterator[Batch]:
        """All reports, from the beginning."""


class Format(Protocol):
    """Writes a file of one format."""

    def __call__(self, file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
        """Write all of it."""


def damaged(path: Path, where: str, why: object = "") -> ReportFileError:
    """A file that cannot be read as what it is, and from where on."""
    said = " ".join(str(why).split())
    return ReportFileError(f"{path} is damaged or truncated {where}{': ' if said else ''}{said[:200]}")
