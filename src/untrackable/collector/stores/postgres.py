"""A store in a PostgreSQL database, for collectors on several machines."""

import hashlib
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from operator import itemgetter

import numpy as np

from untrackable.collector.stores import integrity
from untrackable.collector.stores.postgres_connection import (
    LOCK_SECONDS,
    SCHEMA,
    Connection,
    allow_long_statements,
    connect,
    reset_time_limits,
    unavailable,
)
from untrackable.collector.stores.postgres_settings import check_settings, recheck_settings
from untrackable.collector.stores.records import Round, Rows, State
from untrackable.collector.stores.schema import reports_table
from untrackable.collector.stores.store import BLOCK, MissingReportsTable, StatementRunner, Store
from untrackable.errors import StoreError, StoreUnavailable
from untrackable.extras import extra
from untrackable.protocol.wire import NONCE

with extra("postgres"):
    import psycopg
    from psycopg import errors, sql
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

_SCHEMA_LOCK = 0x756E7472
"""The key of the advisory lock that allows one process at a time to migrate the schema."""
_UUID, _BYTEA = 2950, 17
"""PostgreSQL's type numbers of a UUID and of a byte string."""
_UUIDS, _BYTEAS = 2951, 1001
"""PostgreSQL's type numbers of arrays of UUIDs and of byte strings."""
_ADD = "INSERT INTO {} SELECT * FROM unnest(%b, %b) ON CONFLICT DO NOTHING"
_WRITES_A_MESSAGE = "SELECT pg_logical_emit_message(true, 'untrackable', '')"
"""Writes an empty message into the log, so that the commit is synced. No other process has to wait for it."""


class _InUse(StoreUnavailable):
    """Somebody is reading the table, so it cannot be renamed now."""


class _Nonces(bytes):
    """An array of UUIDs in PostgreSQL's binary format."""


class _Reports(bytes):
    """An array of byte strings in PostgreSQL's binary format."""


class _NoncesDumper(Dumper):
    oid, format = _UUIDS, Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return obj


class _ReportsDumper(_NoncesDumper):
    oid = _BYTEAS


