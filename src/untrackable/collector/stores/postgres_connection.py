"""Connections to PostgreSQL that wait for nothing for ever, and that say nothing secret when they fail."""

import time
from collections.abc import Generator
from math import inf
from typing import Any, Final

from untrackable.errors import StoreError, StoreUnavailable
from untrackable.extras import extra

with extra("postgres"):
    import psycopg

SCHEMA: Final = "untrackable"
LOCK_SECONDS: Final = 5
"""How long a statement waits for a table."""
_STATEMENT_SECONDS = 10
"""How long a statement may take."""
_SECONDS = 15.0
"""How long an answer is waited for here: a server that is stopped, or a lost network, ends no statement."""
_LONG_SECONDS = 1800
"""The same for what reads all of a round."""
_CONNECT_SECONDS = 5
_KNOWN = {
    "refused": "the connection was refused",
    "timeout": "there was no answer in time",
    "translate host name": "there is no such host",
    "No such file": "there is no such socket",
    "authentication failed": "the user or the password is wrong",
    "no password supplied": "a password is needed",
    "pg_hba": "the server does not let this user in from here",
    "does not exist": "there is no such user or database",
    "permission denied": "this user may not connect",
    "too many": "there are too many connections",
    "remaining connection slots": "there are too many connections",
    "shutting down": "the server is shutting down",
    "starting up": "the server is starting up",
    "SSL": "TLS failed",
    "certificate": "TLS failed",
}
"""What the driver says of a connection that failed may have parts of a password in it, so it is said again."""


class Connection(psycopg.Connection[Any]):
    """Gives up when no answer comes for `seconds`; it is closed then, and of no use any more."""

    seconds: float = _SECONDS
    looked: float = -inf
    """When its settings were last found to be right."""

    def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
        """Whatever waits for the server comes through here."""
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
    """A connection with all its limits."""
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
        raise StoreError("the address of the PostgreSQL database cannot be read: see docs/operations.md") from None
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


def unhurried(connection: Connection) -> None:
    """Within this transaction, statements may take long: they read all of a round."""
    connection.seconds = _LONG_SECONDS + _SECONDS
    connection.execute(f"SET LOCAL statement_timeout = '{_LONG_SECONDS}s'")


def hurried(connection: Connection) -> None:
    """The limits at the beginning of a transaction."""
    connection.seconds = _SECONDS


def unavailable(error: psycopg.Error) -> StoreUnavailable:
    """An error of a statement; what the server says of it in the first line has no data in it."""
    said = str(error).strip().splitlines()
    return StoreUnavailable(f"PostgreSQL: {said[0] if said else type(error).__name__}")
