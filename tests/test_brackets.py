import math

import pytest

from untrackable import Bracket


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
