"""A store in a PostgreSQL database, for collectors on several machines.

Connections have time limits, because a stopped server or a lost network never ends a statement. Their errors show
no password. A server is refused while its settings would let it lose acknowledged reports or record when a report
came.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from math import inf
from operator import itemgetter
from typing import Any, Final

import numpy as np

from untrackable.collector.store import (
    BLOCK,
    MissingReportsTable,
    Round,
    Rows,
    State,
    StatementRunner,
    Store,
    reports_table,
)
from untrackable.errors import StoreError, StoreUnavailable
from untrackable.extras import extra
from untrackable.protocol.wire import NONCE

with extra("postgres"):
    import psycopg
    from psycopg import errors, sql
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

SCHEMA: Final = "untrackable"
"""The PostgreSQL schema that holds all tables of the collector."""
_DATABASE = "the PostgreSQL database"
"""What messages call the store. Its address may have a password."""
_SCHEMA_LOCK = 0x756E7472
"""The key of the advisory lock that allows one process at a time to create the schema."""
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
    def open(url: str, *, check: bool = True, make: bool = True) -> PostgresStore:
        """Open the store of a database. `make` creates missing tables, and `check` checks all data."""
        store = PostgresStore(url)
        with store._opening(_DATABASE):
            if make:
                with store._borrowed() as connection, store._begin(connection, write=True):
                    check_settings(connection)
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
                    # A role without the right to create a schema can use one that somebody created for it.
                    if not _exists(connection, "to_regnamespace", SCHEMA):
                        connection.execute(f"CREATE SCHEMA {SCHEMA}")
            store.prepare(_DATABASE, make=make, check=check)
        return store

    def _connect(self) -> Connection:
        connection = connect(self._url)
        connection.adapters.register_dumper(_Nonces, _NoncesDumper)
        connection.adapters.register_dumper(_Reports, _ReportsDumper)
        return connection

    @contextmanager
    def _begin(self, connection: Connection, *, write: bool) -> Iterator[None]:
        connection.seconds = _SECONDS  # An earlier transaction may have allowed long statements.
        try:
            with connection.transaction():
                yield
        except errors.LockNotAvailable as error:
            raise _InUse(str(unavailable(error))) from None
        except psycopg.Error as error:
            raise unavailable(error) from None

    def _usable(self, connection: Connection) -> bool:
        return not connection.closed and not connection.broken

    def _lock(self, run: StatementRunner, round: Round | None = None) -> None:
        key = _SCHEMA_LOCK
        if round is not None:
            digest = hashlib.sha256(f"{round.campaign}/{round.number}".encode()).digest()
            key = int.from_bytes(digest[:8], "big", signed=True)
        run("SELECT pg_advisory_xact_lock(?)", (key,))

    def _table_sql(self, table: str) -> str:
        return f"CREATE TABLE {table} (nonce UUID PRIMARY KEY, report BYTEA NOT NULL)"

    def _has_tables(self, run: StatementRunner) -> bool:
        return _exists(run.connection, "to_regclass", f"{SCHEMA}.versions")

    def _allow_long_statements(self, run: StatementRunner) -> None:
        run.connection.seconds = _LONG_SECONDS + _SECONDS
        run(f"SET LOCAL statement_timeout = '{_LONG_SECONDS}s'")

    def _insert(self, reports: Mapping[int, Rows], always_writes: bool) -> None:
        """Add rows in one transaction, unless the server's settings would write the reports into its log."""
        try:
            with self._borrowed() as connection:
                connection.seconds = _SECONDS  # An earlier transaction may have allowed long statements.
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

    def _read(
        self, connection: Connection, key: int, *, stopped: bool, ordered: bool, nonces: bool
    ) -> Iterator[bytes]:
        with connection.cursor("reports", binary=True) as cursor:
            order = " ORDER BY nonce" if ordered else ""
            column = "uuid_send(nonce) || report" if nonces else "report"
            cursor.execute(f"SELECT {column} FROM {reports_table(key, stopped=stopped)}{order}")  # noqa: S608
            while rows := cursor.fetchmany(BLOCK):
                yield b"".join([row[0] for row in rows])

    def _count(self, connection: Connection, key: int, *, stopped: bool) -> int:
        table = sql.Identifier(reports_table(key, stopped=stopped))
        row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(table)).fetchone()
        return 0 if row is None else int(row[0])

    def size(self) -> int:
        """The size of all tables and their indexes."""
        ((size,),) = self._rows(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'",
            (SCHEMA,),
        )
        return int(size)

    def tidy(self) -> None:
        """Do nothing. PostgreSQL manages its write-ahead log itself."""


