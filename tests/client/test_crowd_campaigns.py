"""Campaigns that rely on a crowd: both observers are limited, and nothing ever goes out but through a relay."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import (
    DAY,
    GATEWAY,
    HOME,
    KEYS,
    NOWHERE,
    SERVER,
    START,
    Clock,
    Server,
    campaign,
    client,
    policy,
    turns_campaign,
)
from tests.client.test_sealed_post import PROBLEM, Relay, http
from untrackable.accounting.check import client_problems, verify
from untrackable.client.client import GRACE, Client, Member, SendTimes, members
from untrackable.client.ledger import Account, read_ledger, store_policy
from untrackable.client.sending import WINDOW, Outcome, Reply
from untrackable.errors import CampaignRefused, PolicyRaised
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.oblivious.binary_http import BinaryRequest, BinaryResponse
from untrackable.oblivious.sealing import SEALED_LENGTH, open_request
from untrackable.protocol.campaign import Campaign, CrowdGuarantee
from untrackable.protocol.wire import round_of

RELAY = "https://relay.example/gateways/study"
ALONE = {"eps": 6.0}


def crowded(number: int = 0, reports: int = 2_000, **changes: Any) -> Campaign:
    """Five rounds of reports that are far too loud for one person, and quiet among two thousand people."""
    plain = campaign(Deck(bits=2, slots=5, eps_report=1.2), rounds=5, eps=6.0, question=f"Number {number}?")
    return in_crowd(plain, **{"eps": 0.26, "delta": 1e-6, "reports": reports, **changes})


def one_turn(reports: int = 2_000, *, wipes: int = 0, **changes: Any) -> Campaign:
    """One loud report in one of two rounds, each with two thousand reports."""
    loud = turns_campaign(NoisyInnerProduct(bits=2, eps=3.0), rounds=2, wipes=wipes, eps=6.0)
    return in_crowd(loud, **{"eps": 0.53, "delta": 1e-6, "reports": reports, **changes})


def in_crowd(plain: Campaign, **declared: Any) -> Campaign:
    return replace(plain, guarantee=replace(plain.guarantee, crowd=CrowdGuarantee(**declared)), gateway=GATEWAY)


@pytest.mark.parametrize("asked", [crowded(), one_turn()])
def test_the_engine_confirms_it(asked: Campaign) -> None:
    verdict = verify(asked)
    assert verdict.problems == client_problems(asked) == ()
    assert verdict.crowd is not None
    assert 0 < verdict.crowd.upper <= 1e-6
    assert verdict.to_json()["crowd"]["upper"] == verdict.crowd.upper
    assert (verdict.crowd_throughout is None) == (asked.turns is None)


@pytest.mark.parametrize(
    "bold",
    [
        crowded(eps=0.25),
        crowded(delta=1e-7),
        crowded(reports=1_400),
        one_turn(eps=0.49),
        one_turn(delta=1e-8),
        one_turn(reports=1_400),
        one_turn(wipes=1),
    ],
)
def test_a_declaration_is_no_stronger_than_the_truth(bold: Campaign) -> None:
    (problem,) = verify(bold).problems
    assert f"in a crowd of {bold.fewest_reports:,} reports a round, and has up to" in problem


def test_clients_rely_on_eps_alone_where_people_have_turns(tmp_path: Path) -> None:
    """What a crowd adds is for `campaign verify`. A client joins without the engine, and is charged eps in full."""
    bold = one_turn(eps=0.1)
    assert client_problems(bold) == ()
    client(tmp_path / "c", bold, Clock(), relays=(RELAY,), **ALONE).answer(1)
    assert read_ledger(tmp_path / "c").spent.eps == 6.0


def test_somebody_active_throughout_is_hidden_in_the_crowd_of_all_rounds() -> None:
    """The same bound, at as many people as all rounds have reports together; nothing is claimed with wipes."""
    asked = one_turn()
    verdict, mechanism = verify(asked), asked.mechanism
    assert verdict.crowd_throughout is not None
    alone = mechanism.crowd(people=2_000, reports=1).gamma(1e-6).upper
    assert (
        verdict.crowd_throughout.upper
        == mechanism.crowd(people=4_000, reports=1, mixed=True).gamma(1e-6).upper
        < alone
    )
    assert verdict.to_json()["crowd_throughout"]["upper"] == verdict.crowd_throughout.upper
    assert verify(one_turn(wipes=1, eps=9.0)).crowd_throughout is None


def test_a_share_of_turns_hides_one_bit_answers_better() -> None:
    """Nobody knows who has a turn at all."""
    answer = NoisyInnerProduct(bits=2, eps=3.0, width=1)
    found = {}
    for share in (Fraction(1), Fraction(9, 10)):
        plain = turns_campaign(answer, rounds=2, eps=6.0, share=share)
        verdict = verify(in_crowd(plain, eps=0.6, delta=1e-6, reports=2_000))
        assert verdict.problems == ()
        assert verdict.crowd is not None
        assert verdict.crowd_throughout is not None
        found[share] = verdict.crowd.upper, verdict.crowd_throughout.upper
    every, some = found.values()
    assert some[0] < 0.1 * every[0]
    assert some[1] < 0.85 * every[1]


def test_it_is_refused_unless_the_policy_names_a_relay(tmp_path: Path) -> None:
    with pytest.raises(
        CampaignRefused, match=r"never directly; your policy names no relay. Name one: `untrackable"
    ):
        client(tmp_path / "c", crowded(), Clock(), **ALONE).answer(1)
    assert read_ledger(tmp_path / "c").policy is None
    client(tmp_path / "c", crowded(), Clock(), relays=(RELAY,), **ALONE).answer(1)
    assert read_ledger(tmp_path / "c").policy == policy(relays=(RELAY,), **ALONE)


def test_relays_are_named_on_purpose(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, crowded(), clock, relays=(RELAY,), **ALONE).answer(1)
    other = "https://other.example/relay"
    for more in ({"relays": (RELAY, other)}, {"relays": (other,)}):
        with pytest.raises(PolicyRaised, match="nothing was changed"):
            client(folder, crowded(), clock, **{"relays": (RELAY,), **ALONE, **more}).answer(1)
    with pytest.raises(PolicyRaised, match=f"policy set --relay {RELAY} --relay {other}`"):
        client(folder, crowded(), clock, relays=(other, RELAY), **ALONE).answer(1)
    store_policy(folder, policy(relays=(RELAY, other), **ALONE), clock=clock)
    client(folder, crowded(), clock, relays=(other,), **ALONE).answer(2)
    assert read_ledger(folder).policy == policy(relays=(other,), **ALONE)


@pytest.mark.parametrize(
    "relay", ["http://relay.example", "relay.example", "https://me@relay.example", "https://relay.example?x=1", ""]
)
def test_what_is_no_relay(relay: str) -> None:
    with pytest.raises(ValueError, match="relay must"):
        policy(relays=(relay,))
    with pytest.raises(TypeError, match="relay must be an address"):
        policy(relays=(7,))


class Gone:
    """A way to the collector that must never be used."""

    def __call__(self, *given: Any) -> Any:
        raise AssertionError("something was sent directly")


class Study:
    """One person who joined, a relay on this machine with the gateway behind it, and a clock."""

    def __init__(self, folder: Path, relay: Relay) -> None:
        self.clock, self.relay, self.folder = Clock(), relay, folder
        self.url = f"http://127.0.0.1:{relay.port}/gateways/study"
        self.member: Client = client(folder, crowded(), self.clock, relays=(self.url,), **ALONE)
        self.member.answer(1)

    def at_moment(self, late: float = 0.5) -> float:
        due = self.member.due()
        assert due is not None
        self.clock.now = due + late
        return due

    def send(self, member: Member | None = None, place: str = HOME, server: str = SERVER) -> str:
        sent = (member or self.member).send(
            server, timeout=WINDOW, post=Gone(), look=lambda host, port: place, sleep=self.clock.sleep
        )
        return sent.name


def sealed_answer(request: bytes) -> bytes:
    return http(200, "message/ohttp-res", open_request(KEYS, request).seal_answer(BinaryResponse(204).to_bytes()))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    relay = Relay(sealed_answer)
    yield Study(tmp_path / "c", relay)
    relay.close()


def test_reports_go_through_the_relay_and_never_directly(study: Study) -> None:
    for round in range(1, 6):
        assert study.send() == "NOTHING"
        study.at_moment()
        assert study.send() == "ACCEPTED"
        assert study.send() == "NOTHING"
        sealed = study.relay.bodies()[-1]
        assert (len(sealed), sealed[0]) == (SEALED_LENGTH, 1 if round < 3 else 2)
        request = BinaryRequest.from_bytes(open_request(KEYS, sealed).content)
        assert request.path == f"/campaigns/{crowded().id}/reports".encode()
        assert round_of(request.content) == round
    assert len(study.relay.seen) == 5
    assert study.member.due() is None


def test_members_of_the_folder_use_the_stored_policy(study: Study) -> None:
    study.at_moment()
    (member,) = members(study.folder, clock=study.clock)
    assert study.send(member) == "ACCEPTED"
    assert len(study.relay.seen) == 1


@pytest.mark.parametrize("server", ["https://relay.example", "https://RELAY.example:444/x"])
def test_a_relay_that_is_the_collector_is_refused(study: Study, server: str) -> None:
    store_policy(study.folder, policy(relays=(RELAY,), **ALONE), clock=study.clock)
    study.at_moment()
    with pytest.raises(CampaignRefused, match=r"nothing is sent, because .* none but the collector itself"):
        study.send(server=server)
    store_policy(study.folder, policy(relays=(RELAY, study.url), **ALONE), clock=study.clock)
    assert study.send(server=server) == "ACCEPTED"  # through the other one


def test_without_a_relay_nothing_is_sent(study: Study) -> None:
    store_policy(study.folder, policy(**ALONE), clock=study.clock)
    study.at_moment()
    with pytest.raises(CampaignRefused, match="names no relay"):
        study.send()
    with pytest.raises(CampaignRefused, match="through a relay only"):
        study.member.report()
    assert study.relay.seen == []


def test_a_missed_moment_is_let_go(study: Study) -> None:
    missed = study.at_moment(late=GRACE + 1)
    assert study.send() == "NOTHING"
    coming = study.member.due()
    assert coming is not None
    assert coming > missed + DAY / 20
    assert study.relay.seen == []
    study.at_moment(late=GRACE - 1)
    assert study.send() == "ACCEPTED"
    assert round_of(BinaryRequest.from_bytes(open_request(KEYS, study.relay.bodies()[0]).content).content) == 2


def test_a_process_that_stays_lets_missed_moments_go(study: Study) -> None:
    times = SendTimes(study.clock)
    sent = []
    for _ in range(40):
        outcome, due = times.tend(study.member, lambda: Outcome[study.send()])
        sent.append(outcome)
        if due is None:
            break
        study.clock.now = due if len(sent) % 3 else due + 600.0  # every third time, the machine sleeps too long
    assert sent.count(Outcome.ACCEPTED) == len(study.relay.seen)
    assert 1 <= len(study.relay.seen) < 5
    assert set(sent) == {Outcome.ACCEPTED, Outcome.NOTHING}


@pytest.mark.parametrize("place", [NOWHERE])
def test_without_a_network_at_its_moment_a_round_is_let_go(study: Study, place: str) -> None:
    study.at_moment()
    due = study.clock.now
    assert study.send(place=place) == "OFFLINE"
    study.clock.now = due + GRACE
    assert study.send() == "NOTHING"
    assert study.relay.seen == []
    assert (study.member.due() or 0) >= START + DAY


def interrupted(body: bytes, note: Callable[[], bool]) -> Reply:
    raise KeyboardInterrupt


def killed(member: Client) -> None:
    """The process ends before its first attempt."""
    with pytest.raises(KeyboardInterrupt):
        member._attempt(None, interrupted)


def test_a_report_that_was_never_tried_is_let_go(study: Study) -> None:
    study.at_moment()
    killed(study.member)
    assert study.send() == "NOTHING"
    assert study.relay.seen == []
    assert (study.member.due() or 0) >= START + DAY


def test_a_report_is_tried_again_for_a_while_freshly_sealed(study: Study) -> None:
    replies = [http(503, "text/plain", b"busy"), http(502, "text/plain", b"gateway away")]
    study.relay.reply = lambda request: replies.pop(0) if replies else sealed_answer(request)
    study.at_moment()
    assert study.send() == "ACCEPTED"
    assert len(set(study.relay.bodies())) == 3
    contents = {
        BinaryRequest.from_bytes(open_request(KEYS, sealed).content).content for sealed in study.relay.bodies()
    }
    assert len(contents) == 1


def test_a_revoked_key_is_tried_again_for_the_next_report(study: Study) -> None:
    """Later reports would otherwise be recognised by their key."""

    def without_the_first(request: bytes) -> bytes:
        return http(400, "application/problem+json", PROBLEM) if request[0] == 1 else sealed_answer(request)

    study.relay.reply = without_the_first
    for _ in range(2):
        study.at_moment()
        assert study.send() == "ACCEPTED"
    assert [sealed[0] for sealed in study.relay.bodies()] == [1, 2, 1, 2]


def test_campaigns_without_a_crowd_are_sent_as_before(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", campaign(), clock, relays=(RELAY,))
    someone.answer(1)
    clock.late_in(1)
    sent = someone.send(SERVER, post=server, look=lambda host, port: HOME, sleep=clock.sleep)
    assert sent is Outcome.ACCEPTED
    assert len(server.bodies) == 1


@pytest.fixture
def turn(tmp_path: Path, study: Study) -> Study:
    """Somebody whose turn lies ahead."""
    for number in range(100):
        study.folder = tmp_path / str(number)
        study.member = client(study.folder, one_turn(), study.clock, relays=(study.url,), **ALONE)
        study.member.answer(1)
        if study.member.due() is not None:
            return study
    raise AssertionError("nobody has a turn ahead")


def test_a_turn_goes_through_the_relay_once_and_nothing_is_kept(turn: Study) -> None:
    assert turn.send() == "NOTHING"
    due = turn.at_moment()
    assert turn.send() == "ACCEPTED"
    sealed = turn.relay.bodies()[-1]
    request = BinaryRequest.from_bytes(open_request(KEYS, sealed).content)
    assert round_of(request.content) == one_turn().round_at(due)
    for round in (1, 2, 3):
        turn.clock.late_in(round)
        assert turn.send() == "NOTHING"
    assert len(turn.relay.seen) == 1
    assert read_ledger(turn.folder).accounts[one_turn().id] == Account(one_turn().to_bytes())


@pytest.mark.parametrize("incident", ["late", "killed", "offline", "left"])
def test_a_turn_that_misses_its_moment_is_lost(turn: Study, incident: str) -> None:
    turn.at_moment(late=GRACE + 1 if incident == "late" else 0.5)
    if incident == "killed":
        killed(turn.member)
    elif incident == "offline":
        assert turn.send(place=NOWHERE) == "OFFLINE"
        turn.clock.now += GRACE
    elif incident == "left":
        turn.member.leave()
    assert turn.send() == "NOTHING"
    turn.member.answer(1)
    for round in (1, 2, 3):
        turn.clock.late_in(round)
        assert turn.send() == "NOTHING"
    assert turn.relay.seen == []
    assert read_ledger(turn.folder).accounts[one_turn().id] == Account(one_turn().to_bytes())
