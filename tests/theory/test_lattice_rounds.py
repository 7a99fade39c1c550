"""Rounds with different losses on one lattice: they dominate the rounds, and are close to them."""

import itertools
import math

import numpy as np
import pytest

from tests.theory.test_gaussian_tail import quiet
from untrackable.theory.convolution import lattice_factor
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

SEQUENCES = [
    (0.5, [0.3]),
    (1.0, [0.7, 0.2]),
    (0.5, [1.0, 0.41, 0.33, 0.002]),
    (0.05, [2.0, 0.9, 0.9, 0.3, 0.11]),
    (1e-6, [3.0, 1.0]),
]


def rounds_of(hit: float, losses: list[float]) -> Factor:
    return lattice_factor((hit / (1 + math.exp(-eps)), 1 - hit, eps) for eps in losses)


@pytest.mark.parametrize(("hit", "losses"), SEQUENCES)
def test_it_dominates_and_is_close(hit: float, losses: list[float]) -> None:
    found = Experiment([rounds_of(hit, losses)])
    exact = Experiment([quiet(hit, eps) for eps in losses])
    for gamma, direction in itertools.product((0.0, 0.01, 0.2, 0.5, 1.0), ("forward", "backward")):
        bound = found._delta(gamma, direction)[1]  # type: ignore[arg-type]
        truth = exact._delta(gamma, direction)[1]  # type: ignore[arg-type]
        assert truth * (1 - 1e-9) - 1e-16 <= bound <= truth * 1.01 + 1e-5


def test_masses_of_both_worlds_are_kept() -> None:
    """Each loss is e^loss times as likely in one world as in the other, and both worlds add up to 1."""
    found = rounds_of(0.5, [1.0, 0.41, 0.33, 0.002])
    assert found.p.sum() == pytest.approx(1.0, abs=1e-12)
    seen = (found.p > 1e-290) & (found.q > 1e-290)
    assert np.log(found.p[seen] / found.q[seen]) == pytest.approx(found.loss[seen], abs=1e-9)
    mean = 0.5 * sum(eps * math.tanh(eps / 2) for eps in (1.0, 0.41, 0.33, 0.002))
    finite = np.isfinite(found.loss)
    assert float(found.loss[finite] @ found.p[finite]) == pytest.approx(mean, rel=1e-5)
    assert found.p[~finite].sum() < 1e-50


def test_rounds_on_the_lattice_are_exact() -> None:
    """Equal rounds whose loss is a multiple of the step are not rounded at all."""
    found, exact = Experiment([rounds_of(0.5, [0.25] * 64)]), Experiment([(quiet(0.5, 0.25), 64)])
    for gamma in (0.0, 0.3, 1.0, 3.0):
        assert found.delta(gamma).upper == pytest.approx(exact.delta(gamma).upper, rel=1e-6)
