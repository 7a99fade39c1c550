"""Answering from one remembered network only: what is remembered, what is let go, and when it is forgotten."""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.client.samples import (
    HOME,
    NOWHERE,
    SERVER,
    WORK,
    Clock,
    Server,
    campaign,
    client,
    policy,
    round_of,
    send,
)
from tests.client.test_crashes import killed_at
from untrackable.cli import main
from untrackable.client import network
from untrackable.client.client import Client, members
from untrackable.client.http_post import Address, Ready, Reply
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life
from untrackable.client.network import Attachment, Look
from untrackable.client.policy import Policy
from untrackable.client.private_folder import Folder
from untrackable.errors import ClockBehind
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.protocol.campaign import Campaign
from untrackable.theory.attendance import Attendance

VAGUE = Attachment("10.0.0.7 None", certain=False)
HOST = "https://collect.example"
DOCUMENTATION = {"203.0.113.1", "2001:db8::1"}


def small(number: int = 0, **changes: Any) -> Campaign:
    return campaign(Deck(bits=2, slots=30, eps_report=0.01), question=f"Number {number}?", **changes)


def joined(folder: Path, clock: Clock, asked: Campaign | None = None, **given: Any) -> Client:
    someone = client(folder, asked or small(), clock, **{"one_network": True, **given})
    someone.answer(2)
    return someone


def ledger_of(folder: Path) -> Ledger:
    opened = Folder(folder)
    with opened.locked():
        return Ledger.read(opened)


def at(*places: Attachment) -> tuple[Look, list[str]]:
    """A machine that is at these places, in turn, and the hosts that were looked for."""
    left, hosts = list(places), []

    def look(host: str, port: int) -> Attachment:
        hosts.append(host)
        return left.pop(0) if len(left) > 1 else left[0]

    return look, hosts


def test_the_first_network_is_remembered_and_no_other_one_is_used(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock)
    assert ledger_of(tmp_path / "c").network is None
    found = []
    for round, place in enumerate((HOME, WORK, HOME, WORK, WORK, HOME), 1):
        clock.late_in(round)
        clock.now -= 500
        found.append(send(client(tmp_path / "c", someone.campaign, clock), server, clock, place))
        # Being back within the same round does not bring it back.
        clock.now += 200
        assert send(someone, server, clock, HOME) == "NOTHING"
    assert found == ["ACCEPTED", "ELSEWHERE", "ACCEPTED", "ELSEWHERE", "ELSEWHERE", "ACCEPTED"]
    assert [round_of(body) for body in server.bodies] == [1, 3, 6]
    for path in (tmp_path / "c").iterdir():
        assert b"home" not in path.read_bytes()


def test_elsewhere_nothing_goes_out_and_no_name_is_looked_up(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock)
    for round, place, outcome in ((1, HOME, "ACCEPTED"), (2, WORK, "ELSEWHERE"), (3, VAGUE, "UNCERTAIN")):
        clock.late_in(round)
        look, hosts = at(place)
        assert someone.send(HOST, post=server, look=look, sleep=clock.sleep).name == outcome
        assert ("collect.example" in hosts) == (outcome == "ACCEPTED")
        assert set(hosts) <= DOCUMENTATION | {"collect.example"}
        assert hosts[0] in DOCUMENTATION
    assert len(server.bodies) == 1


def test_a_network_that_is_not_certain_sends_nothing_until_it_is(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock)
    clock.late_in(1)
    clock.now -= 500
    assert send(someone, server, clock, VAGUE) == "UNCERTAIN"
    assert send(someone, server, clock, NOWHERE) == "OFFLINE"
    assert server.bodies == []
    assert ledger_of(tmp_path / "c").network is None
    assert send(someone, server, clock, HOME) == "ACCEPTED"


def test_a_proxy_on_this_machine_is_not_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:8118")
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock)
    clock.late_in(1)

    def look(host: str, port: int) -> Attachment:
        return network._THIS_MACHINE if host == "127.0.0.1" else HOME

    assert someone.send(HOST, post=server, look=look, sleep=clock.sleep).name == "UNCERTAIN"
    assert server.bodies == []


