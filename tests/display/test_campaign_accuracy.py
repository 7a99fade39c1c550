"""What a campaign will deliver, in words: accuracy for a number of people, and what its noise means."""

import dataclasses
import math

import pytest

from untrackable import Deck, plan
from untrackable.display.campaign import share, truth_words
from untrackable.display.campaign_accuracy import accuracy_words, campaign_accuracy, spread_words
from untrackable.encodings.encoding import Categories
from untrackable.encodings.numbers import IntegerRange
from untrackable.mechanisms import Bitwise, Dealt, Lgrr, OneBitMean, Unary
from untrackable.protocol.campaign import Campaign, Guarantee


def asked(rounds: int) -> Campaign:
    """Everybody answers every round."""
    return Campaign(
        question="Which?",
        encoding=Categories(names=["a", "b", "c", "d"]),
        randomizer=Deck.for_budget(bits=2, slots=rounds, eps=1.0, delta=1e-6),
        rounds=rounds,
        first_round=1_893_456_000,
        round_seconds=86_400,
        guarantee=Guarantee(eps=1.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )


def turns(rounds: int) -> Campaign:
    """Everybody answers once."""
    draft = plan(people=10**9, encoding=Categories(names=["a", "b", "c", "d"]), rounds=rounds, eps=1.0).campaign()
    return draft.campaign(question="Which?", first_round=1_893_456_000, round_seconds=86_400)


@pytest.mark.parametrize("made", [asked(10), turns(10)], ids=["every round", "turns"])
def test_the_people_that_are_needed(made: Campaign) -> None:
    found = campaign_accuracy(made, 1_000_000)
    assert found.reports == 1_000_000 * made.chance
    assert found.usable
    assert "shares of a round are off by at most ±" in accuracy_words(found)
    assert f"with about {found.reports:,.0f} reports" in spread_words(found)
    assert found.people_needed is not None
    assert campaign_accuracy(made, found.people_needed).usable
    assert not campaign_accuracy(made, found.people_needed - 1).usable


def test_the_error_of_a_turn_is_that_of_its_plan() -> None:
    planned = plan(people=100_000, encoding=Categories(names=["a", "b", "c", "d"]), rounds=10, eps=1.0)
    made = planned.campaign().campaign(question="Which?", first_round=1_893_456_000, round_seconds=86_400)
    found = campaign_accuracy(made, 100_000)
    assert found.error_upper == pytest.approx(planned.one_round.radius_upper)
    assert found.standard_error == pytest.approx(planned.one_round.standard_error)


def test_the_error_of_a_mean_is_said_to_be_that() -> None:
    """It is the bound for one noisy bit of each person, whose values span the whole range."""
    made = dataclasses.replace(
        asked(10),
        encoding=IntegerRange(low=0, high=3),
        randomizer=Dealt(OneBitMean(values=4, eps=0.3), 10),
    )
    found = campaign_accuracy(made, 1_000_000)
    words = accuracy_words(found)
    assert "the mean of a round is off by at most ±" in words
    assert "shares" not in words
    gap = math.tanh(0.15)
    assert found.error_upper == pytest.approx(math.sqrt(math.log(2 / 0.05) / 2 / 1_000_000) / gap, rel=1e-3)


def test_a_useless_campaign_says_so_first() -> None:
    words = accuracy_words(campaign_accuracy(asked(365), 100))
    assert words.startswith("NOT USABLE for one round")
    assert "people, or several rounds pooled" in words


def test_truthfulness_is_the_law_of_one_report() -> None:
    """By enumeration of what is kept and what is told."""
    symbol = Lgrr(values=3, keep=0.7, tell=0.9).truthfulness()
    assert symbol.own == pytest.approx(0.7 * 0.9 + 2 * (0.15 * 0.05))
    assert (symbol.kind, symbol.noise) == ("answer", 1 / 3)
    unary = Unary(values=4, keep=0.8, add=0.3, q=0.9, p=0.2).truthfulness()
    assert unary.own == pytest.approx(0.8 * 0.9 + 0.2 * 0.2)
    assert unary.noise == pytest.approx(0.3 * 0.9 + 0.7 * 0.2)
    deck = Deck(bits=4, slots=2, eps_report=1.0, width=2).truthfulness()
    assert deck is not None
    assert deck.own == pytest.approx(math.e / (math.e + 3))
    assert deck.noise == 0.25
    bit = Bitwise(eps_state=1.0, eps_report=2.0).truthfulness()
    one, two = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-2))
    assert bit.own == pytest.approx(one * two + (1 - one) * (1 - two))


def test_words_and_shares() -> None:
    assert truth_words("answer", 0.995, 1 / 30).startswith(
        "99.5 % of people answer truthfully in every report (exact"
    )
    assert truth_words("question", 0.513, 0.5) == (
        "Each answer is right with probability 51.3 % (exact; 50 % would be pure noise)."
    )
    assert "any other with 25 %" in truth_words("marks", 0.75, 0.25)
    assert [share(x) for x in (1.0, 0.99997, 0.999999999)] == ["100 %", "99.997 %", "above 99.9999 %"]
    bounds = (0.5, 0.7310586, 0.99966, 0.999999999)
    assert [share(x, "up") for x in bounds] == ["50 %", "73.2 %", "99.97 %", "100 %"]


def test_a_printed_error_is_not_below_the_bound() -> None:
    found = dataclasses.replace(campaign_accuracy(asked(10), 1000), error_upper=0.0681145)
    assert "±0.06812 (upper" in accuracy_words(found)
