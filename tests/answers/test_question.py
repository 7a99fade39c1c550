"""Which values are asked about, for every kind of sums and encoding."""

import numpy as np
import pytest

from untrackable import (
    Categories,
    Deck,
    Fresh,
    HashedStrings,
    InnerProduct,
    IntegerRange,
    NoisyInnerProduct,
    Rappor,
)
from untrackable.answers.answer import CandidatesNeeded, Question
from untrackable.estimation.aggregators import CandidateCounts
from untrackable.mechanisms import CountMeanSketch
from untrackable.mechanisms.interface import Mechanism

COLOURS = Categories(names=["red", "green", "blue"])
STRINGS = HashedStrings(bits=6, salt=bytes(16), longest=20)
DECK = Deck(bits=4, slots=9, eps_report=2.0)
WIDE = InnerProduct(bits=40, slots=3, eps_report=4.0, width=1)
RAPPOR = Rappor(bloom_bits=16, hashes=2, f=0.2, p=0.2, q=0.8)
SKETCH = Fresh(CountMeanSketch(hashes=5, width=70, eps=2.0, values=9))


def values_of(question: Question, mechanism: Mechanism) -> list[int] | None:
    """The values of the estimate; None if it is of all values in order."""
    clients = [mechanism.client(i % 3).report(1) for i in range(30)]
    estimate = question.estimate(question.prepare(mechanism.aggregator()).add(clients), 0.05)
    return None if estimate.values is None else list(estimate.values)


def test_sums_that_need_a_list_are_asked_about_all_values_of_the_encoding() -> None:
    for mechanism in (WIDE, RAPPOR):
        assert mechanism.aggregator().needs_candidates
        assert values_of(Question(mechanism, COLOURS), mechanism) == [0, 1, 2]
        assert values_of(Question(mechanism, COLOURS, ["blue", "red", "blue"]), mechanism) == [2, 0]
        assert values_of(Question(mechanism, None, [7, 1]), mechanism) == [7, 1]


@pytest.mark.parametrize("mechanism", [WIDE, RAPPOR])
def test_without_candidates_and_with_too_many_values_there_is_no_answer(mechanism: Mechanism) -> None:
    for question in (Question(mechanism, None), Question(mechanism, COLOURS, most_listed=2)):
        with pytest.raises(CandidatesNeeded, match="candidates must be given, as "):
            question.prepare(mechanism.aggregator())


def test_sums_that_take_a_list_are_asked_about_the_encoding_or_about_all() -> None:
    sums = SKETCH.aggregator()
    assert sums.takes_candidates
    assert not sums.needs_candidates
    assert values_of(Question(SKETCH, COLOURS), SKETCH) == [0, 1, 2]
    assert values_of(Question(SKETCH, COLOURS, unused_values=True), SKETCH) is None
    assert values_of(Question(SKETCH, None), SKETCH) is None


def test_values_that_the_encoding_does_not_use() -> None:
    sums = DECK.aggregator().add([DECK.client(1).report(1)])
    assert Question(DECK, COLOURS).estimate(sums, 0.05).frequencies.size == 3
    assert Question(DECK, COLOURS, unused_values=True).estimate(sums, 0.05).frequencies.size == 16
    assert Question(DECK, None).estimate(sums, 0.05).frequencies.size == 16
    with pytest.raises(ValueError, match="the encoding has 99 values, the mechanism has room for 16"):
        Question(DECK, IntegerRange(low=1, high=99))


def test_candidates_are_refused_where_all_values_are_estimated() -> None:
    with pytest.raises(ValueError, match="here all values are estimated"):
        Question(DECK, COLOURS, ["red"]).prepare(DECK.aggregator())
    with pytest.raises(ValueError, match="these sums estimate all values"):
        DECK.aggregator().add([DECK.client(1).report(1)]).estimate(candidates=[1])


def test_hashed_candidates_share_buckets_and_the_error_rate() -> None:
    deck = Deck(bits=6, slots=9, eps_report=2.0)
    same = next(f"x{i}" for i in range(999) if STRINGS.encode(f"x{i}") == STRINGS.encode("cat"))
    question = Question(deck, STRINGS, ["dog", "cat", same, "dog"])
    assert question.groups == (("dog",), ("cat", same))
    assert question.size == 2
    assert question.noise_beta(0.06) == 0.02
    sums = deck.aggregator().add([deck.client(STRINGS.encode("cat")).report(1) for _ in range(50)])
    named = question.named(question.estimate(question.prepare(sums), 0.06))
    assert named.values == ["dog", ("cat", same)]
    assert named.beta == pytest.approx(0.06)
    assert [question.label(value) for value in named.values] == ["dog", f"cat or {same}"]
    assert Question(deck, STRINGS).noise_beta(0.06) == 0.06


def test_labels() -> None:
    assert Question(DECK, COLOURS).label(np.int64(2)) == "blue"
    assert Question(DECK, None).label(2) == "2"
    assert Question(RAPPOR, None, ["Ada"]).label("Ada") == "Ada"


def test_reports_are_not_kept_where_the_values_are_known() -> None:
    mechanism = Fresh(NoisyInnerProduct(bits=100, eps=2.0))
    strings = HashedStrings(bits=100, salt=bytes(16), longest=20)
    assert isinstance(Question(mechanism, strings, ["cat"]).prepare(mechanism.aggregator()), CandidateCounts)
