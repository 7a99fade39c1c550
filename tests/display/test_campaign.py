"""What a campaign promises, how accurate it is and when it ends, in words."""

import dataclasses
import json
import math

import pytest

from tests.ballots.samples import Mint
from tests.client.samples import turns_campaign
from tests.client.test_crowd_campaigns import one_turn
from tests.collector.samples import campaign
from tests.collector.test_small_rounds import crowded
from untrackable import Deck, plan
from untrackable.accounting.check import verify
from untrackable.brackets import Bracket
from untrackable.display.campaign import (
    accuracy_words,
    campaign_accuracy,
    campaign_state,
    end_words,
    guarantee_sentence,
    guarantee_words,
    share,
    spread_words,
    truth_words,
)
from untrackable.encodings.encoding import Categories, Presence
from untrackable.encodings.numbers import IntegerRange
from untrackable.mechanisms import Bitwise, Dealt, Lgrr, OneBitMean, Unary
from untrackable.mechanisms.local import Present
from untrackable.protocol.campaign import Campaign, Guarantee


def test_the_end_of_a_campaign_in_words() -> None:
    asked = campaign()
    assert asked.rounds is not None
    over = asked.begins(asked.rounds + 1)
    assert end_words(asked, None, over - 1) == ""
    assert end_words(asked, asked.rounds, over - 1) == ""
    assert end_words(asked, None, over) == f"This campaign has ended: round {asked.rounds} was its last one."
    assert end_words(asked, 0, asked.begins(1) - 1) == "This campaign was ended before its first round."


def verdict(upper: float, lower: float) -> str:
    certainty = Bracket(lower, upper).certainty
    return json.dumps({"delta": {"lower": lower, "upper": upper, "certainty": certainty}, "tracking_delta": None})


def test_a_guarantee_says_what_was_verified() -> None:
    loose = Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.5, tracking_delta=0.25)
    asked = campaign(guarantee=loose)
    for result, words in (
        (verdict(1e-6, 1e-6), "1e-06 (exact)"),
        (verdict(1e-6, 5e-7), "1e-06 (upper)"),
        (verdict(2e-7, 2e-7), "1e-06 (upper; verified: 2e-07, exact)"),
        ("{}", "1e-06 (upper)"),
    ):
        first, guess, second, attendance, meaning = guarantee_words(asked, result)
        assert attendance.startswith("People answer every round")
        assert "right with probability at most 99.97 % (upper; 50 % is a coin toss)" in guess
        assert meaning.startswith("This eps is large. Each answer is right with probability ")
        assert "one person and two people with the same answer" in second
        assert (
            f"at most 2981 (eps = 8), except with probability {words}. This holds whatever a person answers"
            in first
        )
        assert second.endswith("(gamma = 0.5), except with probability 0.25 (upper).")
    pure = campaign(guarantee=Guarantee(eps=8.0, delta=0.0, values="any", gamma=0.0, tracking_delta=0.0))
    assert "at most 2981 (eps = 8, upper). This holds whatever" in guarantee_words(pure, verdict(0.0, 0.0))[0]


def test_both_observers_in_words() -> None:
    """What the collector by itself may learn, then what it and the relay could learn, and whom one trusts."""
    asked = crowded()
    verified = json.dumps({"crowd": {"upper": 7.7e-7, "lower": 0.0, "certainty": "upper"}})
    alone, guess, together, other, trust, *_ = guarantee_words(asked, verified)
    assert alone.startswith("A relay adds this: the collector by itself does not know who sent which report.")
    assert (
        "a factor of at most 2.719 (eps = 1), except with probability 1e-06 (upper; verified: at most 7.7e-07)"
        in alone
    )
    assert "Rounds with fewer than 50 reports are not published." in alone
    assert "is right with probability at most 73.2 % (upper" in guess
    assert together.startswith("If the relay and the collector work together, all reports that a person ever sends")
    assert "2981 (eps = 8)" in together
    assert "is right with probability at most 99.97 % (upper" in other
    assert "you trust that it does not work with the collector: nobody can check that" in trust
    assert "the collector by itself" not in " ".join(guarantee_words(campaign(), "{}"))


def test_one_turn_in_words() -> None:
    """How often comes first; then eps with what was verified, that nobody is trusted, and recognition."""
    asked = turns_campaign(rounds=52)
    often, private, guess, linked, recognised, wipes = guarantee_words(asked, json.dumps(verify(asked).to_json()))
    assert often.startswith("Each person answers once, in one of 52 rounds that their device draws in secret.")
    assert "(eps = 1, upper; verified: 1, exact), for ever and without exception (delta = 0)" in private
    assert "nobody has to be trusted" in private
    assert "right with probability at most 73.2 % (upper" in guess
    assert linked == "Reports cannot be linked, because a person sends only one (exact)."
    assert "among 1,000 with probability at most 0.20 % (upper" in recognised
    assert wipes.startswith("This holds as long as the client's stored data is not deleted.")
    twice = guarantee_words(turns_campaign(rounds=52, wipes=2, eps=3.0), "{}")
    assert "(eps = 3, upper), for ever" in twice[1]
    assert "The eps also holds if the client's stored data is deleted 2 times" in twice[-1]
    assert "eps counts all 3 answers" in twice[-1]
    assert linked not in twice


