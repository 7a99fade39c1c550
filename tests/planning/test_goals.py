"""Goals that are missing, contradictory, impossible or out of range are named."""

from fractions import Fraction
from typing import Any

import pytest

from untrackable import Bit, Categories, Goals, plan
from untrackable.planning.goals import FOREVER
from untrackable.theory.attendance import Attendance

GOOD: dict[str, Any] = {"people": 1000, "values": 4, "rounds": 10, "eps": 1.0}


@pytest.mark.parametrize(
    ("demands", "error", "message"),
    [
        ({"eps": 0}, ValueError, "eps must be positive"),
        ({"eps": 65.0}, ValueError, "eps must be at most 64"),
        ({"eps": "1"}, TypeError, "eps must be a number"),
        ({"delta": 1.0}, ValueError, "delta must be strictly between 0 and 1"),
        ({"delta": 0.0}, ValueError, "delta must be strictly"),
        ({"delta": 1e-12}, ValueError, "delta must be at least 1e-11"),
        ({"people": 0}, ValueError, "people must be between 1"),
        ({"people": 10**16}, ValueError, "people must be between 1"),
        ({"people": 1.5}, TypeError, "people must be an integer"),
        ({"values": 1}, ValueError, "values must be at least 2, got 1"),
        ({"values": 2**256 + 1}, ValueError, "values must be at most 2"),
        ({"values": None}, ValueError, "give one of encoding, values, bits"),
        ({"bits": 3}, ValueError, "got values and bits"),
        ({"values": None, "encoding": "bit"}, TypeError, "encoding must be an Encoding"),
        ({"rounds": 0}, ValueError, "rounds must be between 1"),
        ({"rounds": "always"}, ValueError, "rounds must be one of forever"),
        ({"people": None}, ValueError, "people and error are missing"),
        ({"people": None, "eps": None}, ValueError, "people and eps and error are missing"),
        ({"error": 0.0}, ValueError, "error must be strictly"),
        ({"error": 1.0}, ValueError, "error must be strictly"),
        ({"beta": 0}, ValueError, "beta must be strictly"),
        ({"advantage": 0.1, "matched": 0.1}, ValueError, "advantage and matched contradict each other"),
        ({"advantage": 1.1}, ValueError, "advantage must be between 0 and 1"),
        ({"matched": 0.0001}, ValueError, "matched must be at least 1/crowd"),
        ({"matched": 0.1, "crowd": 1}, ValueError, "crowd must be at least 2"),
        ({"untrackable": 0.1}, TypeError, "untrackable must be a pair"),
        ({"untrackable": (-1.0, 0.1)}, ValueError, "gamma of untrackable must be at least 0"),
        ({"untrackable": (1.0, 2.0)}, ValueError, "delta of untrackable"),
        ({"reports": 11}, ValueError, "reports must be at most rounds, 10"),
        ({"reports": 0}, ValueError, "reports must be between 1 and 100000"),
        ({"pooled": 11}, ValueError, "pooled must be at most rounds, 10"),
        ({"changes": 1}, TypeError, "changes must be True or False"),
        ({"recognition": 0.0009}, ValueError, "recognition must be at least 1/1,000"),
        ({"recognition": 1.1}, ValueError, "recognition must be between 0 and 1"),
        ({"participation": 0}, ValueError, "participation must be above 0"),
        ({"participation": "often"}, ValueError, "participation must be a fraction such as 1/20"),
        ({"places": ("0.7", "0.7")}, ValueError, "places must be shares of at most 1"),
        ({"places": (1,)}, ValueError, "places must be 2 to 64 shares"),
        ({"persistence": 0}, ValueError, "persistence must be at least 1"),
        ({"one_network": 1}, TypeError, "one_network must be True or False"),
    ],
)
def test_bad_goals_are_named(demands: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Goals(**{**GOOD, **demands})


def test_unknown_fields_and_both_forms_are_refused() -> None:
    with pytest.raises(TypeError, match="users"):
        plan(users=3, **GOOD)
    with pytest.raises(TypeError, match="not both: eps"):
        plan(goals=Goals(**GOOD), eps=1.0)


def test_what_follows_from_goals() -> None:
    goals = Goals(**GOOD)
    assert (goals.unknown, goals.size, goals.width, goals.observed) == ("error", 4, 2, 10)
    assert (goals.tolerance.advantage_limit, goals.tolerance.limit, goals.tolerance.reports) == (0.01, 0.01, 10)
    assert list(goals.replace(pooled=3).figure) == [8, 9, 10]
    endless = goals.replace(rounds=FOREVER, pooled=3)
    assert (endless.observed, list(endless.figure)) == (None, [1, 2, 3])
    assert Goals(people=5, encoding=Bit(), rounds=2, eps=1).size == 2
    assert Goals(people=5, encoding=Categories(names=list("abcde")), rounds=2, eps=1).width == 3
    assert goals.attendance == Attendance()
    often = goals.replace(participation=0.05, places=("0.8", 0.2), persistence=7)
    assert often.attendance == Attendance(Fraction(1, 20), (Fraction(4, 5), Fraction(1, 5)), 7)
    assert often.budget.participation == often.answered == Fraction(1, 20)
    assert goals.replace(advantage=None, matched=0.1).tolerance.advantage_limit == pytest.approx(0.099)


@pytest.mark.parametrize("people", [1, 10**12, 10**15])
def test_any_number_of_people(people: int) -> None:
    found = plan(people=people, values=2, rounds=4, eps=1.0)
    assert (found.recommended is None) == (people == 1)
    if people == 1:
        assert {r.binding for r in found.refusals} >= {"accuracy"}
