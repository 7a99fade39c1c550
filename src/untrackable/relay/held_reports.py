"""The sealed reports that a relay holds, in one SQLite file: for which release each is, and nothing else.

**No order.** A report's name is random, and rows are kept in the order of names. So reading them in this order is
reading them shuffled, and it tells nothing about their arrival, also after a restart.

**Two steps.** Reports that arrive together are written one after another into a second, short file, and are then on
disk. That takes a twentieth of the time of as many rows. Every few seconds all of them become rows together, while
more are written into a third file, and the second is overwritten. Until then it shows which of the latest reports
arrived together, and SQLite's own log shows which of some thousands became rows together. Which pages are young
tells a little of the same.

**Durable.** A report is on disk before it is acknowledged. Deleted reports are overwritten, and the log is cut when
a release is over. One process at a time has the files; the lock is gone with the process, however it ends.
"""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import struct
import threading
from collections.abc import Iterable, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from untrackable.errors import StoreError
from untrackable.whole_files import sync_folder

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
_MOST_NEW = 1 << 16
"""The largest number of reports in a short file. Further ones wait until those before are rows."""
_PATIENCE = 10.0
"""The longest time in seconds for which they wait."""
_DIGEST = 16
_PARTS = struct.Struct(">BQH16s")
"""Before each report of a group: the size of the gateway's name, the time, the size of the body, and a name."""
_CACHE = 32 << 10
"""The memory for pages, in KiB."""
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


Named = tuple[str, int, bytes, bytes]
"""A report as a row: its release, its name, and its body."""


class _NewReports:
    """The short file: groups of reports, each behind its size and a digest, in the order in which they came."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._end = 0

    def read(self) -> list[Named]:
        """All reports of whole groups. A group that was cut off by a kill was not acknowledged."""
        data, found = os.pread(self._file, os.fstat(self._file).st_size, 0), list[Named]()
        while (group := _group_at(data, self._end)) is not None:
            at, self._end = 0, self._end + _DIGEST + 4 + len(group)
            while at < len(group):
                size, time, length, name = _PARTS.unpack_from(group, at)
                at += _PARTS.size + size + length
                found.append(
                    (group[at - length - size : at - length].decode(), time, name, group[at - length : at])
                )
        return found

    def add(self, reports: Iterable[Named]) -> None:
        """Write a group. It is on disk afterwards; if not, the next one takes its place."""
        parts = []
        for gateway, time, name, body in reports:
            parts += [_PARTS.pack(len(gateway), time, len(body), name), gateway.encode(), body]
        group = b"".join(parts)
        data = blake2b(group, digest_size=_DIGEST).digest() + len(group).to_bytes(4, "big") + group
        self._write(data, self._end)
        os.fdatasync(self._file)
        self._end += len(data)

    def erase(self) -> None:
        """Overwrite all groups, and forget them."""
        self._write(bytes(self._end), 0)
        os.ftruncate(self._file, 0)
        os.fdatasync(self._file)
        self._end = 0

    def _write(self, data: bytes, at: int) -> None:
        written = 0
        while written < len(data):
            written += os.pwrite(self._file, data[written:], at + written)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _group_at(data: bytes, at: int) -> bytes | None:
    """The group that begins here, or None if there is no whole one."""
    digest, size = data[at : at + _DIGEST], data[at + _DIGEST : at + _DIGEST + 4]
    group = data[at + _DIGEST + 4 :][: int.from_bytes(size, "big")]
    return group if group and blake2b(group, digest_size=_DIGEST).digest() == digest else None


class HeldReports:
    """The reports in a file. One thread may add reports, while another does all else."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. `StoreError` if that is not possible."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
            try:
                self._prepare(path)
                self._new = [_NewReports(path.with_name(f"{path.name}-new{number}")) for number in (1, 2)]
                """The short file for reports that are added, and the one of those that become rows."""
                sync_folder(path.parent)
                self.adding = threading.Condition()
                """Held while reports are added."""
                self._failed: HoldingFailed | None = None
                self._added, self._moving = (each.read() for each in self._new)
                self._spread_all()
            except BaseException:
                self._database.close()
                raise
        except OSError as error:
            raise StoreError(f"cannot open {path}: {error.strerror}") from None
        except sqlite3.Error as error:
            raise StoreError(f"cannot open {path}: {error}; perhaps another relay uses it") from None
        except HoldingFailed as error:
            raise StoreError(f"cannot open {path}: {error}") from None

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
        run(f"PRAGMA cache_size = -{_CACHE}")
        run("PRAGMA journal_size_limit = 0")
        run(f"PRAGMA application_id = {_APPLICATION}")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        with suppress(HoldingFailed):
            self._spread_all()
        for each in self._new:
            each.close()
        self._database.close()

    def counts(self) -> dict[Release, int]:
        """The number of held reports of each release that has any."""
        self._spread_all()
        with self._told_failures():
            rows = self._database.execute("SELECT gateway, time, count(*) FROM held GROUP BY gateway, time")
            return {Release(gateway, time): count for gateway, time, count in rows}

    def begun(self) -> dict[Release, int]:
        """The releases that have begun, and how many reports each had then."""
        with self._told_failures():
            rows = self._database.execute("SELECT gateway, time, reports FROM begun")
            return {Release(gateway, time): reports for gateway, time, reports in rows}

    def add(self, reports: Sequence[tuple[Release, bytes]]) -> None:
        """Store reports together. They are on disk afterwards, or none is."""
        random = secrets.token_bytes(NAME * len(reports))
        names = (random[at : at + NAME] for at in range(0, len(random), NAME))
        named = [(*release, name, body) for name, (release, body) in zip(names, reports, strict=True)]
        with self.adding, self._told_failures():
            if named:
                self._new[0].add(named)
                self._added += named

    def wait_for_room(self) -> None:
        """Wait while too many reports are no rows yet, or fail if they cannot become rows."""
        with self.adding:
            if not self.adding.wait_for(lambda: self.new <= _MOST_NEW or self._failed is not None, _PATIENCE):
                raise HoldingFailed("the disk is too slow")
            if self.new > _MOST_NEW and self._failed is not None:
                raise HoldingFailed(str(self._failed), full=self._failed.full)

    @property
    def new(self) -> int:
        """The number of reports that will be the next rows."""
        return len(self._added)

    def spread(self) -> None:
        """Make rows of the reports added before, in the order of their names. Rows that are there already stay."""
        try:
            with self.adding:
                if not self._moving:
                    self._moving, self._added = self._added, []
                    self._new.reverse()
            if self._moving:
                with self._transaction():
                    self._database.executemany(
                        "INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?)", sorted(self._moving)
                    )
                with self._told_failures():
                    self._new[1].erase()
                self._moving = []
            self._failed = None
        except HoldingFailed as error:
            self._failed = error
            raise
        finally:
            with self.adding:
                self.adding.notify_all()

    def _spread_all(self) -> None:
        while self._moving or self._added:
            self.spread()

    def begin(self, release: Release) -> int:
        """Note that a release begins, and return its number of reports. It may have begun already."""
        self._spread_all()
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
        self._spread_all()
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
        self._spread_all()
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
        except OSError as error:
            raise HoldingFailed(str(error.strerror), full=error.errno in (errno.ENOSPC, errno.EDQUOT)) from None
