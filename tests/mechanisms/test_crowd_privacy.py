"""Decks in a crowd: budgets that are spent, errors that follow, and what a crowd does not hide."""

from fractions import Fraction

import numpy as np
import pytest

from untrackable import Deck, NoisyInnerProduct
from untrackable.mechanisms import CountMeanSketch, Dealt
from untrackable.mechanisms.crowd_privacy import crowd_parts
from untrackable.mechanisms.inner_product.crowd_solver import held_variance


@pytest.mark.parametrize(
    ("people", "slots", "participation", "most"),
    [
        (100_000, 365, Fraction(1), 0.0017),
        (100_000, 365, Fraction(1, 20), 0.002),
        (20_000, 52, Fraction(1), 0.0034),
    ],
)
def test_a_crowd_permits_loud_reports(people: int, slots: int, participation: Fraction, most: float) -> None:
    """Where a deck that is private by itself has 0.36 for 10^5 people and 365 rounds."""
    deck = Deck.for_crowd(bits=10, slots=slots, people=people, eps=1.0, delta=1e-6, participation=participation)
    spent = deck.crowd(people=people, participation=participation)
    assert spent.certainty == "upper"
    assert 0.99 < spent.gamma(1e-6).upper <= 1.0
    assert deck.accuracy(int(people * participation)).standard_error <= most
    louder = Deck(bits=10, slots=slots, eps_report=deck.eps_report * 1.01, width=deck.width)
    assert louder.crowd(people=people, participation=participation).delta(1.0).upper > 1e-6
    alone = deck.privacy(participation=participation).gamma(1e-6).lower
    assert alone > 50, "somebody who knows whose reports these are learns nearly everything"


def test_fewer_people_hide_less_and_fewer_rounds_reveal_less() -> None:
    deck = Deck(bits=6, slots=20, eps_report=2.0, width=3)
    found = [deck.crowd(people=people).gamma(1e-6).upper for people in (10, 100, 1_000, 10_000, 1_000_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= 20 * 2.0
    assert deck.crowd(people=1_000, reports=5).gamma(1e-6).upper < found[2]
    assert deck.crowd(people=1_000, participation="1/10").gamma(1e-6).upper < found[2]


def test_a_wider_answer_is_chosen_for_rare_values_and_a_narrower_one_for_common_ones() -> None:
    asked = {"bits": 10, "slots": 365, "people": 100_000, "eps": 1.0, "delta": 1e-6}
    rare, common = Deck.for_crowd(**asked), Deck.for_crowd(**asked, share=0.1)  # type: ignore[arg-type]
    assert rare.width > common.width
    assert held_variance(rare.base, 0.0) <= held_variance(common.base, 0.0)
    assert held_variance(common.base, 0.1) <= held_variance(rare.base, 0.1)


def test_the_variance_of_a_value_that_some_hold() -> None:
    """Sampled, beside the formula; of a value that nobody holds, it is the one that accuracy gives."""
    base = NoisyInnerProduct(bits=4, eps=2.0, width=2)
    assert held_variance(base, 0.0) == pytest.approx(base.accuracy(1, 0.05).standard_error ** 2)
    deck, people, times = Deck(bits=4, slots=1, eps_report=2.0, width=2), 400, 1500
    values = np.repeat([3, 9], [people // 4, people - people // 4])
    errors = []
    for seed in range(times):
        reports = np.concatenate([b.reports for b in deck.simulate(values, rounds=1, seed=seed)])
        errors.append(deck.aggregator().add(reports).estimate().frequencies[3] - 0.25)
    # The relative error of a sampled standard deviation is about 1/√(2·1500); 6 of them have a probability of 2e-9.
    assert np.std(errors) == pytest.approx(np.sqrt(held_variance(base, 0.25) / people), rel=6 / np.sqrt(2 * times))


def test_what_a_crowd_does_not_hide() -> None:
    with pytest.raises(ValueError, match="its reports can be linked, so a crowd does not hide them"):
        Deck(bits=2, slots=4, eps_report=1.0, when_empty="replay").crowd(people=100)
    with pytest.raises(ValueError, match="is not known"):
        Dealt(CountMeanSketch(hashes=4, width=16, eps=1.0), 3).crowd(people=100)
    deck = Deck(bits=2, slots=4, eps_report=1.0)
    with pytest.raises(ValueError, match="people must be between 2 and"):
        deck.crowd(people=1)
    with pytest.raises(ValueError, match="nobody would answer"):
        deck.crowd(people=100, participation=0)
    with pytest.raises(ValueError, match="reports must be at least 1"):
        deck.crowd(people=100, reports=0)


@pytest.mark.parametrize("width", [1, 3])
def test_the_parts_of_a_noisy_inner_product(width: int) -> None:
    base = NoisyInnerProduct(bits=5, eps=1.5, width=width)
    ratio = np.exp(1.5)
    parts = crowd_parts(base)
    assert parts.ratio == parts.other_ratio == pytest.approx(ratio)
    assert parts.distance == pytest.approx(base.differing() * (ratio - 1) / (ratio + 2**width - 1))
