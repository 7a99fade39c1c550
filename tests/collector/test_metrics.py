"""What the metrics show: overdue rounds, a doubted clock, the size of the store, connections and the version."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.collector.samples import BEGIN, HOUR, bodies, campaign
from tests.collector.servers import SETTINGS, Clock, Collector, process
from tests.collector.test_store import rows
from untrackable import __version__
from untrackable.collector.closing import overdue_rounds
from untrackable.collector.metrics import Metrics, SharedCounters
from untrackable.collector.service import Service
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, Store, StoredCampaign

LATER = BEGIN + HOUR + SETTINGS.grace


def value(text: str, name: str) -> float:
    (matches,) = re.findall(rf"^untrackable_{name} (\S+)$", text, re.M)
    return float(matches)


def test_rounds_are_overdue_from_the_end_of_their_grace_until_they_are_closed(store: Store) -> None:
    asked = campaign()
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    for number in (1, 2):
        store.add({Round(asked.id, number): rows(20, payload=1) % 30 + 2})
    assert overdue_rounds(store, LATER - 1, SETTINGS) == []
    assert overdue_rounds(store, LATER, SETTINGS) == [Round(asked.id, 1)]
    service = Service(store, lambda: LATER, SETTINGS)
    service.measure_store()
    assert value(service.metrics.text(), "rounds_overdue") == 1
    service.close_overdue()
    service.measure_store()
    assert value(service.metrics.text(), "rounds_overdue") == 0


def test_rounds_of_a_damaged_campaign_are_overdue(store: Store) -> None:
    store.add_campaign(StoredCampaign("0" * 64, b"damaged", "{}", published=True))
    store.add({Round("0" * 64, 1): rows(20, payload=1)})
    assert overdue_rounds(store, LATER, SETTINGS) == [Round("0" * 64, 1)]


def test_the_size_of_the_store_grows_with_it(store: Store) -> None:
    asked = campaign()
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    before = store.size()
    assert before > 0
    store.add({Round(asked.id, 1): rows(5000, payload=1)})
    assert store.size() > before + 5000 * 17


def test_a_running_collector_measures_its_store_and_says_that_the_clock_is_doubted(store: Store) -> None:
    clock = Clock()
    service = Service(store, clock, Settings(sweep=0.01))

    async def seen(what: Callable[[str], bool]) -> None:
        async with asyncio.timeout(10):
            while not what(service.metrics.text()):
                await asyncio.sleep(0.01)

    async def live() -> None:
        async with service.running():
            await seen(lambda text: value(text, "store_bytes") > 0)
            assert value(service.metrics.text(), "clock_doubted") == 0
            clock.now += HOUR
            await seen(lambda text: value(text, "clock_doubted") == 1)
            clock.now -= HOUR
            await seen(lambda text: value(text, "clock_doubted") == 0)

    asyncio.run(live())


def test_several_processes_do_not_add_up_what_all_of_them_see() -> None:
    shared = SharedCounters()
    first, second = Metrics(shared), Metrics()
    second._all = first._all
    second._own = first._all[1]
    for metrics, number in ((first, 3), (second, 4)):
        metrics.set_gauge("rounds_overdue", number)
        metrics.set_gauge("connections", number)
    assert (first.total("rounds_overdue"), first.total("connections")) == (4, 7)
    first.close()


def test_version_connections_and_clock(tmp_path: Path) -> None:
    with process(f"sqlite:///{tmp_path}/x.db") as server, httpx.Client() as sender:
        text = sender.get(f"{server.address}/metrics").text
        assert f'untrackable_build_info{{version="{__version__}"}} 1\n' in text
        assert value(text, "connections") == 1
        with httpx.Client() as another:
            assert another.get(f"{server.address}/healthz").status_code == 200
            assert value(sender.get(f"{server.address}/metrics").text, "connections") == 2
        assert value(text, "clock_doubted") == 0
        assert server.end() == 0


def test_labels_are_kinds_of_refusals_and_the_version(collector: Collector) -> None:
    asked = collector.create(campaign())
    collector.send(asked, b"".join(bodies(asked, 3)))
    text = collector.http.get("/metrics").text
    assert set(re.findall(r"(\w+)=", text)) == {"version", "type"}
    assert asked.id not in text
