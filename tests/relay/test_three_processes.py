"""Client, relay and collector as processes: the collector has no address of a client, and the relay no report."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.cli.test_ballots import serving
from tests.client.test_crowd_campaigns import crowded, one_turn
from tests.collector.servers import process
from tests.collector.test_faults import stored
from tests.relay.gateways import ROOT, relay_process
from untrackable import strict_json
from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.sealing import SEALED_ANSWER_LENGTH, SEALED_LENGTH
from untrackable.protocol.ballots import CampaignBallots
from untrackable.protocol.campaign import Campaign, Gateway
from untrackable.theory.turns import Turns

PEOPLE = ("127.77.1.2", "127.77.1.3", "127.77.1.4")
RELAY, COLLECTOR, BETWEEN = "127.77.2.2", "127.77.3.2", "127.77.3.3"

CLIENT = """
import socket, sys, threading
from pathlib import Path

own = threading.local()
received = Path(sys.argv[4]).open("wb")

class Recognisable(socket.socket):
    def connect(self, address):
        self.bind((own.address, 0))
        super().connect(address)
        own.port = self.getsockname()[1]

    def recv(self, *given):
        data = super().recv(*given)
        received.write(data)
        return data

socket.socket = Recognisable

from tests.client.samples import HOME, Clock, policy
from untrackable import strict_json
from untrackable.client.client import Client
from untrackable.protocol.campaign import Campaign

asked = Campaign.from_bytes(Path(sys.argv[1]).read_bytes())
told = []

def live(address):
    own.address = address
    clock = Clock(asked.first_round - 100)
    allowed = policy(eps=6.0, relays=(sys.argv[2],), pins=(asked.id,))
    client = Client(asked, None, allowed, folder=Path(sys.argv[5]) / address, clock=clock)
    client.answer(3)
    clock.now = client.due()
    outcome = client.send(sys.argv[3], look=lambda host, port: HOME, sleep=clock.sleep)
    told.append({"outcome": outcome.name, "port": own.port})

