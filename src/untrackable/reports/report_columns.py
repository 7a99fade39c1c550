"""The parts that files of reports have in every format: a column of reports, one of rounds, a header, a footer."""

from collections.abc import Iterator
from typing import IO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from untrackable.reports.header import Header
from untrackable.reports.storage_layout import StoredReports

ROUND, REPORT = "round", "report"
SUMS = "sums"
"""The name of the column with the sums of a closed round, in a file of sums."""

HEADER_KEY, FOOTER_KEY = "untrackable", "untrackable.seal"
"""Names of the entries in a file that hold its header and its footer.

Despite its name, the seal is not cryptographic: its checksum reveals damage, not tampering.
"""


class Block(NamedTuple):
    """Consecutive rows to be written, in order of round and report."""

    rounds: NDArray[np.int64]
    reports: StoredReports


class FormatWriter(Protocol):
    """Writes a file of one format."""

    def __call__(self, file: IO[bytes], header: Header, blocks: Iterator[Block]) -> None:
        """Write the whole file."""
