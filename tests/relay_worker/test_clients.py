"""Clients in Python and in Chromium send through the Worker script to our gateway."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser.conftest import browser as browser
from tests.browser.test_crowd_rounds import Study
from tests.browser.test_crowd_rounds import study as study
from tests.client.samples import HOME, Clock, policy
from tests.client.test_crowd_campaigns import crowded
from tests.relay.sealed_senders import SealedSenders, check
from tests.relay.sealed_senders import study as sealed_study
from tests.relay_worker.workers import worker_process
from untrackable.client.client import Client
from untrackable.client.sending import Address, Outcome
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round
from untrackable.protocol.campaign import Gateway
from untrackable.relay.app import SEALED_LENGTH

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]


def test_people_with_the_python_client(tmp_path: Path) -> None:
    """Each sends at its own moment, and the collector has all reports."""
    there = sealed_study(tmp_path)
    gateway = Gateway.from_json(there.keys.public_list(1))
    asked = replace(crowded(), first_round=int(time.time()) - 600, gateway=gateway)
    store = open_store(there.url)
    create_campaign(store, asked.to_bytes(), published=True)
    store.close()
    with there.collector() as collector, worker_process("--gateway", f"study={collector.address}") as worker:
        relay = f"{worker}/gateways/study"
        for person in range(3):
            clock = Clock(asked.first_round - 100)
            allowed = policy(eps=6.0, relays=(relay,), pins=(asked.id,))
            client = Client(asked, None, allowed, folder=tmp_path / f"person{person}", clock=clock)
            client.answer(3)
            due = client.due()
            assert due is not None
            clock.now = due
            outcome = client.send(collector.address, look=lambda host, port: HOME, sleep=clock.sleep)
            assert outcome == Outcome.ACCEPTED
        assert collector.end() == 0
    store = open_store(there.url)
    assert store.count(Round(asked.id, 1)) == 3
    store.close()


def test_many_senders_lose_nothing(tmp_path: Path) -> None:
    there = sealed_study(tmp_path)
    with there.collector() as collector, worker_process("--gateway", f"study={collector.address}") as worker:
        elsewhere = Address.of("https://collect.example", there.campaign.id)
        with SealedSenders(there, Address.of_relay(f"{worker}/gateways/study", elsewhere)) as senders:
            senders.wait_for(40)
        assert collector.end() == 0
    check(there, senders.outcome)


def test_a_page_with_the_browsers_client(study: Study) -> None:
    with worker_process("--gateway", f"study={study.collector}") as worker:
        study.relay = f"{worker}/gateways/study"
        study.join(study.campaign())
        study.at_its_moment()
        assert study.sent() == "accepted"
    assert [(url, len(body or b"")) for url, body in study.posts] == [(study.relay, SEALED_LENGTH)]
    assert study.reports() == 1
