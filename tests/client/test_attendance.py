"""Rounds that are answered by chance: what the coin decides, and that the others leave no trace anywhere."""

import hashlib
import json
import logging
import socket
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.client.samples import (
    DAY,
    HOME,
    SERVER,
    START,
    WORK,
    Clock,
    Server,
    campaign,
    client,
    nonce_of,
    policy,
    round_of,
    send,
)
from tests.client.test_crashes import killed_at, network
from tests.client.test_restored_files import rolled_back
from tests.own_sleep import replace_sleep
from untrackable.cli import main
from untrackable.client import client as client_module
from untrackable.client.client import Client, members
from untrackable.client.folder_lock import Lock
from untrackable.client.membership import _SEARCHED, Member
from untrackable.client.policy import Policy
from untrackable.client.send_times import SendTimes
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.protocol.campaign import Campaign
from untrackable.theory.attendance import Attendance

PARTICIPATION = Fraction(3, 7)


def sometimes(mechanism: Any = None, participation: str | Fraction = PARTICIPATION, **changes: Any) -> Campaign:
    """A campaign of the samples that is answered by chance."""
    return campaign(mechanism, attendance=Attendance(Fraction(participation)), **changes)


def coins(member: Client, rounds: int = 30) -> list[int]:
    """The rounds to come that the coin says yes to."""
    with member.opened(member._now(None)) as (_, held):
        assert held is not None
        ratchet = held.ratchet
    later = range(ratchet.round, rounds + 1)
    return [n for n in later if ratchet.at(n).answers(member.campaign.participation)]


def joined(folder: Path, clock: Clock, asked: Campaign | None = None) -> Client:
    someone = client(folder, asked or sometimes(), clock)
    someone.answer(2)
    return someone


def joined_with(
    folder: Path, wanted: Callable[[list[int]], bool], **changes: Any
) -> tuple[Client, Clock, list[int]]:
    """Somebody whose coins are as wanted: people join until they are."""
    for number in range(1000):
        clock = Clock()
        someone = joined(folder / str(number), clock, sometimes(**changes))
        if wanted(answered := coins(someone)):
            return someone, clock, answered
    raise AssertionError("coins never fall like that")


@pytest.mark.parametrize(
    ("mechanism", "changes"),
    [
        (None, {}),
        (Fading(bits=2, eps=1.0, delta=1e-6), {}),
        (Bitwise(eps_state=0.5, eps_report=0.3), {"values": "fixed", "tracking_delta": 1.0, "gamma": 1.0}),
    ],
    ids=["deck", "fading", "bitwise"],
)
def test_the_rounds_of_the_coin_are_answered_and_no_others(
    mechanism: Any, changes: dict[str, Any], tmp_path: Path
) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", sometimes(mechanism, **changes), clock, tracking_delta=1.0)
    someone.answer(1)
    answered = coins(someone)
    for round in range(1, 31):
        clock.late_in(round)
        for _ in range(2):
            send(client(tmp_path / "c", someone.campaign, clock, tracking_delta=1.0), server, clock)
    assert [round_of(body) for body in server.bodies] == answered
    assert len({nonce_of(body) for body in server.bodies}) == len(answered)


