"""One account over all campaigns, against the engine's composition."""

import itertools
import math
from pathlib import Path

import pytest
from untrackable.client.account import Account
from untrackable.client.life import Life

from tests.client.samples import Clock, campaign, client, policy
from untrackable.accounting.client_check import recompute
from untrackable.client.ledger import Ledger
from untrackable.client.policy import Policy
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.lgrr import Lgrr
from untrackable.protocol.campaign import Campaign
from untrackable.theory.experiment import Experiment
from untrackable.theory.integer_losses import composed, tracking_step

DECK = campaign(Deck(bits=3, slots=30, eps_report=0.03))
OTHER = campaign(Deck(bits=5, slots=40, eps_report=0.021), rounds=40)
BIT = campaign(Bitwise(eps_state=0.4, eps_report=0.3), values="fixed", gamma=0.5, tracking_delta=1.0)
STORED = campaign(InnerProduct(bits=4, slots=100, eps_report=0.01), values="fixed", tracking_delta=1.0)
FADING = campaign(Fading(bits=4, eps=0.5, delta=1e-6), rounds=20)


def anything(eps: float) -> Policy:
    return policy(eps=eps, delta=1.0, tracking_delta=1.0)


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
    with pytest.raises(CampaignRefused, match="too easy to track"):
        ledger(one, two).check(policy(eps=1.0, delta=1.0, tracking_delta=1.5 * exact))


def test_a_policy_equal_to_what_is_declared_is_enough() -> None:
    ledger(BIT).check(policy(eps=0.4, delta=0.0, gamma=0.5, tracking_delta=1.0))
    pure = campaign(Deck.for_budget(bits=2, slots=30, eps=1.0, delta=0.0), delta=0.0)
    assert ledger(pure).check(policy(eps=1.0, delta=0.0)) == (0.0, 0.0)


def test_lives_of_independent_rounds_are_charged_by_the_round() -> None:
    whole = Account(DECK.to_bytes(), (Life("a", 1, 30, 0),))
    parts = Account(DECK.to_bytes(), (Life("a", 1, 12, 12), Life("b", 13, 30, 12)))
    (one,), (two,) = whole.charged.privacy(0.01), parts.charged.privacy(0.01)
    assert one == two
    twice = Account(STORED.to_bytes(), (Life("a", 1, 12, 12), Life("b", 13, 30, 12)))
    assert len(list(twice.charged.privacy(0.01))) == 2


def test_every_life_deals_a_deck_of_its_own() -> None:
    """With replays each life may show a whole deck: four lives show forty cards, not ten."""
    deck = Deck.for_budget(bits=1, slots=10, eps=1.0, delta=1e-6, when_empty="replay", width=1)
    asked = campaign(deck, rounds=100, tracking_delta=1.0)
    lives = tuple(Life(str(i), 10 * i + 1, 10 * i + 10, 10 * i + 10) for i in range(4))
    laws = list(Account(asked.to_bytes(), lives).charged.privacy(0.01))
    told = composed(laws, 0.01).delta(1.0)
    assert told >= Experiment([(deck.base.privacy_factor(), 40)]).delta(1.0).lower > 1e-2


def test_only_the_rounds_that_are_left_are_charged(tmp_path: Path) -> None:
    """Whoever joins late pays for fewer cards."""
    early, late = Clock(), Clock()
    late.late_in(25)
    client(tmp_path / "late", DECK, late, eps=0.2).answer(1)
    with pytest.raises(CampaignRefused, match="privacy budget"):
        client(tmp_path / "early", DECK, early, eps=0.2).answer(1)


def test_a_fading_campaign_of_a_large_eps_is_enough_for_its_own_policy() -> None:
    """Beside the person rounds that fade are bounded less sharply than by the engine; what it confirmed counts."""
    fading = campaign(Fading(bits=1, eps=8.0, delta=1e-6), eps=8.0, rounds=None)
    assert recompute(fading).problems == ()
    assert ledger(fading).check(policy(eps=8.0, delta=1e-6))[0] <= 1e-6


Table = list[tuple[float, float]]