threads = [threading.Thread(target=live, args=(address,)) for address in sys.argv[6:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
received.close()
print(strict_json.write(told))
"""


class Tap:
    """Passes bytes on between the relay and the collector, and keeps all of them and where they came from."""

    def __init__(self, to: tuple[str, int]) -> None:
        self.passed: list[bytes] = []
        self.peers: set[str] = set()
        self._to, self._sockets = to, [socket.create_server((BETWEEN, 0))]
        self.address = f"http://{BETWEEN}:{self._sockets[0].getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, peer = self._sockets[0].accept()
                self.peers.add(peer[0])
                far = socket.create_connection(self._to, timeout=60)
                self._sockets += [near, far]
                for one, other in ((near, far), (far, near)):
                    self._threads.append(threading.Thread(target=self._pass, args=(one, other)))
                    self._threads[-1].start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                self.passed.append(data)
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Once relay and collector have ended."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(30)
        for each in self._sockets:
            each.close()


@contextlib.contextmanager
def tapped(to: str) -> Iterator[Tap]:
    host, port = urlsplit(to).netloc.split(":")
    tap = Tap((host, int(port)))
    try:
        yield tap
    finally:
        tap.close()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextlib.contextmanager
def issuing(folder: Path, asked: Campaign, balloted: bool) -> Iterator[Campaign]:
    """The campaign, with ballots from an issuer that is a process of its own if it is to have them."""
    if not balloted:
        yield asked
        return
    register = Register.make(folder / "issuer.ballots", Entitled.ANYBODY, asked.first_round + 86_400)
    with serving(folder / "issuer.ballots") as issuer:
        yield replace(asked, ballots=CampaignBallots(issuer, register.key, register.expires))
    register.close_file()


@pytest.mark.parametrize("balloted", [False, True], ids=["in every round", "one turn with a ballot"])
def test_the_collector_has_no_address_and_the_relay_no_report(tmp_path: Path, balloted: bool) -> None:
    at_issuer, at_collector, at_relay, at_people = (
        tmp_path / name for name in ("issuer", "collector", "relay", "people")
    )
    for folder in (at_issuer, at_collector, at_relay, at_people):
        folder.mkdir()
    keys = GatewayKeys().with_list(2, 30)
    write_keys(tmp_path / "gateway.keys", keys)
    gateway = Gateway.from_json(keys.public_list(1))
    plain = one_turn() if balloted else crowded()
    if plain.turns is not None:
        plain = replace(plain, rounds=1, turns=Turns(rounds=1))
    asked = replace(plain, first_round=int(time.time()) - 600, gateway=gateway)
    with issuing(at_issuer, asked, balloted) as whole:
        search(whole, tmp_path, at_collector, at_relay, at_people)
        written = b"\0".join(files(at_issuer).values())
    addresses = [mark for address in PEOPLE for mark in (address.encode(), socket.inet_aton(address))]
    assert not any(mark in written for mark in addresses)
    assert bool(written) == balloted


def search(asked: Campaign, tmp_path: Path, at_collector: Path, at_relay: Path, at_people: Path) -> None:
    """Let people send, and search every byte."""
    (tmp_path / "campaign.json").write_bytes(asked.to_bytes())
    url = f"sqlite:///{at_collector}/x.db"
    store = open_store(url)
    create_campaign(store, asked.to_bytes(), published=True)
    store.close()
    served = ("--host", COLLECTOR, "--gateway-keys", str(tmp_path / "gateway.keys"))
    with (
        process(url, *served, log=at_collector / "log") as collector,
        tapped(collector.address) as tap,
        relay_process(
            *("--host", RELAY, "--gateway", f"study={tap.address}"),
            log=tmp_path / "relay-log",
            folder=at_relay,
        ) as relay,
    ):
        command = [sys.executable, "-c", CLIENT, str(tmp_path / "campaign.json")]
        command += [f"{relay.address}/gateways/study", collector.address, str(tmp_path / "received")]
        command += [str(at_people), *PEOPLE]
        path = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        run = subprocess.run(command, env=path, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
        assert run.returncode == 0, run.stderr
        told = strict_json.parse(run.stdout)
        written = files(at_collector)  # while the round is open
        for where in ("/metrics", "/", f"/campaigns/{asked.id}/rounds"):
            written[where] = httpx.get(f"{collector.address}{where}", timeout=30).content
        assert relay.end() == 0
        assert collector.end() == 0
    assert [each["outcome"] for each in told] == ["ACCEPTED"] * len(PEOPLE)
    store = open_store(url)
    bodies = stored(store)
    store.close()
    assert len(bodies) == len(PEOPLE)
    assert b"reports_received_total 3\n" in written["/metrics"]
    written |= {f"ended {name}": data for name, data in files(at_collector).items()}
    between = b"\0".join(tap.passed)
    by_collector = {**written, "stdout": collector.output, "to and from the relay": between}
    relayed = {"between": between, "to clients": (tmp_path / "received").read_bytes(), "stdout": relay.output}
    by_relay = {**relayed, "log": (tmp_path / "relay-log").read_bytes(), **files(at_relay)}

    everywhere = b"\0".join(by_collector.values())
    assert all(body[5:21] in everywhere for body in bodies), "the search finds what is there"
    assert between.count(b"POST /.well-known/ohttp-gateway ") == len(PEOPLE)
    assert tap.peers.isdisjoint(PEOPLE)
    assert tap.peers
    addresses = [mark for address in PEOPLE for mark in (address.encode(), socket.inet_aton(address))]
    addresses += [mark[::-1] for mark in addresses if len(mark) == 4] + [b"127.77.1"]
    ports = [str(each["port"]).encode() for each in told if not tap.address.endswith(f":{each['port']}")]
    assert not found(by_collector, addresses)
    assert of_all({"told": run.stdout.encode(), **by_collector}, ports) == ["told"]
    assert not found(by_relay, addresses)
    assert not found(by_relay, [body[5:] for body in bodies] + [body[5:21] for body in bodies])
    names = [asked.id.encode(), bytes.fromhex(asked.id), b"campaigns", b"reports"]
    assert not found(by_relay, names)
    assert by_relay["log"] == b""
    assert files(at_relay) == {}
    lengths = re.findall(rb"content-length: (\d+)\r\n", between, re.I)
    assert sorted(lengths) == [b"%d" % SEALED_LENGTH] * 3 + [b"%d" % SEALED_ANSWER_LENGTH] * 3


def of_all(data: dict[str, bytes], ports: list[bytes]) -> list[str]:
    """What has the port of everybody. By chance, something has the five digits of one, but not of all."""
    assert len(ports) > 1
    whole = [re.compile(rb"(?<![0-9.])%s(?![0-9.])" % port) for port in ports]
    return [name for name, written in data.items() if all(port.search(written) for port in whole)]


def found(data: dict[str, bytes], marks: list[bytes]) -> list[tuple[str, bytes]]:
    return [(name, mark) for name, written in data.items() for mark in marks if mark in written]
