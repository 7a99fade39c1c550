"""The file `lock`: one process at a time holds it, and it counts the ledgers that were written beside it.

The count grows before each ledger is written. The ledger names the count, and the lock's inode and time of writing.
So an old ledger that was put back alone is noticed. So is a folder that was copied or restored, because its lock is
another file, unless inode and times were restored too. On most file systems, another owner, mode or link changes
neither.
"""

import fcntl
import hashlib
import os
import sys

from untrackable.errors import StateError

_NUMBER, _CHECK = 8, 8
_RECORD = _NUMBER + _CHECK
_GENERATION = 0x80087601
"""FS_IOC_GETVERSION of Linux."""


class Lock:
    """An open lock file that this process holds."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def folder_mark(self) -> str:
        """What tells this folder from a copy of it, and from itself at another count: inode and time of writing.

        Inodes are used again; their generation tells them apart or, where the file system has none, the time of the
        last change, although another owner, mode or link changes that too.
        """
        found, generation = os.fstat(self._descriptor), self._generation()
        told = f"changed {found.st_ctime_ns}" if generation is None else generation
        return f"{found.st_ino}:{told}:{found.st_mtime_ns}"

    @property
    def count(self) -> int:
        """How many ledgers were written, or begun to be; 0 in a new folder."""
        data = os.pread(self._descriptor, 2 * _RECORD + 1, 0)
        records = (data[:_RECORD], data[_RECORD:])
        found = [int.from_bytes(made[:_NUMBER], "big") for made in records if made and made == _record(made)]
        if not found and not any(records[0]):
            return 0  # an empty file, or one whose first record, the second here, was not written whole
        if not found:
            raise StateError("the file lock is damaged, so it is not known whether the ledger is the last one")
        return max(found)

    def _generation(self) -> int | None:
        try:
            made = fcntl.ioctl(self._descriptor, _GENERATION, bytes(8))
        except OSError:
            return None
        return int.from_bytes(made[:4], sys.byteorder)

    def advance(self, count: int) -> None:
        """Write the count, over the one before the last: a half-written one leaves the last one whole."""
        left, end = memoryview(_record(count.to_bytes(_NUMBER, "big"))), _RECORD * (count % 2 + 1)
        while left:
            left = left[os.pwrite(self._descriptor, left, end - len(left)) :]
        os.fsync(self._descriptor)


def _record(number: bytes) -> bytes:
    """A number of 8 bytes and the first 8 of its SHA-256."""
    return number[:_NUMBER] + hashlib.sha256(number[:_NUMBER]).digest()[:_CHECK]
