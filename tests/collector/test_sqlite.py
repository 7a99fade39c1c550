"""What only SQLite has: a file that may be damaged, another program's, or written by two processes."""

import random
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.collector.test_store import ID, ROUND, known, rows
from untrackable.collector import sqlite
from untrackable.collector.settings import open_store
from untrackable.collector.sqlite import SqliteStore, WriteLock
from untrackable.errors import StoreError


def filled(path: Path, reports: int = 3000) -> SqliteStore:
    store = SqliteStore.open(path)
    known(store)
    store.add({ROUND: rows(reports, 1)})
    return store


def test_the_file_is_for_its_owner(tmp_path: Path) -> None:
    filled(tmp_path / "x.db").close()
    assert stat.S_IMODE((tmp_path / "x.db").stat().st_mode) == 0o600


def test_commits_are_synced_and_what_is_deleted_is_overwritten(tmp_path: Path) -> None:
    store = filled(tmp_path / "x.db")
    connection = store._connect()
    settings = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "secure_delete")
    }
    assert settings == {"synchronous": 2, "secure_delete": 1}
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    store.close()


def test_no_row_says_when_it_came(tmp_path: Path) -> None:
    store = filled(tmp_path / "x.db")
    connection = store._connect()
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute("SELECT rowid FROM reports_1")
    columns = {
        table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    }
    assert columns["reports_1"] == {"nonce", "report"}
    assert columns["rounds"] == {"key", "campaign", "round", "state", "reports"}
    connection.close()
    store.close()


def test_after_closing_no_nonce_is_left_in_any_file(tmp_path: Path) -> None:
    given = rows(3000, 1)
    store = filled(tmp_path / "x.db")
    nonce = given[77, :16].tobytes()

    def found() -> bool:
        return any(nonce in path.read_bytes() for path in tmp_path.iterdir())

    assert found()
    store.stop(ROUND)
    store.finish(ROUND, 3000, b"sums")
    store.tidy()
    assert not found()
    assert (tmp_path / "x.db-wal").stat().st_size == 0
    store.close()


def test_a_file_that_cannot_be_used_is_not_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*given: Any, **named: Any) -> sqlite3.Connection:
        opened.append(connect(*given, **named))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(200))
    with pytest.raises(StoreError, match="damaged"):
        open_store(f"sqlite:///{path}")
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def damaged(path: Path, seed: int) -> None:
    data = bytearray(path.read_bytes())
    rng = random.Random(seed)  # noqa: S311
    for _ in range(20):
        page = rng.randrange(1, len(data) // 4096)
        data[4096 * page : 4096 * page + 64] = rng.randbytes(64)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("seed", range(5))
def test_a_damaged_file_is_refused_and_not_changed(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "x.db"
    filled(path).close()
    damaged(path, seed)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="damaged"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database at all", b"SQLite format 3\0" + bytes(200), b"S"])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == content


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    filled(path).close()
    path.write_bytes(path.read_bytes()[: 4096 * 5])
    with pytest.raises(StoreError, match="damaged"):
        open_store(f"sqlite:///{path}")


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreError, match="another program"):
        open_store(f"sqlite:///{path}")


def test_the_server_refuses_a_damaged_file_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    filled(path).close()
    damaged(path, 1)
    command = [sys.executable, "-m", "untrackable", "serve", "--store", f"sqlite:///{path}", "--port", "0"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.startswith("Error: ")
    assert "damaged" in run.stderr
    assert run.stderr.count("\n") == 1


SCRIPT = """
import sys, numpy as np
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round
store = open_store(sys.argv[1], check=False)
for i in range(60):
    rng = np.random.default_rng([int(sys.argv[3]), i])
    store.add({Round(sys.argv[2], 1): rng.integers(0, 256, (25, 19), dtype=np.uint8)})
store.close()
"""


def test_two_processes_on_one_file(tmp_path: Path) -> None:
    """Both add to one round at the same time, half of it the same reports: each is there once."""
    url = f"sqlite:///{tmp_path}/x.db"
    store = open_store(url)
    known(store)
    seeds = ["1", "2", "1"]
    running = [subprocess.Popen([sys.executable, "-c", SCRIPT, url, ID, seed]) for seed in seeds]  # noqa: S603
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    everything = np.concatenate(
        [
            np.random.default_rng([seed, i]).integers(0, 256, (25, 19), dtype=np.uint8)
            for seed in (1, 2)
            for i in range(60)
        ]
    )
    assert store.count(ROUND) == len(everything)
    assert sorted(b"".join(store.reports(ROUND))) == sorted(everything[:, 16:].tobytes())
    store.close()


def test_processes_take_turns(tmp_path: Path) -> None:
    mine, other = WriteLock(tmp_path / "turn"), WriteLock(tmp_path / "turn")
    taken = threading.Event()

    def wait() -> None:
        with other.held():
            taken.set()

    with mine.held():
        thread = threading.Thread(target=wait)
        thread.start()
        assert not taken.wait(0.2)
    assert taken.wait(30)
    thread.join()
    for turn in (mine, other):
        turn.close()


def test_without_a_file_to_lock_there_are_no_turns(tmp_path: Path) -> None:
    turn = WriteLock(tmp_path / "missing" / "turn")
    with turn.held(), turn.held():
        turn.close()


def test_who_keeps_the_turn_for_ever_does_not_keep_others_from_adding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.2)
    store, other = filled(tmp_path / "x.db"), WriteLock(tmp_path / "x.db-turn")

    def add() -> None:
        for seed in range(2, 5):
            store.add({ROUND: rows(5, seed)})

    adding = threading.Thread(target=add, daemon=True)
    with other.held():
        adding.start()
        adding.join(60)
        assert store.count(ROUND) == 3015
    add()
    assert other._take()  # it was let go
    other.close()
    store.close()


def test_a_turn_is_waited_for_again_once_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
    one, other = WriteLock(tmp_path / "turn"), WriteLock(tmp_path / "turn")
    with one.held():
        assert [other._take() for _ in range(3)] == [False] * 3
        assert other._timed_out
    with other.held():
        assert not other._timed_out
        assert not one._take()
    assert one._take()
    one.close()
    other.close()


def test_a_log_that_cannot_be_read(tmp_path: Path) -> None:
    filled(tmp_path / "x.db").close()
    (tmp_path / "x.db-wal").mkdir()
    with pytest.raises(StoreError, match=r"cannot read .*x\.db-wal: Is a directory"):
        open_store(f"sqlite:///{tmp_path}/x.db")