def test_the_next_report_is_in_the_next_round_that_is_answered(tmp_path: Path) -> None:
    clock = Clock()
    someone = joined(tmp_path / "c", clock)
    found, answered = [], coins(someone)
    while (due := someone.due()) is not None:
        round = int((due - START) // DAY) + 1
        found.append(round)
        assert someone.report(due - 0.001) is None
        clock.now = due
        assert someone.report() is not None
        clock.now = START + round * DAY
    assert found == answered


def test_due_is_the_moment_of_the_coins_rounds(tmp_path: Path) -> None:
    someone, clock, answered = joined_with(tmp_path, lambda rounds: len(rounds) > 3 and rounds[0] > 2)
    for round in range(1, 31):
        clock.now = START + (round - 1) * DAY
        due, later = someone.due(), [n for n in answered if n >= round]
        assert (due is None) == (not later)
        assert due is None or START + (later[0] - 1) * DAY < due < START + later[0] * DAY


def test_the_search_for_the_next_round_is_bounded(tmp_path: Path) -> None:
    """A campaign that is hardly ever answered: the result is when to ask again, and nothing goes out then."""
    clock, server = Clock(), Server()
    asked = sometimes(Fading(bits=2, eps=1.0, delta=1e-6), f"1/{10**18}", rounds=None)
    someone = joined(tmp_path / "c", clock, asked)
    assert someone.due() == START + _SEARCHED * DAY
    clock.now = START + _SEARCHED * DAY
    assert send(someone, server, clock) == "NOTHING"
    assert someone.due() == START + 2 * _SEARCHED * DAY


def everything(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """All names, contents, inodes and times of writing, the folder's own included."""
    paths = [folder, *folder.iterdir()]
    return {
        path.name: (path.read_bytes() if path.is_file() else b"", path.stat().st_ino, path.stat().st_mtime_ns)
        for path in paths
    }


@pytest.fixture
def nothing_goes_out(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """A list of everything that somebody else could notice: sockets, names looked up, files opened for writing."""
    noticed: list[str] = []

    def noticing(what: str) -> Callable[..., Any]:
        def spy(*given: Any, **named: Any) -> Any:
            noticed.append(what)
            raise OSError(what)

        return spy

    for name in ("getaddrinfo", "gethostbyname", "create_connection", "socket"):
        monkeypatch.setattr(socket, name, noticing(name))
    caplog.set_level(logging.DEBUG)
    yield noticed
    noticed += [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("before", [False, True], ids=["never sent", "sent before"])
def test_a_round_that_is_not_answered_leaves_no_trace(
    before: bool, tmp_path: Path, nothing_goes_out: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    someone, clock, answered = joined_with(
        tmp_path, lambda rounds: rounds[:1] == [1] and rounds[1:2] > [4] if before else rounds[:1] > [4]
    )
    folder, used = someone.folder.path, list[str]()
    if before:
        clock.late_in(1)
        assert send(someone, Server(), clock) == "ACCEPTED"
        clock.now += 2

    def look(host: str, port: int) -> Any:
        used.append("look")
        return HOME

    def post(*given: Any) -> Any:
        used.append("post")
        raise AssertionError

    moments, was = SendTimes(clock), everything(folder)
    for round in range(2 if before else 1, 4):
        assert round not in answered
        for share in (0.0, 0.01, 0.3, 0.7, 0.94, 0.96, 0.9999):
            clock.now = START + (round - 1 + share) * DAY
            (member,) = members(folder, clock=clock)
            for one in (member, client(folder, someone.campaign, clock)):
                due = one.due()
                assert due is not None
                assert due > START + 3 * DAY
                assert not one.tried()
                assert one.report() is None
                assert (
                    one.send("https://collect.example", post=post, look=look, sleep=clock.sleep).name == "NOTHING"
                )
            outcome, planned = moments.tend(
                member,
                lambda: member.send(SERVER, post=post, look=look, sleep=clock.sleep),  # noqa: B023
            )
            assert (outcome.name, planned) == ("NOTHING", due)
    assert everything(folder) == was
    assert used == nothing_goes_out == []
    assert not caplog.records


def test_nothing_is_made_up_for_on_waking_up(tmp_path: Path) -> None:
    """Asleep from before round 1 until round 5, which is not answered: the next report is that of a later round."""
    someone, clock, answered = joined_with(
        tmp_path, lambda rounds: {2, 3} <= set(rounds) and 5 not in rounds and rounds[-1] > 5
    )
    server, moments = Server(), SendTimes(clock)

    def tend() -> str:
        return moments.tend(someone, lambda: _outcome(someone, server, clock))[0].name

    assert tend() == "NOTHING"
    for share in (0.2, 0.5, 0.97):
        clock.now = START + (4 + share) * DAY
        assert tend() == "NOTHING"
    assert server.bodies == []
    due = someone.due() or 0.0
    clock.now = due
    assert tend() == "ACCEPTED"
    assert round_of(server.bodies[0]) == min(n for n in answered if n > 5)


def _outcome(member: Client, server: Server, clock: Clock) -> Any:
    return member.send(SERVER, post=server, look=lambda host, port: HOME, sleep=clock.sleep)


def test_a_changed_answer_and_a_new_process_toss_the_same_coins(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock)
    answered = coins(someone)
    for round in range(1, 31):
        clock.late_in(round)
        again = client(tmp_path / "c", someone.campaign, clock)
        again.answer(round % 4)
        send(again, server, clock)
    assert [round_of(body) for body in server.bodies] == answered


def test_five_states_put_back_toss_the_same_coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lock, "folder_mark", "here")
    clock = Clock()
    someone = joined(tmp_path / "c", clock)
    back, began, found = rolled_back(tmp_path / "c", monkeypatch), clock.now, []
    for value in (1, 2, 3, 1, 0):
        back()
        clock.now, server = began, Server()
        someone.answer(value)
        for round in range(1, 31):
            clock.late_in(round)
            send(someone, server, clock)
        found.append([round_of(body) for body in server.bodies])
    assert found == [found[0]] * 5
    back()
    clock.now = began
    assert found[0] == coins(someone)


def _seeded(seed: int) -> Callable[[int], bytes]:
    """Entropy that is the same in every process."""
    count = 0

    def draw(size: int) -> bytes:
        nonlocal count
        count += 1
        return hashlib.shake_256(f"{seed} {count}".encode()).digest(size)

    return draw


@pytest.mark.slow
def test_killed_between_every_pair_of_steps_it_answers_the_coins_rounds_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = sometimes(Deck(bits=6, slots=6, eps_report=0.05), rounds=6)

    def start(folder: Path, seed: int) -> Client:
        monkeypatch.setattr(client_module, "system", _seeded(seed))
        someone = client(folder, asked, Clock())
        someone.answer(2)
        return someone

    seed = next(n for n in range(1000) if coins(start(tmp_path / f"seed{n}", n), 6) == [2, 4, 6])

    def live(folder: Path, log: Path) -> Callable[[Callable[[], None]], None]:
        def run(step: Callable[[], None]) -> None:
            someone = start(folder, seed)
            for round in (1, 2, 3, 4):
                clock = someone._clock = Clock()
                clock.late_in(round)
                clock.now -= 400
                someone.send(SERVER, post=network(log, step), look=lambda host, port: HOME, sleep=clock.sleep)

        return run

    number, killed, later = 0, True, 0
    while killed:
        folder, log = tmp_path / f"c{number}", tmp_path / f"log{number}"
        killed = killed_at(number, live(folder, log), monkeypatch, torn=False)
        clock = Clock()
        for round in range(4, 7):
            clock.late_in(round)
            for member in members(folder, clock=clock) if folder.exists() else ():
                member.send(
                    SERVER, post=network(log, lambda: None), look=lambda host, port: HOME, sleep=clock.sleep
                )
        data = log.read_bytes() if log.exists() else b""
        size = 21 + -(-asked.mechanism.report_bits // 8)
        rounds = {round_of(data[i : i + size]) for i in range(0, len(data), size)}
        assert rounds <= {2, 4, 6}
        later += 6 in rounds
        number += 1
    assert number > 30
    assert later > number // 2


# --- the command line --------------------------------------------------------------------------------------------


def run(*arguments: str, given: str = "") -> Any:
    return CliRunner().invoke(main, list(arguments), input=given)


def test_who_stays_prints_nothing_in_rounds_that_are_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone, clock, answered = joined_with(tmp_path, lambda rounds: 2 < len(rounds) < 15 and rounds[0] > 2)
    server = Server()
    monkeypatch.setattr("time.time", clock)
    replace_sleep(monkeypatch, clock.sleep)
    defaults = {"post": server, "look": lambda host, port: HOME, "sleep": clock.sleep}
    monkeypatch.setattr(Member.send, "__kwdefaults__", defaults)
    stayed = run("send", SERVER, "--stay", "--folder", str(someone.folder.path))
    assert stayed.exit_code == 0, stayed.output
    assert [round_of(body) for body in server.bodies] == answered
    first, *others = stayed.output.splitlines()
    assert "nothing to send; next report" in first
    assert len(others) == len(answered)
    assert all(": accepted; " in line for line in others)


def test_sending_now_and_then_leaves_no_trace_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_goes_out: list[str]
) -> None:
    someone, clock, _ = joined_with(tmp_path, lambda rounds: rounds[:1] > [2])
    monkeypatch.setattr("time.time", clock)
    was = everything(someone.folder.path)
    for round in (1, 2):
        clock.late_in(round)
        done = run("send", "https://collect.example", "--folder", str(someone.folder.path), "--json")
        assert json.loads(done.output)[0]["outcome"] == "nothing to send"
    assert everything(someone.folder.path) == was
    assert nothing_goes_out == []


# --- the limit of the policy -------------------------------------------------------------------------------------


def test_the_default_policy_refuses_to_answer_more_than_three_rounds_in_a_row(tmp_path: Path) -> None:
    for rounds in (3, 4, 30):
        asked = campaign(Deck(bits=2, slots=rounds, eps_report=0.02), rounds=rounds)
        someone = Client(
            asked, None, Policy(eps=1.0, delta=1e-6, pins=(asked.id,)), folder=tmp_path / str(rounds), clock=Clock()
        )
        if rounds == 3:
            someone.answer(1)
            continue
        with pytest.raises(CampaignRefused) as refused:
            someone.answer(1)
        for words in (
            "attendance, which is the rounds that you answer and the places that you answer from",
            "recognised among 1,000 people to 0.016" if rounds == 4 else "people to 1 (upper if they run",
            "your policy allows 0.01",
            "a smaller participation or fewer rounds, or answering from one network only",
        ):
            assert words in str(refused.value)
        assert not list((tmp_path / str(rounds)).glob("*.state"))


def test_campaigns_are_refused_once_all_together_give_a_person_away(tmp_path: Path) -> None:
    """Each of them is fine: 0.0019 for one, 0.006 for two, and 0.03 for three."""
    clock = Clock()
    for number in range(3):
        asked = sometimes(
            Deck(bits=2, slots=365, eps_report=0.001), "1/20", rounds=365, question=f"Number {number}?"
        )
        someone = client(tmp_path / "c", asked, clock, recognition=0.01)
        if number < 2:
            someone.answer(1)
            continue
        with pytest.raises(CampaignRefused, match="attendance"):
            someone.answer(1)
    assert len(members(tmp_path / "c")) == 2


def test_leaving_gives_back_rounds_to_come_and_not_those_that_the_coin_left_out(tmp_path: Path) -> None:
    """What is charged does not depend on how the coins fell: all rounds that have begun."""
    someone, clock, _ = joined_with(tmp_path, lambda rounds: rounds[:1] > [6])
    clock.late_in(5)
    someone.leave()
    with someone.opened(clock.now) as (ledger, _):
        (life,) = ledger.accounts[someone.campaign.id].lives
        assert (life.first, life.last, life.through) == (1, 5, 5)
        assert life.over
    someone.answer(1)
    with someone.opened(clock.now) as (ledger, _):
        old, new = ledger.accounts[someone.campaign.id].lives
        assert old == life
        assert new.first == 6


def test_what_was_sent_plays_no_part_in_what_is_charged(tmp_path: Path) -> None:
    clock = Clock()
    ledgers = []
    for number, rounds in enumerate(([], range(1, 31))):
        someone = joined(tmp_path / str(number), clock, sometimes())
        for round in rounds:
            clock.late_in(round)
            send(someone, Server(), clock)
        clock.late_in(30)
        with someone.opened(clock.now) as (ledger, _):
            ledgers.append((ledger.joint.recognition(), ledger.check(policy(delta=1.0))))
        clock = Clock()
    assert ledgers[0] == ledgers[1]


def test_another_place_does_not_change_the_coin(tmp_path: Path) -> None:
    """The coin is tossed whatever the place: answered rounds are the same, at home, at work, or on the way."""
    clock, server = Clock(), Server()
    someone = joined(tmp_path / "c", clock)
    answered = coins(someone)
    for round in range(1, 31):
        clock.late_in(round)
        send(someone, server, clock, (HOME, WORK)[round % 2])
    assert [round_of(body) for body in server.bodies] == answered
