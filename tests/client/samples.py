"""Campaigns, people and servers for the tests."""

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from untrackable.client.client import Client
from untrackable.client.policy import Policy
from untrackable.client.sending import WINDOW, Address, Ready, Reply
from untrackable.encodings.encoding import Bit
from untrackable.encodings.numbers import IntegerRange
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept_bits import Bitwise
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.local_interface import Local
from untrackable.oblivious.sealing import OpeningKey
from untrackable.protocol.campaign import Campaign, Gateway, GatewayKey, Guarantee
from untrackable.theory.turns import Turns

START = 1_800_000_000
DAY = 86_400
HOME, WORK, NOWHERE = "home", "work", ""
SERVER = "http://127.0.0.1:9"
KEYS = {number: OpeningKey.from_bytes(number, os.urandom(32)) for number in (1, 2)}
GATEWAY = Gateway(
    (GatewayKey(KEYS[1].config.to_bytes(), first_round=1), GatewayKey(KEYS[2].config.to_bytes(), first_round=3))
)


def campaign(mechanism: Mechanism | None = None, **changes: Any) -> Campaign:
    """A question that everybody answers each day for a month, by a deck unless another mechanism is given."""
    made = mechanism or Deck(bits=2, slots=30, eps_report=0.05)
    guarantee = {"eps": 1.0, "delta": 1e-6, "values": "any", "gamma": 0.0, "tracking_delta": 0.0}
    return _made(made, guarantee, changes)


def turns_campaign(base: Local | None = None, **changes: Any) -> Campaign:
    """A question that each person answers once in a month, with eps 1 unless another base is given."""
    made = Fresh(base or NoisyInnerProduct(bits=2, eps=1.0))
    rounds = changes.setdefault("rounds", 30)
    turns = Turns(rounds=rounds, share=changes.pop("share", Fraction(1)), wipes=changes.pop("wipes", 0))
    return _made(made, {"eps": 1.0}, {"turns": turns, **changes})


def _made(made: Mechanism, guarantee: dict[str, Any], changes: dict[str, Any]) -> Campaign:
    bits = max(1, ((made.capacity or 4) - 1).bit_length())
    given: dict[str, Any] = {
        "question": "How many?",
        "encoding": Bit() if isinstance(made, Bitwise) else IntegerRange(low=0, high=(1 << min(16, bits)) - 1),
        "randomizer": made,
        "first_round": START,
        "round_seconds": DAY,
        "rounds": 30,
    }
    for name, value in changes.items():
        (guarantee if name in guarantee else given)[name] = value
    return Campaign(**given, guarantee=Guarantee(**guarantee))


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = START - 100) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def late_in(self, round: int) -> None:
        """Just before the end of a round, when its moment has passed for certain."""
        self.now = START + round * DAY - 1.0

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds


class Server:
    """Takes what is posted, and answers as it is told to, in turn; 200 for ever after."""

    def __init__(self, *replies: int | None) -> None:
        self.replies = list(replies)
        self.bodies: list[bytes] = []

    def __call__(self, address: Address, body: bytes, ready: Ready) -> Reply:
        if not ready("", address.host):
            return Reply(None)
        self.bodies.append(body)
        return Reply(self.replies.pop(0) if self.replies else 200)


def policy(**limits: Any) -> Policy:
    """What somebody allows who does not mind being recognised by attendance, unless limits say otherwise."""
    return Policy(**{"eps": 1.0, "delta": 1e-6, "every_round": True, **limits})


def client(folder: Path, asked: Campaign, clock: Callable[[], float], **limits: Any) -> Client:
    """A client of somebody who allows what a campaign of the samples needs, unless limits say otherwise."""
    return Client(asked, None, policy(pins=(asked.id,), **limits), folder=folder, clock=clock)


def send(member: Any, server: Server, clock: Clock, *places: str) -> str:
    """Send from these places, in turn; the last one for ever after."""
    left = list(places or (HOME,))
    found = member.send(
        SERVER,
        timeout=WINDOW,
        post=server,
        look=lambda host, port: left.pop(0) if len(left) > 1 else left[0],
        sleep=clock.sleep,
    )
    return str(found.name)


def round_of(body: bytes) -> int:
    """The round in a report's bytes."""
    return int.from_bytes(body[1:5], "little")


def nonce_of(body: bytes) -> bytes:
    """The nonce in a report's bytes."""
    return body[5:21]


def snapshot(folder: Path) -> dict[Path, bytes]:
    """Every file of a folder."""
    return {path: path.read_bytes() for path in folder.iterdir()}