class PostgresStore(Store):
    """A store with one table per round in its own schema. A commit is on disk before it is acknowledged.

    One statement adds all reports as two arrays. It skips nonces that are already there and never fails because of
    one, since PostgreSQL would write a failing statement into its log, with the time.
    """

    _types = {"bytes": "BYTEA", "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}  # noqa: RUF012
    _placeholder = "%s"

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    @staticmethod
    def open(url: str, *, check: bool = True, make: bool = True) -> "PostgresStore":
        """Open the store of a database. `make` creates missing tables, and `check` checks all data."""
        store = PostgresStore(url)
        try:
            if make:
                with store._borrowed() as connection, store._begin(connection, write=True):
                    check_settings(connection)
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
                    # A role without the right to create a schema can use one that somebody created for it.
                    if not _exists(connection, "to_regnamespace", SCHEMA):
                        connection.execute(f"CREATE SCHEMA {SCHEMA}")
                store.migrate()
            else:
                store.check_version("the PostgreSQL database")
            if check:
                integrity.check_integrity(store, "the PostgreSQL database")
        except StoreUnavailable as error:
            store.close()
            raise StoreError(f"cannot use the PostgreSQL database: {error}") from None
        except BaseException:
            store.close()
            raise
        return store

    def _connect(self) -> Connection:
        connection = connect(self._url)
        connection.adapters.register_dumper(_Nonces, _NoncesDumper)
        connection.adapters.register_dumper(_Reports, _ReportsDumper)
        return connection

    @contextmanager
    def _begin(self, connection: Connection, *, write: bool) -> Iterator[None]:
        reset_time_limits(connection)
        try:
            with connection.transaction():
                yield
        except errors.LockNotAvailable as error:
            raise _InUse(str(unavailable(error))) from None
        except psycopg.Error as error:
            raise unavailable(error) from None

    def _usable(self, connection: Connection) -> bool:
        return not connection.closed and not connection.broken

    def _lock_schema(self, run: StatementRunner) -> None:
        run("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))

    def _lock_round(self, run: StatementRunner, round: Round) -> None:
        run("SELECT pg_advisory_xact_lock(?)", (_lock(round),))

    def _table_sql(self, table: str) -> str:
        return f"CREATE TABLE {table} (nonce UUID PRIMARY KEY, report BYTEA NOT NULL)"

    def _has_tables(self, run: StatementRunner) -> bool:
        return _exists(run.connection, "to_regclass", f"{SCHEMA}.versions")

    def _allow_long_statements(self, run: StatementRunner) -> None:
        allow_long_statements(run.connection)

    def _insert(self, reports: Mapping[int, Rows], always_writes: bool) -> None:
        """Add rows in one transaction, unless the server's settings would write the reports into its log."""
        try:
            with self._borrowed() as connection:
                reset_time_limits(connection)
                recheck_settings(connection)
                alone = len(reports) == 1 and not always_writes
                with nullcontext() if alone else connection.transaction():
                    for key, rows in sorted(reports.items(), key=itemgetter(0)):
                        arrays = (
                            _Nonces(_array(_UUID, rows[:, :NONCE])),
                            _Reports(_array(_BYTEA, rows[:, NONCE:])),
                        )
                        connection.execute(sql.SQL(_ADD).format(sql.Identifier(reports_table(key))), arrays)
                    if always_writes:
                        connection.execute(_WRITES_A_MESSAGE)
        except errors.UndefinedTable:
            raise MissingReportsTable from None
        except psycopg.Error as error:
            raise unavailable(error) from None

    def stop(self, round: Round) -> State:
        """Stop a round. Wait for its readers in short attempts, because writers queue behind a waiting rename."""
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return super().stop(round)
            except _InUse:
                if time.monotonic() > end:
                    raise StoreUnavailable(
                        "PostgreSQL: somebody reads the round; stopping it will be retried"
                    ) from None
                time.sleep(random.uniform(0.1, 0.3))  # noqa: S311 - no secret

    def _rename_table(self, run: StatementRunner, key: int) -> None:
        run("SET LOCAL lock_timeout = '100ms'")
        super()._rename_table(run, key)

    def _read(self, connection: Connection, key: int, *, stopped: bool, ordered: bool) -> Iterator[bytes]:
        with connection.cursor("reports", binary=True) as cursor:
            order = " ORDER BY nonce" if ordered else ""
            cursor.execute(f"SELECT report FROM {reports_table(key, stopped=stopped)}{order}")  # noqa: S608
            while rows := cursor.fetchmany(BLOCK):
                yield b"".join([row[0] for row in rows])

    def _count(self, connection: Connection, key: int, *, stopped: bool) -> int:
        table = sql.Identifier(reports_table(key, stopped=stopped))
        found = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(table)).fetchone()
        return 0 if found is None else int(found[0])

    def size(self) -> int:
        """The size of all tables and their indexes."""
        with self._transaction(write=False) as run:
            found = run(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'",
                (SCHEMA,),
            ).fetchone()
        return int(found[0])

    def tidy(self) -> None:
        """Do nothing. PostgreSQL manages its write-ahead log itself."""


def _exists(connection: Connection, function: str, name: str) -> bool:
    found = connection.execute(sql.SQL("SELECT {}(%s)").format(sql.Identifier(function)), (name,)).fetchone()
    return found is not None and found[0] is not None


def _lock(round: Round) -> int:
    digest = hashlib.sha256(f"{round.campaign}/{round.number}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _array(oid: int, column: Rows) -> bytes:
    """An array in PostgreSQL's binary format.

    It begins with the number of dimensions (1), a flag for nulls (0), the element type, the number of elements and
    the first index (1). Each element follows with its length and bytes.
    """
    layout = np.dtype([("size", ">i4"), ("bytes", "u1", (column.shape[1],))])
    cells = np.empty(column.shape[0], dtype=layout)
    cells["size"], cells["bytes"] = column.shape[1], column
    return np.array([1, 0, oid, column.shape[0], 1], dtype=">i4").tobytes() + cells.tobytes()
