"""Ballots and the client: fetched before the turn is drawn, shown once, and never lost by a crash."""

import json
import os
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.ballots.samples import EXPIRES, register
from tests.client.samples import DAY, HOME, START, Clock, Server, client, policy, send, snapshot, turns_campaign
from untrackable.ballots.enrolment import Entitled, account_token
from untrackable.ballots.register import AlreadyIssued, NoMoreBallots, Register
from untrackable.client import ballot as ballots
from untrackable.client.client import Client, preview
from untrackable.client.job import done
from untrackable.client.ledger import read_ledger
from untrackable.client.state import State
from untrackable.errors import BallotError, CampaignRefused
from untrackable.protocol import wire
from untrackable.protocol.ballots import CampaignBallots, is_valid
from untrackable.protocol.campaign import Campaign

ROUNDS = 6


class Issuer:
    """An issuer that answers within the test, and can be down, or killed after it has signed."""

    def __init__(self, folder: Path, entitled: Entitled = Entitled.CODES, **changes: Any) -> None:
        self.register = register(folder, entitled, "issuer.ballots")
        issued = CampaignBallots("https://issuer.example", self.register.key, EXPIRES)
        self.asked = turns_campaign(rounds=ROUNDS, ballots=issued, **changes)
        self.clock = Clock()
        self.requests: list[bytes] = []
        self.down = self.loses_answers = False

    def ask(self, address: str, body: bytes, *, timeout: float = 60.0) -> tuple[int | None, bytes]:
        """Answer as `ballots/app.py` does."""
        assert address == f"https://issuer.example/ballots/{self.register.key.id}"
        given = json.loads(body)
        if self.down:
            return None, b""
        self.requests.append(bytes.fromhex(given["blinded"]))
        try:
            signed = self.register.issue(given["enrolment"], self.requests[-1], self.clock.now)
        except AlreadyIssued:
            return 409, b"{}"
        except NoMoreBallots:
            return 410, b"{}"
        except BallotError:
            return 403, b"{}"
        return (None, b"") if self.loses_answers else (200, json.dumps({"signature": signed.hex()}).encode())

    def client(self, folder: Path, enrolment: str) -> Client:
        """Somebody who is entitled by this."""
        limits = policy(pins=(self.asked.id,))
        return Client(self.asked, None, limits, folder=folder, clock=self.clock, enrolment=enrolment, ask=self.ask)

    def sent(self, person: Client) -> bytes | None:
        """What a client sends in all rounds, if it sends anything."""
        server = Server()
        for number in range(1, ROUNDS + 1):
            self.clock.late_in(number)
            send(person, server, self.clock, HOME)
        assert len(server.bodies) <= 1
        return server.bodies[0] if server.bodies else None


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    folder = tmp_path / "issuer"
    folder.mkdir()
    return Issuer(folder)


def ballot_in(body: bytes, asked: Campaign) -> bytes:
    (found,) = wire.of_campaign(asked).ballots(body)
    return found


def test_the_report_shows_a_ballot_that_the_issuer_never_saw(issuer: Issuer, tmp_path: Path) -> None:
    (code,) = issuer.register.new_codes(1)
    person = issuer.client(tmp_path / "me", code)
    person.answer(2)
    body = issuer.sent(person)
    assert body is not None
    assert len(body) == wire.of_campaign(issuer.asked).size
    ballot = ballot_in(body, issuer.asked)
    assert is_valid(issuer.register.key, issuer.asked.id, ballot)
    assert ballot[32:] not in issuer.requests
    assert len(issuer.requests) == 1


def test_the_ballot_is_fetched_whatever_the_turn_is(tmp_path: Path) -> None:
    """Half of these people have no turn. Each asks the issuer once, and for a ballot of their own."""
    issuer = Issuer(tmp_path, Entitled.ANYBODY, share=Fraction(1, 2))
    have: Counter[bool] = Counter()
    for number in range(24):
        person = issuer.client(tmp_path / str(number), "")
        person.answer(number % 4)
        assert len(issuer.requests) == number + 1
        states = list((tmp_path / str(number)).glob("*.state"))
        have[bool(states)] += 1
        person.answer((number + 1) % 4)
        assert len(issuer.requests) == number + 1
    assert min(have.values()) > 1  # The probability that fewer have or have not a turn is below 1e-5.
    assert len(set(issuer.requests)) == 24


