"""Several collectors: over one PostgreSQL, and with a store each whose exports are added up."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.collector.samples import answers, campaign, sealed
from tests.collector.servers import OCTETS, process
from untrackable import estimate_files
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.closing import export_round
from untrackable.collector.settings import open_store
from untrackable.protocol.campaign import Campaign

PEOPLE = 600


def asked_now() -> tuple[Campaign, list[int], list[bytes]]:
    """A campaign whose first round has begun, the reports of its people, and the bodies that they send."""
    asked = campaign(begin=int(time.time()) - 60)
    reports = answers(asked.mechanism, np.arange(PEOPLE) % 5)
    return asked, reports, sealed(asked, reports)


def send(address: str, asked: Campaign, bodies: list[bytes]) -> None:
    with httpx.Client(base_url=address) as http:
        for body in bodies:
            answer = http.post(f"/campaigns/{asked.id}/reports", content=body, headers=OCTETS)
            assert answer.status_code == 204, answer.text


@pytest.mark.slow
def test_over_one_postgresql_each_report_counts_once(new_url: Callable[[str], str]) -> None:
    url = new_url("postgresql")
    asked, reports, bodies = asked_now()
    store = open_store(url)
    create_campaign(store, asked.to_bytes(), published=True)
    _, key = new_key(store, "admin")
    with ExitStack() as running:
        first, second = (running.enter_context(process(url)) for _ in range(2))
        send(first.address, asked, bodies[:400])
        send(second.address, asked, bodies[300:])  # a hundred come to both
        where = f"{second.address}/campaigns/{asked.id}"
        closed = httpx.post(f"{where}/rounds/1/close", headers={"authorization": f"Bearer {key}"})
        assert closed.status_code < 300, closed.text
        told = [httpx.get(f"{server.address}/campaigns/{asked.id}/estimate").json() for server in (first, second)]
    store.close()
    assert told[0] == told[1]
    assert told[0]["reports"] == PEOPLE
    expected = asked.mechanism.aggregator(1).add(reports).estimate()
    assert {row["value"]: row["unclamped"] for row in told[0]["values"]} == {
        value: pytest.approx(expected.frequencies[value]) for value in range(asked.encoding.values)
    }


@pytest.mark.slow
def test_exports_of_several_stores_are_added_up(tmp_path: Path) -> None:
    asked, reports, bodies = asked_now()
    files = []
    for number, part in enumerate((bodies[:250], bodies[250:])):
        url, file = f"sqlite:///{tmp_path}/{number}.db", tmp_path / f"{number}.parquet"
        store = open_store(url)
        create_campaign(store, asked.to_bytes())
        with process(url) as server:
            send(server.address, asked, part)
        assert export_round(store, asked.id, 1, file).reports == len(part)
        store.close()
        files.append(file)
    answer = estimate_files(files).best
    expected = asked.mechanism.aggregator(1).add(reports).estimate()
    assert answer.n == PEOPLE
    assert answer.frequencies.tolist() == expected.frequencies[: asked.encoding.values].tolist()
