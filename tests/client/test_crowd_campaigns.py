"""Campaigns that rely on a crowd: both observers are limited, and nothing ever goes out but through a relay."""

import os
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import DAY, HOME, NOWHERE, SERVER, START, Clock, Server, campaign, client, policy
from tests.client.test_sealed_post import Relay, http
from untrackable.accounting import client_check
from untrackable.accounting.verification import verify
from untrackable.client.client import Client, members
from untrackable.client.delivery import Outcome
from untrackable.client.ledger import Ledger
from untrackable.client.membership import GRACE, Member, _Outbox
from untrackable.client.network import Attachment
from untrackable.client.policy import LIMITS, Policy
from untrackable.client.private_folder import Folder
from untrackable.client.send_times import SendTimes
from untrackable.client.stored_policy import store_policy, stored_policy
from untrackable.errors import CampaignRefused, PolicyRaised
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.oblivious.binary_http import BinaryRequest, BinaryResponse
from untrackable.oblivious.sealing import SEALED_LENGTH, OpeningKey, open_request
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway, GatewayKey
from untrackable.protocol.wire import round_of
from untrackable.theory.attendance import Attendance

KEYS = {number: OpeningKey.from_bytes(number, os.urandom(32)) for number in (1, 2)}
GATEWAY = Gateway(
    (GatewayKey(KEYS[1].config.to_bytes(), first_round=1), GatewayKey(KEYS[2].config.to_bytes(), first_round=3))
)
RELAY = "https://relay.example/gateways/study"
ALONE = {"eps": 6.0, "crowd_eps": 0.5, "crowd_delta": 1e-6}


def crowded(number: int = 0, people: int = 2_000, **changes: Any) -> Campaign:
    """Five rounds of reports that are far too loud for one person, and quiet among two thousand people."""
    plain = campaign(
        Deck(bits=2, slots=5, eps_report=1.2),
        rounds=5,
        eps=6.0,
        question=f"Number {number}?",
        attendance=Attendance(Fraction(1)),
    )
    crowd = CrowdGuarantee(**{"eps": 0.26, "delta": 1e-6, "people": people, **changes})
    return replace(plain, guarantee=replace(plain.guarantee, crowd=crowd), gateway=GATEWAY)


def test_both_engines_confirm_it() -> None:
    asked = crowded()
    found, verdict = client_check.recompute(asked), verify(asked)
    assert found.problems == verdict.problems == ()
    assert found.crowd_delta_upper is not None
    assert verdict.crowd is not None
    assert 0 < found.crowd_delta_upper <= 1e-6
    assert verdict.to_json()["crowd"]["upper"] == verdict.crowd.upper
    assert found.crowd_delta_upper == pytest.approx(verdict.crowd.upper, rel=0.2)


@pytest.mark.parametrize("bold", [crowded(eps=0.25), crowded(delta=1e-7), crowded(people=1_400)])
def test_a_declaration_is_no_stronger_than_the_truth(bold: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "in a crowd of" in verify(bold).problems[0]
    assert "and has up to" in verify(bold).problems[0]
    monkeypatch.setattr(client_check, "_ENGINE", "no_such_module")
    (problem,) = client_check.recompute(bold).problems
    assert "in a crowd of" in problem
    assert "cannot be confirmed here: at most" in problem


def test_what_only_the_engine_knows_is_refused_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fading = replace(crowded(), mechanism=Fading(bits=2, eps=3.0, delta=1e-7, scale=0.3))
    monkeypatch.setattr(client_check, "_ENGINE", "no_such_module")
    assert client_check.crowd_delta(fading) == 1.0
    assert (
        client_check.crowd_delta(replace(fading, guarantee=replace(fading.guarantee, crowd=None), gateway=None))
        is None
    )


def test_it_is_refused_unless_the_policy_names_a_relay(tmp_path: Path) -> None:
    with pytest.raises(
        CampaignRefused, match=r"never directly; your policy names no relay. Name one: `untrackable"
    ):
        client(tmp_path / "c", crowded(), Clock(), **ALONE).answer(1)
    assert stored_policy(tmp_path / "c") is None
    client(tmp_path / "c", crowded(), Clock(), relays=(RELAY,), **ALONE).answer(1)
    assert stored_policy(tmp_path / "c") == policy(relays=(RELAY,), **ALONE)


def test_it_is_joined_without_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_check, "_ENGINE", "no_such_module")
    client(tmp_path / "c", crowded(), Clock(), relays=(RELAY,), **ALONE).answer(1)
    assert len(members(tmp_path / "c")) == 1


