"""Monotone searches, against trying everything."""

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable.theory.search import (
    falling_root,
    inverse_parabola,
    largest_integer,
    smallest_integer,
)

smallest_real = partial(falling_root, tolerance=1e-7, keep="above")

ranges = st.integers(-5, 50).flatmap(lambda low: st.tuples(st.just(low), st.integers(low, low + 10**6)))


@given(ranges, st.data(), st.sampled_from([math.inf, 0.2, 1.0, 3.0]))
def test_integers(limits: tuple[int, int], data: st.DataObject, power: float) -> None:
    low, high = limits
    turn, start = (data.draw(st.integers(low - 2, high + 2)) for _ in range(2))
    asked: list[int] = []

    def excess(i: int) -> float:
        """Positive below the turn, 0 there."""
        assert low <= i <= high
        assert i not in asked
        asked.append(i)
        if power == math.inf:
            return math.inf if i < turn else -math.inf
        return power * math.log((turn - low + 3) / (i - low + 3))

    def rising(i: int) -> float:
        """Positive above the turn."""
        return math.inf if i > turn else -abs(excess(i))

    if turn > high:
        with pytest.raises(ValueError, match=f"not even {high} is enough"):
            smallest_integer(excess, start, low=low, high=high)
    else:
        assert smallest_integer(excess, start, low=low, high=high) == max(turn, low)
    assert len(asked) < (80 if power == math.inf else 25)
    asked.clear()
    if turn < low:
        with pytest.raises(ValueError, match=f"not even {low} is small enough"):
            largest_integer(rising, start, low=low, high=high)
    else:
        assert largest_integer(rising, start, low=low, high=high) == min(turn, high)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(0.1, 5), st.floats(-1, 1))
def test_reals(root: float, start: float, power: float, bend: float) -> None:
    def excess(x: float) -> float:
        way = math.log(root / x)
        return power * way + bend * math.tanh(way) * power / 2

    found = smallest_real(excess, start, low=1e-4, high=1e4).x
    assert root * (1 - 1e-9) <= found <= root * (1 + 1e-6)


@given(st.integers(1, 10**30), st.integers(1, 10**7), st.floats(0.01, 100.0))
def test_steps_between_very_large_integers(turn: int, width: int, off: float) -> None:
    """As of something that is rounded to whole slots."""
    asked: list[int] = []

    def excess(i: int) -> float:
        asked.append(i)
        found = math.log((turn // width + 1) / (i // width + 1))
        return min(found, 0.0) if i // width >= turn // width else max(found, 1e-300)

    start = max(1, min(10**30, int(turn * off)))
    assert smallest_integer(excess, start, low=1, high=10**30) == max(1, turn // width * width)
    assert len(asked) < 200


def test_reals_at_the_ends() -> None:
    assert smallest_real(lambda x: -1.0, 3.0, low=1.0, high=9.0).x == 1.0
    with pytest.raises(ValueError, match="not even 9 is enough"):
        smallest_real(lambda x: 1.0, 3.0, low=1.0, high=9.0)
    step = smallest_real(lambda x: 1.0 if x < math.pi else -1.0, 1.0, low=0.1, high=100.0).x
    assert math.pi <= step <= math.pi * (1 + 1e-6)


def test_a_level_is_no_answer() -> None:
    """The smallest x with an excess of at most 0 is where a level of 0 begins, wherever on it the search starts."""
    for start in (1.0, 2.5, 3.0, 7.0):
        found = smallest_real(lambda x: 0.0 if x >= math.e else 1.0, start, low=0.1, high=9.0).x
        assert math.e <= found <= math.e * (1 + 1e-6)
    assert smallest_real(lambda x: 0.0, 3.0, low=0.5, high=9.0).x == 0.5


def test_a_curve_is_followed_to_its_root() -> None:
    """Far from it, the line through two points of a steep curve passes 0 right where they are."""
    found = falling_root(
        lambda x: math.expm1(20 * math.log(1e3 / x)), 1.0, low=1e-4, high=1e4, tolerance=1e-9, keep="below"
    )
    assert 1e3 * (1 - 1e-8) <= found.x <= 1e3


def test_a_parabola_through_two_nearly_equal_heights_is_not_safe() -> None:
    """The square of their ratio is beyond the largest number."""
    assert inverse_parabola((0.0, 1e300), (1.0, -1e-300), (2.0, -2e-300)) == 0.5
