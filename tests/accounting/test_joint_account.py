"""All rounds of several campaigns: what a plan charges for them is what a client's ledger charges."""

from fractions import Fraction

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