def test_the_ledger_composes_both_observers(tmp_path: Path) -> None:
    """Campaigns together exceed what each keeps, for either observer."""
    clock, given = Clock(), {"relays": (RELAY,), "eps": 99.0}
    client(tmp_path / "c", crowded(0), clock, crowd_eps=0.4, **given).answer(1)
    client(tmp_path / "c", crowded(1), clock, crowd_eps=0.4, **given).answer(1)
    with pytest.raises(
        CampaignRefused, match=r"does not know who sent which: at eps 0\.4, all campaigns together need"
    ):
        client(tmp_path / "c", crowded(2), clock, crowd_eps=0.4, **given).answer(1)
    store_policy(tmp_path / "c", policy(crowd_eps=0.7, crowd_delta=1e-6, **given), clock=clock)
    client(tmp_path / "c", crowded(2), clock, crowd_eps=0.7, **given).answer(1)
    with pytest.raises(CampaignRefused, match="does not fit your privacy budget: at eps 6, all campaigns together"):
        client(tmp_path / "c", crowded(3), clock, crowd_eps=0.7, **{**given, "eps": 6.0}).answer(1)


def test_composed_crowds_are_as_the_product_of_their_laws(tmp_path: Path) -> None:
    clock = Clock()
    for number in range(2):
        client(tmp_path / "c", crowded(number), clock, relays=(RELAY,), eps=99.0, crowd_eps=1.0).answer(1)
    folder = Folder(tmp_path / "c")
    with folder.locked():
        ledger = Ledger.read(folder)
    one = crowded().mechanism.integer_crowd(people=2_000, reports=5)
    assert one is not None
    found = ledger.joint.crowd_delta(0.36)
    assert found == pytest.approx((one * one).delta(0.36), rel=0.05)


def test_a_campaign_without_a_crowd_spends_in_full(tmp_path: Path) -> None:
    """The person allows 6 to somebody who knows their reports, and 0.5 to the collector: a direct one gets 0.5."""
    plain = campaign(Deck(bits=2, slots=5, eps_report=0.3), rounds=5, eps=1.5)
    with pytest.raises(CampaignRefused, match="Campaigns that are answered without a relay count in full"):
        client(tmp_path / "c", plain, Clock(), **ALONE).answer(1)
    client(tmp_path / "c", plain, Clock(), **{**ALONE, "crowd_eps": 1.5}).answer(1)


def test_limits_of_a_crowd_are_raised_on_purpose(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, crowded(), clock, relays=(RELAY,), **ALONE).answer(1)
    other = "https://other.example/relay"
    for more in ({"crowd_eps": 0.6}, {"crowd_delta": 1e-3}, {"relays": (RELAY, other)}, {"relays": (other,)}):
        with pytest.raises(PolicyRaised, match="nothing was changed"):
            client(folder, crowded(), clock, **{"relays": (RELAY,), **ALONE, **more}).answer(1)
    with pytest.raises(PolicyRaised, match=f"policy set --relay {RELAY} --relay {other}`"):
        client(folder, crowded(), clock, relays=(other, RELAY), **ALONE).answer(1)
    store_policy(folder, policy(relays=(RELAY, other), **ALONE), clock=clock)
    client(folder, crowded(), clock, relays=(other,), **ALONE).answer(2)
    assert stored_policy(folder) == policy(relays=(other,), **ALONE)


def test_policies_of_earlier_versions_have_cautious_limits() -> None:
    old = Policy.from_limits({"eps": 3, "delta": 1e-5, "gamma": 0, "tracking_delta": 0})
    assert old == Policy(eps=3.0, delta=1e-5)
    assert (old.crowd_eps, old.crowd_delta, old.relays) == (1.0, 1e-6, ())
    assert Policy.from_limits(policy(relays=(RELAY,), **ALONE).limits()) == policy(relays=(RELAY,), **ALONE)
    assert set(LIMITS) | {"relays", "pins"} == set(Policy.__slots__)


@pytest.mark.parametrize(
    "relay", ["http://relay.example", "relay.example", "https://me@relay.example", "https://relay.example?x=1", ""]
)
def test_what_is_no_relay(relay: str) -> None:
    with pytest.raises(ValueError, match="relay must"):
        policy(relays=(relay,))
    with pytest.raises(TypeError, match="relays must be addresses"):
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

    def send(self, member: Member | None = None, place: Attachment = HOME, server: str = SERVER) -> str:
        sent = (member or self.member).send(
            server, post=Gone(), look=lambda host, port: place, sleep=self.clock.sleep
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
    with pytest.raises(CampaignRefused, match=r"nothing is sent, because no relay .* must not be the collector"):
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


@pytest.mark.parametrize("place", [NOWHERE, Attachment("", certain=True)])
def test_without_a_network_at_its_moment_a_round_is_let_go(study: Study, place: Attachment) -> None:
    study.at_moment()
    assert study.send(place=place) == "MISSED"
    assert study.send() == "NOTHING"
    assert study.relay.seen == []
    assert (study.member.due() or 0) >= START + DAY


def test_a_report_that_was_never_tried_is_let_go(study: Study) -> None:
    study.at_moment()
    assert _Outbox(study.member).take() is not None  # and then the process is killed
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


def test_campaigns_without_a_crowd_are_sent_as_before(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", campaign(), clock, relays=(RELAY,))
    someone.answer(1)
    clock.late_in(1)
    sent = someone.send(SERVER, post=server, look=lambda host, port: HOME, sleep=clock.sleep)
    assert sent is Outcome.ACCEPTED
    assert len(server.bodies) == 1
