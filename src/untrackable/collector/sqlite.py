"""A store in one SQLite file. Several processes of one machine may use it at once.

**Groups.** Reports that are stored together are one row at first, which is much faster. The row is in the round's
own table, under a random name that is longer than every nonce. The reports of all groups are soon spread over the
table, one row for each. Until then they show what SQLite's log shows anyway: which of the latest reports were
stored together.

**Blocks.** A table with one row per report is slow once it is large, because each new nonce changes another page of
the file. Therefore the table of a large round only keeps some reports. The others are in blocks: each is one row
with many reports, sorted by nonce, and covers the nonces from its own `first` up to the `first` of the next block.
Reports move from the table into the blocks in the order of nonces, so nothing in the file reveals their order of
arrival. A block's `additions` are a second, shorter row that saves rewriting the whole block each time.

**The log.** Every commit is synced to SQLite's write-ahead log. A thread moves a long log into the file, so that
nobody who adds reports waits for it. SQLite itself takes the first damaged frame for the end of the log and
silently drops everything after it, so the log is checked before SQLite opens it. Its layout and checksum:
https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import bisect
import fcntl
import os
import random
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import IO, Final, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from untrackable.collector.store import (
    WRITES_NOTHING_NEW,
    MissingReportsTable,
    Rows,
    StatementRunner,
    Store,
    blocks_table,
    reports_table,
)
from untrackable.errors import StoreError, StoreUnavailable
from untrackable.protocol.wire import NONCE

_MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite file."""
_APPLICATION = 0x756E7472
"""The application id that marks a SQLite file as a collector's."""
_OLDEST = (3, 35)
"""The oldest version of SQLite that has the statements used here."""
_PATIENCE = 10.0
"""The longest time to wait for another process's transaction, in seconds."""
_LOOKS, _LOOK_SECONDS = 3, 0.2
"""How often a log that seems damaged is read again, and the pause before each time, in seconds.

Another process may just be writing it."""
_TIDYING, _TIDYING_SECONDS = 10, 0.2
"""How often truncating the log is tried, and for how many seconds each time. Nobody can add reports meanwhile."""
_GROUPED_REPORTS = 1 << 15
"""The largest number of reports in groups of all rounds, because a process keeps their nonces in memory."""
_DROPPED_AT_ONCE = 50_000
"""The largest number of reports that are dropped in the transaction that closes their round."""


