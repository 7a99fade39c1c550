"""Matching people by the rounds they answer: the law of the simulation, and the bound."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from untrackable import Bitwise, Deck, Rappor
from untrackable.auditing.attacks import attend, match_by_attendance


def test_people_attend_as_the_model_says() -> None:
    """A chi-square test that fails once in 1e6, and that rejects places that are off by a few percent."""
    rounds, people = 3, 200_000
    first, second = attend(rounds, people, np.random.default_rng(5))
    assert np.array_equal(second, ~first)
    counts = np.bincount(first @ (1 << np.arange(rounds)), minlength=1 << rounds)

    def rejected(here: float) -> bool:
        expected = [
            people * here ** sum(where) * (1 - here) ** (rounds - sum(where))
            for where in itertools.product((0, 1), repeat=rounds)
        ]
        return bool(((counts - expected) ** 2 / expected).sum() > chi2.isf(1e-6, counts.size - 1))

    assert not rejected(0.5)
    assert rejected(0.49)


@pytest.mark.parametrize("rounds", [2, 6, 10, 30, 365])
def test_a_thousand_people(rounds: int) -> None:
    """As many as expected: a stranger's rounds fit with probability p = 2^-k, so it is (1 - (1 - p)^N)/(N·p).

    The share of N people who each match alone is off by more than 0.12 once in 1e9, by McDiarmid's inequality: one
    person's rounds change the number of right matches, which is that of different rounds, by at most 1.
    """
    result, p = match_by_attendance(rounds=rounds), 0.5**rounds
    expected = -math.expm1(1000 * math.log1p(-p)) / (1000 * p)
    assert abs(result.alone.sampled - expected) < math.sqrt(math.log(2e9) / (2 * 1000))
    assert result.alone.sampled <= result.alone_bound.upper
    assert result.together is None


def test_reports_and_attendance_together() -> None:
    """Kept bits identify people with attendance that does not; independent reports add nothing."""
    rappor = match_by_attendance(rounds=6, people=300, mechanism=Rappor.preset("paper"))
    assert rappor.together is not None
    assert rappor.together.sampled > rappor.alone.sampled + 0.15
    deck = match_by_attendance(rounds=6, people=300, mechanism=Deck(bits=4, slots=60, eps_report=0.3))
    assert deck.together == deck.alone


def test_reports_are_those_that_were_seen_at_each_place() -> None:
    """Each person's choice by itself: the best score among all whose rounds fit."""
    mechanism, people, rounds = Bitwise(eps_state=1.5, eps_report=0.7), 60, 3
    first, second = attend(rounds, people, np.random.default_rng([7, 2, people]))
    (batch,) = mechanism.simulate(np.full(people, 1), rounds=rounds, seed=7)
    hits = []
    for i in range(people):
        fitting = [j for j in range(people) if not (first[i] & second[j]).any() and (first[i] | second[j]).all()]
        scores = dict.fromkeys(fitting, 0.0)
        if first[i].any() and second[i].any():
            for j in fitting:
                here, there = batch.reports[i][first[i]], batch.reports[j][second[j]]
                scores[j] = float(mechanism.link_scores(here[None], there[None], 1)[0, 0])
        best = [j for j in fitting if math.isclose(scores[j], max(scores.values()), abs_tol=1e-9)]
        hits.append((i in best) / len(best))
    result = match_by_attendance(rounds=rounds, people=people, mechanism=mechanism, value=1, seed=7)
    assert result.together is not None
    assert result.together.sampled == pytest.approx(np.mean(hits))
