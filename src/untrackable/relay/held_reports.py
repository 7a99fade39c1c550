"""The sealed reports that a relay holds, in one SQLite file: for which release each is, and nothing else.

**No order.** A report's name is random, and rows are kept in the order of names. So reading them in this order is
reading them shuffled, and it tells nothing about their arrival, also after a restart. Reports that arrive together
are stored in one transaction. Until SQLite moves its log into the file, which it does every few megabytes, the log
shows which of the latest reports these were. Which pages of the file are young tells a little of the same.

**Durable.** A transaction is on disk before it is acknowledged. Deleted reports are overwritten, and the log is cut
when a release is over. One process at a time has the file; the lock is gone with the process, however it ends.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from untrackable.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = 16
"""The number of bytes of a name."""
FIRST = b""
"""A name before all others."""
_APPLICATION = 0x756E7265
"""The application id that marks a SQLite file as a relay's."""
_PAGE = 8192
"""On pages of this size a whole sealed report is one cell. On smaller ones it would need a second page."""
_TABLES = """
CREATE TABLE IF NOT EXISTS held (
    gateway TEXT NOT NULL, time INTEGER NOT NULL, name BLOB NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (gateway, time, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS begun (
    gateway TEXT NOT NULL, time INTEGER NOT NULL, reports INTEGER NOT NULL, PRIMARY KEY (gateway, time)
) WITHOUT ROWID;
"""


class Release(NamedTuple):
    """When the reports for a gateway are passed on that come from one round: seconds since 1970."""

    gateway: str
    time: int


class HoldingFailed(Exception):
    """The file cannot be read or written now. Nothing of what was asked is done."""

    def __init__(self, detail: str, *, full: bool = False) -> None:
        super().__init__(detail)
        self.full = full


class HeldReports:
    """The reports in a file. Only one thread at a time may use this."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. `StoreError` if that is not possible."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
            self._prepare(path)
        except OSError as error:
            raise StoreError(f"cannot open {path}: {error.strerror}") from None
        except sqlite3.Error as error:
            raise StoreError(f"cannot open {path}: {error}; perhaps another relay uses it") from None

    def _prepare(self, path: Path) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run(f"PRAGMA page_size = {_PAGE}")
        run("PRAGMA auto_vacuum = INCREMENTAL")
        found = run("PRAGMA application_id").fetchone()[0]
        if found != _APPLICATION and run("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(f"{path} is a database, and not one of a relay")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA secure_delete = ON")
        run("PRAGMA journal_size_limit = 0")
        run(f"PRAGMA application_id = {_APPLICATION}")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def counts(self) -> dict[Release, int]:
        """The number of held reports of each release that has any."""
        with self._told_failures():
            rows = self._database.execute("SELECT gateway, time, count(*) FROM held GROUP BY gateway, time")
            return {Release(gateway, time): count for gateway, time, count in rows}

    def begun(self) -> dict[Release, int]:
        """The releases that have begun, and how many reports each had then."""
        with self._told_failures():
            rows = self._database.execute("SELECT gateway, time, reports FROM begun")
            return {Release(gateway, time): reports for gateway, time, reports in rows}

    def add(self, reports: Iterable[tuple[Release, bytes]]) -> None:
        """Store reports together. They are on disk afterwards, or none is."""
        named = sorted((*release, secrets.token_bytes(NAME), body) for release, body in reports)
        with self._transaction():
            self._database.executemany("INSERT INTO held VALUES (?, ?, ?, ?)", named)

    def begin(self, release: Release) -> int:
        """Note that a release begins, and return its number of reports. It may have begun already."""
        with self._transaction():
            self._database.execute(
                "INSERT OR IGNORE INTO begun "
                "SELECT :gateway, :time, count(*) FROM held WHERE gateway = :gateway AND time = :time",
                release._asdict(),
            )
            found = self._database.execute("SELECT reports FROM begun WHERE gateway = ? AND time = ?", release)
            return int(found.fetchone()[0])

    def some(self, release: Release, after: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Names and bodies of reports of a release, in the order of names, which is random."""
        with self._told_failures():
            return self._database.execute(
                "SELECT name, body FROM held WHERE gateway = ? AND time = ? AND name > ? ORDER BY name LIMIT ?",
                (*release, after, most),
            ).fetchall()

    def delete(self, release: Release, names: Sequence[bytes]) -> None:
        """Delete reports of a release, and overwrite them."""
        with self._transaction():
            self._database.executemany(
                "DELETE FROM held WHERE gateway = ? AND time = ? AND name = ?", [(*release, name) for name in names]
            )

    def delete_all(self, release: Release) -> None:
        """Delete all reports of a release, and overwrite them."""
        with self._transaction():
            self._database.execute("DELETE FROM held WHERE gateway = ? AND time = ?", release)

    def forget(self, before: int) -> None:
        """Forget that releases before a time have begun."""
        with self._transaction():
            self._database.execute("DELETE FROM begun WHERE time < ?", (before,))

    def tidy(self) -> None:
        """Cut the log and give free space back."""
        with self._told_failures():
            self._database.executescript("PRAGMA incremental_vacuum")  # `execute` would do one page of it.
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._told_failures():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _told_failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            full = error.sqlite_errorcode == sqlite3.SQLITE_FULL if hasattr(error, "sqlite_errorcode") else False
            raise HoldingFailed(str(error), full=full) from None
