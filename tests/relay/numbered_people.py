"""A question whose reports say who sent them, so that tests see who was counted. Nobody would ask it like this.

Everybody's answer is their own number, and a report tells it: it has as many independent bits of it as it has bits,
and lies with probability 10^-11 at most.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.collector.servers import process
from tests.relay.gateways import relay_process
from tests.relay.sealed_senders import free_port
from tests.relay.test_releases import left
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, Store
from untrackable.encodings.numbers import IntegerRange
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, Guarantee, HoldingRelay
from untrackable.serving.server import ServerProcess
from untrackable.theory.turns import Turns

BITS, EPS = 8, 32.0
MOST = 1 << BITS
SIZE = (BITS * BITS + BITS) // 8
"""The number of bytes of an answer."""


def who_is_there(begin: int, seconds: int, rounds: int, keys: GatewayKeys, held: HoldingRelay | None) -> Campaign:
    """The campaign. Each person answers once, in one of the rounds."""
    return Campaign(
        question="Who is there?",
        encoding=IntegerRange(low=0, high=MOST - 1),
        randomizer=Fresh(NoisyInnerProduct(bits=BITS, eps=EPS, width=BITS)),
        first_round=begin,
        round_seconds=seconds,
        rounds=rounds,
        turns=Turns(rounds=rounds),
        guarantee=Guarantee(eps=EPS, crowd=CrowdGuarantee(eps=EPS, delta=1e-6, reports=2)),
        gateway=replace(Gateway.from_json(keys.public_list(1)), relay=held),
    )


def sender(answer: bytes) -> int:
    """The only number that gives all the answers of a report."""
    packed = int.from_bytes(answer, "little")
    vectors = [packed >> (BITS + BITS * place) & (MOST - 1) for place in range(BITS)]
    [found] = [
        number
        for number in range(MOST)
        if all((vector & number).bit_count() % 2 == packed >> place & 1 for place, vector in enumerate(vectors))
    ]
    return found


def answers(store: Store, asked: Campaign, round: int) -> dict[int, bytes]:
    """The answers in a round that is not closed, by who sent them, in the order of the store."""
    data = b"".join(store.reports(Round(asked.id, round)))
    found = [data[at : at + SIZE] for at in range(0, len(data), SIZE)]
    named = {sender(answer): answer for answer in found}
    assert len(named) == len(found), "somebody was counted twice"
    return named


@dataclass(frozen=True)
class ShortRounds:
    """The question in rounds of seconds, with a collector and a relay that holds. Both are killed in each round."""

    folder: Path
    asked: Campaign
    relay: str
    relay_port: int
    port: int

    @staticmethod
    def begin_in(wait: int, folder: Path, *, seconds: int, rounds: int, delay: int) -> "ShortRounds":
        """Rounds that begin in so many seconds."""
        keys, port, relay_port = GatewayKeys().with_list(1, rounds), free_port(), free_port()
        relay = f"http://127.0.0.1:{relay_port}/gateways/study"
        asked = who_is_there(int(time.time()) + wait, seconds, rounds, keys, HoldingRelay(relay, delay))
        write_keys(folder / "gateway.keys", keys)
        made = ShortRounds(folder, asked, relay, relay_port, port)
        store = made.store()
        create_campaign(store, asked.to_bytes(), published=True)
        store.close()
        return made

    @property
    def collector(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def numbers(self) -> range:
        """The rounds."""
        return range(1, (self.asked.rounds or 0) + 1)

    def store(self) -> Store:
        return open_store(f"sqlite:///{self.folder}/x.db")

    @contextmanager
    def served(self) -> Iterator[tuple[ServerProcess, ServerProcess]]:
        """The collector and the relay, always at the same ports and with the same files."""
        keys = ("--gateway-keys", str(self.folder / "gateway.keys"))
        held = ("--hold-in", str(self.folder / "held.db"), "--release-every", "1", "--release-ahead", "1")
        at = ("--port", str(self.relay_port), "--gateway", f"study={self.collector}", "--per-minute", "100000")
        with (
            process(
                f"sqlite:///{self.folder}/x.db", "--port", str(self.port), *keys, "--sweep", "3600"
            ) as collector,
            relay_process(*at, *held) as relay,
        ):
            yield collector, relay

    def await_start(self) -> None:
        """Wait until the collector answers for the first time."""
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port)):
                    return
            except ConnectionRefusedError:
                time.sleep(0.1)

    def go_on_with_kills(self, people: Callable[[], object]) -> None:
        """All rounds, and what follows until people are done and all is released.

        Both are killed twice in every round: just after a release has begun, and while reports come. On a slow
        machine, they are not killed again before they have started.
        """
        moments = [moment for number in self.numbers for moment in self._kills(number)]
        while moments:
            with self.served() as running:
                moments = [moment for moment in moments if moment > time.time()]
                if moments:
                    time.sleep(max(0.0, moments.pop(0) - time.time()))
                    for each in running:
                        each.kill()
                    time.sleep(0.3)
        with self.served():
            people()
            time.sleep(max(0.0, self.asked.leaves(self.numbers[-1]) - time.time()))
        for _ in range(30):
            if not left(self.folder):
                return
            with self.served():
                time.sleep(2)
        raise AssertionError("this took too long")

    def _kills(self, number: int) -> tuple[float, float]:
        """When both are killed in a round."""
        return self.asked.leaves(number - 1) + 0.6, self.asked.begins(number) + 0.6 * self.asked.round_seconds

    def counted(self) -> list[int]:
        """Everybody who is counted when the rounds are closed, as often as that is."""
        store = self.store()
        found = [[*answers(store, self.asked, number)] for number in self.numbers]
        for number in self.numbers:
            close_round(store, self.asked, number)
        assert [each.reports for each in store.rounds(self.asked.id)] == [len(each) for each in found]
        store.close()
        return [number for each in found for number in each]
