"""Moves SQLite's log into its file in a thread of its own, so that nobody who adds reports waits for it."""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from untrackable.errors import StoreError, StoreUnavailable

LOG_BYTES = 8 << 20
"""The size from which on the log is moved into the file."""
_LONGEST_LOG = 6 * LOG_BYTES
"""The size from which on whoever adds reports waits for it. Otherwise the log could grow without end."""
_PAUSE = 0.05
"""The shortest time between two looks at the size of the log, in seconds."""


class Checkpoints:
    """Keeps the log of a store short."""

    def __init__(self, log: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._log, self._connect = log, connect
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._looked = 0.0

    def start_if_needed(self) -> None:
        """Start to move a long log into the file. Wait for it if the log is very long."""
        now = time.monotonic()
        if now - self._looked < _PAUSE or not self._starting.acquire(blocking=False):
            return
        try:
            self._looked = now
            self._start()
        finally:
            self._starting.release()

    def _start(self) -> None:
        size = 0
        with suppress(OSError):
            size = self._log.stat().st_size
        if size > _LONGEST_LOG:
            self.wait()
            self._run()
        elif size > LOG_BYTES and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait until a thread that was started is done."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        """Move the log into the file. Others can write meanwhile. What fails is tried again later."""
        with suppress(sqlite3.Error, StoreError, StoreUnavailable), closing(self._connect()) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
