"""SQLite's files under a store: damaged in every place, deleted, replaced, and read by somebody for long."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.collector.samples import campaign
from tests.collector.test_sqlite import filled
from tests.collector.test_store import ASKED, ROUND, kept, known, payloads, rows
from untrackable.collector import sqlite
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.collector.sqlite import SqliteStore
from untrackable.errors import StoreError, StoreUnavailable

FRAME = 24 + 4096


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A store with a closed round."""
    path = tmp_path / "x.db"
    store = SqliteStore.open(path)
    create_campaign(store, ASKED.to_bytes())
    store.add({ROUND: rows(500, payload=1) % 30 + 2})
    close_round(store, ASKED, 1)
    store.close()
    return path


@pytest.mark.parametrize("what", ["sums", "question", "document", "verdict", "count"])
def test_damage_that_sqlite_does_not_see(closed: Path, what: str) -> None:
    data = bytearray(closed.read_bytes())
    with sqlite3.connect(closed) as connection:
        sums = connection.execute("SELECT data FROM sums").fetchone()[0]
    connection.close()
    if what == "sums":
        data[data.index(sums[40:60]) + 12] ^= 0x40
    elif what == "question":
        data[data.index(b"Which page")] = ord("w")
    elif what == "document":
        data[data.index(b'{"encoding"')] = ord("x")
    elif what == "verdict":
        data[data.index(b'"upper":')] = ord("x")
    else:
        place = data.index(ASKED.id.encode() + b"closed") + 64 + 6
        assert data[place : place + 2] == (500).to_bytes(2, "big")
        data[place + 1] ^= 1
    closed.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged") as refused:
        open_store(f"sqlite:///{closed}")
    assert "\n" not in str(refused.value)
    assert closed.read_bytes() == data
    open_store(f"sqlite:///{closed}", check=False).close()


def test_sums_of_every_round_are_examined(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    store = SqliteStore.open(path)
    other = campaign(question="Another?")
    for asked in (ASKED, other):
        create_campaign(store, asked.to_bytes())
        for number in (1, 2):
            close_round(store, asked, number)
    with store._transaction(write=True) as run:
        run("UPDATE sums SET data = zeroblob(length(data)) WHERE campaign = ? AND round = 2", (other.id,))
    store.close()
    with pytest.raises(StoreError, match=f"campaign {other.id[:8]}…"):
        open_store(f"sqlite:///{path}")


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Path]:
    """Files as a process leaves them that was killed after ten acknowledged groups."""
    store = SqliteStore.open(tmp_path / "live.db")
    known(store)
    store.tidy()
    for seed in range(10):
        store.add({ROUND: rows(10, seed)})
    for end in ("", "-wal"):
        (tmp_path / f"x.db{end}").write_bytes((tmp_path / f"live.db{end}").read_bytes())
    yield tmp_path / "x.db"
    store.close()


def frames(log: bytes) -> list[bool]:
    """Whether each frame is a commit."""
    return [any(log[start + 4 : start + 8]) for start in range(32, len(log), FRAME)]


def test_a_log_damaged_in_any_place_is_refused_unless_a_power_cut_could_have_done_it(killed: Path) -> None:
    log = killed.with_name("x.db-wal")
    data, rng = log.read_bytes(), random.Random(5)  # noqa: S311
    commits = frames(data)
    assert sum(commits) > 10
    last = len(commits) - 1 - commits[-2::-1].index(True) - 1  # the last commit but one
    assert sqlite.first_damaged_frame(log) is None
    for number in range(len(commits)):
        for place in (rng.randrange(8), 8 + rng.randrange(8), 16 + rng.randrange(8), 24 + rng.randrange(4096)):
            broken = bytearray(data)
            broken[32 + number * FRAME + place] ^= 1 << rng.randrange(8)
            log.write_bytes(broken)
            frame = sqlite.first_damaged_frame(log)
            if number < last:
                assert frame == number
            elif number > last and place >= 8:  # or it may say that it is a commit
                assert frame is None
    for place in range(32):
        broken = bytearray(data)
        broken[place] ^= 1 << rng.randrange(8)
        log.write_bytes(broken)
        assert sqlite.first_damaged_frame(log) is not None, place
    for size in range(0, len(data), 500):  # what was never written is missing
        log.write_bytes(data[:size])
        assert sqlite.first_damaged_frame(log) is None


