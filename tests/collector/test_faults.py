"""Faults that are really made: processes killed, databases stopped, disks full. What was acknowledged is there."""

import random
import re
import resource
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.collector.conftest import KINDS, start_postgres
from tests.collector.killed_processes import killed_before
from tests.collector.loads import SIZE, Senders, Sent, fresh, split, wait_until
from tests.collector.samples import DECK, bodies, campaign
from tests.collector.servers import OCTETS, PreloadedServers, process
from untrackable import Deck
from untrackable.collector import sqlite
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.closing import close_round, sum_reports
from untrackable.collector.settings import open_store
from untrackable.collector.sqlite import SqliteStore
from untrackable.collector.store import Round, Store
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import NONCE

KILLS = {"sqlite": 50, "postgresql": 12}

WIDE = Deck.for_budget(bits=14, slots=30, eps=8.0, delta=1e-6, width=1)
"""Whose sums take more room than its reports."""


def on_now() -> Campaign:
    """A campaign whose first round is on, for a day."""
    return campaign(begin=int(time.time()) - 600, seconds=86400)


def stored(store: Store) -> list[bytes]:
    """The reports of the only round, as they were sent, also those that a large round has moved into blocks."""
    store.tidy()  # which leaves one row for each
    with store._transaction(write=False) as run:
        if isinstance(store, SqliteStore):
            parts = sqlite._tables(1).read(run.connection)
            rows = [(row[:NONCE].tobytes(), row[NONCE:].tobytes()) for part in parts for row in part]
        else:
            rows = run("SELECT nonce, report FROM reports_1").fetchall()
    return [b"\1\1\0\0\0" + getattr(nonce, "bytes", nonce) + report for nonce, report in rows]


def check(store: Store, asked: Campaign, sent: Sent) -> None:
    """Everything acknowledged is there exactly once, nothing that was not sent is, and sums equal a recount."""
    reports = stored(store)
    assert len(reports) == len(set(reports)) == store.count(Round(asked.id, 1))
    assert sent.acknowledged <= set(reports)
    assert set(reports) <= sent.everything
    close_round(store, asked, 1)
    recount = DECK.aggregator().add([report[-1] for report in reports])
    assert store.sums(Round(asked.id, 1)) == recount.to_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_moments_under_load(kind: str, new_url: Callable[[str], str]) -> None:
    url, rng, sent = new_url(kind), random.Random(7), Sent()  # noqa: S311
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    per_life = []
    with PreloadedServers() as servers:
        for _ in range(KILLS[kind]):
            before = len(sent.acknowledged)
            senders = Senders(asked, sent)
            senders.start(servers.start(url, "--sweep", "0.2"))
            wait_until(lambda before=before: len(sent.acknowledged) > before)  # type: ignore[misc]
            time.sleep(rng.uniform(0.0, 0.15))
            assert servers.kill() == -signal.SIGKILL
            senders.join()
            per_life.append(len(sent.acknowledged) - before)
    assert min(per_life) > 0
    open_store(url).close()  # undamaged
    check(store, asked, sent)
    store.close()


@pytest.mark.slow
def test_killed_at_every_statement_of_closing(tmp_path: Path) -> None:
    """Before each statement that the database is given; whoever tries again gets the same sums."""
    asked, states = on_now(), []
    body = np.frombuffer(fresh(5_000), dtype=np.uint8).reshape(-1, SIZE)[:, 5:]
    expected = DECK.aggregator().add(body[:, -1].astype(np.uint64)).to_bytes()
    filled = open_store(f"sqlite:///{tmp_path}/filled.db")
    create_campaign(filled, asked.to_bytes())
    filled.add({Round(asked.id, 1): body})
    filled.close()

    def work(store: Store, acknowledge: Callable[[], None]) -> None:
        close_round(store, asked, 1)

    kill, killed = 0, True
    while killed:
        kill += 1
        path = tmp_path / f"{kill}.db"
        shutil.copy(tmp_path / "filled.db", path)
        killed, _ = killed_before(kill, path, work)
        store = open_store(f"sqlite:///{path}")
        record = store.round(Round(asked.id, 1))
        assert record is not None
        states.append(record.state)
        if record.state != "closed":
            assert store.count(Round(asked.id, 1)) == 5_000
            assert sum_reports(store, asked, 1).to_bytes() == expected
        assert close_round(store, asked, 1).reports == 5_000
        assert store.sums(Round(asked.id, 1)) == expected
        store.close()
    assert sorted(set(states), key=["open", "closing", "closed"].index) == ["open", "closing", "closed"]
    assert states == sorted(states, key=["open", "closing", "closed"].index)


