"""Large rounds in SQLite: their reports move into blocks, each is there once, and nothing tells when it came."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.collector.killed_processes import killed_before
from tests.collector.test_store import ASKED, ID, ROUND, kept, known, payloads, rows
from tests.own_sleep import replace_sleep
from untrackable.collector import sqlite
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round, delete_campaign
from untrackable.collector.sqlite import SqliteStore
from untrackable.collector.store import Round, RoundsClosed, Rows, StoredRound


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that rounds of these tests are large."""
    monkeypatch.setattr(sqlite, "_TABLE_REPORTS", 100)
    monkeypatch.setattr(sqlite, "_SPREAD_FROM", 50)
    monkeypatch.setattr(sqlite, "_DROPPED_AT_ONCE", 10)
    monkeypatch.setattr(sqlite, "_BLOCK_ROWS", 32)
    monkeypatch.setattr(sqlite, "_ADDITION_ROWS", 8)
    monkeypatch.setattr(sqlite, "_DELETED_ROWS", 50)
    monkeypatch.setattr(sqlite, "_DELETED_BLOCKS", 2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "x.db")
    known(opened)
    yield opened
    opened.close()


def by_nonce(given: Rows) -> Rows:
    return given[np.lexsort(given[:, :16].T[::-1])]


def tables(store: SqliteStore) -> dict[str, int]:
    """The number of rows in each of a round's tables."""
    connection = store._connect()
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    chosen = [name for (name,) in names if name.startswith(("reports_", "stopped_", "blocks_"))]
    counts = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in chosen}  # noqa: S608
    connection.close()
    return counts


def fill(store: SqliteStore, groups: int = 40, round: Round = ROUND) -> Rows:
    given = [by_nonce(rows(25, seed)) for seed in range(groups)]
    for group in given:
        store.add({round: group})
        store.rearrange()
    return np.concatenate(given)


def test_reports_move_into_blocks_and_all_are_there(store: SqliteStore) -> None:
    given = fill(store)
    counts = tables(store)
    assert counts["reports_1"] <= 125
    assert counts["blocks_1"] > 20
    assert store.count(ROUND) == 1000
    ordered = b"".join(row[16:].tobytes() for row in by_nonce(given))
    assert b"".join(store.reports(ROUND, ordered=True)) == ordered
    assert b"".join(store.reports(ROUND)) == ordered


def test_a_nonce_counts_once_wherever_it_is(store: SqliteStore) -> None:
    """The first report with a nonce stays, whether it is in the table or in a block."""
    given = fill(store)
    changed = given.copy()
    changed[:, 16:] ^= 1
    for group in np.split(changed, 20):
        store.add({ROUND: by_nonce(group)})
        store.rearrange()
        assert store.count(ROUND) == 1000
    assert kept(store) == payloads(given)


def test_blocks_are_sorted_and_have_no_row_number(store: SqliteStore) -> None:
    fill(store)
    connection = store._connect()
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute("SELECT rowid FROM blocks_1")
    result = connection.execute("SELECT * FROM blocks_1 ORDER BY additions, first").fetchall()
    firsts = [first for additions, first, _, _ in result if not additions]
    assert firsts[0] == b""
    assert 0 < len(firsts) < len(result)
    ends = dict(zip(firsts, [*firsts[1:], b"\xff" * 17], strict=True))
    for additions, first, size, data in result:
        end = ends[first]
        nonces = [data[i : i + 16] for i in range(0, len(data), size)]
        assert nonces == sorted(set(nonces))
        assert 1 <= len(nonces) <= (8 if additions else 32)
        assert first <= nonces[0]
        assert nonces[-1] < end
    connection.close()


def test_nonces_that_somebody_chose_to_be_alike(store: SqliteStore) -> None:
    """Blocks are split wherever the reports are, so no block grows without end."""
    given = rows(1000, 3)
    given[:, :14] = 7
    given[:, 14], given[:, 15] = np.arange(1000) // 256, np.arange(1000) % 256
    for group in np.split(given[np.random.default_rng(1).permutation(1000)], 40):
        store.add({ROUND: by_nonce(group)})
        store.rearrange()
    connection = store._connect()
    longest = connection.execute("SELECT max(length(data) / row_size) FROM blocks_1").fetchone()[0]
    connection.close()
    assert longest <= 32
    assert kept(store) == payloads(given)


