"""What a campaign would take is what it takes, and what is left is accepted for certain."""

from pathlib import Path

import pytest
from untrackable.accounting.spent_budget import left_eps

from tests.client.samples import Clock, campaign, client, policy, snapshot
from untrackable.client.offered_campaign import Offer, offer
from untrackable.client.policy import Policy
from untrackable.client.stored_policy import left_budget, spent_budget
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.protocol.campaign import Campaign


def quiet(number: int, eps: float = 0.5, delta: float = 3e-7, rounds: int = 30) -> Campaign:
    deck = Deck.for_budget(bits=2, slots=rounds, eps=eps, delta=delta)
    return campaign(deck, question=f"Number {number}?", eps=eps, delta=delta, rounds=rounds)


def offered(folder: Path, asked: Campaign, limits: Policy, clock: Clock) -> Offer:
    return offer(folder, asked, limits, clock=clock)


def test_an_offer_says_what_joining_takes_and_writes_nothing(tmp_path: Path) -> None:
    clock, folder, limits = Clock(), tmp_path / "c", policy()
    first, second = quiet(1), quiet(2)
    told = offered(folder, first, limits, clock)
    assert not folder.exists()
    assert told.refusal is None
    assert not told.joined
    assert told.spent == (0.0, 0.0, 0.001)
    client(folder, first, clock).answer(1)
    assert spent_budget(folder) == told.spent_with_it
    assert left_budget(folder) == told.left
    before = snapshot(folder)
    then = offered(folder, second, limits, clock)
    assert snapshot(folder) == before
    assert then.spent == told.spent_with_it
    assert told.spent_with_it.eps < then.spent_with_it.eps <= 1.0
    again = offered(folder, first, limits, clock)
    assert again.joined
    assert again.spent == again.spent_with_it == then.spent


def test_an_offer_says_why_it_would_be_refused(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, quiet(1, eps=0.9), clock).answer(1)
    more = quiet(2, eps=0.9)
    told = offered(folder, more, policy(), clock)
    assert told.spent_with_it.eps > 1
    with pytest.raises(CampaignRefused) as refused:
        client(folder, more, clock).answer(1)
    assert told.refusal == str(refused.value)
    untrue = campaign(Deck(bits=2, slots=30, eps_report=0.5))
    assert "cannot be confirmed" in str(offered(folder, untrue, policy(eps=9.0), clock).refusal)
    clock.late_in(31)
    late = offered(folder, quiet(3), policy(), clock)
    assert "no later round is left" in str(late.refusal)
    assert late.spent == late.spent_with_it


def test_what_is_left_is_accepted_for_certain(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    client(folder, quiet(1), clock).answer(1)
    left = left_budget(folder)
    assert left is not None
    assert 0.3 < left.eps == left.crowd_eps < 1
    for rounds in (1, 30):
        assert offered(folder, quiet(2, eps=left.eps, delta=5e-7, rounds=rounds), policy(), clock).refusal is None
    more = 1.1 * left.eps  # Half of delta is kept back, so a little more than what is left may fit.
    once = campaign(Deck(bits=2, slots=1, eps_report=more), rounds=1, delta=0.0, eps=more)
    assert "does not fit your privacy budget" in str(offered(folder, once, policy(), clock).refusal)


def test_nothing_is_left_of_a_budget_that_is_spent(tmp_path: Path) -> None:
    clock, folder = Clock(), tmp_path / "c"
    assert left_budget(folder) is None
    client(folder, quiet(1, eps=1.0, delta=1e-6), clock).answer(1)
    assert left_budget(folder) == (0.0, 0.0)


def test_the_largest_that_fits_is_found() -> None:
    for largest in (0.002, 0.3, 0.999):
        assert 0.99 * largest < left_eps(largest.__ge__, 1.0) <= largest
    assert left_eps(lambda eps: True, 2.0) == 2.0
    assert left_eps(lambda eps: False, 2.0) == 0.0
