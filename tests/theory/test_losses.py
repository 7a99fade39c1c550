"""Tables of losses."""

import math

import numpy as np
import pytest

from untrackable.theory.factor import LossTable


def test_masses_that_are_hardly_seen_do_not_spoil_a_curve() -> None:
    """The mass of the other world overflows where losses are very small. These are below every gamma."""
    table = LossTable(np.array([-711.0, -710.9, 1.0]), np.array([0.25, 0.25, 0.5]), np.array([0.0, 0.0, 1.0]))
    lower, upper = table.deltas_forward(np.array([0.0, 0.5]))
    exact = [0.5 - 0.5 * math.exp(gamma - 1) for gamma in (0.0, 0.5)]
    assert lower == pytest.approx(exact, abs=1e-9)
    assert upper == pytest.approx(exact, abs=1e-9)
