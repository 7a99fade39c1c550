"""Collectors with a gateway, and senders that remember what the collector acknowledged."""

import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.collector.loads import fresh
from tests.collector.servers import process
from tests.collector.test_faults import on_now, stored
from untrackable.client.sending import Address, Outcome, Post, sealed_post
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.protocol.campaign import Campaign, Gateway, GatewayKey
from untrackable.serving.server import ServerProcess

ELSEWHERE = "https://collect.example"
"""The collector's name for clients. Nobody ever connects to it."""


@dataclass
class Study:
    """A campaign, its collector's store and keys, and the port at which the collector listens."""

    folder: Path
    campaign: Campaign
    keys: GatewayKeys
    port: int

    leaves: Callable[[int], int] | None = None
    """When the reports of a round are released, if the relay holds them."""

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/x.db"

    @property
    def key_file(self) -> Path:
        return self.folder / "gateway.keys"

    @contextmanager
    def collector(self) -> Iterator[ServerProcess]:
        """The collector, always at the same port."""
        options = ("--port", str(self.port), "--gateway-keys", str(self.key_file))
        with process(self.url, *options, log=self.folder / "log") as server:
            yield server

    def post(self, configs: Sequence[bytes] | None = None) -> Post:
        """What a client sends with, if the campaign lists these keys."""
        listed = [key.config.to_bytes() for key in self.keys.keys] if configs is None else configs
        gateway = Gateway(tuple(GatewayKey(config, round) for round, config in enumerate(listed, start=1)))
        collector = Address.of(ELSEWHERE, self.campaign.id)
        return sealed_post(self.campaign.id, gateway, collector=collector, leaves=self.leaves, timeout=10.0)

    def stored(self) -> list[bytes]:
        """All reports that the collector has, as they were sent."""
        store = open_store(self.url)
        try:
            return stored(store)
        finally:
            store.close()


def study(folder: Path) -> Study:
    """A campaign whose first round is on, in a new store, with two keys."""
    asked, keys = on_now(), GatewayKeys().with_list(2, 30)
    found = Study(folder, asked, keys, free_port())
    store = open_store(found.url)
    create_campaign(store, asked.to_bytes())
    store.close()
    write_keys(found.key_file, keys)
    return found


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@dataclass
class Sealed:
    """What was sent, and what of it the collector acknowledged."""

    sent: set[bytes] = field(default_factory=set)
    acknowledged: set[bytes] = field(default_factory=set)
    refused: list[int] = field(default_factory=list)


class SealedSenders:
    """Threads that send one report after the other through a relay, each until it has an answer that counts."""

    def __init__(self, asked: Study, relay: Address, *, threads: int = 4) -> None:
        self.outcome, self._ending = Sealed(), threading.Event()
        self._study, self._relay = asked, relay
        self._threads = [threading.Thread(target=self._work, args=(asked.post(),)) for _ in range(threads)]

    def __enter__(self) -> "SealedSenders":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(60)

    def wait_for(self, more: int) -> None:
        """Until so many more reports were acknowledged."""
        wanted = len(self.outcome.acknowledged) + more
        wait_until(lambda: len(self.outcome.acknowledged) >= wanted)

    def _work(self, post: Post) -> None:
        while not self._ending.is_set():
            body = fresh(1)
            self.outcome.sent.add(body)
            reply = post(self._relay, body, lambda local, peer: True)
            while reply.outcome is None and not self._ending.is_set():
                time.sleep(0.02 * (1 + secrets.randbelow(3)))
                reply = post(self._relay, body, lambda local, peer: True)
            if reply.outcome is Outcome.ACCEPTED:
                self.outcome.acknowledged.add(body)
            elif reply.outcome is not None:
                self.outcome.refused.append(reply.status or 0)


def wait_until(come: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not come():
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.02)


def check(asked: Study, outcome: Sealed) -> None:
    """Nothing acknowledged is lost, nothing is counted twice, and nothing is there that nobody sent."""
    there = asked.stored()
    assert len(there) == len(set(there))
    assert outcome.acknowledged <= set(there) <= outcome.sent
    assert outcome.refused == []
