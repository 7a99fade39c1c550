"""An issuer, a relay and a collector put all their logs together: do they find out whose ballot a report shows?

The issuer has every enrolment in its order, every request and every signature. The collector has every report
with its ballot, as they arrive and in its files. A report also says who sent it, which only the test knows how to
read, so that every guess can be marked. With a relay that holds, guessing is as good as tossing coins.
"""

import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.ballots.samples import EXPIRES
from tests.client.samples import HOME, policy
from tests.relay.numbered_people import EPS, SIZE, sender, who_is_there
from tests.relay.sealed_senders import free_port, wait_until
from tests.relay.test_joined_logs import DELAY, PEOPLE, SECONDS, Observer, is_chance, right
from tests.relay.test_releases import slowly
from untrackable.ballots.enrolment import Entitled
from untrackable.ballots.register import Register
from untrackable.client.client import Client
from untrackable.client.sending import Outcome
from untrackable.oblivious.binary_http import BinaryRequest
from untrackable.oblivious.sealing import SEALED_LENGTH, open_request
from untrackable.protocol import ballots
from untrackable.protocol.ballots import EXPONENT, NUMBER, CampaignBallots, is_valid
from untrackable.protocol.campaign import Campaign, HoldingRelay
from untrackable.protocol.wire import of_campaign

pytestmark = pytest.mark.slow


@dataclass
class IssuerLog:
    """An issuer that writes everything down: who asked in which order, with which request, and what it signed."""

    register: Register
    codes: list[str]
    came: list[int] = field(default_factory=list)
    requests: dict[int, int] = field(default_factory=dict)
    signed: dict[int, int] = field(default_factory=dict)

    def ask(self, address: str, body: bytes) -> tuple[int, bytes]:
        given = json.loads(body)
        number, blinded = self.codes.index(given["enrolment"]), bytes.fromhex(given["blinded"])
        signature = self.register.issue(given["enrolment"], blinded)
        self.came.append(number)
        self.requests[number] = int.from_bytes(blinded, "big")
        self.signed[number] = int.from_bytes(signature, "big")
        return 200, json.dumps({"signature": signature.hex()}).encode()


