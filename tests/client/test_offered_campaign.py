"""What a campaign would take is what it takes, and an offer writes nothing."""

from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import Clock, campaign, client, policy, snapshot, turns_campaign
from untrackable.client.client import Offer, offer
from untrackable.client.ledger import read_ledger
from untrackable.client.policy import Policy
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.protocol.campaign import Campaign


def quiet(number: int, eps: float = 0.5, delta: float = 3e-7) -> Campaign:
    deck = Deck.for_budget(bits=2, slots=30, eps=eps, delta=delta)
    return campaign(deck, question=f"Number {number}?", eps=eps, delta=delta)


def turn(eps: float = 0.5, **changes: Any) -> Campaign:
    return turns_campaign(NoisyInnerProduct(bits=2, eps=eps), eps=eps, **changes)


def offered(folder: Path, asked: Campaign, limits: Policy, clock: Clock) -> Offer:
    return offer(folder, asked, limits, clock=clock)


@pytest.mark.parametrize(("first", "second"), [(quiet(1), quiet(2)), (turn(), quiet(1)), (quiet(1), turn())])
def test_an_offer_says_what_joining_takes_and_writes_nothing(
    first: Campaign, second: Campaign, tmp_path: Path
) -> None:
    clock, folder, limits = Clock(), tmp_path / "c", policy()
    told = offered(folder, first, limits, clock)
    assert not folder.exists()
    assert told.refusal is None
    assert not told.joined
    assert (told.before.spent, told.before.turns) == ((0.0, 0.0, 0.0, 0.0), 0)
    client(folder, first, clock).answer(1)
    assert (read_ledger(folder).spent, read_ledger(folder).turns) == (told.after.spent, told.after.turns)
    before = snapshot(folder)
    then = offered(folder, second, limits, clock)
    assert snapshot(folder) == before
    assert then.refusal is None
    assert (then.before.spent, then.before.turns) == (told.after.spent, told.after.turns)
    assert then.after.spent.eps == 1.0
    assert then.after.turns == (first.turns is not None) + (second.turns is not None)
    again = offered(folder, first, limits, clock)
    assert again.joined
    assert again.before.spent == again.after.spent == then.before.spent


def test_an_offer_says_why_it_would_be_refused(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, quiet(1, eps=0.9), clock).answer(1)
    for more in (quiet(2, eps=0.9), turn(0.9)):
        told = offered(folder, more, policy(), clock)
        assert told.after.spent.eps > 1
        with pytest.raises(CampaignRefused) as refused:
            client(folder, more, clock).answer(1)
        assert told.refusal == str(refused.value)
    untrue = campaign(Deck(bits=2, slots=30, eps_report=0.5))
    assert "and has up to" in str(offered(folder, untrue, policy(eps=9.0), clock).refusal)
    untrue = turns_campaign(NoisyInnerProduct(bits=2, eps=1.5))
    assert "declares eps = 1, and has 1.5" in str(offered(folder, untrue, policy(eps=9.0), clock).refusal)
    clock.late_in(31)
    for late in (quiet(3, eps=0.1), turn(0.1)):
        assert "no later round is left" in str(offered(folder, late, policy(), clock).refusal)


def test_a_turn_that_is_over_takes_nothing_more(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    someone = client(folder, turn(), clock)
    someone.answer(1)
    someone.leave()
    told = offered(folder, turn(), policy(), clock)
    assert told.joined
    assert told.before.spent == told.after.spent
