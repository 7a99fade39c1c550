"""Small groups of reports in SQLite: one row at first, spread soon, each nonce once, and never lost."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.collector.killed_processes import killed_before
from tests.collector.test_sqlite_blocks import by_nonce, tables
from tests.collector.test_store import ID, ROUND, kept, known, payloads, rows
from untrackable.collector import sqlite
from untrackable.collector.sqlite import SqliteStore
from untrackable.collector.store import Round, RoundsClosed, Rows


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_GROUP_REPORTS", 30)
    monkeypatch.setattr(sqlite, "_SPREAD_FROM", 100)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / "x.db")
    known(opened)
    yield opened
    opened.close()


def changed(given: Rows) -> Rows:
    """Other reports with the same nonces."""
    result = given.copy()
    result[:, 16:] ^= 1
    return result


def test_a_group_is_one_row_and_all_of_its_reports_are_there(store: SqliteStore) -> None:
    given = [by_nonce(rows(20, seed)) for seed in range(4)]
    for group in given:
        store.add({ROUND: group})
    assert tables(store) == {"reports_1": 4}
    assert store.count(ROUND) == 80
    ordered = by_nonce(np.concatenate(given))
    assert b"".join(store.reports(ROUND, ordered=True)) == ordered[:, 16:].tobytes()


def test_groups_are_spread_once_there_are_many_reports_or_the_store_is_tidied(store: SqliteStore) -> None:
    given = [by_nonce(rows(20, seed)) for seed in range(7)]
    for number, group in enumerate(given, 1):
        store.add({ROUND: group})
        store.rearrange()
        assert tables(store) == {"reports_1": number if number < 5 else 100 + number - 5}
    store.tidy()
    assert tables(store) == {"reports_1": 140}
    assert kept(store) == payloads(np.concatenate(given))


def test_a_group_shows_its_reports_in_the_order_of_nonces_under_a_random_name(store: SqliteStore) -> None:
    given = by_nonce(rows(20, 1))
    store.add({ROUND: given})
    store.add({ROUND: by_nonce(rows(20, 2))})
    connection = store._connect()
    result = dict(connection.execute("SELECT nonce, report FROM reports_1").fetchall())
    connection.close()
    names = sorted(result)
    assert all(name.startswith(b"\xff" * 17) and len(name) == 33 for name in names)
    assert names[0][17:25] != names[1][17:25]
    assert sorted(result.values())[0][4:] in (given.tobytes(), by_nonce(rows(20, 2)).tobytes())


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_the_first_report_with_a_nonce_stays(store: SqliteStore, tmp_path: Path, large: bool, again: bool) -> None:
    """Whether the second comes in a group or in many rows, and even if another process takes it."""
    given = by_nonce(rows(20, 1))
    store.add({ROUND: given})
    other = SqliteStore.open(tmp_path / "x.db") if again else store
    later = by_nonce(np.concatenate((changed(given), rows(30 if large else 5, 2))))
    other.add({ROUND: later})
    other.add({ROUND: changed(given)})
    expected = payloads(np.concatenate((given, rows(30 if large else 5, 2))))
    assert kept(store) == expected
    other.tidy()
    assert kept(store) == expected
    if again:
        other.close()


def test_a_stopped_round_has_no_groups_and_takes_nothing_that_was_sent_before(store: SqliteStore) -> None:
    given = by_nonce(rows(20, 1))
    store.add({ROUND: given, Round(ID, 2): given})
    other = SqliteStore.open(store.path)
    other.add({ROUND: given})
    assert store.stop(ROUND) == "closing"
    assert tables(store) == {"stopped_1": 20, "reports_2": 1}
    for late in (store, other):
        with pytest.raises(RoundsClosed):
            late.add({ROUND: given})
    assert store.count(ROUND) == 20
    other.close()


def test_groups_do_not_grow_without_end_if_they_cannot_be_spread(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    given = [by_nonce(rows(20, seed)) for seed in range(20)]
    with monkeypatch.context() as broken:
        broken.setattr(sqlite.GrowingTable, "work", fails)
        for group in given:
            store.add({ROUND: group})
            store.rearrange()
    assert tables(store)["reports_1"] > 200  # From 200 reports in groups on, a row for each.
    assert kept(store) == payloads(np.concatenate(given))


def test_groups_of_many_rounds_do_not_take_memory_without_end(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_GROUPED_REPORTS", 150)
    for number in range(1, 21):
        store.add({Round(ID, number): by_nonce(rows(20, number))})
        store.rearrange()
        assert sum(table.grouped for table in store._growing.values()) <= 150
    assert [store.count(Round(ID, number)) for number in range(1, 21)] == [20] * 20


def test_rounds_that_another_process_has_stopped_are_forgotten(store: SqliteStore) -> None:
    store.add({ROUND: by_nonce(rows(20, 1)), Round(ID, 2): by_nonce(rows(20, 2))})
    other = SqliteStore.open(store.path)
    other.stop(ROUND)
    other.close()
    store.tidy()
    assert list(store._growing) == [2]
    assert store._growing[2].grouped == 0


@pytest.mark.slow
def test_killed_at_every_statement_of_adding_and_spreading(tmp_path: Path) -> None:
    """What was acknowledged is there once."""
    given = [by_nonce(rows(20, seed)) for seed in range(7)]

    def work(store: SqliteStore, acknowledge: Callable[[], None]) -> None:
        for group in given:
            store.add({ROUND: group})
            acknowledge()
            store.rearrange()

    last, killed = 0, True
    while killed:
        last += 1
        path = tmp_path / f"{last}.db"
        store = SqliteStore.open(path)
        known(store)
        store.close()
        killed, acknowledged = killed_before(last, path, work)
        store = SqliteStore.open(path)
        reports = kept(store)
        store.tidy()
        assert kept(store) == reports
        assert reports in [payloads(np.concatenate(given)[: 20 * n]) for n in (acknowledged, acknowledged + 1)]
        store.close()
    assert acknowledged == 7
    assert last > 15


@pytest.mark.parametrize("longest", [1 << 16, 1 << 30])
def test_a_long_log_is_emptied_by_a_thread_or_while_reports_wait(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, longest: int
) -> None:
    monkeypatch.setattr(sqlite, "LOG_BYTES", 1 << 14)
    monkeypatch.setattr(sqlite, "_LONGEST_LOG", longest)
    monkeypatch.setattr(sqlite, "_LOOK_PAUSE", 0.0)
    given = [by_nonce(rows(20, seed)) for seed in range(300)]
    for group in given:
        store.add({ROUND: group})
        store.rearrange()
    store._checkpoints.wait()
    # Reports that came while the thread was at work are left in the log. Now nobody adds any.
    store._checkpoints.start_if_needed()
    store._checkpoints.wait()
    store.add({ROUND: by_nonce(rows(1, 1000))})  # It begins at the start of the log again.
    connection = store._connect()
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    connection.close()
    assert pages < 60
    assert store.count(ROUND) == 6001