class BallotObserver(Observer):
    """A collector that also writes down the ballots."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: Campaign | None = None
        self.ballots: dict[int, bytes] = {}

    def pass_on(self, request: bytes) -> bytes | None:
        assert self.asked is not None
        opened = open_request(self.keys.opening_keys(), request[-SEALED_LENGTH:])
        wire, report = of_campaign(self.asked), BinaryRequest.from_bytes(opened.content).content
        number = sender(wire.decode(report).payloads.tobytes()[:SIZE])
        self.arrived.append((time.time(), number))
        (self.ballots[number],) = wire.ballots(report)
        return slowly(self.port, request)


Numbers = dict[int, int]


def distances(modulus: int) -> dict[str, Callable[[int, int], int]]:
    """Ways to say how near a number of the issuer's is to one of the collector's."""
    return {
        "difference": lambda one, other: min((one - other) % modulus, (other - one) % modulus),
        "differing bits": lambda one, other: (one ^ other).bit_count(),
        "quotient": lambda one, other: one * pow(other, -1, modulus) % modulus,
        "first bytes": lambda one, other: abs((one >> 2000) - (other >> 2000)),
        "Jacobi symbol": lambda one, other: int(jacobi(one, modulus) != jacobi(other, modulus)),
    }


def jacobi(number: int, modulus: int) -> int:
    """The Jacobi symbol, which anybody can compute."""
    number, result = number % modulus, 1
    while number:
        while number % 2 == 0:
            number //= 2
            result = -result if modulus % 8 in (3, 5) else result
        number, modulus = modulus, number
        result = -result if number % 4 == modulus % 4 == 3 else result
        number %= modulus
    return result if modulus == 1 else 0


def matched(ours: Numbers, theirs: Numbers, near: Callable[[int, int], int]) -> int:
    """How many of a hundred guesses are right: two people and two ballots are joined so that they are nearest."""
    random, found = secrets.SystemRandom(), 0
    for one, other in zip(range(0, PEOPLE, 2), range(1, PEOPLE, 2), strict=True):
        straight = near(ours[one], theirs[one]) + near(ours[other], theirs[other])
        crossed = near(ours[one], theirs[other]) + near(ours[other], theirs[one])
        found += random.random() < 0.5 if straight == crossed else straight < crossed
    return found


def join(asked: Campaign, log: IssuerLog, relay: str, folder: Path) -> list[Client]:
    """Everybody joins, in an order that the issuer sees."""
    allowed = policy(eps=EPS, relays=(relay,), pins=(asked.id,))
    clients = [
        Client(asked, None, allowed, folder=folder / f"{number}", enrolment=log.codes[number], ask=log.ask)
        for number in range(PEOPLE)
    ]
    order = list(range(PEOPLE))
    secrets.SystemRandom().shuffle(order)
    for number in order:
        clients[number].answer(number)
    assert log.came == order
    return clients


def send(asked: Campaign, clients: Sequence[Client], collector: int) -> None:
    """Everybody sends at some moment of the round."""
    random = secrets.SystemRandom()
    moments = [asked.first_round + random.uniform(0.2, SECONDS - 2.0) for _ in clients]
    for number in sorted(range(PEOPLE), key=moments.__getitem__):
        time.sleep(max(0.0, moments[number] - time.time()))
        outcome = clients[number].send(f"http://127.0.0.1:{collector}", look=lambda host, port: HOME)
        assert outcome is Outcome.ACCEPTED


def test_all_logs_together_match_no_ballot_with_its_person(tmp_path: Path) -> None:
    observer, relay_port = BallotObserver(tmp_path), free_port()
    register = Register.make(tmp_path / "issuer.ballots", Entitled.CODES, EXPIRES)
    log = IssuerLog(register, register.new_codes(PEOPLE))
    relay = f"http://127.0.0.1:{relay_port}/gateways/study"
    issued = CampaignBallots("https://issuer.example", register.key, EXPIRES)
    asked = who_is_there(int(time.time()) + 15, SECONDS, 1, observer.keys, HoldingRelay(relay, DELAY))
    observer.asked = asked = replace(asked, ballots=issued)
    with observer.watching(asked, relay_port):
        clients = join(asked, log, relay, tmp_path / "people")
        assert time.time() < asked.first_round
        send(asked, clients, observer.port)
        wait_until(lambda: len(observer.arrived) == PEOPLE)
        orders = observer.orders(asked)
    assert all(is_valid(register.key, asked.id, ballot) for ballot in observer.ballots.values())
    modulus, shown = register.key.modulus, observer.ballots
    signatures = {number: int.from_bytes(ballot[NUMBER:], "big") for number, ballot in shown.items()}
    messages = {number: pow(signature, EXPONENT, modulus) for number, signature in signatures.items()}
    found = {
        f"{name}, {'far' if far else 'near'}": right(order, log.came, far=far)
        for name, order in orders.items()
        for far in (True, False)
    }
    for name, near in distances(modulus).items():
        found[f"requests by {name}"] = matched(log.requests, messages, near)
        found[f"signatures by {name}"] = matched(log.signed, signatures, near)
    assert len(found) == 16
    assert all(map(is_chance, found.values())), found
    # Whoever joins any request with any ballot finds a blinding that explains it.
    for one, other in ((0, 0), (0, 1), (17, 99), (199, 3)):
        inverse = signatures[other] * pow(log.signed[one], -1, modulus) % modulus
        assert ballots._blinded(messages[other], inverse, modulus) == log.requests[one]
    assert (tmp_path / "log").read_bytes() == b""


def test_the_same_guesses_are_right_about_requests_that_are_not_blinded() -> None:
    modulus = (1 << 2047) + 1
    numbers = {number: secrets.randbelow(modulus) | 1 for number in range(PEOPLE)}
    for name in ("difference", "differing bits", "first bytes"):
        assert matched(numbers, numbers, distances(modulus)[name]) == PEOPLE // 2
    assert matched(numbers, numbers, distances(modulus)["Jacobi symbol"]) > 0.6 * PEOPLE / 2
    assert not is_chance(PEOPLE // 2)
