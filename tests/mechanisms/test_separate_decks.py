"""One deck for each table with one budget: composed exactly, as loud as the budget allows."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

from untrackable.mechanisms import Deck
from untrackable.mechanisms.crowd_privacy import crowd_parts
from untrackable.mechanisms.demands import Budget, CrowdBudget
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.separate_decks import SeparateDecks, separate_decks, shares_of_eps
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.theory.crowd_rounds import crowd_upper
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
    louder = SeparateDecks(PAIRS, 4, tuple(1.001 * eps for eps in found.eps), found.width)
    assert louder.privacy(share).delta(2.0).upper > 1e-6


def test_the_first_is_a_plain_deck_and_the_second_one_of_views() -> None:
    first, second = SeparateDecks(PAIRS, 4, (0.6, 0.7), 3).decks([True, False])
    assert first == Deck(bits=2, slots=4, eps_report=0.6, width=2)
    assert second == Dealt(Views(bits=3, views=((0, 1, 2),), eps=0.7, width=3), 4)


@pytest.mark.parametrize("width", [1, 2])
def test_a_table_that_several_decks_tell_has_their_weighted_mean(width: int) -> None:
    """The variance of the mean with the best weights, found by trying them."""
    found = SeparateDecks(PAIRS, 4, (0.9, 1.2), width)
    (common,) = found.cell_spreads(((1,),))
    bases = [Views(bits=n, views=(tuple(range(n)),), eps=eps, width=width) for n, eps in ((2, 0.9), (3, 1.2))]
    first = bases[0].entry_laws(((1,),))[0].variance + 0.25
    second = bases[1].entry_laws(((0,),))[0].variance + 0.25
    weights = np.linspace(0, 1, 10_001)
    assert common.variance == pytest.approx(np.min(weights**2 * first + (1 - weights) ** 2 * second), rel=1e-6)
    (alone,) = found.cell_spreads(((0,),))
    assert alone.variance == pytest.approx(bases[0].entry_laws(((0,),))[0].variance + 0.25)


def test_a_crowd_hides_all_of_them_together() -> None:
    crowd = CrowdBudget(eps=1.0, delta=1e-6, people=2_000)
    found = separate_decks(replace(BUDGET, eps=math.inf, crowd=crowd, participation=Fraction(1)))
    decks = found.decks([True, True])
    alone = [deck.crowd(people=2_000).gamma(1e-6).upper for deck in decks]
    assert 0.5 < max(alone) < 1.0 < sum(alone)  # What several reveal grows with the root of their number.
    rounds = {(crowd_parts(deck.base), 2_000): 4 for deck in decks}  # type: ignore[attr-defined]
    assert crowd_upper(rounds, Fraction(1)).delta(1.0).upper <= 1e-6
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


@pytest.mark.parametrize("sizes", [(1, 6), (2, 3, 4), (1, 1, 3), (5, 5)])
def test_tables_of_any_size_are_equally_well_known(sizes: tuple[int, ...]) -> None:
    """The closed form, against the exact variances of quiet reports."""
    ends = np.cumsum([0, *sizes])
    views = tuple(tuple(range(a, b)) for a, b in itertools.pairwise(ends))
    shares = shares_of_eps(views, views)
    assert max(shares) == 1
    quiet = SeparateDecks(views, 1, tuple(1e-3 * share for share in shares), 1)
    errors = [float(spread.standard_error(1)) for spread in quiet.cell_spreads(views)]
    assert errors == pytest.approx([errors[0]] * len(views), rel=1e-5)


def test_a_table_counts_for_the_smallest_views_that_tell_it() -> None:
    """Of overlapping views, the error of a part is that of all views that tell it, so the closed form is upper."""
    views = ((0, 1), (0, 2, 3, 4, 5), (1, 2, 3, 4, 5))
    shown = (*views, (0,), (1,), (2, 3, 4, 5))
    shares = shares_of_eps(views, shown)
    assert shares == pytest.approx((math.sqrt(3 / 4) / (31 / 32), 1.0, 1.0))
    quiet = SeparateDecks(views, 1, tuple(1e-3 * share for share in shares), 1)
    errors = [float(spread.standard_error(1)) for spread in quiet.cell_spreads(shown)]
    assert max(errors) == pytest.approx(errors[1], rel=1e-5)


@pytest.mark.parametrize("views", [((0,), (1, 2, 3)), ((0,), (1,), (2, 3, 4)), ((0, 1), (2, 3, 4), (5, 6))])
def test_an_eps_for_each_size_makes_errors_smaller_than_one_for_all(views: tuple[tuple[int, ...], ...]) -> None:
    budget = replace(BUDGET, views=views, shown=views, values=2 ** (max(map(max, views)) + 1))
    found = separate_decks(budget)

    def worst(decks: SeparateDecks) -> float:
        return max(float(spread.radius(10_000, 0.05)) for spread in decks.cell_spreads(views))

    def spent(eps: float) -> float:
        same = SeparateDecks(views, 4, (eps,) * len(views), found.width)
        return same.privacy(BUDGET.participation).delta(2.0).upper - 1e-6

    alike = brentq(spent, 0.01, 3.0, rtol=1e-4)
    assert worst(found) < 0.95 * worst(SeparateDecks(views, 4, (alike,) * len(views), found.width))


@pytest.mark.parametrize("reports", [1, 4])
def test_a_client_confirms_all_of_them_together(reports: int) -> None:
    """Its sums are coarse if reports of different decks have a different eps."""
    found = separate_decks(replace(BUDGET, reports=reports, participation=Fraction(1)))
    laws = [
        deck.integer_privacy(reports, values="any", step=2.0 / STEPS, participation=Fraction(1))
        for deck in found.decks([True, False])
    ]
    assert composed([law for law in laws if law is not None], 2.0 / STEPS).delta(2.0) <= 1e-6
    assert reports * sum(found.eps) > 1.99  # Nothing is left over, even if the smallest bound is the sum.
