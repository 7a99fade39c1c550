"""One account over all campaigns: sums of what each declares, one turn at a time, and nothing ever given back."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import DAY, START, Clock, Server, campaign, client, policy, send, turns_campaign
from untrackable.client.ledger import Ledger, Spent, read_ledger
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.kept_bits import Bitwise
from untrackable.protocol.campaign import Campaign
from untrackable.theory.experiment import Experiment

DECK = campaign(Deck(bits=3, slots=30, eps_report=0.03), eps=0.5)
BIT = campaign(Bitwise(eps_state=0.4, eps_report=0.3), eps=0.25, values="fixed", gamma=0.5, tracking_delta=0.1)


def ledger(*asked: Campaign) -> Ledger:
    found = Ledger()
    for one in asked:
        found = found.joined(one)
    return found


def later(number: int, **changes: Any) -> Campaign:
    """Turns in three days, one campaign after the other."""
    return turns_campaign(rounds=3, first_round=START + 3 * number * DAY, **changes)


def test_what_is_spent_is_the_sum_of_what_is_declared() -> None:
    assert ledger().spent == Spent(0.0, 0.0, 0.0, 0.0)
    assert ledger(DECK, BIT, later(0), later(1, eps=2.0)).spent == pytest.approx((3.75, 2e-6, 0.5, 0.1))


def test_the_sum_is_no_less_than_the_truth() -> None:
    """Basic composition: the engine's delta of all reports, at the sum of the eps, is below the sum of deltas."""
    every = [campaign(Deck(bits=3, slots=30, eps_report=0.04), question=f"{i}?", eps=1.0) for i in range(3)]
    pairs = [one.mechanism.privacy(reports=one.rounds) for one in every]
    total = Experiment()
    for pair in pairs:
        assert isinstance(pair, Experiment)
        assert pair.delta(1.0).upper <= 1e-6
        total = total + pair
    spent = ledger(*every).spent
    assert total.delta(spent.eps).upper <= spent.delta


def test_a_policy_equal_to_what_is_declared_is_enough() -> None:
    ledger(BIT).check(policy(eps=0.25, gamma=0.5, tracking_delta=0.1), Ledger())
    ledger(*(later(i, eps=0.1) for i in range(3))).check(policy(eps=0.3, delta=0.0), Ledger())
    with pytest.raises(CampaignRefused, match="privacy budget"):
        ledger(*(later(i, eps=0.1) for i in range(3))).check(policy(eps=0.2999, delta=0.0), Ledger())


@pytest.mark.parametrize(
    ("limits", "needed"),
    [
        ({"gamma": 0.4, "tracking_delta": 1.0}, r"need gamma 0\.5 .* `untrackable policy set --gamma 0\.5`"),
        ({"gamma": 0.5, "tracking_delta": 0.09}, r"need tracking_delta 0\.1 .* set --tracking-delta 0\.1`"),
    ],
)
def test_tracking_adds_up(limits: dict[str, float], needed: str) -> None:
    with pytest.raises(CampaignRefused, match=needed):
        ledger(BIT).check(policy(**limits), Ledger())
    twice = ledger(BIT, replace(BIT, question="Another?"))
    twice.check(policy(gamma=1.0, tracking_delta=0.2, delta=1e-5), Ledger())
    with pytest.raises(CampaignRefused, match="would need gamma 1 "):
        twice.check(policy(gamma=0.99, tracking_delta=0.2, delta=1e-5), Ledger())


def test_the_refusal_says_what_is_missing_and_what_would_change_it() -> None:
    one, two = later(0), later(1)
    for limits, said in (
        ({"eps": 1.0}, "policy set --eps 2`"),
        ({"eps": 1.5, "delta": 0.0}, "policy set --eps 2`"),
    ):
        with pytest.raises(CampaignRefused, match="does not fit your privacy budget") as refused:
            ledger(one, two).check(policy(**limits), ledger(one))
        assert said in str(refused.value)
        assert "`untrackable policy show` says what is spent" in str(refused.value)
    with pytest.raises(CampaignRefused, match=r"policy set --delta 1e-06`"):
        ledger(DECK).check(policy(eps=1.0, delta=1e-7), Ledger())


