"""A client's life: what it answers, when, and what it refuses."""

import stat
from pathlib import Path

import pytest

from tests.client.samples import (
    DAY,
    START,
    Clock,
    Server,
    campaign,
    client,
    nonce_of,
    policy,
    round_of,
    send,
    snapshot,
)
from untrackable.client.client import Client, members
from untrackable.client.ledger import read_ledger
from untrackable.client.state import State
from untrackable.errors import CampaignError, CampaignRefused, StateError, ValueChangeRefused
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.kept_bits import Bitwise
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.stored import InnerProduct
from untrackable.protocol import wire
from untrackable.protocol.campaign import Directory

FIXED = {"values": "fixed", "tracking_delta": 1.0}


def test_a_whole_campaign_is_answered_once_a_round(tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(3)
    for round in range(1, 31):
        clock.late_in(round)
        for _ in range(3):
            send(client(tmp_path / "c", asked, clock), server, clock)
    clock.late_in(31)
    assert send(someone, server, clock) == "NOTHING"
    assert someone.due() is None
    assert [round_of(body) for body in server.bodies] == list(range(1, 31))
    assert len({nonce_of(body) for body in server.bodies}) == 30
    decoded = wire.of(asked.mechanism).decode(b"".join(server.bodies))
    assert decoded.payloads.any()


@pytest.mark.parametrize(
    ("mechanism", "changes"),
    [
        (Fading(bits=2, eps=1.0, delta=1e-6), {"rounds": None}),
        (InnerProduct(bits=2, slots=10, eps_report=0.02), FIXED),
        (Bitwise(eps_state=0.5, eps_report=0.3), {**FIXED, "delta": 0.0, "gamma": 1.0}),
        (Rappor(bloom_bits=8, hashes=1, f=0.9, p=0.5, q=0.6), {**FIXED, "eps": 1.0, "delta": 0.5}),
    ],
    ids=lambda given: type(given).__name__,
)
def test_other_mechanisms(mechanism: Deck, changes: dict[str, object], tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign(mechanism, **changes)
    someone = client(tmp_path / "c", asked, clock, delta=0.5, gamma=1.0, tracking_delta=1.0)
    someone.answer(1)
    for round in (1, 2, 4):
        clock.late_in(round)
        assert send(someone, server, clock) == "ACCEPTED"
    assert [round_of(body) for body in server.bodies] == [1, 2, 4]


def test_moments_are_spread_over_the_round_and_fixed_for_each(tmp_path: Path) -> None:
    clock, asked = Clock(), campaign()
    moments = []
    for person in range(40):
        someone = client(tmp_path / str(person), asked, clock)
        someone.answer(1)
        due = someone.due()
        assert due is not None
        assert due == someone.due() == client(tmp_path / str(person), asked, clock).due()
        assert START + DAY / 20 <= due <= START + DAY * 19 / 20
        assert someone.report(due - 0.001) is None
        assert someone.report(due) is not None
        moments.append((due - START) / DAY)
    # Uniform on [0.05, 0.95]: 40 of them miss either half with probability 2^-39.
    assert min(moments) < 0.5 < max(moments)
    assert len(set(moments)) == 40


def test_a_new_state_answers_only_rounds_that_begin_later(tmp_path: Path) -> None:
    clock, server = Clock(START + 4.5 * DAY), Server()
    someone = client(tmp_path / "c", campaign(), clock)
    someone.answer(2)
    clock.late_in(5)
    assert send(someone, server, clock) == "NOTHING"
    clock.late_in(6)
    assert send(someone, server, clock) == "ACCEPTED"
    assert [round_of(body) for body in server.bodies] == [6]


def test_a_state_made_at_the_very_beginning_of_a_round_waits_for_the_next(tmp_path: Path) -> None:
    clock = Clock(START + 2 * DAY)
    someone = client(tmp_path / "c", campaign(), clock)
    someone.answer(2)
    clock.late_in(3)
    assert someone.report() is None


def test_missed_rounds_are_not_caught_up(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", campaign(), clock)
    someone.answer(2)
    for round in (2, 9):
        clock.late_in(round)
        send(someone, server, clock)
        send(someone, server, clock)
    assert [round_of(body) for body in server.bodies] == [2, 9]


def test_a_lost_state_answers_nothing_more_and_nothing_is_charged_again(tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    clock.late_in(3)
    send(someone, server, clock)
    (tmp_path / "c" / f"{asked.id}.state").unlink()
    assert someone.report() is None
    clock.now -= 2 * DAY  # and the clock is wrong as well
    someone.answer(1)
    for round in (2, 3, 4):
        clock.late_in(round)
        assert send(someone, server, clock) == "NOTHING"
    assert [round_of(body) for body in server.bodies] == [3]
    assert read_ledger(tmp_path / "c").spent.eps == 1.0


def test_the_same_bytes_in_the_same_round(tmp_path: Path) -> None:
    clock, asked = Clock(), campaign(Fading(bits=2, eps=1.0, delta=1e-6), rounds=None)
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    clock.late_in(1)
    first = someone.report()
    assert first is not None
    assert someone.report() == first == client(tmp_path / "c", asked, clock).report()
    clock.late_in(2)
    assert someone.report() != first
    clock.late_in(1)
    assert someone.report() is None


@pytest.mark.parametrize("days", [[3, 1, 2, 3, 5, 4, 30, 6], [30, 1, 29, 2, 30], [1, 40, 2, -5, 3]])
def test_a_clock_that_jumps_never_makes_it_answer_twice(days: list[int], tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", campaign(), clock)
    someone.answer(2)
    for day in days:
        clock.late_in(day)
        send(someone, server, clock)
    rounds = [round_of(body) for body in server.bodies]
    assert rounds == sorted(set(rounds))
    # Rounds after the latest that was answered are answered; those before it are over.
    assert rounds == [
        day
        for i, day in enumerate(days)
        if 1 <= day <= 30 and day > max([0, *days[:i]], key=lambda d: d if d <= 30 else 0)
    ]


def test_a_clock_in_the_far_future_is_not_followed(tmp_path: Path) -> None:
    clock, asked = Clock(), campaign(Fading(bits=2, eps=1.0, delta=1e-6), rounds=None, round_seconds=1)
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(1)
    for seconds in (1e9, 1e12, 1e18):
        clock.now = START + seconds
        assert someone.due() is None
        assert someone.report() is None
    clock.now = START + 1000.97
    assert someone.report() is not None


def test_a_changed_value_follows_the_declared_rule(tmp_path: Path) -> None:
    clock = Clock()
    someone = client(tmp_path / "any", campaign(), clock)
    someone.answer(2)
    someone.answer(3)
    fixed = client(tmp_path / "fixed", campaign(values="fixed"), clock)
    fixed.answer(2)
    fixed.answer(2)
    before = {path.name: path.read_bytes() for path in (tmp_path / "fixed").iterdir()}
    with pytest.raises(ValueChangeRefused, match="never changes"):
        fixed.answer(3)
    assert {path.name: path.read_bytes() for path in (tmp_path / "fixed").iterdir()} == before


def test_a_changed_value_is_what_later_reports_are_about(tmp_path: Path) -> None:
    """With hardly any noise, reports tell the value: vectors with one bit set read it off."""
    clock, asked = Clock(), campaign(Deck(bits=8, slots=30, eps_report=40.0, width=1), eps=2000.0, delta=0.0)
    someone = client(tmp_path / "c", asked, clock, eps=2000.0, delta=0.0)
    held = {}
    for round in range(1, 31):
        if round in (1, 11):
            held = {"value": 0b10110010 if round == 1 else 0b01001101}
            someone.answer(held["value"])
        clock.late_in(round)
        body = someone.report()
        if body is None:
            assert round == 1  # joined after it would have begun
            continue
        report = int.from_bytes(body[21:], "little")
        assert ((report >> 1) & held["value"]).bit_count() & 1 == report & 1


def test_a_state_for_each_value_is_kept_where_the_mechanism_needs_it(tmp_path: Path) -> None:
    clock = Clock()
    asked = campaign(
        Bitwise(eps_state=40.0, eps_report=0.01), tracking_delta=1.0, gamma=0.0, rounds=5, eps=1.0, delta=0.1
    )
    someone = client(tmp_path / "c", asked, clock, delta=0.1, tracking_delta=1.0)
    kept = []
    for value in (0, 1, 0):
        someone.answer(value)
        with someone.opened(clock.now) as (_, held):
            assert held is not None
            kept.append(dict(held.kept))
    assert len(kept[0]) == 1
    assert kept[1] == kept[2]  # back to the first state, not to a new one
    assert set(kept[1]) == {0, 1}


def test_what_was_sent_is_not_in_the_state(tmp_path: Path) -> None:
    for number, mechanism in enumerate(
        (Deck(bits=200, slots=30, eps_report=0.05), Fading(bits=200, eps=1.0, delta=1e-6))
    ):
        clock, server, asked = Clock(), Server(), campaign(mechanism, encoding=campaign().encoding)
        someone = client(tmp_path / str(number), asked, clock)
        someone.answer(2)
        clock.late_in(2)
        send(someone, server, clock)
        with someone.opened(clock.now) as (_, held):
            assert held is not None
            assert held.prepared is None
            report = int.from_bytes(server.bodies[0][21:], "little").to_bytes(26, "big")
            assert report not in dict(held.kept)[2]
        for path in (tmp_path / str(number)).iterdir():
            assert nonce_of(server.bodies[0]).hex().encode() not in path.read_bytes()


def test_leaving(tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(1)
    clock.late_in(1)
    send(someone, server, clock)
    someone.leave()
    assert someone.due() is None
    assert members(tmp_path / "c") == []
    # What was charged stays charged, and nobody comes back.
    with pytest.raises(CampaignRefused, match="Before this one, eps 0 is left"):
        client(tmp_path / "c", campaign(question="Another?"), clock).answer(1)
    someone.answer(1)
    clock.late_in(2)
    assert send(someone, server, clock) == "NOTHING"
    assert len(server.bodies) == 1


def test_leaving_that_was_interrupted_is_completed(tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(1)
    state = tmp_path / "c" / f"{asked.id}.state"
    kept = state.read_bytes()
    someone.leave()
    state.write_bytes(kept)
    clock.late_in(1)
    assert send(someone, server, clock) == "NOTHING"
    assert not state.exists()


def test_ten_campaigns_that_ask_the_same_cannot_spend_ten_times_the_budget(tmp_path: Path) -> None:
    clock = Clock()
    for number in range(10):
        asked = campaign(question=f"How many, number {number}?")
        if number == 0:
            client(tmp_path / "c", asked, clock).answer(2)
            continue
        with pytest.raises(CampaignRefused, match="all campaigns together would need eps 2 and delta 2e-06"):
            client(tmp_path / "c", asked, clock).answer(2)
        assert not (tmp_path / "c" / f"{asked.id}.state").exists()
    server = Server()
    for round in range(1, 31):
        clock.late_in(round)
        for member in members(tmp_path / "c", clock=clock):
            send(member, server, clock)
    assert len(server.bodies) == 30


def test_a_campaign_that_keeps_less_than_it_declares_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        CampaignRefused,
        match=r"declares delta = 1e-06 at eps = 1, and has up to",
    ):
        client(tmp_path / "c", campaign(Deck(bits=2, slots=30, eps_report=0.2)), Clock()).answer(1)
    assert not list((tmp_path / "c").glob("*.state"))


def test_a_campaign_that_is_over_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CampaignRefused, match="over"):
        client(tmp_path / "c", campaign(), Clock(START + 29.5 * DAY)).answer(1)


def test_only_published_campaigns(tmp_path: Path) -> None:
    asked, other = campaign(), campaign(question="Only you?")
    listed = Directory((asked.id,))

    def made(directory: Directory | None, *pins: str) -> Client:
        return Client(asked, directory, policy(pins=pins), folder=tmp_path / "c")

    made(None, asked.id)
    made(listed, listed.digest)
    for directory, pins, reason in [
        (None, (), "not pinned, and no directory"),
        (None, (listed.digest,), "no directory"),
        (listed, (), "digest .* is not pinned"),
        (listed, (other.id,), "digest .* is not pinned"),
        (Directory((other.id,)), (Directory((other.id,)).digest,), "neither pinned nor in the directory"),
    ]:
        with pytest.raises(CampaignRefused, match=reason):
            made(directory, *pins)
    with pytest.raises(CampaignError, match="64 lower-case"):
        policy(eps=1.0, delta=0.0, pins=("abc",))


def test_files_are_private_and_nothing_shows_the_value(tmp_path: Path) -> None:
    asked, clock = campaign(), Clock()
    someone = client(tmp_path / "deep" / "c", asked, clock)
    someone.answer(3)
    assert stat.S_IMODE((tmp_path / "deep" / "c").stat().st_mode) == 0o700
    for path in (tmp_path / "deep" / "c").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert repr(someone) == f"<client of campaign {asked.id}>"
    with someone.opened(clock.now) as (_, held):
        assert isinstance(held, State)
        assert "value" not in repr(held)
    with pytest.raises(ValueError, match="at least 0 and at most 3") as refused:
        someone.answer(77)
    assert "77" not in str(refused.value)


def test_a_folder_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir(mode=0o755)
    (tmp_path / "c").chmod(0o755)
    with pytest.raises(StateError, match="owner alone"):
        client(tmp_path / "c", campaign(), Clock()).due()


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -float("inf")])
def test_a_clock_that_says_no_time(now: float, tmp_path: Path) -> None:
    clock = Clock()
    someone = client(tmp_path / "c", campaign(), clock)
    someone.answer(2)
    before = snapshot(tmp_path / "c")
    clock.now = now
    for attempt in (someone.due, someone.report, someone.leave, lambda: someone.answer(1)):
        with pytest.raises(ValueError, match="now must be finite"):
            attempt()
    assert {path: data for path, data in snapshot(tmp_path / "c").items() if path in before} == before
