"""Blocks of reports in SQLite, which keep large rounds fast.

A table with one row per report is slow once it is large, because each new nonce changes another page of the file.
Therefore a round's table only keeps some reports. The others are in blocks: each is one row with many reports,
sorted by nonce, and covers the nonces from its own `first` up to the `first` of the next block. Reports move from
the table into the blocks in the order of nonces, so nothing in the file reveals their order of arrival. A block's
`additions` are a second, shorter row that saves rewriting the whole block each time.
"""

import sqlite3
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from untrackable.collector.stores.records import Rows
from untrackable.collector.stores.sorted_rows import merge_rows, rows_before, rows_from_bytes, split_rows
from untrackable.collector.stores.sqlite_groups import FIRST_NAME, grouped_rows
from untrackable.protocol.wire import NONCE

_BLOCK_ROWS = 8192
"""The largest number of reports in a block, and the largest number that is moved at a time."""
_ADDITION_ROWS = 1024
"""The largest number of reports in a block's additions. Then they become part of the block."""
_MOVE_BYTES = 4 << 20
"""Moving reports stops once this many bytes of blocks are rewritten, because nobody else can write meanwhile."""
_DELETED_ROWS = 20_000
"""The number of reports that one transaction deletes from a round's table."""
_DELETED_BLOCKS = 16
"""The number of blocks that one transaction deletes."""
_END = FIRST_NAME
"""A byte string that is larger than every nonce. From there on, the table has groups."""


class _Range(NamedTuple):
    """The nonces that a block covers: the first of them, and the first that it no longer covers."""

    first: bytes
    end: bytes


