"""Matching people by the rounds they answer: the law of the simulation, the scores, and the engine's bound."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from untrackable import Bitwise, Deck, Rappor
from untrackable.auditing import attendance_attack
from untrackable.auditing.attendance_attack import attend, attendance_scores, match_by_attendance
from untrackable.mechanisms.others.votes import Votes
from untrackable.theory.attendance import Attendance

HALF = Fraction(1, 2)
EVERY = Fraction(1)
EIGHTY = (Fraction(4, 5), Fraction(1, 5))
MODELS = [
    Attendance(),
    Attendance(Fraction(1, 3)),
    Attendance(Fraction(1, 2), EIGHTY),
    Attendance(Fraction(1, 4), (Fraction(1, 2), Fraction(1, 4)), 2),
    Attendance(Fraction(2, 3), (Fraction(1, 3), Fraction(1, 3)), 3),
    Attendance(EVERY, (Fraction(1, 3), Fraction(2, 3)), 2),
]


def one_person(attendance: Attendance, rounds: int) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction]:
    """By enumeration of places and coins: the probability of the rounds seen at the first place and the second."""
    here, there = attendance.places
    stays = -(-rounds // attendance.persistence)
    law: dict[Any, Fraction] = {}
    for where in itertools.product((0, 1, 2), repeat=stays):
        for coins in itertools.product((0, 1), repeat=rounds):
            weight = Fraction(1)
            for place in where:
                weight *= (here, there, 1 - here - there)[place]
            for coin in coins:
                weight *= attendance.participation if coin else 1 - attendance.participation
            places = [where[t // attendance.persistence] for t in range(rounds)]
            seen = tuple(tuple(int(coins[t] and places[t] == side) for t in range(rounds)) for side in (0, 1))
            law[seen] = law.get(seen, Fraction(0)) + weight
    return {seen: weight for seen, weight in law.items() if weight}


@pytest.mark.parametrize("attendance", MODELS, ids=str)
def test_people_attend_as_the_model_says(attendance: Attendance) -> None:
    """A chi-square test that fails once in 1e6, and that rejects a law in which coins are off by a few percent."""
    rounds, people = 3, 200_000
    first, second = attend(attendance, rounds, people, np.random.default_rng(5))
    code = np.concatenate([first, second], axis=1) @ (1 << np.arange(2 * rounds))
    counts = np.bincount(code, minlength=1 << 2 * rounds)

    def rejected(law: dict[Any, Fraction]) -> bool:
        expected = np.zeros(counts.size)
        for (left, right), weight in law.items():
            expected[(np.array(left + right) @ (1 << np.arange(2 * rounds)))] = people * float(weight)
        seen = expected > 0
        if counts[~seen].any():
            return True
        statistic = ((counts[seen] - expected[seen]) ** 2 / expected[seen]).sum()
        return bool(statistic > chi2.isf(1e-6, seen.sum() - 1))

    assert not rejected(one_person(attendance, rounds))
    coin = attendance.participation * Fraction(97, 100)
    assert rejected(one_person(Attendance(coin, attendance.places, attendance.persistence), rounds))
    here, there = attendance.places
    moved = here - here / 30, there
    assert rejected(one_person(Attendance(attendance.participation, moved, attendance.persistence), rounds))
    if attendance.persistence > 1:
        assert rejected(one_person(attendance.with_persistence(1), rounds))


@pytest.mark.parametrize("attendance", MODELS, ids=str)
def test_scores_are_the_likelihood_ratios(attendance: Attendance) -> None:
    """Of every pair of rows, from the enumerated law of one person and its two margins."""
    rounds = 4 if attendance.persistence == 3 else 3
    one = one_person(attendance, rounds)
    margins: tuple[dict[Any, Fraction], ...] = {}, {}
    for seen, weight in one.items():
        for side in (0, 1):
            margins[side][seen[side]] = margins[side].get(seen[side], Fraction(0)) + weight
    left, right = (sorted(margin) for margin in margins)
    scores = attendance_scores(np.array(left, dtype=bool), np.array(right, dtype=bool), attendance)
    for (i, here), (j, there) in itertools.product(enumerate(left), enumerate(right)):
        ratio = one.get((here, there), Fraction(0)) / (margins[0][here] * margins[1][there])
        assert scores[i, j] == (pytest.approx(math.log(ratio), abs=1e-12) if ratio else -math.inf)


@pytest.mark.parametrize("attendance", MODELS, ids=str)
def test_the_engine_has_the_same_law_of_scores(attendance: Attendance) -> None:
    """The largest difference of the two enumerated worlds is the engine's advantage."""
    rounds = 4
    one = one_person(attendance, rounds)
    margins: tuple[dict[Any, Fraction], ...] = {}, {}
    for seen, weight in one.items():
        for side in (0, 1):
            margins[side][seen[side]] = margins[side].get(seen[side], Fraction(0)) + weight
    apart = sum(
        max(Fraction(0), weight - margins[0][here] * margins[1][there]) for (here, there), weight in one.items()
    )
    advantage = attendance.experiment(rounds).advantage()
    assert advantage.lower - 1e-9 <= float(apart) <= advantage.upper + 1e-9


