"""One deck for each table with one budget: composed exactly, as loud as the budget allows."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from untrackable.mechanisms import Deck
from untrackable.mechanisms.demands import Budget, CrowdBudget
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.separate_decks import SeparateDecks, separate_decks
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.theory.experiment import Experiment
from untrackable.theory.integer_losses import STEPS, composed

PAIRS = ((0, 1), (1, 2, 3))
BUDGET = Budget(
    values=16,
    eps=2.0,
    reports=4,
    participation=Fraction(1, 3),
    people=50_000,
    views=PAIRS,
    shown=(*PAIRS, (0,), (1,), (2, 3)),
)


def test_all_cards_of_all_decks_are_composed() -> None:
    found = separate_decks(BUDGET)
    share = BUDGET.participation
    parts = [deck.privacy(participation=share) for deck in found.decks([True, False])]
    together = Experiment([pair for part in parts for pair in part.factors])  # type: ignore[union-attr]
    for eps in (0.5, 1.0, 2.0):
        assert found.privacy(share).delta(eps).upper == pytest.approx(together.delta(eps).upper, rel=1e-9)
    assert together.delta(2.0).upper <= 1e-6
    louder = SeparateDecks(PAIRS, 4, found.eps * 1.001, found.width)
    assert louder.privacy(share).delta(2.0).upper > 1e-6


def test_the_first_is_a_plain_deck_and_the_second_one_of_views() -> None:
    first, second = SeparateDecks(PAIRS, 4, 0.7, 3).decks([True, False])
    assert first == Deck(bits=2, slots=4, eps_report=0.7, width=2)
    assert second == Dealt(Views(bits=3, views=((0, 1, 2),), eps=0.7, width=3), 4)


@pytest.mark.parametrize("width", [1, 2])
def test_a_table_that_several_decks_tell_has_their_weighted_mean(width: int) -> None:
    """The variance of the mean with the best weights, found by trying them."""
    found = SeparateDecks(PAIRS, 4, 0.9, width)
    (common,) = found.cell_spreads(((1,),))
    bases = [Views(bits=n, views=(tuple(range(n)),), eps=0.9, width=width) for n in (2, 3)]
    first = bases[0].entry_laws(((1,),))[0].variance + 0.25
    second = bases[1].entry_laws(((0,),))[0].variance + 0.25
    weights = np.linspace(0, 1, 10_001)
    assert common.variance == pytest.approx(np.min(weights**2 * first + (1 - weights) ** 2 * second), rel=1e-6)
    (alone,) = found.cell_spreads(((0,),))
    assert alone.variance == pytest.approx(bases[0].entry_laws(((0,),))[0].variance + 0.25)


def test_a_crowd_hides_all_of_them_together() -> None:
    crowd = CrowdBudget(eps=1.0, delta=1e-6, people=2_000)
    found = separate_decks(replace(BUDGET, eps=math.inf, crowd=crowd, participation=Fraction(1)))
    (deck, *_) = found.decks([True, True])
    loudest = deck.crowd(people=2_000).gamma(1e-6).upper
    assert 0.5 < loudest < 1.0  # One of two decks spends more than half, as eps grows with the root.
    both = Deck(bits=2, slots=8, eps_report=found.eps, width=min(2, found.width)).crowd(people=2_000)
    assert both.delta(1.0).upper <= 1e-6
    limited = separate_decks(replace(BUDGET, crowd=crowd, participation=Fraction(1)))
    assert limited.privacy(Fraction(1)).delta(2.0).upper <= 1e-6


def test_a_client_confirms_the_crowd_of_all_of_them_together() -> None:
    """Its sums are much coarser than the engine's if few rounds have a large eps."""
    crowd = CrowdBudget(eps=2.2, delta=1e-8, people=100_000)
    found = separate_decks(replace(BUDGET, eps=math.inf, crowd=crowd))
    asked = {"people": crowd.people, "participation": BUDGET.participation}
    laws = [deck.integer_crowd(**asked) for deck in found.decks([True, False])]  # type: ignore[arg-type]
    together = composed([law for law in laws if law is not None], crowd.eps / STEPS)
    assert len([law for law in laws if law is not None]) == 2
    assert 1e-10 < together.delta(crowd.eps) <= crowd.delta
