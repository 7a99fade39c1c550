"""Goals: what is checked, and what follows from them."""

from fractions import Fraction
from typing import Any

import pytest

from untrackable import Goals
from untrackable.encodings import Categories, Choices, IntegerRange

ASKED: dict[str, Any] = {"people": 1000, "values": 16, "rounds": 12, "eps": 1.0}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"people": 0}, ValueError, "people must be between 1 and 1000000000000000, got 0"),
        ({"people": None, "eps": None}, ValueError, "people and eps and error are missing: one of people, rounds"),
        ({"values": 1}, ValueError, "values must be at least 2, got 1"),
        ({"values": None}, ValueError, "give one of encoding, values, bits, strings; got none"),
        ({"bits": 3}, ValueError, "give one of encoding, values, bits, strings; got values and bits"),
        ({"values": None, "strings": 31}, ValueError, "strings must be between 1 and 30, got 31"),
        ({"values": 2**257}, ValueError, r"values must be at most 2\^256, got about 2\^257"),
        ({"eps": 65.0}, ValueError, "eps must be at most 64, got 65.0: more would hide nothing"),
        ({"rounds": 0}, ValueError, "rounds must be between 1 and"),
        ({"rounds": "forever"}, TypeError, "rounds must be an integer"),
        ({"error": 1.0}, ValueError, "error must be"),
        ({"pooled": 13}, ValueError, "pooled must be at most rounds, 12, got 13"),
        ({"share": 0}, ValueError, "share must be above 0: nobody would answer"),
        ({"wipes": 101}, ValueError, "wipes must be between 0 and 100, got 101"),
        ({"margin": 1}, ValueError, "margin must be below 1"),
        ({"crowd_delta": 1e-13}, ValueError, "crowd_delta must be at least 1e-12, got 1e-13"),
        ({"relay": 1}, TypeError, "relay must be True or False, not int"),
        ({"want": "median"}, ValueError, "want must be one of frequencies, quantiles, mean"),
        ({"values": None, "encoding": Categories(names=["a", "b"]), "want": "mean"}, ValueError, "not numbers"),
        ({"values": None, "encoding": Choices(names=["a", "b"]), "want": "mean"}, ValueError, "several answers"),
        ({"values": None, "strings": 4, "want": "mean"}, ValueError, "if strings are discovered, got mean"),
        ({"values": None, "encoding": 3}, TypeError, "encoding must be an Encoding, not int"),
        ({"typical": 0}, ValueError, "typical must be"),
    ],
)
def test_wrong_goals_name_parameter_range_and_value(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Goals(**{**ASKED, **given})


def test_what_is_left_out_is_solved_for() -> None:
    assert Goals(**ASKED).unknown == "error"
    assert Goals(**{**ASKED, "people": None, "error": 0.1}).unknown == "people"
    assert Goals(**{**ASKED, "rounds": None, "error": 0.1}).unknown == "rounds"
    assert Goals(**{**ASKED, "eps": None, "error": 0.1}).unknown == "eps"
    assert Goals(**{**ASKED, "error": 0.1}).unknown is None


def test_what_follows() -> None:
    goals = Goals(**ASKED, share="1/2", wipes=2)
    assert goals.turns.chance == Fraction(1, 24)
    assert goals.eps_report == pytest.approx(1 / 3)
    assert 3 * goals.eps_report <= 1
    assert (goals.size, goals.width) == (16, 4)
    assert (goals.typical_share(16), goals.typical_share(2)) == (0.05, 0.5)
    assert Goals(**ASKED, typical=0.2).typical_share(16) == 0.2
    assert Goals(**ASKED, want="quantiles").typical_share(16) == 0.5
    numbers = Goals(people=10, encoding=IntegerRange(low=0, high=9), rounds=1, eps=1.0)
    assert numbers.replace(encoding=None, values=4).size == 4
