"""Clients that answer once: which round it is, what is kept, and that no incident leads to a second answer."""

import contextlib
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.client.samples import (
    DAY,
    START,
    Clock,
    Server,
    campaign,
    client,
    round_of,
    send,
    snapshot,
    turns_campaign,
)
from untrackable.client.client import Client, members
from untrackable.client.ledger import Account, Ledger, read_ledger
from untrackable.client.state import SIZE, Ratchet, State
from untrackable.errors import CampaignRefused, ClockBehind
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.protocol.campaign import Campaign
from untrackable.randomizers.randomness import system
from untrackable.theory.turns import Turns

ROUNDS = 12
ASKED = turns_campaign(rounds=ROUNDS)


def joined(folder: Path, clock: Clock, asked: Campaign = ASKED, *, value: int = 2, **limits: Any) -> Client:
    """A client that has joined, as somebody whose turn lies ahead."""
    for number in range(1000):
        person = client(folder / str(number), asked, clock, **limits)
        person.answer(value)
        if person.due() is not None:
            return person
    raise AssertionError("nobody has a turn ahead")


def turn_of(person: Client) -> int:
    """The round of somebody's turn."""
    held = State.read(person.folder, person.campaign.id)
    assert held is not None
    return held.ratchet.round


def ledger_of(person: Client) -> Ledger:
    """What is on disk."""
    return read_ledger(person.folder.path)


def chi_square(counts: Counter[int], expected: dict[int, float]) -> float:
    """Pearson's statistic."""
    return sum((counts[each] - mean) ** 2 / mean for each, mean in expected.items())


LIMIT = 45.3
"""Pearson's statistic with 12 degrees of freedom exceeds this with probability 1e-5."""


@pytest.mark.parametrize("share", [Fraction(1), Fraction(2, 3)])
def test_turns_have_their_law_and_a_wrong_one_is_rejected(share: Fraction) -> None:
    people, turns = 24_000, Turns(rounds=ROUNDS, share=share)
    drawn = Counter(Ratchet(system(SIZE), 1).turn(turns) or 0 for _ in range(people))
    law = {round: people * float(turns.chance) for round in range(1, ROUNDS + 1)}
    if share < 1:
        law[0] = people * float(1 - share)
    assert chi_square(drawn, law) < LIMIT
    wrong = {**law, 1: law[1] * 1.2, 2: law[2] * 0.8}
    assert chi_square(drawn, wrong) > LIMIT


