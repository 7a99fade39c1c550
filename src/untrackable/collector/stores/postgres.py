"""A store in a PostgreSQL database, for many machines."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import psycopg
from psycopg import errors, sql

from untrackable.collector.stores.base import BLOCK, NoSuchTable, Run, Store
from untrackable.collector.stores.records import Round, Rows
from untrackable.errors import StoreError, StoreUnavailable
from untrackable.wire import NONCE

_SCHEMA = "untrackable"
_SCHEMA_LOCK = 0x756E7472
_CONNECT_SECONDS = 5
_COPY_HEAD, _COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


class PostgresStore(Store):
    """A table for every round, in a schema of its own; a commit is on disk before it is acknowledged.

    Reports are copied in as they are; only if a nonce is there already are they sorted out row by row.
    """

    _types = {"bytes": "BYTEA", "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}  # noqa: RUF012
    _placeholder = "%s"

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    @staticmethod
    def open(url: str, *, make: bool = True) -> "PostgresStore":
        """The store in a database; its tables are made if there are none and `make`."""
        store = PostgresStore(url)
        try:
            with store._borrowed() as connection, store._begin(connection, write=True):
                if connection.execute("SHOW fsync").fetchone() != ("on",):
                    raise StoreError("PostgreSQL runs with fsync off, so that nothing it acknowledges is safe")
                if not make and connection.execute("SELECT to_regnamespace(%s)", (_SCHEMA,)).fetchone() == (None,):
                    raise StoreError(
                        "the PostgreSQL database is not a collector's (`untrackable serve` makes it one)"
                    )
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
            store.migrate()
            store.ping()
        except StoreUnavailable as error:
            store.close()
            raise StoreError(f"cannot use the PostgreSQL database: {error}") from None
        except BaseException:
            store.close()
            raise
        return store

    def _connect(self) -> "psycopg.Connection[Any]":
        try:
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
            connection.execute(f"SET search_path = {_SCHEMA}")
            connection.execute("SET synchronous_commit = on")
            connection.execute("SET client_min_messages = warning")
        except psycopg.Error as error:
            raise _unavailable(error) from None
        return connection

    @contextmanager
    def _begin(self, connection: "psycopg.Connection[Any]", *, write: bool) -> Iterator[None]:
        try:
            with connection.transaction():
                yield
        except psycopg.Error as error:
            raise _unavailable(error) from None

    def _usable(self, connection: "psycopg.Connection[Any]") -> bool:
        return not connection.closed and not connection.broken

    def _lock_schema(self, run: Run) -> None:
        run("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))

    def _exclude(self, run: Run, round: Round) -> None:
        run("SELECT pg_advisory_xact_lock(?)", (_lock(round),))

    def _table_sql(self, table: str) -> str:
        return f"CREATE TABLE {table} (nonce UUID PRIMARY KEY, report BYTEA NOT NULL)"

    def _insert(self, tables: Mapping[str, Rows]) -> None:
        """A COPY is a transaction by itself."""
        try:
            try:
                self._copy_all(tables, self._copy, alone=len(tables) == 1)
            except errors.UniqueViolation:
                self._copy_all(tables, self._copy_new, alone=False)
        except errors.UndefinedTable:
            raise NoSuchTable from None
        except psycopg.Error as error:
            raise _unavailable(error) from None

    def _copy_all(
        self,
        tables: Mapping[str, Rows],
        copy: Callable[["psycopg.Connection[Any]", str, Rows], None],
        *,
        alone: bool,
    ) -> None:
        with self._borrowed() as connection, nullcontext() if alone else connection.transaction():
            for table in sorted(tables):
                copy(connection, table, tables[table])

    @staticmethod
    def _copy(connection: "psycopg.Connection[Any]", table: str, rows: Rows) -> None:
        statement = sql.SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table))
        with connection.cursor().copy(statement) as copy:
            copy.write(_stream(rows))

    @classmethod
    def _copy_new(cls, connection: "psycopg.Connection[Any]", table: str, rows: Rows) -> None:
        """Those whose nonces are not there, sorted out by way of another table."""
        connection.execute(
            "CREATE TEMPORARY TABLE IF NOT EXISTS arriving (nonce UUID, report BYTEA) ON COMMIT DELETE ROWS"
        )
        connection.execute("TRUNCATE arriving")
        cls._copy(connection, "arriving", rows)
        connection.execute(
            sql.SQL("INSERT INTO {} SELECT nonce, report FROM arriving ON CONFLICT DO NOTHING").format(
                sql.Identifier(table)
            )
        )

    def _blocks(self, connection: "psycopg.Connection[Any]", table: str, ordered: bool) -> Iterator[Sequence[Any]]:
        with connection.cursor("reports", binary=True) as cursor:
            order = " ORDER BY nonce" if ordered else ""
            cursor.execute(f"SELECT report FROM {table}{order}")  # noqa: S608
            while rows := cursor.fetchmany(BLOCK):
                yield rows

    def tidy(self) -> None:
        """PostgreSQL's log is its own."""


def _unavailable(error: psycopg.Error) -> StoreUnavailable:
    said = str(error).strip().splitlines()
    return StoreUnavailable(f"PostgreSQL: {said[0] if said else type(error).__name__}")


def _lock(round: Round) -> int:
    digest = hashlib.sha256(f"{round.campaign}/{round.number}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _stream(rows: Rows) -> bytes:
    """Rows in PostgreSQL's binary format: the number of columns, and each column's length and bytes."""
    payload = rows.shape[1] - NONCE
    layout = np.dtype(
        [
            ("columns", ">i2"),
            ("nonce_size", ">i4"),
            ("nonce", "u1", (NONCE,)),
            ("report_size", ">i4"),
            ("report", "u1", (payload,)),
        ]
    )
    table = np.empty(rows.shape[0], dtype=layout)
    table["columns"], table["nonce_size"], table["report_size"] = 2, NONCE, payload
    table["nonce"], table["report"] = rows[:, :NONCE], rows[:, NONCE:]
    return _COPY_HEAD + table.tobytes() + _COPY_END