def test_a_damaged_log_is_refused_and_nothing_is_changed(killed: Path) -> None:
    log = killed.with_name("x.db-wal")
    whole = log.read_bytes()
    data = bytearray(whole)
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    for options in ({}, {"check": False}, {"check": False, "make": False}, {}):  # also if it is only read
        with pytest.raises(StoreError, match="SQLite would drop acknowledged reports after it"):
            open_store(f"sqlite:///{killed}", **options)
        assert log.read_bytes() == data
    log.write_bytes(whole)
    store = open_store(f"sqlite:///{killed}")
    assert store.count(ROUND) == 100
    store.close()


def test_what_was_never_synced_behind_the_end_of_the_log_is_not_damage(killed: Path) -> None:
    """Whoever is killed in the middle of a sync, or told that it failed, leaves a transaction to be overwritten."""
    log = killed.with_name("x.db-wal")
    whole, data, ends = log.read_bytes(), bytearray(), []
    for size in (1600, 800, 320, 120, 3):
        copy = killed.with_name(f"{size}.db")
        copy.write_bytes(killed.read_bytes())
        copy.with_name(f"{size}.db-wal").write_bytes(whole)
        connection = sqlite3.connect(copy)
        given = [(row[:16].tobytes(), row[16:].tobytes()) for row in rows(size, 100 + size)]
        connection.executemany("INSERT INTO reports_1 VALUES (?, ?)", given)
        connection.commit()
        longer = copy.with_name(f"{size}.db-wal").read_bytes()
        connection.close()
        assert longer[: len(whole)] == whole  # each begins where the log ends, and is shorter than the one before
        assert len(longer) > len(whole)
        data[: len(longer)] = longer
        ends.append(len(longer))
    assert sorted(ends, reverse=True) == ends
    log.write_bytes(data)
    assert sum(frames(bytes(data))[(ends[-1] - 32) // FRAME :]) > 2
    assert sqlite.first_damaged_frame(log) is None
    store = open_store(f"sqlite:///{killed}")
    assert store.count(ROUND) == 103
    store.close()
    broken = bytearray(data)
    broken[len(whole) // 2] ^= 1  # what was acknowledged is another thing
    log.write_bytes(broken)
    assert sqlite.first_damaged_frame(log) is not None


def test_a_log_from_before_does_not_count(tmp_path: Path) -> None:
    """Frames that were moved into the file, and not yet overwritten, are of another log."""
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    for setting in ("page_size = 4096", "journal_mode = WAL", "wal_autocheckpoint = 0"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE t (x)")
    for _ in range(10):
        connection.execute("INSERT INTO t VALUES (randomblob(3000))")
    connection.execute("PRAGMA wal_checkpoint(RESTART)")
    connection.execute("INSERT INTO t VALUES (1)")
    log = tmp_path / "x.db-wal"
    salts = {log.read_bytes()[start + 8 : start + 16] for start in range(32, log.stat().st_size, FRAME)}
    assert len(salts) == 2
    assert sqlite.first_damaged_frame(log) is None
    connection.close()


def test_nothing_is_acknowledged_into_a_deleted_or_replaced_file(tmp_path: Path) -> None:
    store = filled(tmp_path / "x.db")
    whole = (tmp_path / "x.db").read_bytes()
    for path in tmp_path.iterdir():
        path.unlink()
    for replaced in (False, True):
        if replaced:
            (tmp_path / "x.db").write_bytes(whole)
        for attempt in (lambda: store.add({ROUND: rows(5, 2)}), store.ping, store.tidy, store.unclosed):
            with pytest.raises(StoreUnavailable, match="was deleted or replaced"):
                attempt()
        assert (tmp_path / "x.db").exists() == replaced  # and none is made
    store.close()


@pytest.mark.parametrize("end", ["-wal", "-shm"])
@pytest.mark.parametrize("again", ["not", "empty", "by another"])
def test_nothing_is_acknowledged_into_a_deleted_log(tmp_path: Path, end: str, again: str) -> None:
    store = filled(tmp_path / "x.db")
    log = tmp_path / f"x.db{end}"
    there = log.stat().st_ino
    keep = os.open(log, os.O_RDONLY)  # so that no other file gets its number
    log.unlink()
    if again == "empty":
        log.touch()
    elif again == "by another":
        script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM reports_1')"
        subprocess.run([sys.executable, "-c", script, tmp_path / "x.db"], check=False)  # noqa: S603
        log.touch()  # if it has not left one
    assert not log.exists() or log.stat().st_ino != there
    with pytest.raises(StoreUnavailable, match=rf"x\.db{end} was deleted or replaced"):
        store.add({ROUND: rows(5, 2)})
    with pytest.raises(StoreUnavailable, match=rf"x\.db{end} was deleted or replaced"):
        store.ping()
    store.close()
    os.close(keep)


def test_a_log_that_was_gone_for_a_while_is_not_believed(tmp_path: Path) -> None:
    store = filled(tmp_path / "x.db")
    log = tmp_path / "x.db-wal"
    log.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match=r"x\.db-wal was deleted or replaced"):
        store.ping()
    (tmp_path / "elsewhere").rename(log)
    with pytest.raises(StoreUnavailable, match=r"x\.db-wal was deleted or replaced"):
        store.add({ROUND: rows(5, 2)})
    store.close()


def test_a_log_that_is_cut_or_closed_by_others_stays_the_same(tmp_path: Path) -> None:
    store = filled(tmp_path / "x.db")
    for seed in range(2, 6):
        store.add({ROUND: rows(5, seed)})
        store.tidy()
        store._close_idle()
        SqliteStore.open(tmp_path / "x.db", make=False).close()
    store.add({ROUND: rows(5, 6)})
    store.close()


def test_a_name_with_signs_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a %3f?b#c&mode=ro.db"
    store = SqliteStore.open(path)
    known(store)
    store.add({ROUND: rows(5)})
    assert kept(store) == payloads(rows(5))
    assert {each.name for each in tmp_path.iterdir()} == {path.name + end for end in ("", "-wal", "-shm", "-turn")}
    store.close()


def test_a_log_that_somebody_reads_is_not_said_to_be_truncated(
    closed: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_TIDYING", 2)
    store = SqliteStore.open(closed)
    given = rows(500, 3, payload=1) % 30 + 2
    store.add({(two := ROUND._replace(number=2)): given})
    reader = sqlite3.connect(closed, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM reports_2").fetchone()
    with pytest.raises(StoreUnavailable, match="still reads an older state, which needs the log"):
        store.tidy()
    assert close_round(store, ASKED, 2).state == "closed"
    assert "still contains nonces of a closed round" in caplog.text

    def found() -> list[str]:
        return [path.name for path in closed.parent.iterdir() if given[7, :16].tobytes() in path.read_bytes()]

    assert found() != []
    reader.close()
    store.tidy()
    assert found() == []
    assert store.round(two) is not None
    store.close()


def test_a_log_that_is_cut_or_deleted_while_no_server_runs_is_named_among_what_is_not_found(tmp_path: Path) -> None:
    """If this is found one day, docs/operations.md should say so."""
    for name, cut in (("cut", True), ("deleted", False)):
        path = tmp_path / name / "x.db"
        path.parent.mkdir()
        store = SqliteStore.open(path)
        known(store)
        store.tidy()
        store.add({ROUND: rows(5)})
        log = path.with_name("x.db-wal")
        copied = tmp_path / f"{name}.db"  # as a kill leaves it
        copied.write_bytes(path.read_bytes())
        if cut:
            copied.with_name(f"{name}.db-wal").write_bytes(log.read_bytes()[: 32 + FRAME])
        store.close()
        again = open_store(f"sqlite:///{copied}")
        assert again.count(ROUND) == 0
        again.close()
    documented = Path("docs/operations.md").read_text().split("What is not found:")[1]
    assert "cut short, deleted or replaced" in documented.split("## Upgrade")[0]


def test_a_log_that_does_not_tell_the_size_of_its_pages(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    for setting in ("journal_mode = WAL", "wal_autocheckpoint = 0"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE kept (x)")
    for number in range(5):
        connection.execute("INSERT INTO kept VALUES (?)", (number,))
    log = tmp_path / "x.db-wal"
    data = bytearray(log.read_bytes())
    assert sqlite.first_damaged_frame(log) is None
    data[10] ^= 1
    log.write_bytes(data)
    assert sqlite.first_damaged_frame(log) == 0
    connection.close()


def test_what_always_writes_reaches_the_log_even_if_nothing_is_new(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "x.db")
    known(store)
    log, given = tmp_path / "x.db-wal", rows(1)
    store.add({ROUND: given})

    def written(change: Callable[[], None]) -> bool:
        before = log.read_bytes()
        change()
        return log.read_bytes() != before

    assert not written(lambda: store.add({ROUND: given}))
    assert written(lambda: store.add({ROUND: given}, always_writes=True))
    assert written(lambda: store.add({}, always_writes=True))
    assert written(store.try_writing)
    assert store.count(ROUND) == 1
    store.close()
    SqliteStore.open(tmp_path / "x.db").close()
