"""Numbers for people: bounds are rounded to their own side, and what is printed contains what is known."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable import Bracket
from untrackable.display.numbers import cell, lower, number, percent, shown, upper

POSITIVE = st.floats(1e-300, 1e300) | st.floats(1e-4, 1e7) | st.just(0.0)


def parsed(text: str) -> float:
    return float(text.replace(",", ""))


@given(POSITIVE)
def test_bounds_are_rounded_to_their_own_side(value: float) -> None:
    below, nearest, above = parsed(lower(value)), parsed(number(value)), parsed(upper(value))
    assert below <= value <= above
    assert below <= nearest <= above
    assert above - below <= value / 99


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (0.12345, ("0.1234", "0.1235")),
        (0.5, ("0.5", "0.5")),
        (9999.5, ("9999", "10,000")),
        (123456.2, ("123,456", "123,457")),
        (1.351e-12, ("1.35e-12", "1.36e-12")),
        (1.0, ("1", "1")),
        (math.inf, ("∞", "∞")),
    ],
)
def test_bounds_by_example(value: float, texts: tuple[str, str]) -> None:
    assert (lower(value), upper(value)) == texts


@given(POSITIVE, POSITIVE)
def test_what_is_shown_contains_the_bracket(one: float, other: float) -> None:
    bracket = Bracket(min(one, other), max(one, other))
    text, certainty = shown(bracket)
    match certainty:
        case "exact up to ±":
            middle, reach = (Fraction(part.replace(",", "")) for part in text.split(" ± "))
            assert middle - reach <= Fraction(bracket.lower)
            assert Fraction(bracket.upper) <= middle + reach
        case "upper":
            assert parsed(text) >= bracket.upper
        case "exact":
            assert bracket.certainty == "exact"
        case _:
            pytest.fail(certainty)


@given(POSITIVE, st.floats(0, 0.1))
def test_a_cell_is_exact_in_all_its_digits_or_a_bound(low: float, width: float) -> None:
    bracket = Bracket(low, low * (1 + width))
    text = cell(bracket)
    if text.startswith("≤ "):
        assert parsed(text[2:]) >= bracket.upper
    else:
        assert text == number(bracket.upper)
        assert bracket.certainty == "exact" or text == number(bracket.lower)
    assert cell(Bracket(2.0, math.inf)) == "≥ 2"


@given(st.floats(-2, 2) | st.floats(-1e-3, 1e-3))
def test_percentages_are_rounded_to_their_own_side(share: float) -> None:
    below, nearest, above = (
        Fraction(text.removesuffix(" %")) for text in (percent(share, "down"), percent(share), percent(share, "up"))
    )
    assert float(below / 100) <= share <= float(above / 100)
    assert below <= nearest <= above
    assert above - below <= Fraction(1, 100)
