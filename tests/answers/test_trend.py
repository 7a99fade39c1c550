"""Shares by round: the band holds for all rounds and values at once, and hardly more often than it must."""

import numpy as np
import pytest

from untrackable import Categories, Deck, HashedStrings
from untrackable.answers.answer import Question
from untrackable.answers.trend import Trend, trend
from untrackable.estimation.aggregators import Aggregator

BITS, ROUNDS, PEOPLE = 2, 5, 60
DECK = Deck(bits=BITS, slots=ROUNDS, eps_report=2.0)
QUESTION = Question(DECK, Categories(names=["a", "b", "c", "d"]))
BETA = 0.3


def sums_of(values: np.ndarray, seed: int) -> dict[int, Aggregator]:
    (batch,) = DECK.simulate(values, rounds=ROUNDS, seed=seed)
    return {number: DECK.aggregator(number).add(batch.reports[:, i]) for i, number in enumerate(batch.rounds)}


def failures(shrunk: float, runs: int = 150) -> int:
    """How many simulated campaigns have some round and value outside the band, if its radius is shrunk."""
    values = np.repeat(np.arange(4), PEOPLE // 4)
    truth = np.full((ROUNDS, 4), 0.25)
    result = 0
    for seed in range(runs):
        band = trend(QUESTION, sums_of(values, seed + 1), range(4), beta=BETA)
        lower, upper = (band.frequencies + shrunk * (end - band.frequencies) for end in band.interval())
        result += bool(((lower > truth) | (truth > upper)).any())
    return result


def test_the_band_holds_for_all_rounds_at_once() -> None:
    """If campaigns fail with probability 0.3, more than 75 of 150 do with less than 1e-6. Narrower bands do."""
    assert failures(1.0) <= 75
    assert failures(1 / 3) > 75


def test_each_round_is_its_own_estimate_at_a_smaller_beta() -> None:
    sums = sums_of(np.arange(200) % 3, 1)
    result = trend(QUESTION, sums, [2, 0], beta=0.05)
    assert isinstance(result, Trend)
    assert (result.rounds, result.values, result.beta) == ((1, 2, 3, 4, 5), (2, 0), 0.05)
    assert result.reports == (200,) * 5
    for i, number in enumerate(result.rounds):
        alone = QUESTION.estimate(sums[number], 0.05 / 5)
        np.testing.assert_array_equal(result.frequencies[i], alone.frequencies[[2, 0]])
        for mine, theirs in zip(result.interval(), alone.interval(simultaneous=True), strict=True):
            np.testing.assert_array_equal(mine[i], theirs[[2, 0]])


def test_one_round_has_the_interval_of_its_estimate() -> None:
    sums = {3: sums_of(np.arange(90) % 4, 2)[3]}
    result = trend(QUESTION, sums, [1])
    alone = QUESTION.estimate(sums[3], 0.05)
    assert result.lower[0, 0] == alone.interval(simultaneous=True).lower[1]


def test_candidates_are_found_by_their_names() -> None:
    strings = HashedStrings(bits=BITS, salt=bytes(16), longest=9)
    names = [group[0] for group in strings.grouped(["cat", "dog", "emu", "fox"])]
    question = Question(DECK, strings, names)
    result = trend(question, sums_of(np.array([strings.encode(names[0])] * 400), 1), [names[-1], names[0]])
    assert result.frequencies[:, 1].mean() > 0.8 > 0.3 > result.frequencies[:, 0].mean()


def test_there_must_be_a_round() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        trend(QUESTION, {}, [0])