def _exists(connection: Connection, function: str, name: str) -> bool:
    row = connection.execute(sql.SQL("SELECT {}(%s)").format(sql.Identifier(function)), (name,)).fetchone()
    return row is not None and row[0] is not None


def _array(oid: int, column: Rows) -> bytes:
    """An array in PostgreSQL's binary format.

    It begins with the number of dimensions (1), a flag for nulls (0), the element type, the number of elements and
    the first index (1). Each element follows with its length and bytes.
    """
    layout = np.dtype([("size", ">i4"), ("bytes", "u1", (column.shape[1],))])
    cells = np.empty(column.shape[0], dtype=layout)
    cells["size"], cells["bytes"] = column.shape[1], column
    return np.array([1, 0, oid, column.shape[0], 1], dtype=">i4").tobytes() + cells.tobytes()


LOCK_SECONDS: Final = 5
"""The longest time that a statement waits for a table, in seconds."""
_STATEMENT_SECONDS = 10
"""The longest time that the server lets a statement run, in seconds."""
_SECONDS = 15.0
"""The longest time that this process waits for an answer, in seconds.

It is needed because a stopped server or a lost network never ends a statement."""
_LONG_SECONDS = 1800
"""The longest time that a statement may run that reads a whole round, in seconds."""
_CONNECT_SECONDS = 5
"""The longest time to connect, in seconds."""
_KNOWN = {
    "refused": "the server refused the connection",
    "timeout": "the server did not answer in time",
    "translate host name": "the host does not exist",
    "No such file": "the socket does not exist",
    "authentication failed": "the user name or the password is wrong",
    "no password supplied": "the server asks for a password",
    "pg_hba": "the server does not let this user in from this machine",
    "does not exist": "the user or the database does not exist",
    "permission denied": "this user may not connect",
    "too many": "the server has too many connections",
    "remaining connection slots": "the server has too many connections",
    "shutting down": "the server is shutting down",
    "starting up": "the server is starting up",
    "SSL": "TLS failed",
    "certificate": "TLS failed",
}
"""Parts of the driver's error messages, and the words to show instead.

The driver's own message is never shown, because it may contain parts of a password."""


class Connection(psycopg.Connection[Any]):
    """A connection that closes itself if the server does not answer within `seconds`."""

    seconds: float = _SECONDS
    settings_checked: float = -inf
    """The time of the last check of the server's settings."""

    def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
        """Wait for the server with a time limit. The driver calls this for every wait."""
        return super().wait(self._limited(gen), *arguments, **named)

    def _limited(self, waiting: Any) -> Generator[Any, Any, Any]:
        end = time.monotonic() + self.seconds
        try:
            wanted = next(waiting)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > end:
                    waiting.close()
                    self.pgconn.finish()
                    raise psycopg.OperationalError("no answer in time")
                wanted = waiting.send(ready)
        except StopIteration as done:
            return done.value


def connect(url: str) -> Connection:
    """Open a connection with all time limits set."""
    try:
        connection = Connection.connect(
            url,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            tcp_user_timeout=1000 * _CONNECT_SECONDS,
            keepalives_idle=_CONNECT_SECONDS,
            keepalives_interval=_CONNECT_SECONDS,
            keepalives_count=2,
        )
    except psycopg.ProgrammingError:
        raise StoreError("the address of the PostgreSQL database is malformed: see docs/operations.md") from None
    except psycopg.Error as error:
        said = str(error)
        known = next((words for part, words in _KNOWN.items() if part in said), "the connection failed")
        raise StoreUnavailable(f"PostgreSQL: {known}") from None
    try:
        for setting in (
            f"search_path = {SCHEMA}",
            "synchronous_commit = on",
            "client_min_messages = warning",
            f"lock_timeout = '{LOCK_SECONDS}s'",
            f"statement_timeout = '{_STATEMENT_SECONDS}s'",
        ):
            connection.execute(f"SET {setting}")
    except psycopg.Error as error:
        connection.close()
        raise unavailable(error) from None
    return connection


