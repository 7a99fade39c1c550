"""Active days and coming back: intervals hold, and say what was asked."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Deck
from untrackable.answers.answer import Answer, Question, active_shares, answer, asks_about_days, returned_shares
from untrackable.encodings.days_of_use import ACTIVE_DAYS, RETENTION, DaysOfUse
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.numbers import IntegerRange

BETA, TIMES, PEOPLE = 0.2, 80, 400


def answered(encoding: Encoding, values: NDArray[np.int64], seed: int, eps: float = 4.0) -> Answer:
    deck = Deck(bits=encoding.bits, slots=1, eps_report=eps)
    sums = deck.aggregator(1)
    for batch in deck.simulate(values, rounds=1, seed=seed):
        sums.add(batch.reports[:, 0])
    return answer(Question(deck, encoding), {1: sums})


def people() -> tuple[NDArray[np.int64], dict[int, float]]:
    """The answers of some people on day 60, and the shares of those who came back, counted directly."""
    rng = np.random.default_rng(1)
    values, days = [], {1: [0, 0], 7: [0, 0], 28: [0, 0]}
    for _ in range(PEOPLE):
        first, share, newcomer = int(rng.integers(0, 61)), rng.random(), bool(rng.random() < 0.9)
        used = [day for day in range(first + 1, 61) if rng.random() < share]
        kept = DaysOfUse.begun(first, newcomer=newcomer)
        for day in used:
            kept = kept.used(day)
        values.append(RETENTION.encode(kept.answer(RETENTION, 60)))
        for after, (came, known) in days.items():
            if newcomer and first + after < 60:
                days[after] = [came + (first + after in used), known + 1]
    return np.array(values), {after: came / known for after, (came, known) in days.items()}


def test_shares_of_those_who_came_back_hold() -> None:
    values, truth = people()
    missed = 0
    for seed in range(TIMES):
        result = returned_shares(answered(RETENTION, values, seed), beta=BETA)
        missed += any(not share.lower <= truth[share.days] <= share.upper for share in result)
        assert [share.days for share in result] == [1, 7, 28]
    assert missed <= binom.isf(1e-9, TIMES, BETA)
    many = returned_shares(answered(RETENTION, np.tile(values, 100), 1))
    for share in many:
        assert abs(share.value - truth[share.days]) < 0.03
        assert share.tells
        assert share.upper - share.lower < 0.2


def test_shares_of_active_people_hold() -> None:
    values = np.arange(PEOPLE) % 29
    missed = 0
    for seed in range(TIMES):
        result = active_shares(answered(ACTIVE_DAYS, values, seed), beta=BETA)
        missed += any(not share.lower <= (values >= share.days).mean() <= share.upper for share in result)
    assert missed <= binom.isf(1e-9, TIMES, BETA)
    (half,) = active_shares(answered(ACTIVE_DAYS, np.tile(values, 100), 1), (14,))
    assert abs(half.value - (values >= 14).mean()) < 0.03


def test_few_reports_tell_nothing() -> None:
    result = returned_shares(answered(RETENTION, np.zeros(3, dtype=np.int64), 1, eps=0.1))
    assert not any(share.tells for share in result)
    assert all(0 <= share.value <= 1 for share in result)


def test_other_questions_are_refused() -> None:
    active, returning = (answered(e, np.zeros(9, dtype=np.int64), 1) for e in (ACTIVE_DAYS, RETENTION))
    other = answered(IntegerRange(low=0, high=3), np.zeros(9, dtype=np.int64), 1)
    assert [asks_about_days(each) for each in (active, returning, other)] == ["active-days", "retention", None]
    with pytest.raises(ValueError, match="not about coming back"):
        returned_shares(active)
    with pytest.raises(ValueError, match="not about the number of active days"):
        active_shares(other)
    with pytest.raises(ValueError, match="at_least must be between 1 and 28"):
        active_shares(active, (0,))


def test_shares_of_active_days_are_possible_and_follow_the_rule_of_all_shares() -> None:
    for people, told in ((30, False), (50_000, True)):
        for share in active_shares(answered(ACTIVE_DAYS, np.full(people, 28), 1, eps=1.0)):
            assert 0 <= share.value <= 1
            assert share.tells == told
