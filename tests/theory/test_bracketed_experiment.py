"""Experiments that are known from both sides."""

import pytest

from untrackable.theory.experiment import BracketedExperiment, Experiment
from untrackable.theory.factor import response_factor

LOUD, QUIET = Experiment([response_factor(0.5)], certainty="upper"), Experiment([response_factor(0.4)])


def test_both_ends_are_those_of_the_two_experiments() -> None:
    pair = BracketedExperiment(LOUD, lambda: QUIET, pure=0.5)
    assert pair.certainty == "upper"
    assert pair.has_lower_end
    found = pair.delta(0.1)
    assert (found.lower, found.upper) == (QUIET.delta(0.1).lower, LOUD.delta(0.1).upper)
    assert pair.gamma(0.01).lower == pytest.approx(QUIET.gamma(0.01).lower)
    assert pair.pure() == 0.5
    with pytest.raises(TypeError, match="upper bound"):
        pair.loss_quantiles([0.5])


def test_without_a_lower_experiment_there_is_an_upper_end_only() -> None:
    pair = BracketedExperiment(LOUD, None, pure=0.5)
    assert pair.delta(0.1).certainty == pair.advantage().certainty == "upper"
    assert repr(pair).endswith("upper)")


def test_the_lower_experiment_is_made_when_it_is_asked_for() -> None:
    def refused() -> Experiment:
        raise AssertionError("nobody asked")

    pair = BracketedExperiment(LOUD, refused, pure=0.5)
    assert (pair * 2 + pair).pure() == 1.5


def test_observations_are_composed_on_both_sides() -> None:
    pair = BracketedExperiment(LOUD, lambda: QUIET, pure=0.5)
    for both in (pair + pair, pair * 2, QUIET + pair + QUIET, pair + QUIET + QUIET):
        assert isinstance(both, BracketedExperiment)
    twice = pair * 2
    assert twice.delta(0.2).lower == pytest.approx((QUIET * 2).delta(0.2).lower)
    assert twice.delta(0.2).upper == pytest.approx((LOUD * 2).delta(0.2).upper)
    assert (QUIET + pair).delta(0.2).lower == pytest.approx((QUIET * 2).delta(0.2).lower)
    assert (LOUD + pair).delta(0.2).lower == pytest.approx(QUIET.delta(0.2).lower)
    assert (LOUD + pair).pure() == pytest.approx(1.0)