def unavailable(error: psycopg.Error) -> StoreUnavailable:
    """The error for a failed statement. It shows the server's first line, which never contains data."""
    said = str(error).strip().splitlines()
    return StoreUnavailable(f"PostgreSQL: {said[0] if said else type(error).__name__}")


_RECHECK_SECONDS = 5.0
"""How often a connection that adds reports checks the settings, which may change while the server runs."""
_SAFE: Final = ("fsync", "full_page_writes")
"""Settings without which the server may lose acknowledged reports."""


_QUIET: Final[Mapping[str, frozenset[str]]] = {
    "log_statement": frozenset({"none"}),
    "log_duration": frozenset({"off"}),
    "log_min_duration_statement": frozenset({"-1"}),
    "log_min_duration_sample": frozenset({"-1"}),
    "log_transaction_sample_rate": frozenset({"0"}),
    "log_parser_stats": frozenset({"off"}),
    "log_planner_stats": frozenset({"off"}),
    "log_executor_stats": frozenset({"off"}),
    "log_statement_stats": frozenset({"off"}),
    "log_min_messages": frozenset({"warning", "info", "notice", "error", "log", "fatal", "panic"}),
    "log_parameter_max_length_on_error": frozenset({"0"}),
    "debug_print_parse": frozenset({"off"}),
    "debug_print_rewritten": frozenset({"off"}),
    "debug_print_plan": frozenset({"off"}),
    "debug_print_raw_parse": frozenset({"off"}),
    "trace_sort": frozenset({"off"}),
    "trace_locks": frozenset({"off"}),
    "trace_lwlocks": frozenset({"off"}),
    "wal_debug": frozenset({"off"}),
    "auto_explain.log_min_duration": frozenset({"-1"}),
    "pgaudit.log": frozenset({"none", ""}),
    "pgaudit.role": frozenset({""}),
    "pgaudit.log_parameter": frozenset({"off"}),
}
"""Settings that may write a line into the server's log for a statement or commit, and the values that prevent it.

Every line has its time, so it would tell when a report came. Not all servers have all of these settings.
"""
_ADVISED: Final = {"log_min_messages": "warning", "pgaudit.log": "none", "pgaudit.role": "''"}
"""The value to advise where several are allowed, or where it is empty."""


def recheck_settings(connection: Connection) -> None:
    """Check the server's settings unless this connection did so a moment ago."""
    now = time.monotonic()
    if now - connection.settings_checked >= _RECHECK_SECONDS:
        try:
            check_settings(connection)
        except StoreUnavailable:
            connection.close()  # A corrected setting of a role only applies to new sessions.
            raise
        connection.settings_checked = now


def check_settings(connection: Connection) -> None:
    """Raise `StoreUnavailable` if the server could lose acknowledged reports or record when a report came."""
    names = [*_SAFE, *_QUIET, "track_commit_timestamp"]
    current = dict(
        connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", (names,)).fetchall()
    )
    for name in _SAFE:
        if current[name] != "on":
            raise StoreUnavailable(
                f"PostgreSQL runs with {name} off and may lose acknowledged reports: set {name} = on"
            )
    if current["track_commit_timestamp"] != "off":
        raise StoreUnavailable(
            "PostgreSQL runs with track_commit_timestamp on and would record when a report came: "
            "set track_commit_timestamp = off"
        )
    wrong = [
        f"`ALTER ROLE … SET {name} = {_ADVISED.get(name, min(quiet))}`"
        for name, quiet in _QUIET.items()
        if name in current and current[name].lower() not in quiet
    ]
    if wrong:
        raise StoreUnavailable(
            "PostgreSQL would write reports into its log, or when they come: a superuser turns that off for the "
            "collector's role with " + " and ".join(wrong)
        )
