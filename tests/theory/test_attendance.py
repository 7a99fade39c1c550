"""Attendance against enumeration of where people are in each round."""

import itertools
from typing import Any

import pytest

from tests.theory.test_factorisations import assert_equal
from untrackable.brackets import Bracket
from untrackable.theory.factor import Factor
from untrackable.theory.turns import attendance, recognition

Sights = tuple[tuple[int, int], ...]
"""For every round, how many people were seen at the first place and at the second."""


def sights(people: int, rounds: int) -> dict[Sights, float]:
    """By enumeration: one person answers from either place; of two people, each is looked for at one place only."""
    law: dict[Sights, float] = {}
    for where in itertools.product((0, 1), repeat=people * rounds):
        seen = tuple((int(where[t] == 0), int(where[t + (people - 1) * rounds] == 1)) for t in range(rounds))
        law[seen] = law.get(seen, 0.0) + 0.5 ** (people * rounds)
    return law


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_attendance_is_what_enumeration_says(rounds: int) -> None:
    one, two = sights(1, rounds), sights(2, rounds)
    seen = sorted({*one, *two})
    assert_equal(attendance(rounds), Factor([one.get(o, 0.0) for o in seen], [two.get(o, 0.0) for o in seen]))


@pytest.mark.parametrize("people", [1, 2, 3, 100, 1000, 1024])
@pytest.mark.parametrize("rounds", [1, 2, 6, 9, 10, 11, 30, 5000])
def test_recognition_is_the_power_of_the_best_test(rounds: int, people: int) -> None:
    found, power = recognition(rounds, people), attendance(rounds).power(1 / people)
    assert found.certainty == "exact"
    assert power.lower - 1e-9 <= found.upper <= power.upper + 1e-9


def test_the_known_numbers() -> None:
    assert recognition(3) == Bracket.point(0.008)
    assert recognition(9) == Bracket.point(0.512)
    assert recognition(10) == Bracket.point(1.0)
    assert attendance(2).advantage().upper == pytest.approx(0.75)


@pytest.mark.parametrize("rounds", [0, -1, 2.5, "10"])
def test_bad_rounds_are_refused(rounds: Any) -> None:
    for ask in (attendance, recognition):
        with pytest.raises((TypeError, ValueError), match="rounds must be"):
            ask(rounds)
