"""Days of use on the device: kept privately, counted anew for each report, forgotten on leaving."""

from pathlib import Path

import pytest

from tests.client.samples import DAY, START, Clock, Server, campaign, client, send, turns_campaign
from untrackable.client.client import Client, members
from untrackable.client.state import State, file_name
from untrackable.encodings.days_of_use import ACTIVE_DAYS, RETENTION
from untrackable.encodings.encoding import Presence
from untrackable.errors import CampaignRefused, StateError
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Present

ASKED = campaign(Deck(bits=5, slots=30, eps_report=0.05), encoding=ACTIVE_DAYS)
RETURNING = campaign(Deck(bits=4, slots=30, eps_report=0.05), encoding=RETENTION)


def held(someone: Client) -> int:
    """The encoded value of the state on disk."""
    state = State.read(someone.folder, someone.campaign.id)
    assert state is not None
    return state.value


def test_each_report_counts_the_last_28_days(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", ASKED, clock)
    someone.used()
    assert held(someone) == 1
    expected = {(START - 100) // DAY}
    for round in range(1, 31):
        clock.now = START + (round - 1) * DAY + 1
        if round in (1, 2, 5):
            someone.used()
            someone.used()
            expected.add(int(clock.now) // DAY)
        clock.late_in(round)
        today = int(clock.now) // DAY
        # `untrackable send` knows no policy and sends for all campaigns.
        (member,) = members(tmp_path / "c", clock=clock)
        assert send(member, server, clock) == "ACCEPTED"
        assert held(someone) == len({day for day in expected if today - 28 < day <= today})
    assert len(server.bodies) == 30


def test_coming_back(tmp_path: Path) -> None:
    clock, server = Clock(START - DAY + 5), Server()
    someone, old = client(tmp_path / "new", RETURNING, clock), client(tmp_path / "old", RETURNING, clock)
    someone.used()
    old.used(newcomer=False)
    first = clock.now
    clock.now = first + DAY
    for each in (someone, old):
        each.used(newcomer=True)
    clock.late_in(12)
    for each in (someone, old):
        assert send(each, server, clock) == "ACCEPTED"
    assert RETENTION.label(held(someone)) == "day 1 yes and day 7 no"
    assert RETENTION.label(held(old)) == "used before"


def test_at_most_28_days_are_kept_and_forgotten_on_leaving(tmp_path: Path) -> None:
    clock = Clock()
    someone = client(tmp_path / "c", ASKED, clock)
    someone.used()
    for day in range(1, 300):
        clock.now += DAY * (day % 3)
        someone.used()
    state = State.read(someone.folder, ASKED.id)
    assert state is not None
    assert state.days is not None
    assert len(state.days.days) == 19
    assert "days" not in repr(state)
    someone.leave()
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"ledger", "lock", "sending"}


def test_a_refused_campaign_keeps_no_days(tmp_path: Path) -> None:
    someone = client(tmp_path / "c", ASKED, Clock(), eps=0.01)
    with pytest.raises(CampaignRefused):
        someone.used()
    other = client(tmp_path / "d", campaign(), Clock())
    with pytest.raises(ValueError, match="does not ask about days of use"):
        other.used()
    fixed = campaign(Deck(bits=5, slots=30, eps_report=0.05), encoding=ACTIVE_DAYS, values="fixed")
    with pytest.raises(CampaignRefused, match="days of use do"):
        client(tmp_path / "e", fixed, Clock()).used()
    assert not list(tmp_path.glob("*/*.state"))


@pytest.mark.parametrize(
    "content",
    [
        {"days": [1], "newcomer": True, "returned": []},
        {"days": 5, "first": 1, "newcomer": True, "returned": []},
    ],
)
def test_a_file_that_makes_no_sense_is_an_error(content: dict[str, object], tmp_path: Path) -> None:
    clock = Clock()
    someone = client(tmp_path / "c", ASKED, clock)
    someone.used()
    state = someone.folder.read(file_name(ASKED.id), "it", dict)
    someone.folder.write(file_name(ASKED.id), {**(state or {}), "days": content})
    clock.late_in(1)
    for attempt in (someone.used, someone.report):
        with pytest.raises(StateError, match="the state cannot be understood"):
            attempt()


def test_counting_people_keeps_no_days(tmp_path: Path) -> None:
    asked = turns_campaign(Present(), encoding=Presence(), eps=0.0)
    someone = client(tmp_path / "c", asked, Clock())
    someone.used()
    with someone.opened(float(START)) as (ledger, held):
        assert held is not None
        assert held.days is None
        assert ledger.turns == 1
        assert ledger.spent.eps == 0


def test_days_are_forgotten_after_the_turn(tmp_path: Path) -> None:
    asked = turns_campaign(NoisyInnerProduct(bits=5, eps=1.0), encoding=ACTIVE_DAYS, rounds=2)
    for number in range(20):
        clock, server = Clock(), Server()
        someone = client(tmp_path / str(number), asked, clock)
        for round in (1, 2):
            someone.used()
            clock.late_in(round)
            send(someone, server, clock)
        clock.late_in(3)
        someone.used()
        assert len(server.bodies) == 1
        assert not list((tmp_path / str(number)).glob("*.state"))


def test_copies_make_the_same_report_of_the_same_days(tmp_path: Path) -> None:
    """So that the collector counts them once."""
    asked = turns_campaign(NoisyInnerProduct(bits=5, eps=1.0), encoding=ACTIVE_DAYS, rounds=2)
    for number in range(40):
        clock = Clock()
        someone = client(tmp_path / str(number), asked, clock)
        someone.used()
        state = State.read(someone.folder, asked.id)
        if state is None or state.ratchet.round != 2:
            continue
        clock.late_in(2)
        with someone.opened(clock.now) as (_, held):
            assert held is not None
            made = [someone._up_to_date(held, clock.now).answered(asked, 2).prepared for _ in range(2)]
            assert made[0] == made[1]
            later = someone._up_to_date(held, clock.now + 40 * DAY).answered(asked, 2).prepared
            assert later != made[0]
        return
    raise AssertionError("nobody has the second round")


def test_a_report_that_only_counts_a_person_is_sent(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", turns_campaign(Present(), encoding=Presence(), eps=0.0, rounds=1), clock)
    someone.used()
    clock.now = someone.due() or 0.0
    assert send(someone, server, clock) == "ACCEPTED"
