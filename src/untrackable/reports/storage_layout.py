"""How one report is stored: an unsigned integer of up to 64 bits, or bytes, least significant first."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

StoredReports = NDArray[Any]
"""Reports in a file's layout: integers, or rows of bytes."""

WORD = 64


class OutOfRangeError(ValueError):
    """One of several reports or rounds is out of range: the first such one is at `index`. It is never shown."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index = index


@dataclass(frozen=True, slots=True)
class StorageLayout:
    """Reports of up to 64 bits are integers of 1, 2, 4 or 8 bytes. Wider ones are ⌈bits/8⌉ bytes."""

    bits: int

    @property
    def in_bytes(self) -> bool:
        """Whether a report is a row of bytes."""
        return self.bits > WORD

    @property
    def size(self) -> int:
        """The number of bytes of a report."""
        needed = -(-self.bits // 8)
        return needed if self.in_bytes else 1 << (needed - 1).bit_length()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the array's entries."""
        return np.dtype(np.uint8) if self.in_bytes else np.dtype(f"<u{self.size}")

    @property
    def empty(self) -> StoredReports:
        """An array without reports."""
        return np.empty((0, self.size) if self.in_bytes else 0, dtype=self.dtype)

    def stored(self, reports: NDArray[Any] | Iterable[int]) -> StoredReports:
        """Reports as simulation yields them for one round, or as clients send them, in this layout."""
        if not isinstance(reports, np.ndarray):
            reports = self._integers([operator.index(report) for report in reports])
        if reports.dtype.kind not in "iu" or reports.ndim not in (1, 2):
            raise TypeError(f"reports must be integers or rows of bytes, not {reports.dtype} of {reports.shape}")
        if reports.ndim == 2:
            if reports.dtype != np.uint8 or reports.shape[1] != -(-self.bits // 8):
                raise ValueError(f"reports of {self.bits} bits must be rows of {-(-self.bits // 8)} bytes")
            self._no_surplus(reports)
            return reports if self.in_bytes else as_words(reports).astype(self.dtype)
        if self.in_bytes:
            raise ValueError(f"reports of {self.bits} bits must be rows of {self.size} bytes, not one integer each")
        return self.checked(reports)

    def checked(self, reports: NDArray[Any]) -> StoredReports:
        """Reports that were read, in this layout; the first that does not fit is an `OutOfRangeError`."""
        if self.in_bytes:
            self._no_surplus(reports)
            return reports
        if reports.size and (int(reports.max()) >> self.bits or int(reports.min()) < 0):
            wrong = reports < 0
            if self.bits < WORD:
                wrong |= reports > (1 << self.bits) - 1
            raise OutOfRangeError(int(np.argmax(wrong)), f"a report must have {self.bits} bits and no more")
        return reports.astype(self.dtype, copy=False)

    def for_sums(self, reports: StoredReports, *, in_bytes: bool) -> NDArray[Any]:
        """Reports as sums take them."""
        if in_bytes == self.in_bytes:
            return reports
        if in_bytes:
            return np.ascontiguousarray(reports).view(np.uint8).reshape(-1, self.size)[:, : -(-self.bits // 8)]
        return as_words(reports)

    def ordered(self, reports: StoredReports) -> StoredReports:
        """Sorted, so that nothing shows in which order they came."""
        if not self.in_bytes:
            return np.sort(reports)
        rows = np.ascontiguousarray(reports).view(f"S{self.size}")
        return np.sort(rows, axis=0).view(np.uint8).reshape(reports.shape)

    def _integers(self, reports: list[int]) -> NDArray[Any]:
        if any(not 0 <= report < 1 << self.bits for report in reports):
            raise ValueError(f"a report must have {self.bits} bits and no more")
        if not self.in_bytes:
            return np.array(reports, dtype=np.uint64)
        data = b"".join(report.to_bytes(self.size, "little") for report in reports)
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self.size)

    def _no_surplus(self, rows: NDArray[Any]) -> None:
        if self.bits % 8 and rows.size:
            wrong = rows[:, -1] >> (self.bits % 8) != 0
            if wrong.any():
                raise OutOfRangeError(int(np.argmax(wrong)), f"a report must have {self.bits} bits and no more")


def as_words(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Rows of at most eight bytes as integers."""
    wide = np.zeros((rows.shape[0], 8), dtype=np.uint8)
    wide[:, : rows.shape[1]] = rows
    return wide.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def runs(rounds: NDArray[Any]) -> list[tuple[int, int, int]]:
    """Runs of equal rounds: the round, where its run starts and where it ends."""
    if not rounds.size:
        return []
    if rounds[0] == rounds[-1] and rounds.min() == rounds.max():
        return [(int(rounds[0]), 0, rounds.size)]
    starts = [0, *(np.flatnonzero(rounds[1:] != rounds[:-1]) + 1).tolist()]
    return list(zip(rounds[starts].tolist(), starts, [*starts[1:], rounds.size], strict=True))
