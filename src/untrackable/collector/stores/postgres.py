"""A store in a PostgreSQL database, for many machines."""

import hashlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from untrackable.collector.stores import integrity
from untrackable.collector.stores.postgres_connection import (
    LOCK_SECONDS,
    SCHEMA,
    Connection,
    connect,
    hurried,
    unavailable,
    unhurried,
)
from untrackable.collector.stores.postgres_settings import check_settings, look
from untrackable.collector.stores.records import Round, Rows, State
from untrackable.collector.stores.store import BLOCK, NoSuchTable, Run, Store
from untrackable.errors import StoreError, StoreUnavailable
from untrackable.extras import extra
from untrackable.protocol.wire import NONCE

with extra("postgres"):
    import psycopg
    from psycopg import errors, sql
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

_SCHEMA_LOCK = 0x756E7472
_UUID, _BYTEA = 2950, 17
_UUIDS, _BYTEAS = 2951, 1001
_ADD = "INSERT INTO {} SELECT * FROM unnest(%b, %b) ON CONFLICT DO NOTHING"


class _InUse(StoreUnavailable):
    """A table is being read, and cannot be stopped now."""


class _Nonces(bytes):
    """An array of UUIDs in PostgreSQL's binary format."""


class _Reports(bytes):
    """The same, of byte strings."""


class _NoncesDumper(Dumper):
    oid, format = _UUIDS, Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return obj


class _ReportsDumper(_NoncesDumper):
    oid = _BYTEAS


class PostgresStore(Store):
    """A table for every round, in a schema of its own; a commit is on disk before it is acknowledged.

    Reports are two arrays of one statement, which passes over nonces that are there and never fails because of one:
    what fails, PostgreSQL writes into its log, with the time.
    """

    _types = {"bytes": "BYTEA", "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}  # noqa: RUF012
    _placeholder = "%s"

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    @staticmethod
    def open(url: str, *, check: bool = True, make: bool = True) -> "PostgresStore":
        """The store in a database; tables are made if there are none and `make`; with `check` all is examined."""
        store = PostgresStore(url)
        try:
            if make:
                with store._borrowed() as connection, store._begin(connection, write=True):
                    check_settings(connection)
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
                    if not _there(connection, "to_regnamespace", SCHEMA):  # who may not make one may be given one
                        connection.execute(f"CREATE SCHEMA {SCHEMA}")
                store.migrate()
            else:
                store.check_version("the PostgreSQL database")
            if check:
                integrity.examine(store, "the PostgreSQL database")
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
        hurried(connection)
        try:
            with connection.transaction():
                yield
        except errors.LockNotAvailable as error:
            raise _InUse(str(unavailable(error))) from None
        except psycopg.Error as error:
            raise unavailable(error) from None

    def _usable(self, connection: Connection) -> bool:
        return not connection.closed and not connection.broken

    def _lock_schema(self, run: Run) -> None:
        run("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))

    def _exclude(self, run: Run, round: Round) -> None:
        run("SELECT pg_advisory_xact_lock(?)", (_lock(round),))

    def _table_sql(self, table: str) -> str:
        return f"CREATE TABLE {table} (nonce UUID PRIMARY KEY, report BYTEA NOT NULL)"

    def _has_tables(self, run: Run) -> bool:
        return _there(run.connection, "to_regclass", f"{SCHEMA}.versions")

    def _unhurried(self, run: Run) -> None:
        unhurried(run.connection)

    def _insert(self, tables: Mapping[str, Rows]) -> None:
        """One statement is a transaction by itself; a server that would write down the reports is given none."""
        try:
            with self._borrowed() as connection:
                hurried(connection)
                look(connection)
                with nullcontext() if len(tables) == 1 else connection.transaction():
                    for table in sorted(tables):
                        rows = tables[table]
                        arrays = (
                            _Nonces(_array(_UUID, rows[:, :NONCE])),
                            _Reports(_array(_BYTEA, rows[:, NONCE:])),
                        )
                        connection.execute(sql.SQL(_ADD).format(sql.Identifier(table)), arrays)
        except errors.UndefinedTable:
            raise NoSuchTable from None
        except psycopg.Error as error:
            raise unavailable(error) from None

    def stop(self, round: Round) -> State:
        """Wait for those who read it a moment at a time: whoever adds reports waits behind."""
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return super().stop(round)
            except _InUse:
                if time.monotonic() > end:
                    raise StoreUnavailable("PostgreSQL: the round is being read, and is not stopped yet") from None
                time.sleep(random.uniform(0.1, 0.3))  # noqa: S311 - no secret

    def _set_aside(self, run: Run, key: int) -> None:
        run("SET LOCAL lock_timeout = '100ms'")
        super()._set_aside(run, key)

    def _blocks(self, connection: Connection, table: str, ordered: bool) -> Iterator[Sequence[Any]]:
        with connection.cursor("reports", binary=True) as cursor:
            order = " ORDER BY nonce" if ordered else ""
            cursor.execute(f"SELECT report FROM {table}{order}")  # noqa: S608
            while rows := cursor.fetchmany(BLOCK):
                yield rows

    def tidy(self) -> None:
        """PostgreSQL's log is its own."""


def _there(connection: Connection, look: str, name: str) -> bool:
    found = connection.execute(sql.SQL("SELECT {}(%s)").format(sql.Identifier(look)), (name,)).fetchone()
    return found is not None and found[0] is not None


def _lock(round: Round) -> int:
    digest = hashlib.sha256(f"{round.campaign}/{round.number}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _array(oid: int, column: Rows) -> bytes:
    """PostgreSQL's binary format: one dimension, no nulls, the type, how many; each one's length and bytes."""
    layout = np.dtype([("size", ">i4"), ("bytes", "u1", (column.shape[1],))])
    cells = np.empty(column.shape[0], dtype=layout)
    cells["size"], cells["bytes"] = column.shape[1], column
    return np.array([1, 0, oid, column.shape[0], 1], dtype=">i4").tobytes() + cells.tobytes()