def test_a_person_answers_once_and_only_done_is_kept(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    person = joined(tmp_path, clock)
    turn = turn_of(person)
    for round in range(1, ROUNDS + 1):
        clock.late_in(round)
        before = snapshot(person.folder.path)
        assert send(person, server, clock) == ("ACCEPTED" if round == turn else "NOTHING")
        if round != turn:
            assert snapshot(person.folder.path) == before
        clock.late_in(round)
        assert send(person, server, clock) == "NOTHING"
    assert [round_of(body) for body in server.bodies] == [turn]
    assert ledger_of(person).accounts[ASKED.id] == Account(ASKED.to_bytes())
    assert State.read(person.folder, ASKED.id) is None
    assert members(person.folder.path) == []


def test_the_value_of_the_turn_is_the_last_one(tmp_path: Path) -> None:
    asked = turns_campaign(NoisyInnerProduct(bits=2, eps=40.0, width=2), rounds=ROUNDS, eps=40.0)
    clock, server = Clock(), Server()
    person = joined(tmp_path, clock, asked, value=0, eps=40.0)
    person.answer(3)
    clock.late_in(turn_of(person))
    send(person, server, clock)
    report = asked.mechanism.base  # type: ignore[attr-defined]
    payload = int.from_bytes(server.bodies[0][21:], "little")
    likely = [float(report.log_likelihood(np.array([payload], dtype=np.uint64), value)[0]) for value in range(4)]
    assert max(range(4), key=lambda value: likely[value]) == 3


@pytest.mark.parametrize("after_the_turn", [False, True])
def test_leaving_and_joining_again_gives_no_second_answer(tmp_path: Path, after_the_turn: bool) -> None:
    clock, server = Clock(), Server()
    person = joined(tmp_path, clock)
    if after_the_turn:
        clock.late_in(turn_of(person))
        send(person, server, clock)
    person.leave()
    sent = len(server.bodies)
    spent = ledger_of(person).spent
    for round in range(1, ROUNDS + 1):
        clock.now = START + round * DAY - DAY / 2
        person.answer(1)
        clock.late_in(round)
        assert person.due() is None
        assert send(person, server, clock) == "NOTHING"
    assert len(server.bodies) == sent
    assert ledger_of(person).spent == spent


def test_a_turn_that_passes_while_the_device_is_off_is_lost(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    person = joined(tmp_path, clock)
    clock.late_in(turn_of(person) + 1)
    assert person.due() is None
    assert State.read(person.folder, ASKED.id) is None
    clock.late_in(1)
    person.answer(1)
    assert person.due() is None
    assert send(person, server, clock) == "NOTHING"


def test_late_joiners_answer_with_the_chance_of_the_rounds_that_are_left(tmp_path: Path) -> None:
    """All rounds are in the draw. Somebody who joins in round 9 of 12 has a turn ahead with probability 3/12."""
    clock, people = Clock(START + 8 * DAY + 5), 400
    waiting = 0
    for number in range(people):
        person = client(tmp_path / str(number), ASKED, clock)
        person.answer(1)
        waiting += person.due() is not None
    # Off by more than 5.2 standard deviations with probability 2e-7; a draw of the rounds that are left has 400.
    assert abs(waiting - people / 4) < 5.2 * (people * 3 / 16) ** 0.5


def test_a_round_that_has_begun_when_somebody_joins_is_not_answered(tmp_path: Path) -> None:
    clock = Clock(START + 5)
    asked = turns_campaign(rounds=2)
    for number in range(40):
        person = client(tmp_path / str(number), asked, clock)
        person.answer(1)
        assert person.due() is None or turn_of(person) == 2


def test_every_person_once_over_all_incidents(tmp_path: Path) -> None:
    """Late joins, missed rounds, clock jumps, copies of folders, changes of value and leaving: never twice."""
    chance = random.Random(7)  # noqa: S311
    for number in range(60):
        clock, server = Clock(START - 100), Server(*chance.choices([200, 503, None], k=3))
        folder = tmp_path / str(number)
        person = client(folder, ASKED, clock)
        now = START + chance.uniform(-DAY, 6 * DAY)
        while now < START + (ROUNDS + 1) * DAY:
            clock.now = now if chance.random() > 0.1 else chance.choice([0.0, START + 3 * DAY, START + 40 * DAY])
            match chance.randrange(6):
                case 0 | 1:
                    with contextlib.suppress(CampaignRefused):  # It is over.
                        person.answer(chance.randrange(4))
                case 2 | 3 | 4:
                    send(person, server, clock)
                case _:
                    if chance.random() < 0.1:
                        person.leave()
                    person = client(folder, ASKED, clock)
            now += chance.uniform(0, DAY / 2)
        assert len(set(server.bodies)) <= 1


def test_two_campaigns_at_the_same_time_are_refused_with_the_way_out(tmp_path: Path) -> None:
    clock = Clock()
    client(tmp_path, ASKED, clock, eps=9.0).answer(1)
    again = turns_campaign(rounds=3, first_round=START + 11 * DAY, question="And now?")
    with pytest.raises(CampaignRefused, match="into one campaign"):
        client(tmp_path, again, clock, eps=9.0).answer(1)
    later = turns_campaign(rounds=3, first_round=START + 12 * DAY, question="And now?")
    client(tmp_path, later, clock, eps=9.0).answer(1)
    ledger = read_ledger(tmp_path)
    assert ledger.turns == 2
    assert ledger.spent.eps == 2.0


def test_leaving_makes_no_room_for_a_campaign_at_the_same_time(tmp_path: Path) -> None:
    clock = Clock()
    first = client(tmp_path, ASKED, clock, eps=9.0)
    first.answer(1)
    clock.now = 0.0
    first.leave()
    clock.now = START - 100
    other = turns_campaign(rounds=5, question="And now?")
    with pytest.raises(CampaignRefused, match="same time"):
        client(tmp_path, other, clock, eps=9.0).answer(1)


def test_four_turns_a_year_and_no_more(tmp_path: Path) -> None:
    clock = Clock()
    for number in range(4):
        asked = turns_campaign(rounds=2, first_round=START + number * 90 * DAY)
        client(tmp_path, asked, clock, eps=99.0).answer(1)
    fifth = turns_campaign(rounds=2, first_round=START + 364 * DAY)
    with pytest.raises(CampaignRefused, match="more than 4 turns within a year"):
        client(tmp_path, fifth, clock, eps=99.0).answer(1)
    client(tmp_path, turns_campaign(rounds=2, first_round=START + 365 * DAY), clock, eps=99.0).answer(1)


def test_the_budget_is_a_sum_and_is_never_given_back(tmp_path: Path) -> None:
    clock = Clock()
    first = client(tmp_path, ASKED, clock, eps=1.5)
    first.answer(1)
    clock.now = 0.0
    first.leave()
    clock.now = START - 100
    later = turns_campaign(rounds=3, first_round=START + 40 * DAY)
    with pytest.raises(CampaignRefused, match=r"would need eps 2 \(upper\), .*Before this one, eps 0\.5 is left"):
        client(tmp_path, later, clock, eps=1.5).answer(1)


def test_a_wipe_that_is_allowed_is_charged(tmp_path: Path) -> None:
    asked = turns_campaign(wipes=1)
    with pytest.raises(CampaignRefused, match="declares eps = 1, and has 2"):
        client(tmp_path, asked, Clock()).answer(1)
    declared = turns_campaign(wipes=1, eps=2.0)
    client(tmp_path, declared, Clock(), eps=2.0).answer(1)


def test_answering_every_round_has_to_be_allowed(tmp_path: Path) -> None:
    asked = campaign()
    with pytest.raises(CampaignRefused, match="gives people away"):
        client(tmp_path, asked, Clock(), every_round=False).answer(1)
    client(tmp_path, asked, Clock()).answer(1)


def test_campaigns_of_both_kinds_may_run_at_the_same_time_within_the_budget(tmp_path: Path) -> None:
    client(tmp_path, ASKED, Clock(), eps=2.0).answer(1)
    client(tmp_path, campaign(), Clock(), eps=2.0).answer(1)


def test_the_round_of_a_turn_is_not_kept(tmp_path: Path) -> None:
    """Neither in files that are left, nor in a ledger whose state was lost, nor in how accounts are shown."""
    clock, server = Clock(), Server()
    person = joined(tmp_path, clock)
    turn = turn_of(person)
    assert "through" not in repr(ledger_of(person))
    clock.late_in(turn)
    send(person, server, clock)
    assert {path.name for path in person.folder.path.iterdir()} == {"ledger", "lock", "next", "sending"}

    other = joined(tmp_path / "other", clock := Clock())
    last = turn_of(other)
    (other.folder.path / f"{ASKED.id}.state").unlink()
    clock.late_in(last + 1)
    assert other.due() is None
    assert ledger_of(other).accounts[ASKED.id] == Account(ASKED.to_bytes())


def test_a_clock_that_was_wrong_for_a_moment_leads_to_no_second_answer(tmp_path: Path) -> None:
    """A folder that was backed up then, and is put back after the turn, is known to be old."""
    clock, server = Clock(), Server()
    person = joined(tmp_path, clock)
    place, turn = person.folder.path, turn_of(person)
    clock.now = START + 1.0
    person.answer(3)
    clock.now = 5.0
    person.answer(1)
    saved = snapshot(place)
    clock.late_in(turn)
    send(person, server, clock)
    for path in place.iterdir():
        path.unlink()
    for path, content in saved.items():
        path.write_bytes(content)
        path.chmod(0o600)
    clock.now = 5.0
    with pytest.raises(ClockBehind):
        client(place, ASKED, clock).answer(2)
