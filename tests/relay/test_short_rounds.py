"""Programs that run once in a while, through a relay that holds, to a collector; both are killed in between."""

import secrets
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.client.samples import HOME, policy
from tests.client.test_crowd_campaigns import one_turn
from tests.collector.servers import process
from tests.relay.gateways import relay_process
from tests.relay.sealed_senders import free_port, wait_until
from untrackable.client.client import Client
from untrackable.client.sending import Outcome
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.protocol.campaign import Campaign, Gateway, HoldingRelay
from untrackable.theory.turns import Turns

pytestmark = pytest.mark.slow

ROUND, ROUNDS, PEOPLE = 12, 3, 30
DELAY = 2


def asked_at(begin: int, relay: str, keys: GatewayKeys) -> Campaign:
    gateway = replace(Gateway.from_json(keys.public_list(1)), relay=HoldingRelay(relay, DELAY))
    return replace(
        one_turn(),
        first_round=begin,
        round_seconds=ROUND,
        rounds=ROUNDS,
        turns=Turns(rounds=ROUNDS),
        gateway=gateway,
    )


def live(campaign: Campaign, collector: str, relay: str, folder: Path, told: list[tuple[int, Outcome]]) -> None:
    """Somebody whose program runs twice in each round, each time for a moment."""
    allowed = policy(eps=6.0, relays=(relay,), pins=(campaign.id,))

    def run() -> Outcome:
        client = Client(campaign, None, allowed, folder=folder)
        return client.send(collector, look=lambda host, port: HOME, sleep=lambda seconds: time.sleep(0.5))

    Client(campaign, None, allowed, folder=folder).answer(1)
    for number in range(1, ROUNDS + 1):
        for half in (0, 1):
            moment = campaign.begins(number) + ROUND * (half + 0.8 * secrets.randbelow(1000) / 1000) / 2
            time.sleep(max(0.0, moment - time.time()))
            outcome = run()
            if outcome is not Outcome.NOTHING:
                told.append((number, outcome))


def test_every_turn_of_people_who_came_is_counted_once(tmp_path: Path) -> None:
    keys, port, relay_port = GatewayKeys().with_list(1, 30), free_port(), free_port()
    collector_at, relay_at = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{relay_port}/gateways/study"
    write_keys(tmp_path / "gateway.keys", keys)
    campaign = asked_at(int(time.time()) + 6, relay_at, keys)
    url = f"sqlite:///{tmp_path}/x.db"
    store = open_store(url)
    create_campaign(store, campaign.to_bytes())
    served = ("--port", str(port), "--gateway-keys", str(tmp_path / "gateway.keys"), "--release-wait", "8")
    held = ("--hold-in", str(tmp_path / "held.db"), "--release-every", "1", "--release-ahead", "1")
    relayed = ("--port", str(relay_port), "--gateway", f"study={collector_at}", "--per-minute", "100000", *held)
    told: list[tuple[int, Outcome]] = []
    people = [
        threading.Thread(target=live, args=(campaign, collector_at, relay_at, tmp_path / str(number), told))
        for number in range(PEOPLE)
    ]
    for person in people:
        person.start()
    for number in range(1, ROUNDS + 1):  # Both are killed in the middle of every round, and are away for a moment.
        with process(url, *served, "--sweep", "0.2") as collector, relay_process(*relayed) as relay:
            time.sleep(max(0.0, campaign.begins(number) + ROUND * 0.4 - time.time()))
            relay.kill()
            collector.kill()
            time.sleep(0.3)
    with process(url, *served, "--sweep", "0.2"), relay_process(*relayed):
        for person in people:
            person.join()
        wait_until(lambda: [each.state for each in store.rounds(campaign.id)] == ["closed"] * ROUNDS)
    counted = {each.number: each.reports for each in store.rounds(campaign.id)}
    store.close()
    accepted = [number for number, outcome in told if outcome is Outcome.ACCEPTED]
    assert {outcome for _, outcome in told} <= {Outcome.ACCEPTED, Outcome.LATER}
    assert counted == {number: accepted.count(number) for number in range(1, ROUNDS + 1)}
    assert len(accepted) == PEOPLE
