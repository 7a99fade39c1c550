"""The search for the largest parameter within a budget."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable.theory.search import gaussian_delta, gaussian_shift, largest_parameter


@given(st.floats(1e-9, 0.4), st.floats(0.01, 20))
def test_shift_inverts_delta(delta: float, eps: float) -> None:
    assert gaussian_delta(gaussian_shift(delta, eps), eps) == pytest.approx(delta, rel=1e-6)


@given(
    st.floats(1e-6, 1e3),
    st.floats(0.3, 3),
    st.floats(1e-3, 1e3),
    st.floats(1e-9, 0.3),
    st.floats(0.05, 10),
)
def test_what_is_found_is_within_budget_and_next_to_the_largest(
    answer: float, power: float, off: float, delta: float, eps: float
) -> None:
    """A Gaussian whose shift grows as a power of the parameter, guessed up to a factor of a thousand."""
    target = gaussian_shift(delta, eps)
    asked = []

    def spent(x: float) -> float:
        asked.append(x)
        shift = min(target * (x / answer) ** power, 60.0)
        return max(0.0, gaussian_delta(shift, eps)) if shift > 1e-9 else 0.0

    found = largest_parameter(spent, answer * off, eps=eps, delta=delta, high=1e9)
    assert spent(found) <= delta
    assert answer * (1 - 1e-6) <= found <= answer * (1 + 1e-6)
    assert len(asked) < 70


def test_everything_is_allowed() -> None:
    assert largest_parameter(lambda x: 0.0, 1.0, eps=1.0, delta=0.1, high=40.0) == 40.0


def test_a_step_is_found_too() -> None:
    found = largest_parameter(lambda x: 0.0 if x < math.pi else 1.0, 1.0, eps=1.0, delta=0.1, high=40.0)
    assert math.pi * (1 - 1e-8) <= found < math.pi
