"""Groups of reports in SQLite: reports that are stored together are one row at first, which is much faster.

The row is in the round's own table, under a random name that is longer than every nonce. The reports of all groups
are spread over the table soon, one row for each. Until then they show what SQLite's log shows anyway: which of the
latest reports were stored together.
"""

import secrets
import sqlite3

import numpy as np

from untrackable.collector.stores.records import Rows
from untrackable.collector.stores.sorted_rows import rows_from_bytes, sort_rows
from untrackable.protocol.wire import NONCE

FIRST_NAME = b"\xff" * (NONCE + 1)
"""The beginning of every group's name. It is larger than every nonce."""
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
    found = [
        rows_from_bytes(data[_SIZE_BYTES:], int.from_bytes(data[:_SIZE_BYTES], "little"))
        for (data,) in connection.execute(sql, (FIRST_NAME,))
    ]
    return sort_rows(np.concatenate(found)) if found else np.empty((0, NONCE), dtype=np.uint8)


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
