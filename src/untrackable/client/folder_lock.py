"""The file `lock`. One process at a time holds it, and it counts the ledgers that were written beside it.

The count grows before each ledger is written. The ledger names the count, and the lock's inode and time of writing.
So the client notices if only an old ledger was put back. It also notices if the folder was copied or restored,
because then its lock is another file, unless inode and times were restored too. On most file systems, a change of
owner, mode or links changes neither.
"""

import fcntl
import hashlib
import os
import sys

from untrackable.errors import StateError

_NUMBER, _CHECK = 8, 8
_RECORD = _NUMBER + _CHECK
_GENERATION = 0x80087601
"""The code of FS_IOC_GETVERSION on Linux."""


class Lock:
    """An open lock file that this process holds."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def folder_mark(self) -> str:
        """A mark that differs between this folder and any copy, and between counts: inode and time of writing.

        A file system may use an inode again, so its generation is part of the mark. If the file system has no
        generations, the time of the last change is, although a change of owner, mode or links changes it too.
        """
        status, generation = os.fstat(self._descriptor), self._generation()
        version = f"changed {status.st_ctime_ns}" if generation is None else generation
        return f"{status.st_ino}:{version}:{status.st_mtime_ns}"

    @property
    def count(self) -> int:
        """The number of ledgers that were written or begun; 0 in a new folder."""
        data = os.pread(self._descriptor, 2 * _RECORD + 1, 0)
        records = (data[:_RECORD], data[_RECORD:])
        whole = [record for record in records if record and record == _record(record)]
        counts = [int.from_bytes(record[:_NUMBER], "big") for record in whole]
        # The file is empty, or the very first record, which is the second one in the file, was only half written.
        if not counts and not any(records[0]):
            return 0
        if not counts:
            raise StateError("the file lock is damaged, so it is not known whether the ledger is the last one")
        return max(counts)

    def _generation(self) -> int | None:
        try:
            answer = fcntl.ioctl(self._descriptor, _GENERATION, bytes(8))
        except OSError:
            return None
        return int.from_bytes(answer[:4], sys.byteorder)

    def advance(self, count: int) -> None:
        """Write the count over the one before the last. If writing is interrupted, the last one is still whole."""
        left, end = memoryview(_record(count.to_bytes(_NUMBER, "big"))), _RECORD * (count % 2 + 1)
        while left:
            left = left[os.pwrite(self._descriptor, left, end - len(left)) :]
        os.fsync(self._descriptor)


def _record(number: bytes) -> bytes:
    """A number of 8 bytes and the first 8 bytes of its SHA-256."""
    return number[:_NUMBER] + hashlib.sha256(number[:_NUMBER]).digest()[:_CHECK]