def test_one_memory_for_all_campaigns_that_ask_for_it(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    first = joined(tmp_path / "c", clock, small(0), eps=3.0)
    demanded = small(1, attendance=Attendance(one_network=True))
    second = joined(tmp_path / "c", clock, demanded, eps=3.0, one_network=False)
    anywhere = joined(tmp_path / "c", clock, small(2), eps=3.0, one_network=False)
    clock.late_in(1)
    assert send(first, server, clock, HOME) == "ACCEPTED"
    assert send(second, server, clock, WORK) == "ELSEWHERE"
    assert send(anywhere, server, clock, WORK) == "ACCEPTED"
    clock.late_in(2)
    assert send(second, server, clock, HOME) == "ACCEPTED"
    # It is forgotten when nothing needs it any more.
    first.leave()
    anywhere.leave()
    assert ledger_of(tmp_path / "c").network is not None
    second.leave()
    assert ledger_of(tmp_path / "c").network is None
    joined(tmp_path / "c", clock, small(0), eps=3.0)
    clock.late_in(3)
    assert send(first, server, clock, WORK) == "ACCEPTED"


def test_it_is_forgotten_beside_a_campaign_that_is_over(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    short = joined(tmp_path / "c", clock, campaign(Deck(bits=2, slots=3, eps_report=0.01), rounds=3))
    long = joined(tmp_path / "c", clock, small(1))
    clock.late_in(1)
    assert send(short, server, clock, HOME) == "ACCEPTED"
    clock.late_in(5)
    long.leave()
    assert ledger_of(tmp_path / "c").network is None


def test_another_address_on_the_same_network_is_no_other_network(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock)
    for round, (local, router) in enumerate(
        (("10.0.0.7", "eth0 aa"), ("10.0.0.9", "eth0 aa"), ("10.0.0.7", "eth0 bb")), 1
    ):
        clock.late_in(round)
        place = Attachment(f"{local} {router}", certain=True, local=local)

        def post(address: Address, body: bytes, ready: Ready, local: str = local) -> Reply:
            assert ready(local, address.host)
            return server(address, body, lambda *given: True)

        outcome = someone.send(SERVER, post=post, look=at(place)[0], sleep=clock.sleep).name
        assert outcome == ("ELSEWHERE" if router.endswith("bb") else "ACCEPTED")


def test_moving_while_it_is_connecting_sends_nothing(tmp_path: Path) -> None:
    """The network is looked at before a name is, then before the attempt, and once more before the first byte."""
    for number, (places, outcome) in enumerate(
        [
            ((HOME, HOME, WORK), "GIVEN_UP"),
            ((HOME, WORK), "ELSEWHERE"),
            ((HOME, HOME, HOME), "ACCEPTED"),
        ]
    ):
        clock, server = Clock(), Server()
        someone = joined(tmp_path / str(number), clock)
        clock.late_in(1)
        assert send(someone, server, clock, HOME) == "ACCEPTED"
        clock.late_in(2)
        clock.now -= 600
        found = someone.send(HOST, post=server, look=at(*places)[0], sleep=clock.sleep).name
        assert found == outcome or (outcome == "GIVEN_UP" and found == "ELSEWHERE")
        assert len(server.bodies) == (2 if outcome == "ACCEPTED" else 1)


def test_two_processes_that_begin_at_two_networks_use_one(tmp_path: Path) -> None:
    """While one report is about to go out from home, another campaign sends its first one from work."""
    clock, server = Clock(), Server()
    first = joined(tmp_path / "c", clock, small(0))
    second = joined(tmp_path / "c", clock, small(1))
    clock.late_in(1)
    clock.now -= 600
    looks = 0

    def look(host: str, port: int) -> Attachment:
        nonlocal looks
        looks += 1
        if looks == 2:
            assert send(second, server, clock, WORK) == "ACCEPTED"
        return HOME

    assert first.send(HOST, post=server, look=look, sleep=clock.sleep).name == "ELSEWHERE"
    assert len(server.bodies) == 1


def test_a_copy_of_the_folder_remembers_it(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    asked = joined(tmp_path / "c", clock).campaign
    clock.late_in(1)
    send(client(tmp_path / "c", asked, clock), server, clock, HOME)
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    clock.late_in(3)
    copied = client(tmp_path / "copy", asked, clock)
    assert send(copied, server, clock, WORK) == "NOTHING"
    clock.late_in(4)
    assert send(copied, server, clock, WORK) == "ELSEWHERE"


def test_attendance_is_charged_for_nothing_then(tmp_path: Path) -> None:
    """Also in campaigns without end, and with the default policy."""
    clock = Clock()
    asked = campaign(Fading(bits=2, eps=1.0, delta=1e-6), rounds=None)
    allowed = Policy(eps=1.0, delta=1e-6, pins=(asked.id,))
    Client(asked, None, allowed, folder=tmp_path / "c", clock=clock, one_network=True).answer(1)
    assert ledger_of(tmp_path / "c").joint.recognition() == 0.001
    (life,) = ledger_of(tmp_path / "c").accounts[asked.id].lives
    assert (life.rounds_anywhere, life.rounds_settled) == (0, None)


def test_a_campaign_that_asks_for_it_is_charged_like_that_in_every_ledger() -> None:
    asked = small(attendance=Attendance(one_network=True))
    assert Ledger().joined(asked, Life("name", 3, 30, 2)).joint.recognition() == 0.001
    assert Ledger().joined(small(), Life("name", 3, 30, 2)).joint.recognition() == 1.0


def test_beside_a_campaign_that_is_answered_anywhere_it_is_charged(tmp_path: Path) -> None:
    """Reports from the remembered network show when the person is there, and when not."""
    clock = Clock()
    joined(tmp_path / "c", clock, small(0), one_network=False)
    alone = ledger_of(tmp_path / "c").joint.recognition()
    assert alone == 1.0
    rarely = small(1, attendance=Attendance("1/20"))  # type: ignore[arg-type]
    joined(tmp_path / "d", clock, rarely, one_network=False)
    before = ledger_of(tmp_path / "d").joint.recognition()
    joined(tmp_path / "d", clock, small(2))
    assert before < 0.0012 < 0.002 < ledger_of(tmp_path / "d").joint.recognition() < 0.1


def test_turned_on_later_it_is_for_rounds_that_begin_later(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock, one_network=False)
    for round, place in ((1, HOME), (2, WORK)):
        clock.late_in(round)
        assert send(someone, server, clock, place) == "ACCEPTED"
    before = ledger_of(tmp_path / "c").joint.recognition()
    client(tmp_path / "c", someone.campaign, clock, one_network=True).answer(2)
    (life,) = ledger_of(tmp_path / "c").accounts[someone.campaign.id].lives
    assert (life.settled, life.rounds_anywhere, life.rounds_settled) == (2, 2, 28)
    assert before == 1.0
    found = []
    for round, place in ((3, HOME), (4, WORK)):
        clock.late_in(round)
        # It stays on, whatever later answers say.
        client(tmp_path / "c", someone.campaign, clock).answer(round % 4)
        found.append(send(someone, server, clock, place))
    assert found == ["ACCEPTED", "ELSEWHERE"]
    # Only the first two rounds came from anywhere.
    assert ledger_of(tmp_path / "c").joint.recognition() == pytest.approx(0.0041, abs=1e-4)


def test_ledgers_come_back_from_disk(tmp_path: Path) -> None:
    clock = Clock()
    someone = joined(tmp_path / "c", clock)
    clock.late_in(1)
    send(someone, Server(), clock, HOME)
    found = ledger_of(tmp_path / "c")
    assert found.network is not None
    assert Ledger.from_content(found.content()) == found
    damaged = found.content() | {"network": ["00"]}
    with pytest.raises(Exception, match="cannot be understood"):
        Ledger.from_content(damaged)


@pytest.mark.slow
def test_killed_between_every_pair_of_steps_only_one_network_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was sent from home before it was killed, nothing is sent from work afterwards."""

    def recording(log: Path, place: str, step: Callable[[], None]) -> Any:
        def post(address: Address, body: bytes, ready: Ready) -> Reply:
            step()
            if not ready("", address.host):
                return Reply(None)
            with log.open("a") as file:
                file.write(f"{place}\n")
            step()
            return Reply(200)

        return post

    def live(folder: Path, log: Path) -> Callable[[Callable[[], None]], None]:
        def run(step: Callable[[], None]) -> None:
            clock = Clock()
            someone = joined(folder, clock)
            for round in (1, 2):
                clock.late_in(round)
                clock.now -= 400
                someone.send(SERVER, post=recording(log, "home", step), look=at(HOME)[0], sleep=clock.sleep)

        return run

    number, killed, from_work = 0, True, 0
    while killed:
        folder, log = tmp_path / f"c{number}", tmp_path / f"log{number}"
        killed = killed_at(number, live(folder, log), monkeypatch, torn=False)
        clock = Clock()
        for round in (1, 2, 3, 4):
            clock.late_in(round)
            for member in members(folder, clock=clock) if folder.exists() else ():
                with contextlib.suppress(ClockBehind):
                    member.send(
                        SERVER, post=recording(log, "work", lambda: None), look=at(WORK)[0], sleep=clock.sleep
                    )
        used = set(log.read_text().split()) if log.exists() else set()
        assert len(used) <= 1, number
        from_work += used == {"work"}
        number += 1
    assert number > 50
    assert 0 < from_work < number


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, server, asked = Clock(), Server(), small()
    place, folder = tmp_path / "campaign.json", str(tmp_path / "c")
    place.write_bytes(asked.to_bytes())
    monkeypatch.setattr("time.time", clock)
    monkeypatch.setattr(network, "look", at(VAGUE)[0])
    answer = ["answer", str(place), "--pin", asked.id, "--folder", folder]
    refused = CliRunner().invoke(main, answer, input="1\n")
    assert refused.exit_code == 1
    assert "answering from one network only (--one-network)" in refused.output
    told = CliRunner().invoke(main, [*answer, "--one-network"], input="1\n")
    assert told.exit_code == 0, told.output
    assert "it is not certain which network this is" in told.output
    monkeypatch.setattr(network, "look", at(HOME)[0])
    assert "not certain" not in CliRunner().invoke(main, [*answer, "--one-network"], input="1\n").output
    someone = client(tmp_path / "c", asked, clock, recognition=policy().recognition)
    for round, where, outcome in ((1, HOME, "ACCEPTED"), (2, WORK, "ELSEWHERE")):
        clock.late_in(round)
        assert send(someone, server, clock, where) == outcome
