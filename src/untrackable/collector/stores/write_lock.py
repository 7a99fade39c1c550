"""Processes that take turns: each asks often enough to go on as soon as the other is done."""

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 2.0
"""Seconds to wait for one's turn."""
_PAUSE = (0.0002, 0.0005)
"""Seconds between two tries."""


class Turn:
    """A lock on an empty file, which ends with the process that has it.

    For speed only, as a database has its own: whoever waits too long goes on without it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._in_vain = False
        """Whether it was waited for, last time, until patience was at an end: then it is only tried."""

    @contextmanager
    def taken(self) -> Iterator[None]:
        """One process at a time, where the file system can do that."""
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
            end = time.monotonic() + (0.0 if self._in_vain else _PATIENCE)
            while not (taken := _try(self._file)) and time.monotonic() < end:
                time.sleep(random.uniform(*_PAUSE))  # noqa: S311 - no secret
        except OSError:
            return False
        self._in_vain = not taken
        return taken

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _try(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