def test_what_a_relay_adds_to_a_turn_in_words() -> None:
    asked = one_turn()
    told = guarantee_words(asked, json.dumps(verify(asked).to_json()))
    (hidden,) = (sentence for sentence in told if sentence.startswith("A relay adds this"))
    assert "(eps = 0.53), except with probability 1e-06 (upper; verified: at most " in hidden
    assert "For people who are active in all rounds, eps is at most 0." in hidden
    assert any("you trust that it does not work with the collector" in sentence for sentence in told)


def test_a_question_without_an_answer_has_nothing_to_protect() -> None:
    counted = turns_campaign(Present(), encoding=Presence(), eps=0.0)
    assert "It says nothing but that somebody answered (eps = 0, exact)." in guarantee_words(counted, "{}")[1]


def test_a_campaign_is_open_or_says_when_it_is() -> None:
    asked = campaign()
    before, during = asked.begins(1) - 1, asked.begins(2) + 1
    assert campaign_state(asked, None, before)[:2] == (False, "not begun")
    assert "15 January 2027, 08:00 UTC" in campaign_state(asked, None, before).words
    assert campaign_state(asked, None, during)[:2] == (True, "open")
    assert campaign_state(asked, None, during).words == "Round 2 of 30 is open until 15 January 2027, 10:00 UTC."
    assert campaign_state(campaign(rounds=None), None, during).words.startswith("Round 2 is open until ")
    assert campaign_state(asked, 2, during).open
    assert campaign_state(asked, 1, during)[:2] == (False, "ended")
    assert campaign_state(asked, 0, before)[:2] == (False, "ended")
    assert campaign_state(asked, None, asked.begins(31)).words == end_words(asked, None, asked.begins(31))


def test_the_guarantee_in_one_sentence() -> None:
    assert "ever sends, is right with probability at most 99.97 % (upper" in guarantee_sentence(campaign())
    both = guarantee_sentence(crowded())
    assert "made by the collector" in both
    assert "at most 73.2 %; together with the relay, at most 99.97 % (upper" in both


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
    result = campaign_accuracy(made, 1_000_000)
    assert result.reports == 1_000_000 * made.chance
    assert result.usable
    assert "shares of a round are off by at most ±" in accuracy_words(result)
    assert f"with about {result.reports:,.0f} reports" in spread_words(result)
    assert result.people_needed is not None
    assert campaign_accuracy(made, result.people_needed).usable
    assert not campaign_accuracy(made, result.people_needed - 1).usable


def test_the_error_of_a_turn_is_that_of_its_plan() -> None:
    planned = plan(people=100_000, encoding=Categories(names=["a", "b", "c", "d"]), rounds=10, eps=1.0)
    made = planned.campaign().campaign(question="Which?", first_round=1_893_456_000, round_seconds=86_400)
    result = campaign_accuracy(made, 100_000)
    assert result.error_upper == pytest.approx(planned.one_round.radius_upper)
    assert result.standard_error == pytest.approx(planned.one_round.standard_error)


def test_the_error_of_a_mean_is_said_to_be_that() -> None:
    """It is the bound for one noisy bit of each person, whose values span the whole range."""
    made = dataclasses.replace(
        asked(10),
        encoding=IntegerRange(low=0, high=3),
        randomizer=Dealt(OneBitMean(values=4, eps=0.3), 10),
    )
    result = campaign_accuracy(made, 1_000_000)
    words = accuracy_words(result)
    assert "the mean of a round is off by at most ±" in words
    assert "shares" not in words
    gap = math.tanh(0.15)
    assert result.error_upper == pytest.approx(math.sqrt(math.log(2 / 0.05) / 2 / 1_000_000) / gap, rel=1e-3)


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
    result = dataclasses.replace(campaign_accuracy(asked(10), 1000), error_upper=0.0681145)
    assert "±0.06812 (upper" in accuracy_words(result)


def test_ballots_are_explained() -> None:
    asked = turns_campaign(ballots=Mint().ballots)
    words = guarantee_words(asked, "{}")[-1]
    assert words.startswith("A report counts only with a ballot: https://issuer.example gives one to each person")
    assert "Nobody can tell whose ballot a report shows (exact)." in words
    assert not any("ballot" in sentence for sentence in guarantee_words(turns_campaign(), "{}"))
