"""Programs that run for two seconds now and then, through a relay that holds, to a collector; both are killed.

People answer with their number, so that it is seen who was counted, and how often.
"""

import secrets
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.client.samples import policy
from tests.collector.servers import process
from tests.relay.gateways import relay_process
from tests.relay.numbered_people import EPS, answers, who_is_there
from tests.relay.sealed_senders import free_port, wait_until
from tests.relay.test_releases import all_left
from untrackable.client.client import Client
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.protocol.campaign import Campaign, HoldingRelay

pytestmark = pytest.mark.slow

PEOPLE, SECONDS, ROUNDS, DELAY = 100, 14, 3, 3
PROGRAM = """
import sys, time
from untrackable import take_part
document, collector, folder, number = sys.argv[1:]
with open(document, "rb") as file:
    said = take_part(file.read(), collector, int(number), folder=folder)
time.sleep(2)
sys.exit(said.startswith("failed"))
"""


def live(asked: Campaign, collector: str, folder: Path, number: int, ended: list[int]) -> None:
    """Somebody who runs a program twice in each round."""
    command = [sys.executable, "-c", PROGRAM, str(folder / "asked.json"), collector]
    for half in range(2 * ROUNDS):
        moment = asked.first_round + SECONDS * (half + 0.7 * secrets.randbelow(1000) / 1000) / 2
        time.sleep(max(0.0, moment - time.time()))
        program = subprocess.run([*command, str(folder / f"{number}"), str(number)], check=False)  # noqa: S603
        ended.append(program.returncode)


def test_every_turn_of_people_who_came_is_counted_once(tmp_path: Path) -> None:
    """Relay and collector are killed twice in every round: during a release, and while reports come."""
    keys, port, relay_port = GatewayKeys().with_list(1, 30), free_port(), free_port()
    collector_at, relay_at = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{relay_port}/gateways/study"
    write_keys(tmp_path / "gateway.keys", keys)
    asked = who_is_there(int(time.time()) + 6, SECONDS, ROUNDS, keys, HoldingRelay(relay_at, DELAY))
    (tmp_path / "asked.json").write_bytes(asked.to_bytes())
    url = f"sqlite:///{tmp_path}/x.db"
    store = open_store(url)
    create_campaign(store, asked.to_bytes())
    allowed = policy(eps=EPS, relays=(relay_at,), pins=(asked.id,))
    for number in range(PEOPLE):
        Client(asked, None, allowed, folder=tmp_path / f"{number}").answer(number)
    served = ("--port", str(port), "--gateway-keys", str(tmp_path / "gateway.keys"), "--sweep", "3600")
    held = ("--hold-in", str(tmp_path / "held.db"), "--release-every", "1", "--release-ahead", "1")
    relayed = ("--port", str(relay_port), "--gateway", f"study={collector_at}", "--per-minute", "100000", *held)
    ended: list[int] = []
    people = [
        threading.Thread(target=live, args=(asked, collector_at, tmp_path, number, ended))
        for number in range(PEOPLE)
    ]
    for person in people:
        person.start()
    for number in range(1, ROUNDS + 1):
        for later in (DELAY + 0.6, 0.6 * SECONDS):
            with process(url, *served) as collector, relay_process(*relayed) as relay:
                time.sleep(max(0.0, asked.begins(number) + later - time.time()))
                relay.kill()
                collector.kill()
                time.sleep(0.3)
    with process(url, *served), relay_process(*relayed) as relay:
        for person in people:
            person.join()
        wait_until(lambda: not any(all_left(relay, asked.leaves(1 + each)) for each in range(ROUNDS)))
    counted = [[*answers(store, asked, number)] for number in range(1, ROUNDS + 1)]
    for number in range(1, ROUNDS + 1):
        close_round(store, asked, number)
    assert [each.reports for each in store.rounds(asked.id)] == [len(each) for each in counted]
    store.close()
    times = Counter(number for each in counted for number in each)
    assert set(times.values()) == {1}
    assert len(times) >= 0.99 * PEOPLE
    assert ended == [0] * 2 * ROUNDS * PEOPLE
