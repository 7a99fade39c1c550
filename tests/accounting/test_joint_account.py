"""All rounds of several campaigns: what a plan charges for them is what a client's ledger charges."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.client.samples import campaign
from untrackable.accounting.charged_rounds import ChargedRounds
from untrackable.accounting.joint_account import JointAccount
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.protocol.campaign import Campaign
from untrackable.theory.attendance import Attendance
from untrackable.theory.integer_losses import LossLaw

SELDOM = Attendance(Fraction(1, 5))
CAMPAIGNS = [
    campaign(Deck(bits=2, slots=30, eps_report=0.02), attendance=SELDOM),
    campaign(Deck(bits=2, slots=12, eps_report=0.02), rounds=12, attendance=SELDOM),
    campaign(Deck(bits=2, slots=30, eps_report=0.02), attendance=Attendance(Fraction(1, 5), one_network=True)),
    campaign(Deck(bits=2, slots=30, eps_report=0.02), attendance=SELDOM, wipes=2),
    campaign(InnerProduct(bits=4, slots=9, eps_report=0.01), rounds=9, values="fixed", tracking_delta=1.0),
    campaign(Fading(bits=4, eps=0.5, delta=1e-6), rounds=20, attendance=SELDOM),
]


def joined(asked: Campaign) -> Ledger:
    settled = 0 if asked.attending.one_network else None
    return Ledger().joined(asked, Life("a", 1, asked.rounds, 0, settled=settled))


@pytest.mark.parametrize("asked", CAMPAIGNS)
def test_all_rounds_are_what_is_charged_before_the_first_one(asked: Campaign) -> None:
    (account,) = joined(asked).accounts.values()
    assert ChargedRounds.of_all(asked) == account.charged


def test_a_deck_that_ends_before_the_campaign_is_charged_to_its_end() -> None:
    short = campaign(Deck(bits=2, slots=10, eps_report=0.02), rounds=30)
    assert ChargedRounds.of_all(short).reports == (10,)


def test_several_campaigns_are_charged_like_in_a_ledger() -> None:
    ledger = Ledger()
    for asked in CAMPAIGNS[:2]:
        ledger = ledger.joined(asked, Life("a", 1, asked.rounds, 0))
    joint = JointAccount(tuple(ChargedRounds.of_all(asked) for asked in CAMPAIGNS[:2]))
    assert ledger.joint == joint
    alone = [JointAccount((ChargedRounds.of_all(asked),)) for asked in CAMPAIGNS[:2]]
    assert joint.delta(0.3) > max(one.delta(0.3) for one in alone)
    assert joint.spent_eps(40.0, 1e-6) > max(one.spent_eps(40.0, 1e-6) for one in alone)
    assert joint.recognition() > max(one.recognition() for one in alone)


def private_pairs(eps: float, delta: float, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Pairs of worlds that are (eps, delta)-private: the worst, and others of four outcomes, as bad as allowed."""
    truth = (1 - delta) / (1 + math.exp(-eps))
    worst = np.array([truth, 1 - delta - truth, delta, 0.0])
    found = [(worst, worst[[1, 0, 3, 2]])]
    for _ in range(20):
        low = float(rng.uniform(0, eps))
        half = rng.dirichlet([1, 1]) * (1 - delta) / (1 + np.exp(-np.array([eps, low])))
        world = np.array([*half, *(half * np.exp(-np.array([eps, low]))), delta, 0.0])
        found.append((world, world[[2, 3, 0, 1, 5, 4]]))
    return found


def enumerated_delta(pairs: list[tuple[Any, Any]], eps: float) -> float:
    """Delta of independent experiments together, over all of their outcomes."""
    outcomes = [list(zip(*pair, strict=True)) for pair in pairs]
    return math.fsum(
        max(0.0, math.prod(p for p, _ in each) - math.exp(eps) * math.prod(q for _, q in each))
        for each in itertools.product(*outcomes)
    )


@pytest.mark.parametrize("cards", [1, 2, 3])
def test_whatever_has_what_is_left_fits_by_enumeration(cards: int) -> None:
    """Beside a deck, everything that is private with what is left keeps the budget, and 2 % more does not."""
    eps, delta, report = 1.0, 0.01, 0.3
    asked = campaign(Deck(bits=1, slots=cards, eps_report=report), rounds=cards, eps=cards * report, delta=0.0)
    left = JointAccount((ChargedRounds.of_all(asked),)).left_eps(eps, delta)
    truth = 1 / (1 + math.exp(-report))
    card = (np.array([truth, 1 - truth]), np.array([1 - truth, truth]))
    rng = np.random.default_rng(cards)
    assert all(
        enumerated_delta([card] * cards + [pair], eps) <= delta for pair in private_pairs(left, delta / 2, rng)
    )
    more = private_pairs(1.02 * left, delta / 2, rng)[0]
    assert enumerated_delta([card] * cards + [more], eps) > delta


@pytest.mark.parametrize("rounds", [1, 2, 30])
def test_what_is_left_is_accepted_beside_bounds_that_are_not_sharp(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The further campaign counts with no more than it declares, and a campaign that was left with what it took."""
    asked = campaign(Fading(bits=2, eps=0.6, delta=3e-7), eps=0.6, delta=3e-7)
    charged = replace(ChargedRounds.of_all(asked), states=(rounds,), reports=(rounds,))
    joint = JointAccount((charged,))
    left = joint.left_eps(1.0, 1e-6)
    assert left > {1: 0.65, 2: 0.5, 30: 0.4}[rounds]
    further = ChargedRounds.of_all(campaign(Fading(bits=2, eps=left, delta=5e-7), eps=left, delta=5e-7))
    assert JointAccount((charged, further)).delta(1.0) <= 1e-6
    own = Fading.integer_privacy

    def loose(made: Fading, *given: Any, **named: Any) -> LossLaw | None:
        """For the further campaign, the client's own bound is twice what it declares."""
        return LossLaw.declared(2 * left, 1e-6) if made.eps == left else own(made, *given, **named)

    monkeypatch.setattr(Fading, "integer_privacy", loose)
    assert JointAccount((charged, further)).delta(1.0) <= 1e-6
