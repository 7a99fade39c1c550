"""Shares by round: the band holds for all rounds and values at once, and hardly more often than it must."""

import numpy as np
import pytest

from untrackable import Categories, Deck, HashedStrings
from untrackable.answers.answer import Question
from untrackable.answers.trend import trend
from untrackable.estimation.aggregators import Aggregator

BITS, ROUNDS, PEOPLE = 2, 5, 60
DECK = Deck(bits=BITS, slots=ROUNDS, eps_report=2.0)
QUESTION = Question(DECK, Categories(names=["a", "b", "c", "d"]))
BETA = 0.3


def sums_of(values: np.ndarray, seed: int, deck: Deck = DECK) -> dict[int, Aggregator]:
    (batch,) = deck.simulate(values, rounds=ROUNDS, seed=seed)
    return {number: deck.aggregator(number).add(batch.reports[:, i]) for i, number in enumerate(batch.rounds)}


def failures(shrunk: float, runs: int = 150) -> int:
    """How many simulated campaigns have some round and value outside the band, if its radius is shrunk."""
    values = np.repeat(np.arange(4), PEOPLE // 4)
    truth = np.full((ROUNDS, 4), 0.25)
    result = 0
    for seed in range(runs):
        sums = sums_of(values, seed + 1)
        raw = np.stack([QUESTION.estimate(sums[number], BETA).frequencies for number in sums])
        bands = [(each.lower, each.upper) for each in trend(QUESTION, sums, range(4), beta=BETA)]
        lower, upper = (raw + shrunk * (end - raw) for end in np.moveaxis(np.array(bands), 0, 2))
        result += bool(((lower > truth) | (truth > upper)).any())
    return result


def test_the_band_holds_for_all_rounds_at_once() -> None:
    """If campaigns fail with probability 0.3, more than 75 of 150 do with less than 1e-6. Narrower bands do."""
    assert failures(1.0) <= 75
    assert failures(1 / 3) > 75


def test_each_round_is_its_own_estimate_at_a_smaller_beta() -> None:
    sums = sums_of(np.arange(200) % 3, 1)
    result = trend(QUESTION, sums, [2, 0], beta=0.05)
    for each, name, value in zip(result, "ca", (2, 0), strict=True):
        assert (each.name, each.rounds, each.beta) == (name, (1, 2, 3, 4, 5), 0.05)
        assert each.reports == (200,) * 5
        for i, number in enumerate(each.rounds):
            alone = QUESTION.estimate(sums[number], 0.05 / 5)
            assert each.estimates[i] == np.clip(alone.frequencies[value], 0, 1)
            assert (each.lower[i], each.upper[i]) == tuple(end[value] for end in alone.interval(simultaneous=True))


def test_invented_reports_are_those_of_the_round_that_takes_the_fewest() -> None:
    sums = sums_of(np.arange(2000) % 3, 1)
    (found,) = trend(QUESTION, sums, [2])
    alone = [QUESTION.estimate(sums[number], 0.05 / 5) for number in found.rounds]
    each = [known for estimate in alone if (known := estimate.invented([2]))]
    assert len(set(each)) > 1
    assert found.invented == min(each)


def test_one_round_has_the_interval_of_its_estimate() -> None:
    sums = {3: sums_of(np.arange(90) % 4, 2)[3]}
    result = trend(QUESTION, sums, [1])
    alone = QUESTION.estimate(sums[3], 0.05)
    assert result[0].lower[0] == alone.interval(simultaneous=True).lower[1]


def test_candidates_are_found_by_their_names() -> None:
    strings, deck = HashedStrings(bits=16, salt=bytes(16), longest=9), Deck(bits=16, slots=ROUNDS, eps_report=2.0)
    names = ["cat", "dog", "emu", "fox"]
    question = Question(deck, strings, names)
    result = trend(question, sums_of(np.array([strings.encode("cat")] * 4000), 1, deck), ["fox", "cat"])
    assert result[1].estimates.mean() > 0.8 > 0.3 > result[0].estimates.mean()


def test_there_must_be_a_round() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        trend(QUESTION, {}, [0])
