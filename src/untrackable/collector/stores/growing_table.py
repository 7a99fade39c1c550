"""What a process knows about a SQLite table that takes reports, and the work that is done after they are stored."""

import sqlite3
from collections.abc import Callable
from functools import partial

import numpy as np

from untrackable.collector.stores.records import Rows
from untrackable.collector.stores.sqlite_blocks import BlockTables
from untrackable.collector.stores.sqlite_groups import FIRST_NAME, add_group, add_rows, grouped_rows, spread_groups
from untrackable.protocol.wire import NONCE

_GROUP_REPORTS = 1024
"""The largest number of reports that are stored as a group. More reports are stored one by one."""
_GROUPED_REPORTS = 8192
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
    def find(connection: sqlite3.Connection, tables: BlockTables) -> "GrowingTable":
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
        return rows.shape[0] <= _GROUP_REPORTS and len(self._grouped) < 2 * _GROUPED_REPORTS

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
        """Note that so many reports are stored, as a group with these nonces or one by one."""
        if nonces is None:
            self._grouped.clear()
        else:
            self._grouped.update(nonces)
        self._reports += count
        self._unmoved += count

    def has_work(self) -> bool:
        """Whether there is something to do."""
        return len(self._grouped) >= _GROUPED_REPORTS or self._to_move() > 0

    def work(self, connection: sqlite3.Connection) -> Callable[[], None]:
        """Do a part of it in a transaction. What is returned must be called once the transaction is committed."""
        if len(self._grouped) >= _GROUPED_REPORTS:
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
    found: list[bytes] = np.ascontiguousarray(rows[:, :NONCE]).view(f"V{NONCE}").ravel().tolist()
    return found
