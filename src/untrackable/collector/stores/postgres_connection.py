"""Connections to PostgreSQL with time limits, and with errors that reveal no password."""

import time
from collections.abc import Generator
from math import inf
from typing import Any, Final

from untrackable.errors import StoreError, StoreUnavailable
from untrackable.extras import extra

with extra("postgres"):
    import psycopg

SCHEMA: Final = "untrackable"
"""The PostgreSQL schema that holds all tables of the collector."""
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


def allow_long_statements(connection: Connection) -> None:
    """Let statements of this transaction run long enough to read a whole round."""
    connection.seconds = _LONG_SECONDS + _SECONDS
    connection.execute(f"SET LOCAL statement_timeout = '{_LONG_SECONDS}s'")


def reset_time_limits(connection: Connection) -> None:
    """Set the usual limit again at the beginning of a transaction."""
    connection.seconds = _SECONDS


def unavailable(error: psycopg.Error) -> StoreUnavailable:
    """The error for a failed statement. It shows the server's first line, which never contains data."""
    said = str(error).strip().splitlines()
    return StoreUnavailable(f"PostgreSQL: {said[0] if said else type(error).__name__}")