@pytest.mark.parametrize(
    ("rounds", "attendance", "low", "high"),
    [
        (30, Attendance(), 0.999, 1.0),
        (30, Attendance(EVERY, EIGHTY), 0.985, 1.0),
        (365, Attendance(), 0.999, 1.0),
        (365, Attendance(Fraction(1, 5)), 0.12, 0.20),
        (365, Attendance(Fraction(1, 5), EIGHTY), 0.03, 0.07),
        (365, Attendance(Fraction(1, 10)), 0.0, 0.015),
        (365, Attendance(Fraction(1, 20)), 0.0, 0.008),
        (365, Attendance(Fraction(1, 20), EIGHTY), 0.0, 0.008),
    ],
)
def test_a_thousand_people(rounds: int, attendance: Attendance, low: float, high: float) -> None:
    found = match_by_attendance(attendance, rounds=rounds)
    assert low <= found.alone.sampled <= high
    assert found.alone.lower <= found.alone_bound.upper
    assert found.together is None


@pytest.mark.parametrize(
    "attendance",
    [Attendance(HALF), Attendance(Fraction(1, 3), EIGHTY), Attendance(Fraction(1, 5), persistence=4)],
    ids=str,
)
def test_the_attack_agrees_with_the_bound(attendance: Attendance) -> None:
    """Twenty crowds: not above the bound, and at least half of it.

    The standard error over the crowds is estimated from them; beyond eight of them (Student, nineteen degrees of
    freedom) lies a probability of 2e-7.
    """
    runs = [match_by_attendance(attendance, rounds=24, people=200, seed=seed) for seed in range(20)]
    shares = np.array([run.alone.sampled for run in runs])
    off = 8 * shares.std(ddof=1) / math.sqrt(20)
    bound = runs[0].alone_bound
    assert bound.upper > 0.015
    assert bound.lower / 2 - off <= shares.mean() <= bound.upper + off
    assert off < shares.mean()


def test_reports_and_attendance_together() -> None:
    """Kept bits identify people with attendance that does not; independent reports add nothing."""
    attendance = Attendance(Fraction(1, 4))
    rappor = match_by_attendance(attendance, rounds=60, people=300, mechanism=Rappor.preset("paper"))
    assert rappor.together is not None
    assert rappor.together.sampled > rappor.alone.sampled + 0.3
    deck = match_by_attendance(attendance, rounds=60, people=300, mechanism=Deck(bits=4, slots=60, eps_report=0.3))
    assert deck.together == deck.alone
    votes = Votes(eps_vote=1, eps_estimate=1, votes=2, estimates=2, updates=(1, 5))
    with pytest.raises(ValueError, match="depend on which rounds were seen"):
        match_by_attendance(attendance, rounds=5, people=20, mechanism=votes)


def test_scores_of_reports_are_those_of_the_reports_that_were_seen() -> None:
    """Each pair's score by itself, from the mechanism, for people who were seen different numbers of times."""
    mechanism, people, rounds = Bitwise(eps_state=1.5, eps_report=0.7), 30, 5
    first, second = attend(Attendance(HALF), rounds, people, np.random.default_rng(3))
    found = attendance_attack._ReportScores(mechanism, first, second, 1, 7).of(np.arange(people))
    (batch,) = mechanism.simulate(np.full(people, 1), rounds=rounds, seed=7)
    for i, j in itertools.product(range(people), repeat=2):
        here, there = batch.reports[i][first[i]], batch.reports[j][second[j]]
        expected = 0.0
        if here.size and there.size:
            expected = float(mechanism.link_scores(here[None], there[None], 1)[0, 0])
        assert found[i, j] == pytest.approx(expected, abs=1e-12)


def test_many_people_are_matched_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Bitwise(eps_state=1, eps_report=1)
    asked: dict[str, Any] = {"rounds": 40, "people": 200, "mechanism": mechanism}
    whole = match_by_attendance(Attendance(Fraction(1, 3)), **asked)
    monkeypatch.setattr(attendance_attack, "_SCORES", 200 * 7)
    assert match_by_attendance(Attendance(Fraction(1, 3)), **asked) == whole


def test_one_network_and_several_places() -> None:
    nowhere = match_by_attendance(Attendance(one_network=True), rounds=50, people=100)
    assert nowhere.alone.sampled == pytest.approx(0.01)
    assert nowhere.alone_bound.upper == pytest.approx(0.01)
    three = Attendance(EVERY, (Fraction(1, 6), HALF, Fraction(1, 3)))
    found = match_by_attendance(three, rounds=60, people=100)
    assert found == match_by_attendance(Attendance(EVERY, (HALF, Fraction(1, 3))), rounds=60, people=100)
    assert found.alone_bound.upper <= three.recognition(60, 100).upper + 1e-9
    only = match_by_attendance(Attendance(EVERY, (EVERY, Fraction(0))), rounds=50, people=100)
    assert only.alone.sampled == pytest.approx(0.01)
