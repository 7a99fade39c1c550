"""`/healthz` asks whether the process works, `/ready` whether reports should come to it."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from starlette.concurrency import run_in_threadpool

from tests.collector.samples import campaign
from tests.collector.servers import Collector
from untrackable.collector import service as service_module
from untrackable.errors import StoreUnavailable


def status(collector: Collector, address: str) -> tuple[int, str]:
    answer = collector.http.get(address)
    content = answer.json()
    return answer.status_code, content.get("status") if answer.status_code == 200 else content["type"][24:]


def test_ready_as_long_as_all_is_well(collector: Collector) -> None:
    collector.create(campaign())
    assert status(collector, "/healthz") == (200, "ok")
    assert status(collector, "/ready") == (200, "ready")


@pytest.mark.parametrize("what", ["ping", "try_writing"])
def test_not_ready_while_the_store_cannot_be_read_or_written(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    tried = 0

    def fail() -> None:
        nonlocal tried
        tried += 1
        raise StoreUnavailable("read-only")

    monkeypatch.setattr(collector.store, what, fail)
    for _ in range(5):
        assert status(collector, "/ready") == (503, "store-unavailable")
        assert status(collector, "/healthz") == (200, "ok")
    assert tried == (5 if what == "ping" else 1), "asking often does not write often"
    monkeypatch.undo()
    monkeypatch.setattr(service_module, "_WRITE_SECONDS", 0.0)
    assert status(collector, "/ready") == (200, "ready")


def test_not_ready_while_the_clock_is_doubted(collector: Collector) -> None:
    assert status(collector, "/ready") == (200, "ready")
    collector.clock.now += 3600
    assert status(collector, "/ready") == (503, "busy")
    assert status(collector, "/healthz") == (200, "ok")
    collector.clock.now -= 3600
    assert status(collector, "/ready") == (200, "ready")


def test_not_healthy_if_nothing_stores_reports_any_more(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = collector.http.app.state.service  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr(service.writer._thread, "is_alive", lambda: False)
        assert status(collector, "/healthz") == (500, "internal")
    assert status(collector, "/healthz") == (200, "ok")


def test_what_cannot_be_written_is_noticed(collector: Collector) -> None:
    """A database that only reads is not ready, although it answers."""
    collector.store.try_writing()
    with collector.store._borrowed() as connection:
        if collector.store._placeholder == "?":
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute("SET default_transaction_read_only = on")
    collector.store.ping()
    with pytest.raises(StoreUnavailable, match=r"read-?only|readonly"):
        collector.store.try_writing()


def test_many_readers_of_pages_do_not_make_it_look_ill(collector: Collector) -> None:
    """Pages wait for threads, of which strangers may take all."""
    free, portal = threading.Event(), collector.http.portal
    assert portal is not None
    for _ in range(100):
        portal.start_task_soon(run_in_threadpool, free.wait)
    try:
        with ThreadPoolExecutor(1) as asking:
            for address, expected in (("/healthz", "ok"), ("/ready", "ready")):
                result = asking.submit(status, collector, address)
                wait([result], timeout=30)
                answered = result.done()
                if not answered:
                    free.set()
                assert answered, address
                assert result.result() == (200, expected)
    finally:
        free.set()