def test_a_lost_answer_costs_nothing(issuer: Issuer, tmp_path: Path) -> None:
    (code,) = issuer.register.new_codes(1)
    person = issuer.client(tmp_path / "me", code)
    issuer.loses_answers = True
    for _ in range(3):
        with pytest.raises(BallotError, match="nothing was joined"):
            person.answer(2)
    assert read_ledger(tmp_path / "me").accounts == {}
    issuer.loses_answers = False
    issuer.client(tmp_path / "me", code).answer(1)
    assert len(set(issuer.requests)) == 1
    assert len(issuer.requests) == 4
    assert issuer.register.state().issued == 1
    assert issuer.sent(person) is not None


def test_an_issuer_that_is_down_delays_joining(issuer: Issuer, tmp_path: Path) -> None:
    (code,) = issuer.register.new_codes(1)
    person = issuer.client(tmp_path / "me", code)
    issuer.down = True
    with pytest.raises(BallotError, match="try again later"):
        person.answer(2)
    issuer.clock.now = START + 1.5 * DAY
    issuer.down = False
    person.answer(2)
    assert issuer.asked.id in read_ledger(tmp_path / "me").accounts


def test_wiped_storage_gets_no_second_ballot(issuer: Issuer, tmp_path: Path) -> None:
    (code,) = issuer.register.new_codes(1)
    issuer.client(tmp_path / "before", code).answer(2)
    after = issuer.client(tmp_path / "after", code)
    with pytest.raises(CampaignRefused, match="issued for this before"):
        after.answer(2)
    assert read_ledger(tmp_path / "after").accounts == {}


