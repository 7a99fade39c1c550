"""A lock between processes that write to the same SQLite file.

Each process tries often enough to continue as soon as the other is done.
"""

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 2.0
"""The longest time to wait for the lock, in seconds."""
_PAUSE = (0.0002, 0.0005)
"""The shortest and the longest pause between two tries, in seconds."""


class WriteLock:
    """A lock on an empty file. It is released when the process that holds it ends.

    It only improves speed, since the database has its own locks. A process that waits too long continues without
    it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._timed_out = False
        """Whether waiting for the lock timed out the last time. Then the next call tries only once."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block, if the file system supports it and the lock is free in time."""
        mine = self._take()
        try:
            yield
        finally:
            if mine and self._file is not None:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _take(self) -> bool:
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            end = time.monotonic() + (0.0 if self._timed_out else _PATIENCE)
            while not (taken := _try(self._file)) and time.monotonic() < end:
                time.sleep(random.uniform(*_PAUSE))  # noqa: S311 - no secret
        except OSError:
            return False
        self._timed_out = not taken
        return taken

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _try(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