def test_one_turn_at_a_time_whatever_the_order() -> None:
    """Campaigns that touch are allowed; any that have a moment in common are not, however they were joined."""
    spans = [(0, 3), (3, 3), (6, 1), (2, 2), (5, 9)]
    for both in itertools.permutations(spans, 2):
        asked = [turns_campaign(rounds=long, first_round=START + first * DAY) for first, long in both]
        (one, length), (two, other) = both
        if max(one, two) < min(one + length, two + other):
            with pytest.raises(CampaignRefused, match="runs at the same time as another one"):
                ledger(*asked).check(policy(eps=9.0), Ledger())
        else:
            ledger(*asked).check(policy(eps=9.0), Ledger())


@pytest.mark.parametrize("most", [0, 1, 3])
def test_no_year_has_more_turns_than_the_policy_allows(most: int) -> None:
    limits = policy(eps=99.0, turns_a_year=most)
    few = [later(i) for i in range(most)]
    ledger(*few).check(limits, Ledger())
    for start in (-100, 364):
        more = turns_campaign(rounds=1, first_round=START + start * DAY)
        with pytest.raises(CampaignRefused, match=f"more than {most} turns within a year"):
            ledger(*few, more).check(limits, Ledger())
    if most:
        ledger(*few, turns_campaign(rounds=1, first_round=START + 365 * DAY)).check(limits, Ledger())
    ledger(DECK).check(replace(limits, every_round=True), Ledger())


def test_answering_every_round_is_no_turn() -> None:
    assert ledger(DECK, later(0), later(1)).turns == 2


@pytest.mark.parametrize("incident", ["left at 1970", "lost state", "turn over", "no turn"])
def test_nothing_is_given_back(incident: str, tmp_path: Path) -> None:
    """Not by a wrong clock, a lost file, an answer that was given, or a turn that never was."""
    share = Fraction(1, 10**9) if incident == "no turn" else Fraction(1)
    asked = turns_campaign(rounds=2, share=share)
    clock, folder = Clock(), tmp_path / "c"
    someone = client(folder, asked, clock)
    someone.answer(1)
    if incident == "left at 1970":
        clock.now = 0.0
        someone.leave()
    elif incident == "lost state":
        (folder / f"{asked.id}.state").unlink()
    elif incident == "turn over":
        for round in (1, 2, 3):
            clock.late_in(round)
            send(someone, Server(), clock)
        clock.now = 0.0
    assert read_ledger(folder).spent == Spent(1.0, 0.0, 0.0, 0.0)
    for number in (0, 9):
        with pytest.raises(CampaignRefused):
            client(folder, later(number, question="And now?"), clock).answer(1)
    someone.answer(2)
    assert read_ledger(folder).spent.eps == 1.0
    assert read_ledger(folder).turns == 1


def test_a_campaign_of_every_round_is_joined_and_charged_once(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    someone = client(tmp_path / "c", DECK, clock, eps=1.2, delta=1e-5)
    someone.answer(1)
    clock.late_in(2)
    assert send(someone, server, clock) == "ACCEPTED"
    clock.now = 0.0
    someone.leave()
    for round in (2, 5):
        clock.late_in(round)
        someone.answer(1)
        assert send(someone, server, clock) == "NOTHING"
    assert read_ledger(tmp_path / "c").spent.eps == 0.5


def test_the_content_comes_back() -> None:
    full = replace(ledger(DECK, later(0)), policy=replace(policy(turns_a_year=7), pins=()), count=3, time=9)
    assert Ledger.from_content(full.content()) == full
    assert math.isclose(full.spent.eps, 1.5)
