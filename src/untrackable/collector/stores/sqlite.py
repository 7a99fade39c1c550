"""A store in one SQLite file. Several processes of one machine may use it at once."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from urllib.parse import quote

from untrackable.collector.stores import integrity, sqlite_log
from untrackable.collector.stores.growing_table import GrowingTable
from untrackable.collector.stores.records import Round, Rows
from untrackable.collector.stores.schema import WRITES_NOTHING_NEW, blocks_table, reports_table
from untrackable.collector.stores.sqlite_blocks import BlockTables
from untrackable.collector.stores.sqlite_checkpoints import LOG_BYTES, Checkpoints
from untrackable.collector.stores.sqlite_groups import has_groups, spread_groups
from untrackable.collector.stores.store import MissingReportsTable, StatementRunner, Store
from untrackable.collector.stores.write_lock import WriteLock
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
    def open(path: Path, *, check: bool = True, make: bool = True) -> "SqliteStore":
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
        try:
            store._examine_log()
            store._examine(check=check, make=make)
            if make:
                store.migrate()
            else:
                store.check_version(str(path))
            if check:
                integrity.check_integrity(store, str(path))
        except StoreUnavailable as error:
            store.close()
            raise StoreError(f"cannot use {path}: {error}") from None
        except BaseException:
            store.close()
            raise
        return store

    def _examine_log(self) -> None:
        """Check the log before SQLite opens it. If another process is writing it, it is complete a moment later."""
        try:
            found = sqlite_log.first_damaged_frame(self._log)
            for _ in range(_LOOKS if found is not None else 0):
                time.sleep(_LOOK_SECONDS)
                if sqlite_log.first_damaged_frame(self._log) != found:
                    return
        except OSError as error:
            raise StoreError(f"cannot read {self._log}: {error.strerror}") from None
        if found is None:
            return
        raise StoreError(
            f"{self._log} is damaged at frame {found + 1}, and SQLite would drop acknowledged reports after it; "
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
                found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if found != "ok":
                    raise StoreError(f"{self.path} is damaged ({found.splitlines()[-1]}): restore a backup")
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
        """Close all connections."""
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

    def _allow_long_statements(self, run: StatementRunner) -> None:
        """Do nothing. SQLite has no time limit for statements."""

    def _lock_schema(self, run: StatementRunner) -> None:
        """Do nothing. A writing transaction of SQLite already excludes all others."""

    def _lock_round(self, run: StatementRunner, round: Round) -> None:
        """Do nothing. A writing transaction of SQLite already excludes all others."""

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
        """Write alone. Whoever waits goes on at once, where SQLite itself would only try again now and then."""
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

    def _read(self, connection: sqlite3.Connection, key: int, *, stopped: bool, ordered: bool) -> Iterator[bytes]:
        for rows in _tables(key, stopped=stopped).read(connection):
            yield rows[:, NONCE:].tobytes()

    def _count(self, connection: sqlite3.Connection, key: int, *, stopped: bool) -> int:
        return sum(rows.shape[0] for rows in _tables(key, stopped=stopped).read(connection))

    def _drop(self, run: StatementRunner, key: int, reports: int) -> None:
        # Whoever deletes a campaign does not count its reports, but a round with blocks is large.
        if reports <= _DROPPED_AT_ONCE and not _tables(key, stopped=True).exist(run.connection):
            super()._drop(run, key, reports)

    def delete_campaign(self, id: str) -> None:
        """Delete a campaign whose rounds are all closed, with its sums and what is left of large rounds."""
        self._delete_closed()  # Once the rounds are forgotten, nobody would find their tables.
        super().delete_campaign(id)

    def _delete_closed(self) -> None:
        """Delete the reports of large closed rounds in short transactions, so that others can write in between."""
        with self._transaction(write=False) as run:
            closed = run(
                "SELECT DISTINCT rounds.key FROM rounds JOIN sqlite_master"
                " ON name IN ('stopped_' || rounds.key, 'blocks_' || rounds.key) WHERE state = 'closed'"
            ).fetchall()
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
        found = 0
        for path in (self.path, self._log):
            with suppress(OSError):
                found += path.stat().st_size
        return found

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
        found = os.stat(path)  # noqa: PTH116 - faster than Path.stat, and done for every group
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _tables(key: int, *, stopped: bool = False) -> BlockTables:
    """The tables of a round, by its key."""
    return BlockTables(reports_table(key, stopped=stopped), blocks_table(key))