def test_a_copied_folder_has_the_same_ballot(issuer: Issuer, tmp_path: Path) -> None:
    """Before it has joined, so that each copy draws a turn of its own: the ballot counts once."""
    (code,) = issuer.register.new_codes(1)
    issuer.loses_answers = True
    with pytest.raises(BallotError):
        issuer.client(tmp_path / "one", code).answer(2)
    (tmp_path / "two").mkdir(mode=0o700)
    for path, content in snapshot(tmp_path / "one").items():
        with os.fdopen(os.open(tmp_path / "two" / path.name, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
    issuer.loses_answers = False
    shown = set()
    for name in ("one", "two"):
        person = issuer.client(tmp_path / name, code)
        issuer.clock.now = START - 100
        person.answer(2)
        body = issuer.sent(person)
        assert body is not None
        shown.add(ballot_in(body, issuer.asked)[:32])
    assert len(shown) == 1


def test_once_joined_nothing_connects_request_and_ballot(issuer: Issuer, tmp_path: Path) -> None:
    (code,) = issuer.register.new_codes(1)
    person = issuer.client(tmp_path / "me", code)
    issuer.loses_answers = True
    with pytest.raises(BallotError):
        person.answer(2)
    name = ballots.file_name(issuer.asked.id)
    secret = json.loads((tmp_path / "me" / name).read_bytes()[4:-32])["secret"]
    issuer.loses_answers = False
    person.answer(2)
    assert not (tmp_path / "me" / name).exists()
    assert not any(secret.encode() in content for content in snapshot(tmp_path / "me").values())
    held = State.read(person.folder, issuer.asked.id)
    assert held is not None
    assert issuer.sent(person) is not None
    kept = b"".join(snapshot(tmp_path / "me").values())
    assert held.ballot[:32].hex().encode() not in kept
    assert held.ballot[32:].hex().encode() not in kept


def test_a_client_that_is_killed_after_joining_forgets_the_request_at_its_next_look(
    issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = issuer.register.new_codes(1)
    person = issuer.client(tmp_path / "me", code)
    with monkeypatch.context() as patched:
        patched.setattr(type(person), "_forget_request", lambda self, ledger: None)
        person.answer(2)
    assert (tmp_path / "me" / ballots.file_name(issuer.asked.id)).exists()
    person.due()
    assert not (tmp_path / "me" / ballots.file_name(issuer.asked.id)).exists()
    assert issuer.sent(person) is not None


@pytest.mark.parametrize("code", ["", "0000-0000-0000-0000", "no code"])
def test_who_is_not_entitled_joins_nothing(issuer: Issuer, tmp_path: Path, code: str) -> None:
    with pytest.raises(CampaignRefused, match="does not entitle"):
        issuer.client(tmp_path / "me", code).answer(2)
    assert read_ledger(tmp_path / "me").accounts == {}


def test_nobody_joins_after_the_ballots_have_expired(issuer: Issuer, tmp_path: Path) -> None:
    """Even if rounds are left, and without asking the issuer."""
    long = turns_campaign(rounds=60, ballots=issuer.asked.ballots)
    clock = Clock(EXPIRES + 1.0)
    person = client(tmp_path / "me", long, clock)
    with pytest.raises(CampaignRefused, match="no more ballots"):
        person.answer(2)
    assert "no more ballots" in str(preview(tmp_path / "me", long, 2, policy(), clock=clock).refusal)
    assert issuer.requests == []


def test_a_campaign_that_is_refused_asks_nobody(issuer: Issuer, tmp_path: Path) -> None:
    limits = policy(pins=(issuer.asked.id,), eps=0.5)
    person = Client(issuer.asked, None, limits, folder=tmp_path / "me", clock=issuer.clock, ask=issuer.ask)
    with pytest.raises(CampaignRefused, match="budget"):
        person.answer(2)
    assert issuer.requests == []


@pytest.mark.parametrize("content", [b"", b"{}", b'{"signature": "zz"}', b'{"signature": 7}', b"[]"])
def test_an_answer_that_is_no_signature_joins_nothing(issuer: Issuer, tmp_path: Path, content: bytes) -> None:
    limits = policy(pins=(issuer.asked.id,))
    person = Client(
        issuer.asked, None, limits, folder=tmp_path / "me", clock=issuer.clock, ask=lambda *given: (200, content)
    )
    with pytest.raises(BallotError, match="not a signature"):
        person.answer(2)
    assert read_ledger(tmp_path / "me").accounts == {}


def test_another_key_signs_nothing_that_is_taken(issuer: Issuer, tmp_path: Path) -> None:
    """So a key that is made for one person would be noticed."""
    (tmp_path / "other").mkdir()
    other = register(tmp_path / "other", Entitled.ANYBODY)

    def ask(address: str, body: bytes) -> tuple[int, bytes]:
        blinded = bytes.fromhex(json.loads(body)["blinded"])
        try:
            signed = other.issue("", blinded, START)
        except BallotError:  # It is no number below that key's modulus.
            signed = bytes(256)
        return 200, json.dumps({"signature": signed.hex()}).encode()

    limits = policy(pins=(issuer.asked.id,))
    person = Client(issuer.asked, None, limits, folder=tmp_path / "me", clock=issuer.clock, ask=ask)
    with pytest.raises(BallotError, match="not a signature"):
        person.answer(2)


def test_a_job_brings_the_token_of_an_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = Issuer(tmp_path, Entitled.ACCOUNTS)
    monkeypatch.setattr("untrackable.client.sending.ask", issuer.ask)
    register: Register = issuer.register
    token = account_token(register.account_secret(), register.key.id, "17", int(issuer.clock.now) + 60)
    job = {
        "answer": [2],
        "campaign": issuer.asked.to_bytes(),
        "enrolment": token,
        "folder": str(tmp_path / "me"),
        "newcomer": True,
        "policy": policy().limits(),
        "server": "http://127.0.0.1:9",
    }
    assert done(job, timeout=0.1, clock=issuer.clock).name == "NOTHING"
    assert register.state().issued == 1
    assert issuer.asked.id in read_ledger(tmp_path / "me").accounts


def test_a_preview_has_the_length_of_a_report_and_asks_nobody(issuer: Issuer, tmp_path: Path) -> None:
    shown = preview(tmp_path / "me", issuer.asked, 2, policy(), clock=issuer.clock)
    assert len(shown.example) == wire.of_campaign(issuer.asked).size
    assert "1 with the answer and its noise, and 272 with the rest of a ballot" in " ".join(shown.words)
    assert issuer.requests == []