class BlockTables(NamedTuple):
    """The tables of a round: one with a row for each report, and one with blocks, which may not exist."""

    reports: str
    blocks: str

    def exist(self, connection: sqlite3.Connection) -> bool:
        """Whether the round has blocks."""
        return _exists(connection, self.blocks)

    def reports_in_blocks(self, connection: sqlite3.Connection) -> int:
        """The number of reports in blocks."""
        if not self.exist(connection):
            return 0
        sql = f"SELECT coalesce(sum(length(data) / row_size), 0) FROM {self.blocks}"  # noqa: S608
        return int(connection.execute(sql).fetchone()[0])

    def move(self, connection: sqlite3.Connection, start: bytes, wanted: int) -> tuple[int, bytes]:
        """Move about `wanted` reports into blocks, from a nonce on. Returns their number and where to go on.

        If there are no more reports from that nonce on, the next call has to start at the first nonce.
        """
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self.blocks} (additions INTEGER, first BLOB, row_size INTEGER NOT NULL,"
            " data BLOB NOT NULL, PRIMARY KEY (additions, first)) WITHOUT ROWID"
        )
        moved = written = 0
        while moved < wanted and written < _MOVE_BYTES:
            found = connection.execute(
                f"SELECT nonce FROM {self.reports} WHERE nonce >= ? AND nonce < ? ORDER BY nonce LIMIT 1",  # noqa: S608
                (start, _END),
            ).fetchone()
            if found is None:
                return moved, b""
            covered = self._range(connection, found[0])
            rows = self._rows(connection, found[0], covered.end)
            last = rows[-1, :NONCE].tobytes()
            written += self._extend(connection, covered.first, rows)
            connection.execute(
                f"DELETE FROM {self.reports} WHERE nonce BETWEEN ? AND ?",  # noqa: S608
                (found[0], last),
            )
            moved, start = moved + rows.shape[0], last
        return moved, start

    def read(self, connection: sqlite3.Connection) -> Iterator[Rows]:
        """All rows of the round, sorted by nonce, each nonce once. Rows that came first win."""
        grouped = grouped_rows(connection, self.reports)
        for rows, end in self._read_stored(connection):
            here = rows_before(grouped, end)
            if here:
                rows = grouped[:here] if rows is None else merge_rows(rows, grouped[:here])
                grouped = grouped[here:]
            if rows is not None:
                yield rows

    def _read_stored(self, connection: sqlite3.Connection) -> Iterator[tuple[Rows | None, bytes]]:
        """All rows outside groups in parts, each with the first nonce after the part."""
        if self.exist(connection):
            yield from self._read_ranges(connection)
            return
        start = b""
        while (rows := self._rows(connection, start, _END)).shape[0]:
            start = rows[-1, :NONCE].tobytes() + b"\0"
            yield rows, start
        yield None, _END

    def _read_ranges(self, connection: sqlite3.Connection) -> Iterator[tuple[Rows | None, bytes]]:
        first = b""
        while first != _END:
            covered = self._range(connection, first)
            rows = self._with_additions(connection, covered.first)
            start = first
            while (added := self._rows(connection, start, covered.end)).shape[0]:
                rows = added if rows is None else merge_rows(rows, added)
                start = added[-1, :NONCE].tobytes() + b"\0"
            yield rows, covered.end
            first = covered.end

    def delete_some(self, connection: sqlite3.Connection) -> bool:
        """Delete some reports and blocks, and the tables once they are empty. False if nothing is left."""
        for table, columns, number in (
            (self.blocks, "additions, first", _DELETED_BLOCKS),
            (self.reports, "nonce", _DELETED_ROWS),
        ):
            if _exists(connection, table):
                some = f"SELECT {columns} FROM {table} ORDER BY {columns} LIMIT {number}"  # noqa: S608
                sql = f"DELETE FROM {table} WHERE ({columns}) IN ({some})"  # noqa: S608
                if not connection.execute(sql).rowcount:
                    connection.execute(f"DROP TABLE {table}")
                return True
        return False

    def _extend(self, connection: sqlite3.Connection, first: bytes, rows: Rows) -> int:
        """Add rows to a block or to its additions. Returns the number of bytes that are written."""
        additions = self._stored(connection, first, additions=True)
        if additions is not None:
            rows = merge_rows(additions, rows)
        if rows.shape[0] <= _ADDITION_ROWS:
            self._write(connection, first, rows, additions=True)
            return rows.size
        block = self._stored(connection, first, additions=False)
        if block is not None:
            rows = merge_rows(block, rows)
        for number, part in enumerate(split_rows(rows, _BLOCK_ROWS)):
            self._write(connection, part[0, :NONCE].tobytes() if number else first, part, additions=False)
        connection.execute(f"DELETE FROM {self.blocks} WHERE additions = 1 AND first = ?", (first,))  # noqa: S608
        return rows.size

    def _with_additions(self, connection: sqlite3.Connection, first: bytes) -> Rows | None:
        block = self._stored(connection, first, additions=False)
        additions = self._stored(connection, first, additions=True)
        if block is None or additions is None:
            return additions if block is None else block
        return merge_rows(block, additions)

    def _range(self, connection: sqlite3.Connection, nonce: bytes) -> _Range:
        """The range of the block that covers a nonce. The first block covers everything before the second."""
        found = [
            connection.execute(
                f"SELECT first FROM {self.blocks} WHERE additions = 0 AND first {order} LIMIT 1",  # noqa: S608
                (nonce,),
            ).fetchone()
            for order in ("<= ? ORDER BY first DESC", "> ? ORDER BY first")
        ]
        return _Range(
            *(missing if row is None else row[0] for row, missing in zip(found, (b"", _END), strict=True))
        )

    def _stored(self, connection: sqlite3.Connection, first: bytes, *, additions: bool) -> Rows | None:
        found = connection.execute(
            f"SELECT data, row_size FROM {self.blocks} WHERE additions = ? AND first = ?",  # noqa: S608
            (int(additions), first),
        ).fetchone()
        return None if found is None else rows_from_bytes(*found)

    def _write(self, connection: sqlite3.Connection, first: bytes, rows: Rows, *, additions: bool) -> None:
        connection.execute(
            f"INSERT OR REPLACE INTO {self.blocks} VALUES (?, ?, ?, ?)",  # noqa: S608
            (int(additions), first, rows.shape[1], rows.tobytes()),
        )

    def _rows(self, connection: sqlite3.Connection, start: bytes, end: bytes) -> Rows:
        """The next rows of the table from a nonce on and before another."""
        found = connection.execute(
            f"SELECT nonce, report FROM {self.reports}"  # noqa: S608
            f" WHERE nonce >= ? AND nonce < ? ORDER BY nonce LIMIT {_BLOCK_ROWS}",
            (start, end),
        ).fetchall()
        if not found:
            return np.empty((0, NONCE), dtype=np.uint8)
        return rows_from_bytes(b"".join(chain.from_iterable(found)), len(found[0][0]) + len(found[0][1]))


def _exists(connection: sqlite3.Connection, table: str) -> bool:
    sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(sql, (table,)).fetchone() is not None
