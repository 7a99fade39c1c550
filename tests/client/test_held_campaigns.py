"""Campaigns whose relay holds reports: they are sent at any time of their round, until the relay has them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import DAY, HOME, KEYS, NOWHERE, SERVER, START, Clock, client, policy
from tests.client.test_crowd_campaigns import ALONE, crowded, killed, one_turn
from tests.client.test_sealed_post import Relay, http
from untrackable.client.client import LONGEST, Client, SendTimes, members
from untrackable.client.ledger import Account, opened_ledger, read_ledger, store_policy
from untrackable.client.sending import Outcome
from untrackable.encodings.numbers import IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.errors import CampaignRefused
from untrackable.oblivious.binary_http import BinaryRequest
from untrackable.oblivious.sealing import open_request
from untrackable.protocol.campaign import Campaign, HoldingRelay
from untrackable.protocol.wire import round_of

DELAY = 600
TAKEN = http(202, "text/plain", b"")


def held_by(asked: Campaign, address: str) -> Campaign:
    assert asked.gateway is not None
    return replace(asked, gateway=replace(asked.gateway, relay=HoldingRelay(address, DELAY)))


class Person:
    """Somebody whose turn lies ahead, and a relay on this machine."""

    def __init__(self, folder: Path, relay: Relay, asked: Campaign) -> None:
        self.clock, self.relay = Clock(), relay
        self.url = f"http://127.0.0.1:{relay.port}/gateways/study"
        self.asked = held_by(asked, self.url)
        for number in range(200):
            self.folder = folder / str(number)
            self.member: Client = client(self.folder, self.asked, self.clock, relays=(self.url,), **ALONE)
            self.member.answer(1)
            if self.member.due() is not None:
                return
        raise AssertionError("nobody has a turn ahead")

    def send(self, place: str = HOME) -> str:
        """What a program does that runs now: it knows nothing of earlier runs."""
        (found, *_) = members(self.folder, clock=self.clock) or [self.member]
        return found.send(SERVER, look=lambda host, port: place, sleep=self.clock.sleep).name

    def reports(self) -> list[bytes]:
        """What arrived at the relay, opened."""
        opened = [open_request(KEYS, sealed).content for sealed in self.relay.bodies()]
        return [BinaryRequest.from_bytes(content).content for content in opened]

    def paths(self) -> set[str]:
        return {request.split(b" ")[1].decode() for request in self.relay.seen}


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    found = Relay(lambda request: TAKEN)
    yield found
    found.close()


@pytest.fixture
def person(tmp_path: Path, relay: Relay) -> Person:
    return Person(tmp_path, relay, one_turn())


@pytest.mark.parametrize("late", [0.0, 40.0, DAY / 2, DAY - 1.0])
def test_a_report_is_sent_whenever_in_its_round_the_program_runs_and_once(person: Person, late: float) -> None:
    due = person.member.due()
    assert due is not None
    assert (due - START) % DAY == 0, "from the start of its round on"
    person.clock.now = due - 1
    assert person.send() == "NOTHING"
    person.clock.now = due + late
    assert person.send() == "ACCEPTED"
    assert [person.send() for _ in range(3)] == ["NOTHING"] * 3
    (report,) = person.reports()
    assert person.asked.begins(round_of(report)) == due
    assert person.paths() == {f"/gateways/study/releases/{int(due) + DAY + DELAY}"}
    assert read_ledger(person.folder).accounts[person.asked.id] == Account(person.asked.to_bytes())


def test_what_was_not_delivered_is_tried_again_until_the_round_is_over(person: Person) -> None:
    person.clock.now = person.member.due() or 0
    person.relay.reply = lambda request: http(503, "application/problem+json", b"{}")
    assert person.send() == "LATER"
    assert person.send(place=NOWHERE) == "OFFLINE"
    person.clock.now += DAY / 2
    killed(person.member)
    person.relay.reply = lambda request: TAKEN
    assert person.send(place="elsewhere") == "ACCEPTED"
    assert len(person.relay.seen) > 2
    assert len(set(person.relay.bodies())) == len(person.relay.seen), "each attempt is sealed anew"
    assert len(set(person.reports())) == 1, "and has the same nonce, so it counts once"
    assert person.send() == "NOTHING"


def late_reply(person: Person, then: Callable[[], object]) -> str:
    """What is said of a report that the relay does not take, if something happens before its first answer."""

    def reply(request: bytes) -> bytes:
        then()
        return http(404, "application/problem+json", b"{}")

    person.clock.now = person.member.due() or 0
    person.relay.reply = reply
    return person.send()


def test_somebody_who_left_meanwhile_is_not_told_of_another_try(person: Person) -> None:
    def leave() -> None:
        with opened_ledger(person.member.folder, person.clock()) as ledger:
            person.member._finish(ledger)  # Leaving waits for what is being sent, at most this long.

    assert late_reply(person, leave) == "GIVEN_UP"
    assert person.send() == "NOTHING"


@pytest.mark.parametrize("kind", [one_turn, crowded])
def test_a_round_that_ended_meanwhile_has_no_other_try(
    kind: Callable[[], Campaign], tmp_path: Path, relay: Relay
) -> None:
    person = Person(tmp_path, relay, kind())

    def end() -> None:
        person.clock.now = person.asked.begins(person.asked.last_begun(person.clock()) + 1) + 1

    assert late_reply(person, end) == "GIVEN_UP"


def test_after_its_round_a_report_is_not_sent(person: Person) -> None:
    person.clock.now = person.member.due() or 0
    person.relay.reply = lambda request: http(503, "application/problem+json", b"{}")
    assert person.send() == "LATER"
    tried = len(person.relay.seen)
    person.clock.now = (person.clock.now // DAY + 1) * DAY + (START % DAY)
    assert person.send() == "NOTHING"
    assert len(person.relay.seen) == tried


@pytest.mark.parametrize(
    "said",
    [
        http(200, "message/ohttp-res", bytes(800)),
        http(204, "text/plain", b""),
        http(404, "application/problem+json", b"{}"),
        http(410, "application/problem+json", b"{}"),
        http(307, "text/plain", b""),
    ],
)
def test_only_its_acknowledgement_counts(person: Person, said: bytes) -> None:
    person.relay.reply = lambda request: said
    person.clock.now = person.member.due() or 0
    assert person.send() == "LATER"
    person.relay.reply = lambda request: TAKEN
    assert person.send() == "ACCEPTED"


def test_leaving_ends_it(person: Person) -> None:
    person.clock.now = person.member.due() or 0
    killed(person.member)
    person.member.leave()
    assert person.send() == "NOTHING"
    assert person.relay.seen == []


def test_every_round_is_sent_once_even_late(tmp_path: Path, relay: Relay) -> None:
    person = Person(tmp_path, relay, crowded())
    for round in range(1, 6):
        person.clock.late_in(round)
        assert person.send() == "ACCEPTED"
        assert person.send() == "NOTHING"
    assert [round_of(report) for report in person.reports()] == [1, 2, 3, 4, 5]
    assert person.member.due() is None


def test_with_looks_it_is_sent_in_the_last_one(tmp_path: Path, relay: Relay) -> None:
    path = AnswerPath(of=IntegerRange(low=0, high=1), looks=2)
    person = Person(tmp_path, relay, replace(one_turn(), encoding=path))
    due = person.member.due() or 0
    assert (due - START) % DAY == DAY / 2
    person.clock.now = due - 1
    assert person.send() == "NOTHING"
    person.clock.now = due + DAY / 2 - 1
    assert person.send() == "ACCEPTED"
    assert person.paths() == {f"/gateways/study/releases/{int(due + DAY / 2) + DELAY}"}


def test_the_policy_must_name_the_relay_of_the_campaign(tmp_path: Path, relay: Relay) -> None:
    asked, folder = held_by(one_turn(), "https://relay.example/gateways/study"), tmp_path / "c"
    other = "https://other.example/gateways/study"
    with pytest.raises(CampaignRefused, match=f"policy set --relay {other} --relay https://relay.example"):
        client(folder, asked, Clock(), relays=(other,), **ALONE).answer(1)
    assert read_ledger(folder).accounts == {}
    client(folder, asked, Clock(), relays=(other, "https://relay.example/gateways/study"), **ALONE).answer(1)
    assert asked.id in read_ledger(folder).accounts


def test_no_other_relay_is_ever_used(person: Person) -> None:
    person.clock.now = person.member.due() or 0
    store_policy(person.folder, policy(relays=("https://other.example",), **ALONE), clock=person.clock)
    with pytest.raises(CampaignRefused, match="your policy does not name its relay http"):
        person.send()
    assert person.relay.seen == []


def test_a_relay_at_the_collector_is_refused(tmp_path: Path, relay: Relay) -> None:
    person = Person(tmp_path, relay, one_turn())
    person.clock.now = person.member.due() or 0
    with pytest.raises(CampaignRefused, match="or that is the collector itself"):
        person.member.send(f"http://127.0.0.1:{relay.port}", look=lambda host, port: HOME)
    assert relay.seen == []


def test_processes_that_stay_do_not_all_send_at_the_start_of_a_round(tmp_path: Path, relay: Relay) -> None:
    person = Person(tmp_path, relay, crowded())
    waits = []
    for _ in range(30):
        _, planned = SendTimes(person.clock).tend(person.member, lambda: Outcome.NOTHING)
        assert planned is not None
        waits.append(planned - START)
    assert all(0 <= wait <= LONGEST for wait in waits)
    assert max(waits) - min(waits) > LONGEST / 4


def test_a_process_that_stays_sends_every_round_and_waits_after_a_failure(tmp_path: Path, relay: Relay) -> None:
    person, told = Person(tmp_path, relay, crowded()), []
    times = SendTimes(person.clock)
    replies: list[bytes] = [http(503, "text/plain", b"")] * 6

    def reply(request: bytes) -> bytes:
        return replies.pop() if replies else TAKEN

    relay.reply = reply

    def send() -> Outcome:
        return Outcome[person.send()]

    for _ in range(60):
        outcome, due = times.tend(person.member, send)
        told.append(outcome)
        if due is None:
            break
        if outcome is Outcome.LATER:
            assert due >= person.clock.now
        person.clock.now = max(due, person.clock.now + 1)
    assert told.count(Outcome.ACCEPTED) == 5
    assert 1 <= told.count(Outcome.LATER) <= 6  # as many attempts as fit into the time for one


def describe(**changes: Any) -> dict[str, Any]:
    return {"address": "https://relay.example/gateways/study", "delay": 0, **changes}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (describe(address="http://relay.example"), "must be https"),
        (describe(address=7), "must be a text"),
        (describe(delay=-1), "delay must be between 0"),
        (describe(delay=31 * DAY), "delay must be between 0"),
        (describe(delay=True), "delay must be an integer"),
    ],
)
def test_what_is_no_relay_that_holds(given: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        HoldingRelay(**given)
