"""Rounds together: sums that add up are added up, others are weighted, and some cannot be pooled."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from untrackable import Bitwise, Categories, Deck, Fading, Memoized
from untrackable.answers.answer import Question, add_up, answer, merged_sums, pooled_estimate
from untrackable.estimation import Rounds
from untrackable.estimation.aggregators import Aggregator
from untrackable.mechanisms import CountMeanSketch, Lgrr
from untrackable.mechanisms.interface import Mechanism

DECK = Deck(bits=4, slots=3, eps_report=2.0)
AGAIN = Deck(bits=4, slots=3, eps_report=2.0, when_empty="replay")
FADING = Fading(bits=4, eps=6.0, delta=1e-3)
COLOURS = Categories(names=["red", "green", "blue"])


def sums_of(mechanism: Mechanism, rounds: int = 3, values: int = 3) -> dict[int, Aggregator]:
    (batch,) = mechanism.simulate(np.arange(200) % values, rounds=rounds, seed=1)
    return {number: mechanism.aggregator(number).add(batch.reports[:, i]) for i, number in enumerate(batch.rounds)}


class Once(Mapping[int, Aggregator]):
    """Sums that are given out once, as a store would be read."""

    def __init__(self, sums: dict[int, Aggregator]) -> None:
        self._sums, self.read = sums, list[int]()

    def __getitem__(self, number: int) -> Aggregator:
        assert number not in self.read
        self.read.append(number)
        return self._sums[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._sums)

    def __len__(self) -> int:
        return len(self._sums)


def test_which_rounds_add_up() -> None:
    assert add_up(DECK, [1, 2, 3])
    assert add_up(AGAIN, [4, 6, 5])
    assert not add_up(AGAIN, [3, 4])
    assert not add_up(FADING, [1, 2])
    assert add_up(FADING, [2])


def test_sums_that_add_up_are_added_up() -> None:
    question, sums = Question(DECK, COLOURS), sums_of(DECK)
    whole = merged_sums(sums_of(DECK), DECK.aggregator())
    read = Once(sums)
    result = pooled_estimate(question, read, 0.05)
    assert read.read == [1, 2, 3]
    assert result.estimate is not None
    assert result.estimate.n == whole.n == 600
    assert np.array_equal(result.estimate.frequencies, whole.estimate().frequencies[:3])
    assert result.note == ""


@pytest.mark.parametrize("mechanism", [FADING, Lgrr(values=9, keep=0.9, tell=0.8)])
def test_other_rounds_are_weighted_by_their_variance(mechanism: Mechanism) -> None:
    question, sums = Question(mechanism, None), sums_of(mechanism)
    alone = {number: one.estimate(0.05) for number, one in sums.items()}
    expected = Rounds(mechanism, alone).pooled(beta=0.05)
    for result in (pooled_estimate(question, sums, 0.05), pooled_estimate(question, sums, 0.05, alone=alone)):
        assert result.estimate is not None
        assert np.array_equal(result.estimate.frequencies, expected.frequencies)
        assert np.array_equal(result.estimate.simultaneous_radius, expected.simultaneous_radius)


def test_rounds_that_gain_nothing_or_cannot_be_pooled() -> None:
    bitwise = Bitwise(eps_state=1.0, eps_report=1.0)
    kept = pooled_estimate(Question(bitwise, None), sums_of(bitwise, values=2), 0.05)
    assert kept.estimate is not None
    assert "pooling them gains nothing" in kept.note
    sketch = Memoized(CountMeanSketch(hashes=4, width=16, eps=2.0, values=12))
    result = pooled_estimate(Question(sketch, None), sums_of(sketch), 0.05)
    assert result.estimate is None
    assert "cannot be pooled" in result.note


def test_an_answer_has_every_round_and_all_together() -> None:
    result = answer(Question(DECK, COLOURS), sums_of(DECK), beta=0.1)
    assert list(result.rounds) == [1, 2, 3]
    assert result.pooled is result.best
    assert result.best.beta == 0.1
    assert result.labelled(result.best).values == ["red", "green", "blue"]
    assert (result.mechanism, result.encoding) == (DECK, COLOURS)
    one = answer(Question(DECK, COLOURS), {2: sums_of(DECK)[2]})
    assert one.pooled is one.best
    assert one.best.n == 200
    with pytest.raises(ValueError, match="beta"):
        answer(Question(DECK, COLOURS), sums_of(DECK), beta=1.0)