def one_and_two(bit: Bitwise, values: tuple[int, ...], mine: set[int]) -> Table:
    """Every stream of reports of a bit that is kept once for each value: from one user, and from two."""
    lie, noise = bit.state_flip.probability, bit.report_flip.probability

    def law(seen: tuple[int, ...], rounds: list[int]) -> float:
        total = 1.0
        for value in (0, 1):
            own = [t for t in rounds if values[t] == value]
            total *= sum(
                chance * math.prod(1 - noise if seen[t] == kept else noise for t in own)
                for kept, chance in ((value, 1 - lie), (1 - value, lie))
            )
        return total

    rounds = range(len(values))
    sides = [[t for t in rounds if (t in mine) == side] for side in (True, False)]
    streams = itertools.product((0, 1), repeat=len(values))
    return [(law(seen, list(rounds)), law(seen, sides[0]) * law(seen, sides[1])) for seen in streams]


def worst(*campaigns: list[Table], gamma: float) -> float:
    """Delta of all campaigns together, each at its worst split, by listing what they show."""
    found = 0.0
    for tables in itertools.product(*campaigns):
        pairs = [
            (math.prod(p for p, _ in both), math.prod(q for _, q in both)) for both in itertools.product(*tables)
        ]
        ahead = math.fsum(max(0.0, p - math.exp(gamma) * q) for p, q in pairs)
        behind = math.fsum(max(0.0, q - math.exp(gamma) * p) for p, q in pairs)
        found = max(found, ahead, behind)
    return found


def tables(bit: Bitwise, rounds: int, *, changes: bool) -> list[Table]:
    """For every split, and every sequence of values if the value changes."""
    values = itertools.product((0, 1), repeat=rounds) if changes else [(0,) * rounds]
    splits = [
        set(mine) for size in range(1, rounds // 2 + 1) for mine in itertools.combinations(range(rounds), size)
    ]
    return [one_and_two(bit, held, mine) for held in values for mine in splits]


PAIRS = [
    ((0.3, 5.0, 3, 20.0), (1.0, 1.0, 2, 0.0)),
    ((2.0, 3.0, 4, 3.0), (0.3, 3.0, 3, 3.0)),
    ((1.0, 0.3, 3, 0.5), (1.0, 0.3, 3, 0.1)),
    ((2.0, 1.0, 2, 400.0), (2.0, 1.0, 3, 400.0)),
]


@pytest.mark.parametrize("both", PAIRS, ids=str)
@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.0])
def test_tracking_of_two_campaigns_by_enumeration(
    both: tuple[tuple[float, float, int, float], ...], gamma: float
) -> None:
    asked, shown = [], []
    for i, (eps_state, eps_report, rounds, declared) in enumerate(both):
        bit = Bitwise(eps_state=eps_state, eps_report=eps_report)
        changes = {"values": "fixed", "gamma": declared, "tracking_delta": 1.0, "rounds": rounds}
        asked.append(campaign(bit, question=f"{i}?", **changes))
        shown.append(tables(bit, rounds, changes=False))
    truth = worst(*shown, gamma=gamma)
    _, found = ledger(*asked).check(policy(eps=9.0, delta=1.0, gamma=gamma, tracking_delta=1.0))
    assert truth * (1 - 1e-12) <= found <= truth * 1.1 + 1e-3


@pytest.mark.parametrize(("eps_state", "eps_report"), [(0.3, 5.0), (1.0, 0.5), (0.3, 1.5)])
@pytest.mark.parametrize("rounds", [3, 4, 5])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_tracking_of_a_bit_that_changes_by_enumeration(
    eps_state: float, eps_report: float, rounds: int, gamma: float
) -> None:
    bit = Bitwise(eps_state=eps_state, eps_report=eps_report)
    changes = {"eps": 99.0, "gamma": gamma, "rounds": rounds, "values": "any"}
    truth = worst(tables(bit, rounds, changes=True), gamma=gamma)
    asked = campaign(bit, tracking_delta=min(1.0, truth * 1.1 + 1e-3), **changes)
    assert not [problem for problem in recompute(asked).problems if "tracking" in problem]
    assert truth * (1 - 1e-12) <= recompute(asked).tracking_delta_upper <= truth * 1.1 + 1e-3
    _, found = ledger(asked).check(policy(eps=99.0, delta=1.0, gamma=gamma, tracking_delta=1.0))
    assert truth * (1 - 1e-12) <= found <= truth * 1.1 + 1e-3
    if truth > 1e-6:
        stronger = campaign(bit, tracking_delta=truth * 0.999, **changes)
        assert [problem for problem in recompute(stronger).problems if "tracking" in problem]


