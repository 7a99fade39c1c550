"""A collector that knows who visited the site when: does it find out who sent which report?

It has all that a collector can have: what arrives, in its order, its own files, and its log. It joins them with the
access log of the site. With a relay that holds, this is as good as tossing coins. Without one, it is right.
"""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from scipy.stats import binom

from tests.client.samples import HOME, policy
from tests.collector.servers import process
from tests.relay.gateways import relay_process, threaded
from tests.relay.numbered_people import EPS, SIZE, answers, sender, who_is_there
from tests.relay.sealed_senders import free_port, wait_until
from tests.relay.test_releases import slowly
from untrackable.client.client import Client
from untrackable.client.sending import Outcome
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.binary_http import BinaryRequest
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.sealing import SEALED_LENGTH, open_request
from untrackable.protocol.campaign import Campaign, HoldingRelay

pytestmark = pytest.mark.slow

PEOPLE = 200
SECONDS, DELAY = 10, 2
FALSE_ALARM = 1e-6


class Observer:
    """A collector that looks at all that comes, opens it, and keeps when it came."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.keys = folder, free_port(), GatewayKeys().with_list(1, 30)
        self.arrived: list[tuple[float, int]] = []
        self.answers: list[bytes | None] = []
        write_keys(folder / "gateway.keys", self.keys)

    def pass_on(self, request: bytes) -> bytes | None:
        opened = open_request(self.keys.opening_keys(), request[-SEALED_LENGTH:])
        report = BinaryRequest.from_bytes(opened.content).content
        self.arrived.append((time.time(), sender(report[-SIZE:])))
        told = slowly(self.port, request)
        self.answers.append(told)
        return told

    @contextmanager
    def watching(self, asked: Campaign, relay_port: int) -> Iterator[None]:
        """The collector of a campaign, the observer before it, and the relay."""
        url = f"sqlite:///{self.folder}/x.db"
        store = open_store(url)
        create_campaign(store, asked.to_bytes())
        store.close()
        served = ("--port", str(self.port), "--gateway-keys", str(self.folder / "gateway.keys"), "--sweep", "3600")
        held = ("--hold-in", str(self.folder / "held.db"), "--release-every", "1", "--release-ahead", "1")
        with process(url, *served, log=self.folder / "log"), threaded(self.pass_on) as there:
            gateway = f"study=http://127.0.0.1:{there.port}"
            options = ("--port", str(relay_port), "--gateway", gateway, "--per-minute", "100000")
            with relay_process(*options, *held if asked.relay else ()):
                yield

    def orders(self, asked: Campaign) -> dict[str, list[int]]:
        """The order of people's reports in all that the collector has, while their round is open."""
        data = b"".join((self.folder / name).read_bytes() for name in ("x.db-wal", "x.db"))
        store = open_store(f"sqlite:///{self.folder}/x.db")
        kept = answers(store, asked, 1)
        store.close()
        return {
            "arrival": [number for _, number in self.arrived],
            "rows of the store": list(kept),
            "bytes of its files": sorted(kept, key=lambda number: data.find(kept[number])),
        }


def visits(asked: Campaign, collector: int, relay: str, folder: Path, *, at_random: bool) -> list[int]:
    """People visit the site for a moment each, and their reports leave then: the access log, who came in order.

    Without a relay that holds, a report leaves only from somebody who is there at a moment that their client has
    drawn. So they come then.
    """
    allowed = policy(eps=EPS, relays=(relay,), pins=(asked.id,))
    clients = [Client(asked, None, allowed, folder=folder / f"{number}") for number in range(PEOPLE)]
    for number, client in enumerate(clients):
        client.answer(number)
    random = secrets.SystemRandom()
    moments = [
        asked.first_round + random.uniform(0.2, SECONDS - 2.0) if at_random else client.due() or 0.0
        for client in clients
    ]
    came = sorted(range(PEOPLE), key=moments.__getitem__)
    for number in came:
        time.sleep(max(0.0, moments[number] - time.time()))
        outcome = clients[number].send(f"http://127.0.0.1:{collector}", look=lambda host, port: HOME)
        assert outcome is Outcome.ACCEPTED
    return came


def right(order: Sequence[int], came: Sequence[int], *, far: bool) -> int:
    """How many of a hundred guesses are right: of two people, who came first has the first report."""
    place, half = {number: at for at, number in enumerate(order)}, len(came) // 2
    pairs = zip(came[:half], came[half:], strict=True) if far else zip(came[::2], came[1::2], strict=True)
    return sum(place[first] < place[second] for first, second in pairs)


def is_chance(found: int) -> bool:
    """Whether so many right guesses are what tosses of a coin have, but with probability `FALSE_ALARM`."""
    return bool(
        binom.ppf(FALSE_ALARM / 2, PEOPLE // 2, 0.5) <= found <= binom.isf(FALSE_ALARM / 2, PEOPLE // 2, 0.5)
    )


@pytest.mark.parametrize("held", [True, False], ids=["a relay that holds", "a relay that passes on"])
def test_reports_are_not_matched_with_visits_if_a_relay_holds_them(held: bool, tmp_path: Path) -> None:
    observer, relay_port = Observer(tmp_path), free_port()
    relay, begin = f"http://127.0.0.1:{relay_port}/gateways/study", int(time.time()) + 9
    asked = who_is_there(begin, SECONDS, 1, observer.keys, HoldingRelay(relay, DELAY) if held else None)
    with observer.watching(asked, relay_port):
        came = visits(asked, observer.port, relay, tmp_path / "people", at_random=held)
        wait_until(lambda: len(observer.answers) == PEOPLE)
        orders = observer.orders(asked)
    assert [sorted(order) for order in orders.values()] == [list(range(PEOPLE))] * len(orders)
    found = {name: [right(order, came, far=far) for far in (True, False)] for name, order in orders.items()}
    if held:
        assert min(when for when, _ in observer.arrived) >= asked.leaves(1)
        assert all(is_chance(each) for counts in found.values() for each in counts), found
    else:
        assert found["arrival"] == found["bytes of its files"] == [PEOPLE // 2] * 2
        assert not is_chance(PEOPLE // 2)
    assert (tmp_path / "log").read_bytes() == b""