def test_a_table_that_was_large_before_moves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_TABLE_REPORTS", 10**6)
    before = SqliteStore.open(tmp_path / "x.db")
    known(before)
    given = [fill(before)]
    assert "blocks_1" not in tables(before)
    before.close()
    monkeypatch.setattr(sqlite, "_TABLE_REPORTS", 100)
    store = SqliteStore.open(tmp_path / "x.db")
    for seed in range(100, 240):
        given.append(by_nonce(rows(25, seed)))
        store.add({ROUND: given[-1]})
        store.rearrange()
    assert tables(store)["reports_1"] <= 300
    assert kept(store) == payloads(np.concatenate(given))
    store.close()


def test_reports_that_do_not_move_are_stored_all_the_same(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite.BlockTables, "move", fails)
    given = fill(store)
    monkeypatch.undo()
    assert store.count(ROUND) == 1000
    assert kept(store) == payloads(given)


def test_a_large_round_is_deleted_in_pieces_and_others_write_in_between(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = fill(store)
    assert store.stop(ROUND) == "closing"
    with pytest.raises(RoundsClosed):
        store.add({ROUND: rows(1)})
    assert store.count(ROUND) == 1000
    assert store.finish(ROUND, 1000, b"sums")
    assert store.round(ROUND) == StoredRound(1, "closed", 1000)
    assert b"".join(store.reports(ROUND)) == b""
    pieces: list[bool] = []
    real = sqlite.BlockTables.delete_some

    def delete_some(self: sqlite.BlockTables, connection: sqlite3.Connection) -> bool:
        pieces.append(real(self, connection))
        return pieces[-1]

    monkeypatch.setattr(sqlite.BlockTables, "delete_some", delete_some)
    # Between two pieces.
    replace_sleep(monkeypatch, lambda _: store.add({Round(ID, 2): rows(1, 1000 + len(pieces))}))
    store.tidy()
    assert len(pieces) > 15
    assert store.count(Round(ID, 2)) == len(pieces)
    assert tables(store) == {"reports_2": len(pieces)}
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(row[:16].tobytes() in data for row in given for data in files)
    done = len(pieces)
    store.tidy()
    assert len(pieces) == done


def test_a_campaign_with_a_large_round_is_deleted_in_pieces_too(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = fill(store)
    pieces: list[bool] = []
    real = sqlite.BlockTables.delete_some

    def delete_some(self: sqlite.BlockTables, connection: sqlite3.Connection) -> bool:
        pieces.append(real(self, connection))
        return pieces[-1]

    monkeypatch.setattr(sqlite.BlockTables, "delete_some", delete_some)
    delete_campaign(store, ASKED)
    assert len(pieces) > 15
    assert tables(store) == {}
    assert store.campaigns() == []
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(row[:16].tobytes() in data for row in given for data in files)


def test_others_do_not_wait_for_long_moves_or_for_the_whole_log(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    left = tables(store)["reports_1"]
    monkeypatch.setattr(sqlite, "_MOVE_BYTES", 100)
    connection = store._connect()
    moved, _ = sqlite.BlockTables("reports_1", "blocks_1").move(connection, b"", left)
    assert 0 < moved < left // 2
    seen: list[str] = []
    connection.set_trace_callback(seen.append)
    monkeypatch.setattr(store, "_connect", lambda: connection)
    store.tidy()
    emptied = [each for each in seen if "wal_checkpoint" in each]
    assert emptied == ["PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(TRUNCATE)"]


@pytest.mark.slow
def test_killed_at_every_statement_of_adding_and_closing_a_large_round(tmp_path: Path) -> None:
    """What was acknowledged is there, and whoever closes the round afterwards leaves nothing of it."""
    first, second = by_nonce(rows(300, 1, payload=1) % 30 + 2), by_nonce(rows(60, 2, payload=1) % 30 + 2)
    second[:5] = first[:5]  # the same reports again
    second = by_nonce(second)
    filled = SqliteStore.open(tmp_path / "filled.db")
    create_campaign(filled, ASKED.to_bytes())
    filled.add({ROUND: first[::2]})
    filled.add({ROUND: first[1::2]})
    filled.close()

    def work(store: SqliteStore, acknowledge: Callable[[], None]) -> None:
        store.add({ROUND: second})
        acknowledge()
        store.rearrange()
        close_round(store, ASKED, 1)

    kill, added_once, killed = 0, 0, True
    while killed:
        kill += 1
        path = tmp_path / f"{kill}.db"
        path.write_bytes((tmp_path / "filled.db").read_bytes())
        killed, acknowledged = killed_before(kill, path, work)
        store = SqliteStore.open(path)
        result = close_round(store, ASKED, 1)
        assert result.reports in ((355,) if acknowledged else (300, 355))
        store.tidy()
        assert tables(store) == {}
        store.close()
        added_once += acknowledged
    assert kill > 40
    assert 20 < added_once < kill