def test_a_large_gamma_does_not_hide_that_reports_can_be_followed() -> None:
    """Nothing is given away beyond gamma = 400, and everything before: not what a policy of gamma 0 allows."""
    bit = campaign(Bitwise(eps_state=0.9, eps_report=8.0), values="fixed", gamma=400.0)
    assert recompute(bit).problems == ()
    with pytest.raises(CampaignRefused, match="too easy to track"):
        ledger(bit).check(policy(eps=1.0, delta=1e-6))
    with pytest.raises(CampaignRefused, match="too easy to track"):
        ledger(campaign(Lgrr(values=4, keep=0.4, tell=0.9), eps=2.0, values="fixed", gamma=400.0)).check(
            policy(eps=2.0, delta=1e-6)
        )


def test_a_campaign_is_judged_at_the_gamma_of_the_policy() -> None:
    """However odd its own gamma: what the policy allows is allowed."""
    for mechanism in (Bitwise(eps_state=0.9, eps_report=1.0), Lgrr(values=4, keep=0.4, tell=0.6)):
        exact = mechanism.tracking(reports=6).delta(0.2).upper
        for gamma, declared in ((5.0, 0.0), (0.0, 0.9)):
            changes = {"values": "fixed", "eps": 2.0, "gamma": gamma, "tracking_delta": declared, "rounds": 6}
            asked = ledger(campaign(mechanism, **changes))
            allowed = exact * (1 + 1e-9)
            assert asked.check(policy(eps=2.0, delta=1e-6, gamma=0.2, tracking_delta=allowed))[1] <= allowed
            with pytest.raises(CampaignRefused, match="too easy to track"):
                asked.check(policy(eps=2.0, delta=1e-6, gamma=0.2, tracking_delta=exact * 0.99))


def test_slots_are_charged_as_they_are_whatever_is_declared() -> None:
    odd = campaign(STORED.mechanism, values="fixed", gamma=3.0, tracking_delta=1.0, rounds=4)
    plain = campaign(STORED.mechanism, values="fixed", tracking_delta=1.0, rounds=4)
    assert ledger(odd, DECK).check(anything(1.0)) == ledger(plain, DECK).check(anything(1.0))


def test_independent_rounds_are_charged_nothing_whatever_is_declared() -> None:
    odd = campaign(Deck(bits=2, slots=30, eps_report=0.02), gamma=3.0, tracking_delta=0.5)
    assert ledger(odd).check(policy(eps=1.0, delta=1e-6))[1] == 0.0
    charged = Account(odd.to_bytes(), (Life("a", 1, 9, 0),)).charged
    assert [law.delta(0.0) for _, law in charged.tracking(0.1)] == [0.0]


@pytest.mark.parametrize("gamma", [0.0, 1e-12, 1e-3, 80.0, 1e9])
def test_any_gamma_can_be_asked_about(gamma: float) -> None:
    asked = campaign(Bitwise(eps_state=1.0, eps_report=2.0), gamma=gamma, eps=99.0, tracking_delta=1.0, rounds=6)
    _, found = ledger(asked).check(policy(eps=99.0, delta=1.0, gamma=gamma, tracking_delta=1.0))
    assert found >= worst(tables(Bitwise(eps_state=1.0, eps_report=2.0), 4, changes=True), gamma=min(gamma, 700.0))
    assert 0 < tracking_step(gamma) < 1


@pytest.mark.parametrize("eps", [0.01, 1e-4])
def test_a_small_eps_is_answered_too(eps: float) -> None:
    delta, _ = ledger(FADING, DECK, BIT).check(anything(eps))
    assert engine(FADING, DECK, BIT).delta(eps).lower <= delta <= 1.05 * engine(FADING, DECK, BIT).delta(eps).upper