class SqliteStore(Store):
    """A store in a SQLite file with a write-ahead log, where every commit is synced to disk.

    Deleted data is overwritten, and the log is truncated when a round is closed. Reports are kept in the order of
    their nonces, without a row number that would reveal when they came.
    """

    _types = {"bytes": "BLOB", "serial": "INTEGER PRIMARY KEY AUTOINCREMENT"}  # noqa: RUF012
    _placeholder = "?"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._first: sqlite3.Connection | None = None
        """A connection that stays open, so that SQLite does not delete the log and its index."""
        self._files = {str(path): _identity(path)}
        """The identities of the file, of the log and of its index when the store was opened."""
        self._lost: str | None = None
        self._growing: dict[int, GrowingTable] = {}
        """The tables that this process adds reports to, by the key of their round."""
        self._adding = threading.Lock()
        """Held by the thread that writes reports."""
        self._checkpoints = Checkpoints(self._log, self._connect)
        self._write_lock = WriteLock(path.with_name(f"{path.name}-turn"))

    @staticmethod
    def open(path: Path, *, check: bool = True, make: bool = True) -> SqliteStore:
        """Open the store in a file. `make` creates a missing file, and `check` checks all data.

        The log is always checked, because SQLite cuts it off at the first damaged place when it opens the file.
        """
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreError(f"SQLite must be 3.35 or newer, this is {sqlite3.sqlite_version}")
        try:
            os.close(os.open(path, os.O_RDWR | (os.O_CREAT if make else 0), 0o600))
            with path.open("rb") as file:
                head = file.read(len(_MAGIC))
        except FileNotFoundError:
            missing = (
                "its folder does not exist" if make else "the file does not exist (`untrackable serve` creates it)"
            )
            raise StoreError(f"cannot open {path}: {missing}") from None
        except OSError as error:
            raise StoreError(f"cannot open {path}: {error.strerror}") from None
        if head and head != _MAGIC:
            raise StoreError(f"{path} is not a SQLite database or is damaged; nothing was changed")
        store = SqliteStore(path)
        with store._opening(str(path)):
            store._examine_log()
            store._examine(check=check, make=make)
            store.prepare(str(path), make=make, check=check)
        return store

    def _examine_log(self) -> None:
        """Check the log before SQLite opens it. If another process is writing it, it is complete a moment later."""
        try:
            damaged = first_damaged_frame(self._log)
            for _ in range(_LOOKS if damaged is not None else 0):
                time.sleep(_LOOK_SECONDS)
                if first_damaged_frame(self._log) != damaged:
                    return
        except OSError as error:
            raise StoreError(f"cannot read {self._log}: {error.strerror}") from None
        if damaged is None:
            return
        raise StoreError(
            f"{self._log} is damaged at frame {damaged + 1}, and SQLite would drop acknowledged reports after it; "
            "nothing was changed: see docs/operations.md"
        )

    def _examine(self, *, check: bool, make: bool) -> None:
        connection = self._first = self._connect()
        try:
            whose = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if whose != _APPLICATION and (whose or tables):
                raise StoreError(f"{self.path} belongs to another program; nothing was changed")
            if check and tables:
                verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if verdict != "ok":
                    raise StoreError(f"{self.path} is damaged ({verdict.splitlines()[-1]}): restore a backup")
            if whose != _APPLICATION and make:
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path} is damaged ({error}): restore a backup") from None
        for path in (self._log, self.path.with_name(f"{self.path.name}-shm")):
            self._files[str(path)] = _identity(path)

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                f"file:{quote(str(self.path.absolute()))}?mode=rw",  # This mode never creates a file.
                uri=True,
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._set_up(connection)
            except BaseException:
                connection.close()
                raise
        except sqlite3.OperationalError as error:
            raise StoreUnavailable(f"SQLite: {error}") from None
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path} is damaged ({error}): restore a backup") from None
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise StoreError(
                f"{self.path} is on a file system without shared memory, which SQLite's log needs: use a local disk"
            )
        for setting in (
            "synchronous = FULL",
            "secure_delete = ON",
            "foreign_keys = ON",
            f"journal_size_limit = {LOG_BYTES}",  # Writing over an old log is synced faster than a growing one.
            "wal_autocheckpoint = 16384",  # As a rule, `Checkpoints` comes first.
            "cache_size = -16384",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {setting}")

    def close(self) -> None:
        self._checkpoints.wait()
        super().close()
        if self._first is not None:
            self._first.close()
            self._first = None
        self._write_lock.close()

    def _check_files(self) -> None:
        """Refuse to add reports once a file was deleted or replaced, because they would be lost."""
        if self._lost is None:
            for path, known in self._files.items():
                if known is None or _identity(path) != known:
                    self._lost = f"{path} was deleted or replaced: restart the collector"
        if self._lost is not None:
            raise StoreUnavailable(self._lost)

    @contextmanager
    def _begin(self, connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
        self._check_files()
        try:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreUnavailable(f"SQLite: {error}") from None
            raise

    def _usable(self, connection: sqlite3.Connection) -> bool:
        return not connection.in_transaction

    def _has_tables(self, run: StatementRunner) -> bool:
        return run("SELECT 1 FROM sqlite_master WHERE name = 'versions'").fetchone() is not None

    def _table_sql(self, table: str) -> str:
        return f"CREATE TABLE {table} (nonce BLOB PRIMARY KEY, report BLOB NOT NULL) WITHOUT ROWID"

    def _insert(self, reports: Mapping[int, Rows], always_writes: bool) -> None:
        """Add rows in one transaction. `rearrange` puts them where they stay."""
        try:
            with self._alone(), self._borrowed() as connection:
                tables = {key: self._table(connection, key) for key in reports}
                grouped = all(tables[key].takes_group(rows) for key, rows in reports.items())
                alone = len(reports) == 1 and grouped and not always_writes
                with nullcontext() if alone else self._begin(connection, write=True):
                    added = [tables[key].add(connection, rows) for key, rows in reports.items()]
                    for statement in WRITES_NOTHING_NEW if always_writes else ():
                        connection.execute(statement)
                self._check_files()  # Somebody may have deleted them.
                for note_added in added:
                    note_added()
        except (sqlite3.Error, StoreUnavailable) as error:
            if "no such table: reports_" in str(error):
                for key in reports:
                    self._growing.pop(key, None)
                raise MissingReportsTable from None
            if isinstance(error, StoreUnavailable):
                raise
            raise StoreUnavailable(f"SQLite: {error}") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Write alone. The next writer goes on at once, where SQLite itself would only try again now and then."""
        with self._adding, self._write_lock.held():
            yield

    def _table(self, connection: sqlite3.Connection, key: int) -> GrowingTable:
        """The table of a round that takes reports."""
        if key not in self._growing:
            self._growing[key] = GrowingTable.find(connection, _tables(key))
        return self._growing[key]

    def rearrange(self) -> None:
        """Spread many groups over their table, move reports of large rounds into blocks, and empty a long log.

        A failure is not reported, because all reports are stored already, and the next call tries again.
        """
        growing = list(self._growing.items())
        crowded = sum(table.grouped for _, table in growing) > _GROUPED_REPORTS
        for key, table in growing:
            try:
                if crowded and table.grouped:
                    self._change(key, GrowingTable.spread)
                while table.has_work():
                    self._change(key, GrowingTable.work)
            except StoreUnavailable:
                self._growing.pop(key, None)  # Its round may be closed. Otherwise it is found again.
        self._checkpoints.start_if_needed()

    def _change(self, key: int, work: Callable[[GrowingTable, sqlite3.Connection], Callable[[], None]]) -> None:
        """Run work on the table of a round in a transaction."""
        with self._alone(), self._borrowed() as connection:
            with self._begin(connection, write=True):
                note_done = work(self._table(connection, key), connection)
            note_done()

    def _rename_table(self, run: StatementRunner, key: int) -> None:
        self._growing.pop(key, None)
        spread_groups(run.connection, reports_table(key))
        super()._rename_table(run, key)

    def _read(
        self, connection: sqlite3.Connection, key: int, *, stopped: bool, ordered: bool, nonces: bool
    ) -> Iterator[bytes]:
        for rows in _tables(key, stopped=stopped).read(connection):
            yield (rows if nonces else rows[:, NONCE:]).tobytes()

    def _count(self, connection: sqlite3.Connection, key: int, *, stopped: bool) -> int:
        return sum(rows.shape[0] for rows in _tables(key, stopped=stopped).read(connection))

    def _drop(self, run: StatementRunner, key: int, reports: int) -> None:
        # Deleting a campaign does not count its reports, but a round with blocks is large.
        if reports <= _DROPPED_AT_ONCE and not _exists(run.connection, blocks_table(key)):
            super()._drop(run, key, reports)

    def delete_campaign(self, id: str) -> None:
        """Delete a campaign whose rounds are all closed, with its sums and what is left of large rounds."""
        self._delete_closed()  # Once the rounds are forgotten, nobody would find their tables.
        super().delete_campaign(id)

    def _delete_closed(self) -> None:
        """Delete the reports of large closed rounds in short transactions, so that others can write in between."""
        closed = self._rows(
            "SELECT DISTINCT rounds.key FROM rounds JOIN sqlite_master"
            " ON name IN ('stopped_' || rounds.key, 'blocks_' || rounds.key) WHERE state = 'closed'"
        )
        for (key,) in closed:
            self._growing.pop(key, None)
            left = True
            while left:
                with self._alone(), self._transaction(write=True) as run:
                    begun = time.monotonic()
                    left = _tables(key, stopped=True).delete_some(run.connection)
                time.sleep(time.monotonic() - begun)
                self._checkpoints.start_if_needed()

    def _spread_groups(self) -> None:
        """Leave no groups in any table, because they show which reports were stored together."""
        with self._transaction(write=False) as run:
            keys = [row[0] for row in run("SELECT key FROM rounds WHERE state = 'open'").fetchall()]
            grouped = [key for key in keys if has_groups(run.connection, reports_table(key))]
        for key in set(self._growing) - set(keys):  # Another process has stopped these rounds.
            self._growing.pop(key, None)
        for key in grouped:
            try:
                self._change(key, GrowingTable.spread)
            except StoreUnavailable as error:
                if "no such table" not in str(error):  # Its round was closed meanwhile.
                    raise

    def size(self) -> int:
        """The size of the file and of its log."""
        size = 0
        for path in (self.path, self._log):
            with suppress(OSError):
                size += path.stat().st_size
        return size

    def tidy(self) -> None:
        """Delete what is left of closed rounds, and spread all groups. Then empty the log into the file.

        Groups and the log show which reports came together, and the log shows their order.
        """
        self._check_files()
        self._delete_closed()
        self._spread_groups()
        self._checkpoints.wait()
        connection = self._connect()
        try:
            connection.execute(f"PRAGMA busy_timeout = {1000 * _TIDYING_SECONDS:.0f}")
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # Others can write meanwhile, unlike below.
            for _ in range(_TIDYING):
                if not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return
                time.sleep(_TIDYING_SECONDS)
        except sqlite3.Error as error:
            raise StoreUnavailable(f"SQLite: {error}") from None
        finally:
            connection.close()
        raise StoreUnavailable("SQLite: another process still reads an older state, which needs the log")


def _identity(path: Path | str) -> tuple[int, int] | None:
    """The device and inode of a file, which stay the same if it is renamed."""
    try:
        status = os.stat(path)  # noqa: PTH116 - faster than Path.stat, and done for every group
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _tables(key: int, *, stopped: bool = False) -> BlockTables:
    """The tables of a round, by its key."""
    return BlockTables(reports_table(key, stopped=stopped), blocks_table(key))


_GROUP_REPORTS = 1024
"""The largest number of reports that are stored as a group. More reports are stored one by one."""
_SPREAD_FROM = 8192
"""The number of reports in groups from which on they are spread over the table."""
_TABLE_REPORTS = 1 << 17
"""The number of reports that a round's table keeps before some of them move into blocks."""
_TABLE_SHARE = 64
"""A very large round keeps one in this many reports in its table. Otherwise blocks are rewritten too often."""
_MOVED_PER_ADDED = 1.25
"""How many reports move into blocks for each report that is added to a large round."""


class GrowingTable:
    """About how many reports a round's tables have, and which nonces are in groups.

    Groups do not tell which of them came first. So that the first report with a nonce stays, another one with a
    nonce of a group is left out. Two processes that take both at the same time keep either.
    """

    def __init__(self, tables: BlockTables, reports: int, in_blocks: int, grouped: set[bytes]) -> None:
        self._tables = tables
        self._reports, self._in_blocks = reports, in_blocks
        self._grouped = grouped
        self._unmoved = 0
        """The number of added reports for which no others have moved into blocks yet."""
        self._next = b""
        """The nonce from which on the next reports move into blocks."""

    @staticmethod
    def find(connection: sqlite3.Connection, tables: BlockTables) -> GrowingTable:
        """Look at the tables of a round."""
        count = f"SELECT count(*) FROM {tables.reports} WHERE nonce < ?"  # noqa: S608
        reports = int(connection.execute(count, (FIRST_NAME,)).fetchone()[0])
        grouped = _nonces(grouped_rows(connection, tables.reports))
        return GrowingTable(tables, reports, tables.reports_in_blocks(connection), set(grouped))

    @property
    def grouped(self) -> int:
        """The number of nonces in groups."""
        return len(self._grouped)

    def takes_group(self, rows: Rows) -> bool:
        """Whether these rows become a group, which takes one statement."""
        return rows.shape[0] <= _GROUP_REPORTS and len(self._grouped) < 2 * _SPREAD_FROM

    def add(self, connection: sqlite3.Connection, rows: Rows) -> Callable[[], None]:
        """Store rows. What is returned must be called once the transaction is committed."""
        table = self._tables.reports
        if not self.takes_group(rows):
            spread_groups(connection, table)
            add_rows(connection, table, rows)
            return partial(self._note_added, rows.shape[0], None)
        nonces = _nonces(rows)
        if not self._grouped.isdisjoint(nonces):
            rows = rows[[nonce not in self._grouped for nonce in nonces]]
        add_group(connection, table, rows)
        return partial(self._note_added, len(nonces), nonces)

    def _note_added(self, count: int, nonces: list[bytes] | None) -> None:
        """Note that this number of reports is stored, as a group with these nonces or one by one."""
        if nonces is None:
            self._grouped.clear()
        else:
            self._grouped.update(nonces)
        self._reports += count
        self._unmoved += count

    def has_work(self) -> bool:
        """Whether there is something to do."""
        return len(self._grouped) >= _SPREAD_FROM or self._to_move() > 0

    def work(self, connection: sqlite3.Connection) -> Callable[[], None]:
        """Do a part of it in a transaction. What is returned must be called once the transaction is committed."""
        if len(self._grouped) >= _SPREAD_FROM:
            return self.spread(connection)
        return partial(self._note_moved, *self._tables.move(connection, self._next, self._to_move()))

    def spread(self, connection: sqlite3.Connection) -> Callable[[], None]:
        """Spread all groups over the table in a transaction. As with `work`, call what is returned afterwards."""
        spread_groups(connection, self._tables.reports)
        return self._grouped.clear

    def _to_move(self) -> int:
        large = self._reports > max(_TABLE_REPORTS, self._in_blocks // _TABLE_SHARE)
        return int(_MOVED_PER_ADDED * self._unmoved) if large else 0

    def _note_moved(self, moved: int, following: bytes) -> None:
        if not moved and not self._next:
            self._reports = 0  # The table is empty: another process has moved everything.
        self._reports, self._in_blocks = max(0, self._reports - moved), self._in_blocks + moved
        self._unmoved = max(0, self._unmoved - int(moved / _MOVED_PER_ADDED) - 1)
        self._next = following


def _nonces(rows: Rows) -> list[bytes]:
    nonces: list[bytes] = np.ascontiguousarray(rows[:, :NONCE]).view(f"V{NONCE}").ravel().tolist()
    return nonces


FIRST_NAME = b"\xff" * (NONCE + 1)
"""The beginning of every group's name. It is larger than every nonce, so groups are the last rows of a table."""
_NAME_BYTES = 16
"""The number of random bytes in a group's name."""
_SIZE_BYTES = 4
"""The number of bytes before the rows of a group. They say how long a row is."""


def add_group(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    """Store rows as one group. Without rows, only check that the table is there."""
    if not rows.shape[0]:
        connection.execute(f"SELECT 1 FROM {table} LIMIT 1")  # noqa: S608
        return
    name = FIRST_NAME + secrets.token_bytes(_NAME_BYTES)
    data = rows.shape[1].to_bytes(_SIZE_BYTES, "little") + rows.tobytes()
    connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (name, data))  # noqa: S608


def add_rows(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    """Store each row by its nonce, unless the nonce is there. One statement does it, so other threads can run.

    SQLite cuts the rows from one byte string.
    """
    size = rows.shape[1]
    sql = (
        f"INSERT OR IGNORE INTO {table} WITH RECURSIVE places (i) AS"  # noqa: S608
        f" (SELECT 1 UNION ALL SELECT i + {size} FROM places WHERE i + {size} < ?2)"
        f" SELECT substr(?1, i, {NONCE}), substr(?1, i + {NONCE}, {size - NONCE}) FROM places"
    )
    connection.execute(sql, (rows.tobytes(), rows.size))


def grouped_rows(connection: sqlite3.Connection, table: str) -> Rows:
    """The rows of all groups, sorted by nonce, each nonce once."""
    sql = f"SELECT report FROM {table} WHERE nonce >= ?"  # noqa: S608
    groups = [
        rows_from_bytes(data[_SIZE_BYTES:], int.from_bytes(data[:_SIZE_BYTES], "little"))
        for (data,) in connection.execute(sql, (FIRST_NAME,))
    ]
    return sort_rows(np.concatenate(groups)) if groups else np.empty((0, NONCE), dtype=np.uint8)


def has_groups(connection: sqlite3.Connection, table: str) -> bool:
    """Whether a table has groups."""
    sql = f"SELECT 1 FROM {table} WHERE nonce >= ? LIMIT 1"  # noqa: S608
    return connection.execute(sql, (FIRST_NAME,)).fetchone() is not None


def spread_groups(connection: sqlite3.Connection, table: str) -> None:
    """Replace all groups by one row for each report. This must be part of a transaction."""
    rows = grouped_rows(connection, table)
    if rows.shape[0]:
        add_rows(connection, table, rows)
        connection.execute(f"DELETE FROM {table} WHERE nonce >= ?", (FIRST_NAME,))  # noqa: S608


_BLOCK_ROWS = 8192
"""The largest number of reports in a block, and the largest number that is moved at a time."""
_ADDITION_ROWS = 1024
"""The largest number of reports in a block's additions. Then they become part of the block."""
_MOVE_BYTES = 4 << 20
"""Moving reports stops once this many bytes of blocks are rewritten, because nobody else can write meanwhile."""
_DELETED_ROWS = 20_000
"""The number of reports that one transaction deletes from a round's table."""
_DELETED_BLOCKS = 16
"""The number of blocks that one transaction deletes."""


class BlockTables(NamedTuple):
    """The tables of a round: one with a row for each report, and one with blocks, which may not exist."""

    reports: str
    blocks: str

    def reports_in_blocks(self, connection: sqlite3.Connection) -> int:
        """The number of reports in blocks."""
        if not _exists(connection, self.blocks):
            return 0
        sql = f"SELECT coalesce(sum(length(data) / row_size), 0) FROM {self.blocks}"  # noqa: S608
        return int(connection.execute(sql).fetchone()[0])

    def move(self, connection: sqlite3.Connection, start: bytes, wanted: int) -> tuple[int, bytes]:
        """Move about `wanted` reports into blocks, from a nonce on. Returns their number and where to go on.

        If there are no more reports from that nonce on, the next call has to start at the first nonce.
        """
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self.blocks} (additions INTEGER, first BLOB, row_size INTEGER NOT NULL,"
            " data BLOB NOT NULL, PRIMARY KEY (additions, first)) WITHOUT ROWID"
        )
        moved = written = 0
        while moved < wanted and written < _MOVE_BYTES:
            row = connection.execute(
                f"SELECT nonce FROM {self.reports} WHERE nonce >= ? AND nonce < ? ORDER BY nonce LIMIT 1",  # noqa: S608
                (start, FIRST_NAME),
            ).fetchone()
            if row is None:
                return moved, b""
            first, end = self._range(connection, row[0])
            rows = self._rows(connection, row[0], end)
            last = rows[-1, :NONCE].tobytes()
            written += self._extend(connection, first, rows)
            connection.execute(
                f"DELETE FROM {self.reports} WHERE nonce BETWEEN ? AND ?",  # noqa: S608
                (row[0], last),
            )
            moved, start = moved + rows.shape[0], last
        return moved, start

    def read(self, connection: sqlite3.Connection) -> Iterator[Rows]:
        """All rows of the round, sorted by nonce, each nonce once. Rows that came first win."""
        grouped = grouped_rows(connection, self.reports)
        for rows, end in self._read_stored(connection):
            here = bisect.bisect_left(range(len(grouped)), end, key=lambda i: grouped[i, :NONCE].tobytes())
            if here:
                rows = grouped[:here] if rows is None else merge_rows(rows, grouped[:here])
                grouped = grouped[here:]
            if rows is not None:
                yield rows

    def _read_stored(self, connection: sqlite3.Connection) -> Iterator[tuple[Rows | None, bytes]]:
        """All rows outside groups in parts, each with the first nonce after the part."""
        if _exists(connection, self.blocks):
            yield from self._read_ranges(connection)
            return
        start = b""
        while (rows := self._rows(connection, start, FIRST_NAME)).shape[0]:
            start = rows[-1, :NONCE].tobytes() + b"\0"
            yield rows, start
        yield None, FIRST_NAME

    def _read_ranges(self, connection: sqlite3.Connection) -> Iterator[tuple[Rows | None, bytes]]:
        first = b""
        while first != FIRST_NAME:
            begin, end = self._range(connection, first)
            rows = self._with_additions(connection, begin)
            start = first
            while (added := self._rows(connection, start, end)).shape[0]:
                rows = added if rows is None else merge_rows(rows, added)
                start = added[-1, :NONCE].tobytes() + b"\0"
            yield rows, end
            first = end

    def delete_some(self, connection: sqlite3.Connection) -> bool:
        """Delete some reports and blocks, and the tables once they are empty. False if nothing is left."""
        for table, columns, number in (
            (self.blocks, "additions, first", _DELETED_BLOCKS),
            (self.reports, "nonce", _DELETED_ROWS),
        ):
            if _exists(connection, table):
                some = f"SELECT {columns} FROM {table} ORDER BY {columns} LIMIT {number}"  # noqa: S608
                sql = f"DELETE FROM {table} WHERE ({columns}) IN ({some})"  # noqa: S608
                if not connection.execute(sql).rowcount:
                    connection.execute(f"DROP TABLE {table}")
                return True
        return False

    def _extend(self, connection: sqlite3.Connection, first: bytes, rows: Rows) -> int:
        """Add rows to a block or to its additions. Returns the number of bytes that are written."""
        additions = self._stored(connection, first, additions=True)
        if additions is not None:
            rows = merge_rows(additions, rows)
        if rows.shape[0] <= _ADDITION_ROWS:
            self._write(connection, first, rows, additions=True)
            return rows.size
        block = self._stored(connection, first, additions=False)
        if block is not None:
            rows = merge_rows(block, rows)
        for number, part in enumerate(split_rows(rows, _BLOCK_ROWS)):
            self._write(connection, part[0, :NONCE].tobytes() if number else first, part, additions=False)
        connection.execute(f"DELETE FROM {self.blocks} WHERE additions = 1 AND first = ?", (first,))  # noqa: S608
        return rows.size

    def _with_additions(self, connection: sqlite3.Connection, first: bytes) -> Rows | None:
        block = self._stored(connection, first, additions=False)
        additions = self._stored(connection, first, additions=True)
        if block is None or additions is None:
            return additions if block is None else block
        return merge_rows(block, additions)

    def _range(self, connection: sqlite3.Connection, nonce: bytes) -> tuple[bytes, bytes]:
        """The first nonce of the block that covers a nonce, and the first nonce that it no longer covers.

        The first block covers everything before the second.
        """
        sql = f"SELECT first FROM {self.blocks} WHERE additions = 0 AND first"  # noqa: S608
        first = connection.execute(f"{sql} <= ? ORDER BY first DESC LIMIT 1", (nonce,)).fetchone()
        end = connection.execute(f"{sql} > ? ORDER BY first LIMIT 1", (nonce,)).fetchone()
        return b"" if first is None else first[0], FIRST_NAME if end is None else end[0]

    def _stored(self, connection: sqlite3.Connection, first: bytes, *, additions: bool) -> Rows | None:
        row = connection.execute(
            f"SELECT data, row_size FROM {self.blocks} WHERE additions = ? AND first = ?",  # noqa: S608
            (int(additions), first),
        ).fetchone()
        return None if row is None else rows_from_bytes(*row)

    def _write(self, connection: sqlite3.Connection, first: bytes, rows: Rows, *, additions: bool) -> None:
        connection.execute(
            f"INSERT OR REPLACE INTO {self.blocks} VALUES (?, ?, ?, ?)",  # noqa: S608
            (int(additions), first, rows.shape[1], rows.tobytes()),
        )

    def _rows(self, connection: sqlite3.Connection, start: bytes, end: bytes) -> Rows:
        """The next rows of the table from a nonce on and before another."""
        rows = connection.execute(
            f"SELECT nonce, report FROM {self.reports}"  # noqa: S608
            f" WHERE nonce >= ? AND nonce < ? ORDER BY nonce LIMIT {_BLOCK_ROWS}",
            (start, end),
        ).fetchall()
        if not rows:
            return np.empty((0, NONCE), dtype=np.uint8)
        return rows_from_bytes(b"".join(chain.from_iterable(rows)), len(rows[0][0]) + len(rows[0][1]))


def _exists(connection: sqlite3.Connection, table: str) -> bool:
    sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(sql, (table,)).fetchone() is not None


def rows_from_bytes(data: bytes, row_size: int) -> Rows:
    """The rows that are stored one after the other in a byte string."""
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, row_size)


def merge_rows(stored: Rows, added: Rows) -> Rows:
    """The rows of both, sorted by nonce. Both must be sorted. A nonce that both have keeps its stored row."""
    ours, theirs = _leading(stored), _leading(added)
    places = np.searchsorted(ours, theirs)
    if ours.size and (ours[np.minimum(places, ours.size - 1)] == theirs).any():
        return sort_rows(np.concatenate((stored, added)))
    return np.insert(stored, places, added, axis=0)


def sort_rows(rows: Rows) -> Rows:
    """The rows sorted by nonce. Of several rows with the same nonce, the first one stays."""
    nonces = np.ascontiguousarray(rows[:, :NONCE]).view(">u8")
    order = np.lexsort((nonces[:, 1], nonces[:, 0]))  # It is stable.
    nonces = nonces[order]
    first = np.concatenate(([True], (nonces[1:] != nonces[:-1]).any(axis=1)))
    return rows[order[first]]


def split_rows(rows: Rows, largest: int) -> Sequence[Rows]:
    """The rows in parts of similar length. None has more than `largest` rows."""
    parts = -(-rows.shape[0] // largest)
    return np.array_split(rows, parts if parts == 1 else parts + 1)


def _leading(rows: Rows) -> NDArray[np.uint64]:
    """The first half of each nonce as a number."""
    return np.ascontiguousarray(rows[:, : NONCE // 2]).view(">u8").reshape(-1).astype(np.uint64)


_HEADER: Final = np.dtype(
    [("magic", ">u4"), ("version", ">u4"), ("page", ">u4"), ("sequence", ">u4"), ("salt", ">u8"), ("sum", ">u4", 2)]
)
_LOG_MAGIC: Final = 0x377F0682
"""The first word of a log. It is one larger if checksums are computed from big-endian words."""
_PAGES: Final = tuple(1 << i for i in range(9, 17))
"""The possible sizes of a page, in bytes."""
_OUR_PAGE: Final = 4096
"""The size of a page in files of the collector."""
_FRAMES: Final = 1024
"""The number of frames that are read at a time."""


def first_damaged_frame(path: Path) -> int | None:
    """The first damaged frame that has committed transactions after it, or None.

    Those transactions were acknowledged, and SQLite would silently drop them. A broken last transaction is not
    damage: a power cut before the sync leaves one, and no other transaction begins before that sync. Remains of
    unsynced transactions behind the end of the log are not damage either. Each of them has one commit, and none
    continues the checksum of another.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER.itemsize)
            if len(head) < _HEADER.itemsize:
                return None
            page = int(np.frombuffer(head, dtype=_HEADER)[0]["page"])
            broken, commits = _read(file, head, page if page in _PAGES else _OUR_PAGE)
    except FileNotFoundError:
        return None
    return broken if commits > 1 else None


def _read(file: IO[bytes], head: bytes, page: int) -> tuple[int | None, int]:
    """The first frame whose checksum is wrong, and the largest number of consecutive commits from there on."""
    header = np.frombuffer(head, dtype=_HEADER)[0]
    words = ">u4" if header["magic"] & 1 else "<u4"
    last = header["sum"].astype(np.uint32)
    start = np.frombuffer(head[:24], dtype=words).reshape(1, -1)
    sound = int(header["page"]) == page and int(header["magic"]) & ~1 == _LOG_MAGIC
    sound = sound and bool((_checksums(start, np.zeros((1, 2), dtype=np.uint32)) == last).all())
    frame = np.dtype(
        [
            ("start", "u1", 8),
            ("salt", ">u8"),
            ("sum", ">u4", 2),
            ("page", "u1", page),
        ]
    )
    salt = header["salt"]
    broken, most, run, seen = None if sound else 0, 0, 0, 0
    while len(block := file.read(_FRAMES * frame.itemsize)) >= frame.itemsize:
        frames = np.frombuffer(block, dtype=frame, count=len(block) // frame.itemsize)
        if not sound and not seen:
            salt = frames["salt"][0]
        same = frames["salt"] == salt
        sums = frames["sum"].astype(np.uint32)
        fits = same
        if sound:  # With a damaged header, the byte order of the checksums is not known.
            data = np.concatenate((frames["start"], frames["page"]), axis=1).view(words)
            fits = (_checksums(data, np.concatenate((last[None], sums[:-1]))) == sums).all(axis=1) & same
        if broken is None and not fits.all():
            broken = seen + int(np.argmin(fits))
        if broken is not None:
            here = slice(max(0, broken - seen), None)
            runs = _runs(same[here] & frames["start"][here, 4:].any(axis=1), fits[here], run)
            most, run = max(most, int(runs.max())), int(runs[-1])
        last, seen = sums[-1], seen + len(frames)
    return broken, most


def _runs(commits: NDArray[np.bool_], fits: NDArray[np.bool_], before: int) -> NDArray[np.int64]:
    """The number of commits up to each frame since the last frame that does not continue the one before."""
    total = np.cumsum(commits)
    return total - np.maximum.accumulate(np.where(fits, -before, total - commits))


def _checksums(words: NDArray[np.uint32], before: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The checksum of each row, starting from (s, t) = before.

    Each pair of words x, y does s += x + t and then t += y + s, modulo 2³².
    """
    first, second, power = _weights(words.shape[1] // 2)
    x, y = words[:, ::2].astype(np.uint32), words[:, 1::2].astype(np.uint32)
    ours: NDArray[np.uint32] = x @ first + y @ second + before @ power
    return ours


@lru_cache(maxsize=4)
def _weights(pairs: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """The weights of each x, of each y and of the previous checksum in the result.

    One pair of words turns (s, t) into M(s, t) + (x, x + y), which is linear.
    """
    step = np.array([[1, 1], [1, 2]], dtype=np.uint32)
    first, second = np.empty((2, pairs, 2), dtype=np.uint32)
    power = np.eye(2, dtype=np.uint32)
    for i in reversed(range(pairs)):
        first[i], second[i] = power.sum(axis=1, dtype=np.uint32), power[:, 1]
        power = step @ power
    return first, second, power.T


LOG_BYTES = 8 << 20
"""The size from which on the log is moved into the file."""
_LONGEST_LOG = 6 * LOG_BYTES
"""From this size on, adding reports waits for the thread. Otherwise the log could grow without end."""
_LOOK_PAUSE = 0.05
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
        if now - self._looked < _LOOK_PAUSE or not self._starting.acquire(blocking=False):
            return
        try:
            self._looked, size = now, 0
            with suppress(OSError):
                size = self._log.stat().st_size
            if size > _LONGEST_LOG:
                self.wait()
                self._run()
            elif size > LOG_BYTES and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)
                self._thread.start()
        finally:
            self._starting.release()

    def wait(self) -> None:
        """Wait until a thread that was started is done."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        """Move the log into the file. Others can write meanwhile. What fails is tried again later."""
        with suppress(sqlite3.Error, StoreError, StoreUnavailable), closing(self._connect()) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


_LOCK_PATIENCE = 2.0
"""The longest time to wait for the lock, in seconds."""
_LOCK_PAUSE = (0.0002, 0.0005)
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
            end = time.monotonic() + (0.0 if self._timed_out else _LOCK_PATIENCE)
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self._timed_out = False
                    return True
                if time.monotonic() >= end:
                    self._timed_out = True
                    return False
                time.sleep(random.uniform(*_LOCK_PAUSE))  # noqa: S311 - no secret
        except OSError:
            return False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
