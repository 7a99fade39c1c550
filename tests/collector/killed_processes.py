"""Processes that work on a SQLite store and are killed before one of their statements."""

import os
import signal
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path

from untrackable.collector.sqlite import SqliteStore

Work = Callable[[SqliteStore, Callable[[], None]], None]
"""Work on a store that calls a function whenever it would acknowledge something."""


def killed_before(number: int, path: Path, work: Work) -> tuple[bool, int]:
    """Work in a process of its own until its statement `number`: whether it got there, and what it acknowledged.

    Queries are not counted, since a process that is killed before or after one leaves the same files.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of the tests do not matter to the child
        child = os.fork()
    if child == 0:
        try:
            work(_watched(path, number), lambda: _acknowledge(writing))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(reading, "rb") as pipe:
        acknowledged = len(pipe.read())
    assert status in (0, -signal.SIGKILL)
    return status != 0, acknowledged


def _watched(path: Path, last: int) -> SqliteStore:
    store, seen = SqliteStore.open(path, check=False), 0
    store._close_idle()
    connect = store._connect

    def watched() -> sqlite3.Connection:
        connection = connect()

        def statement(text: str) -> None:
            nonlocal seen
            seen += not text.startswith("SELECT")
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)

        connection.set_trace_callback(statement)
        return connection

    store._connect = watched  # type: ignore[method-assign]
    return store


def _acknowledge(writing: int) -> None:
    os.write(writing, b"!")
