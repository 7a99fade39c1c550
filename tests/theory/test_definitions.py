"""The definition of untrackable: as printed, and as it must be read."""

import math

import pytest

from tests import oracles
from tests.enumeration import projection_gap
from untrackable.theory import Experiment


def test_the_printed_definition_is_met_by_no_randomised_mechanism() -> None:
    """Fresh randomised response, T = {00, 11}: with projections, every gamma needs a delta that stays."""
    fresh = oracles.stateless(lambda value, round: oracles.response(value, oracles.flip(1.0)), 2)  # type: ignore[arg-type]
    law = fresh.streams(1, [1, 2])
    both = {(0, 0), (1, 1)}
    assert projection_gap(law, 1, both, 0.0) > 0.35  # type: ignore[arg-type]
    # read with the product measure, one user and two are the same
    assert Experiment([fresh.tracking(1, [1, 2], [1])]).pure() < 1e-12


def test_restarted_generators_would_blame_the_calendar() -> None:
    """A mechanism whose noise depends on the round alone: restarting it at round 1 invents a difference."""
    laws = {1: oracles.response(1, 0.1), 2: oracles.response(1, 0.4)}
    stateless = oracles.stateless(lambda value, round: laws[round], 1)
    assert Experiment([stateless.tracking(0, [1, 2], [1])]).pure() < 1e-12
    restarted = stateless.streams(0, [1])
    apart = max(abs(math.log(p / restarted[s])) for s, p in stateless.streams(0, [2]).items())
    assert apart == pytest.approx(math.log(0.4 / 0.1))
