"""One account over all campaigns, against the engine's composition."""

from pathlib import Path

import pytest

from tests.client.samples import Clock, campaign, client
from untrackable.campaign import Campaign
from untrackable.client.accounting import recompute
from untrackable.client.laws import composed
from untrackable.client.ledger import Account, Ledger, Life
from untrackable.client.policy import Policy
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.bitwise import Bitwise
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.inner_product import Deck, InnerProduct
from untrackable.theory.experiment import Experiment

DECK = campaign(Deck(bits=3, slots=30, eps_report=0.03))
OTHER = campaign(Deck(bits=5, slots=40, eps_report=0.021), rounds=40)
BIT = campaign(Bitwise(eps_state=0.4, eps_report=0.3), values="fixed", gamma=0.5, tracking_delta=1.0)
STORED = campaign(InnerProduct(bits=4, slots=100, eps_report=0.01), values="fixed", tracking_delta=1.0)
FADING = campaign(Fading(bits=4, eps=0.5, delta=1e-6), rounds=20)


def anything(eps: float) -> Policy:
    return Policy(eps=eps, delta=1.0, tracking_delta=1.0)


def ledger(*asked: Campaign) -> Ledger:
    found = Ledger()
    for one in asked:
        found = found.joined(one, Life("name", 1, one.rounds, 0))
    return found


def engine(*asked: Campaign) -> Experiment:
    total = Experiment()
    for one in asked:
        pair = one.mechanism.privacy(reports=one.rounds, values=one.guarantee.values)
        assert isinstance(pair, Experiment)
        total = total + pair
    return total


@pytest.mark.parametrize(
    "asked",
    [(DECK,), (DECK, OTHER), (DECK, BIT), (DECK, OTHER, FADING), (BIT, FADING)],
    ids=lambda asked: str(len(asked)),
)
@pytest.mark.parametrize("eps", [0.2, 0.7, 1.2])
def test_all_campaigns_together(asked: tuple[Campaign, ...], eps: float) -> None:
    delta, _ = ledger(*asked).check(anything(eps))
    exact = engine(*asked).delta(eps)
    assert exact.lower * (1 - 1e-12) <= delta <= exact.upper * 1.02 + 1e-12


def test_equal_campaigns_compose_exactly() -> None:
    ten = [campaign(DECK.mechanism, question=f"Number {i}?") for i in range(10)]
    delta, tracking = ledger(*ten).check(anything(1.0))
    exact = Experiment([(Deck(bits=3, slots=300, eps_report=0.03).base.privacy_factor(), 300)]).delta(1.0)
    assert delta == pytest.approx(exact.upper, rel=1e-9)
    assert tracking == 0.0


def test_tracking_adds_up() -> None:
    one, two = (
        campaign(STORED.mechanism, question=q, values="fixed", tracking_delta=1.0, rounds=4) for q in ("A?", "B?")
    )
    alone = ledger(one).check(anything(1.0))[1]
    both = ledger(one, two).check(anything(1.0))[1]
    exact = STORED.mechanism.tracking(reports=4).advantage().upper
    assert alone == pytest.approx(exact, rel=1e-9)
    assert both == pytest.approx(1 - (1 - exact) ** 2, rel=1e-9)
    with pytest.raises(CampaignRefused, match="-untrackable"):
        ledger(one, two).check(Policy(eps=1.0, delta=1.0, tracking_delta=1.5 * exact))


def test_a_policy_equal_to_what_is_declared_is_enough() -> None:
    ledger(BIT).check(Policy(eps=0.4, delta=0.0, gamma=0.5, tracking_delta=1.0))
    pure = campaign(Deck.for_budget(bits=2, slots=30, eps=1.0, delta=0.0), delta=0.0)
    assert ledger(pure).check(Policy(eps=1.0, delta=0.0)) == (0.0, 0.0)


def test_lives_of_independent_rounds_are_charged_by_the_round() -> None:
    whole = Account(DECK.to_bytes(), (Life("a", 1, 30, 0),))
    parts = Account(DECK.to_bytes(), (Life("a", 1, 12, 12), Life("b", 13, 30, 12)))
    (one,), (two,) = whole.privacy(0.01), parts.privacy(0.01)
    assert one == two
    twice = Account(STORED.to_bytes(), (Life("a", 1, 12, 12), Life("b", 13, 30, 12)))
    assert len(list(twice.privacy(0.01))) == 2


def test_every_life_deals_a_deck_of_its_own() -> None:
    """With replays each life may show a whole deck: four lives show forty cards, not ten."""
    deck = Deck.for_budget(bits=1, slots=10, eps=1.0, delta=1e-6, when_empty="replay", width=1)
    asked = campaign(deck, rounds=100, tracking_delta=1.0)
    lives = tuple(Life(str(i), 10 * i + 1, 10 * i + 10, 10 * i + 10) for i in range(4))
    laws = list(Account(asked.to_bytes(), lives).privacy(0.01))
    told = composed(laws, 0.01).delta(1.0)
    assert told >= Experiment([(deck.base.privacy_factor(), 40)]).delta(1.0).lower > 1e-2


def test_only_the_rounds_that_are_left_are_charged(tmp_path: Path) -> None:
    """Whoever joins late pays for fewer cards."""
    early, late = Clock(), Clock()
    late.late_in(25)
    client(tmp_path / "late", DECK, late, eps=0.2).answer(1)
    with pytest.raises(CampaignRefused, match="private"):
        client(tmp_path / "early", DECK, early, eps=0.2).answer(1)


def test_a_fading_campaign_of_a_large_eps_is_enough_for_its_own_policy() -> None:
    """Beside the person rounds that fade are bounded less sharply than by the engine; what it confirmed counts."""
    fading = campaign(Fading(bits=1, eps=8.0, delta=1e-6), eps=8.0, rounds=None)
    assert recompute(fading).problems == ()
    assert ledger(fading).check(Policy(eps=8.0, delta=1e-6))[0] <= 1e-6