@pytest.mark.slow
def test_postgres_stopped_and_started_under_load(tmp_path: Path) -> None:
    database: Any = start_postgres()
    try:
        url, sent = database.get_uri(), Sent()
        store, asked = open_store(url), on_now()
        create_campaign(store, asked.to_bytes())
        with process(url, log=tmp_path / "log") as server:
            senders = Senders(asked, sent, patient=True)
            senders.start(server.address)
            for _ in range(3):
                reached = len(sent.acknowledged) + 200
                wait_until(lambda reached=reached: len(sent.acknowledged) > reached)  # type: ignore[misc]
                refused = len(sent.refused)
                database.stop()
                wait_until(lambda refused=refused: len(sent.refused) > refused + 3)  # type: ignore[misc]
                assert httpx.get(f"{server.address}/ready").status_code == 503
                database.ensure_postgres_running()
            reached = len(sent.acknowledged) + 200
            wait_until(lambda: len(sent.acknowledged) > reached)
            senders.stop()
            assert sent.acknowledged == sent.everything  # whoever was turned away came again
            assert server.end() == 0
        store._close_idle()
        check(store, asked, sent)
        log = (tmp_path / "log").read_text()
        assert "The store fails" in log
        assert "The store works again." in log
        assert "Traceback" not in log
        store.close()
    finally:
        database.cleanup()


def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path) -> None:
    url, sent = f"sqlite:///{tmp_path}/x.db", Sent()
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    with process(url, log=tmp_path / "log") as server:
        pid = server.process.pid

        def send() -> int:
            body = fresh(2000)
            sent.everything.update(split(body))
            response = httpx.post(
                f"{server.address}/campaigns/{asked.id}/reports", content=body, headers=OCTETS, timeout=60
            )
            if response.status_code == 204:
                sent.acknowledged.update(split(body))
            return response.status_code

        assert send() == 204
        # Files may not grow beyond 300 kB: to the program, the disk is full.
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        statuses = [send() for _ in range(12)]
        assert statuses[0] == 204
        assert set(statuses) == {204, 503}
        assert statuses[-1] == 503
        assert httpx.get(f"{server.address}/ready").status_code == 503
        assert httpx.get(f"{server.address}/campaigns").status_code == 200  # it still reads
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        assert send() == 204
        assert httpx.get(f"{server.address}/ready").status_code == 200
        assert server.end() == 0
    assert len(sent.acknowledged) == 2000 * (1 + statuses.count(204) + 1)
    assert "The store fails" in (tmp_path / "log").read_text()
    check(store, asked, sent)
    store.close()


def test_a_disk_that_is_full_at_closing_closes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    """The round is closed once there is room."""
    url, asked = f"sqlite:///{tmp_path}/x.db", campaign(WIDE, begin=int(time.time()) - 600, seconds=86400)
    store = open_store(url)
    create_campaign(store, asked.to_bytes())
    key = {"authorization": f"Bearer {new_key(store, 'admin')[1]}"}
    body = b"".join(bodies(asked, 300))
    one = f"/campaigns/{asked.id}"
    with process(url, log=tmp_path / "log") as server:
        assert httpx.post(f"{server.address}{one}/reports", content=body, headers=OCTETS).status_code == 204
        store.tidy()
        pid, size = server.process.pid, (tmp_path / "x.db").stat().st_size

        def close() -> httpx.Response:
            return httpx.post(f"{server.address}{one}/rounds/1/close", headers=key, timeout=60)

        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        for _ in range(2):
            refused = close()
            assert (refused.status_code, refused.json()["type"][-17:]) == (503, "store-unavailable")
            assert store.count(Round(asked.id, 1)) == 300
        state = store.round(Round(asked.id, 1))
        assert state is not None
        assert state.state == "closing"  # it takes no more, and all that it took is there
        expected = sum_reports(store, asked, 1).to_bytes()
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        assert close().json() == {"round": 1, "state": "closed"}
        assert server.end() == 0
    assert store.sums(Round(asked.id, 1)) == expected
    assert "Traceback" not in (tmp_path / "log").read_text()
    store.close()
    open_store(url).close()


@pytest.mark.slow
def test_two_processes_and_a_clean_end_under_load(tmp_path: Path) -> None:
    """Several workers on one SQLite file; told to end, they store what they accepted."""
    url, sent = f"sqlite:///{tmp_path}/x.db", Sent()
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes())
    with process(url, "--workers", "2", log=tmp_path / "log") as server:
        senders = Senders(asked, sent, threads=8)
        senders.start(server.address)
        wait_until(lambda: len(sent.acknowledged) > 2000)
        told = httpx.get(f"{server.address}/metrics").text
        assert server.end() == 0
        senders.join()
    total = re.search(r"^untrackable_reports_received_total (\d+)$", told, re.MULTILINE)
    assert total is not None
    assert int(total[1]) > 2000  # whichever process answered, it knows of all
    check(store, asked, sent)
    assert "Traceback" not in (tmp_path / "log").read_text()
    store.close()
