import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable import Bracket
from untrackable.brackets import at_least, at_most


@pytest.mark.parametrize(
    ("bracket", "certainty", "text"),
    [
        (Bracket(0.5, 0.5), "exact", "0.5 (exact)"),
        (Bracket(0.5, 0.5 + 1e-10), "exact", "0.5 (exact)"),
        (Bracket(0.5, 0.6), "bracket", "0.5 … 0.6 (bracket)"),
        (Bracket(0.0, 0.6), "upper", "0.6 (upper)"),
        (Bracket(0.0, math.inf), "upper", "inf (upper)"),
        (Bracket(5.0, math.inf), "lower", "5 (lower)"),
        (Bracket(math.inf, math.inf), "exact", "inf (exact)"),
        (Bracket(0.0, 1e-13, resolved=False), "unresolved", "below 1e-13 (not resolved)"),
        (Bracket(0.0, 1.35e-12, resolved=False), "unresolved", "below 2e-12 (not resolved)"),
        (Bracket(0.0, 0.12345601), "upper", "0.123457 (upper)"),
        (Bracket(0.12345699, math.inf), "lower", "0.123456 (lower)"),
        (Bracket(0.0, 0.0), "exact", "0 (exact)"),
    ],
)
def test_certainty_and_text(bracket: Bracket, certainty: str, text: str) -> None:
    assert bracket.certainty == certainty
    assert str(bracket) == text
    assert certainty in repr(bracket)


def test_brackets_are_ordered_and_compared() -> None:
    with pytest.raises(ValueError, match="lower must not exceed upper"):
        Bracket(2.0, 1.0)
    assert 0.5 in Bracket(0.4, 0.6)
    assert Bracket(1.0, math.inf).width == math.inf
    assert Bracket.point(3.0) == Bracket(3.0, 3.0)


ENDS = st.just(0.0) | st.floats(1e-300, 1e300) | st.floats(0.1, 2.0)


@given(ENDS, st.integers(1, 9))
def test_printed_bounds_are_bounds(number: float, digits: int) -> None:
    low, high = float(at_least(number, digits)), float(at_most(number, digits))
    assert low <= number <= high
    assert high - low <= number * 1.0001 / 10 ** (digits - 1)


@given(ENDS, ENDS, st.booleans())
def test_what_a_bracket_prints_contains_it(one: float, other: float, resolved: bool) -> None:
    bracket = Bracket(min(one, other), max(one, other), resolved)
    printed = [float(text) for text in re.findall(r"\d[\d.]*(?:e[+-]\d+)?", str(bracket))]
    if bracket.certainty == "exact":
        assert abs(printed[0] - bracket.upper) <= bracket.upper / 10**5
        return
    assert printed[-1] >= bracket.upper
    assert bracket.certainty != "bracket" or printed[0] <= bracket.lower
