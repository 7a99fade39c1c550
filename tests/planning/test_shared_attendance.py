"""How often people answer several campaigns: never recognised better than asked for, and hardly less often."""

from fractions import Fraction
from typing import Any

import pytest

from untrackable import Goals
from untrackable.accounting.attended_rounds import AttendedRounds, recognition
from untrackable.accounting.client_check import ATTENDANCE_STEP
from untrackable.planning.shared_attendance import answered_together
from untrackable.planning.shared_budget import Asked, SharedBudget


def goals(**demands: Any) -> Goals:
    return Goals(**{"people": 10**6, "values": 2, "eps": 1.0, "untrackable": (0.0, 0.0), **demands})


def recognised(questions: list[Goals], times: float = 1.0) -> float:
    """By all of them together, if people answered more often by this factor."""
    attended = []
    for asked in questions:
        share = min(Fraction(1), asked.answered * Fraction(times))
        attended.append(AttendedRounds(asked.replace(participation=share).attendance, int(asked.rounds or 0), 0))
    return recognition(attended, (), ATTENDANCE_STEP)


@pytest.mark.parametrize(
    "questions",
    [
        [goals(rounds=30), goals(rounds=30)],
        [goals(rounds=100), goals(rounds=10), goals(rounds=1)],
        [goals(rounds=2)] * 5,
        [goals(rounds=21, persistence=7, places=("0.8", "0.1", "0.1"))] * 2,
        [goals(rounds=30, recognition=0.01)] * 3,
    ],
)
def test_people_answer_as_often_as_the_recognition_by_all_of_them_allows(questions: list[Goals]) -> None:
    answered = answered_together(questions)
    limit = questions[0].recognition
    assert recognised(answered) <= limit < recognised(answered, 1.1)
    alone = [answered_together([asked])[0].answered for asked in questions]
    assert all(found.answered < before for found, before in zip(answered, alone, strict=True))


def test_fewer_rounds_are_answered_more_often() -> None:
    long, short, once = answered_together([goals(rounds=100), goals(rounds=10), goals(rounds=1)])
    assert long.answered < short.answered < once.answered


def test_a_given_participation_stays() -> None:
    given, free = answered_together([goals(rounds=30, participation="1/20"), goals(rounds=30)])
    assert given.answered == Fraction(1, 20)
    assert free.answered < Fraction(1, 7)
    assert recognised([given, free]) <= 0.002


@pytest.mark.parametrize("left_out", [{"recognition": 1.0}, {"one_network": True}])
def test_every_round_is_answered_if_attendance_does_not_count(left_out: dict[str, Any]) -> None:
    questions = [goals(rounds=30, **left_out), goals(rounds="forever", error=0.05, **left_out)]
    assert [asked.answered for asked in answered_together(questions)] == [1, 1]


def test_mechanisms_that_can_be_followed_are_not_even_asked_for_their_error() -> None:
    """Of one round, nothing is linked. RAPPOR cannot estimate so many values at all, and that does not matter."""
    asked = goals(values=4096, rounds=1, participation=1)
    assert Asked.best("a", asked, SharedBudget(1.0, 1e-6), 0.7, bytes(16)).entry.name == "deck"
