"""Counts of classes of reports against all reports of everybody, enumerated, and against direct convolution."""

import itertools
import math

import numpy as np
import pytest

from untrackable.arrays import FloatArray
from untrackable.theory.crowd import CrowdClasses, counted_outcomes, on_lattice
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

GAMMAS = (-0.2, 0.0, 0.05, 0.2, 0.5, 1.0)
MIRRORED = CrowdClasses((0.35, 0.07, 0.1, 0.05), (0.07, 0.35, 0.05, 0.1), (0.07, 0.07, 0.1, 0.1))
ONE_SIDED = CrowdClasses((0.8, 0.2), (0.2, 0.8), (0.2, 0.8))


def everything_counted(classes: CrowdClasses, people: int) -> tuple[FloatArray, FloatArray]:
    """The probabilities of all numbers of reports of each class, in both worlds."""

    def law(chances: tuple[float, ...]) -> dict[int, float]:
        classed = dict(enumerate(chances))
        return {**classed, -1: 1 - sum(classed.values())}

    def counts(person: tuple[float, ...]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        others = law(classes.others)
        for seen in itertools.product(others, repeat=people):
            chance = law(person)[seen[0]] * math.prod(others[report] for report in seen[1:])
            found[tuple(sorted(seen))] = found.get(tuple(sorted(seen)), 0.0) + chance
        return found

    one, two = counts(classes.first), counts(classes.second)
    return np.array([one[seen] for seen in sorted(one)]), np.array([two[seen] for seen in sorted(one)])


def lost(masses: FloatArray, losses: FloatArray, gamma: float) -> float:
    return float(masses @ np.maximum(0.0, -np.expm1(gamma - losses)))


@pytest.mark.parametrize(("classes", "people"), [(MIRRORED, 2), (MIRRORED, 5), (ONE_SIDED, 6)])
def test_a_sum_of_counts_says_less_than_the_counts(classes: CrowdClasses, people: int) -> None:
    p, q = everything_counted(classes, people)
    masses, losses = counted_outcomes(classes, people)
    for gamma in GAMMAS:
        exact = math.fsum(np.maximum(0.0, p - math.exp(gamma) * q))
        assert lost(masses, losses, gamma) <= exact * (1 + 1e-12)
    advantage = math.fsum(np.maximum(0.0, p - q))
    assert lost(masses, losses, 0.0) > 0.85 * advantage


def test_all_of_it_is_said_where_one_class_is_everything() -> None:
    p, q = everything_counted(ONE_SIDED, 6)
    masses, losses = counted_outcomes(ONE_SIDED, 6)
    for gamma in GAMMAS:
        exact = math.fsum(np.maximum(0.0, p - math.exp(gamma) * q))
        assert lost(masses, losses, gamma) == pytest.approx(exact, rel=1e-6)


def test_the_transform_is_the_sum_of_many_steps() -> None:
    """Against direct convolution, which has no cancellation; a person who reports a little louder is noticed."""
    classes = CrowdClasses((0.3, 0.1), (0.1, 0.3), (0.1, 0.1))
    people, step = 3_000, np.array([0.1, 0.8, 0.1])
    others = np.ones(1)
    for _ in range(people - 1):
        others = np.convolve(others, step)
    worlds = [np.convolve(others, person) for person in ([0.1, 0.6, 0.3], [0.3, 0.6, 0.1])]
    masses, losses = counted_outcomes(classes, people)
    louder = [np.convolve(others, person) for person in ([0.0999, 0.6, 0.3001], [0.3001, 0.6, 0.0999])]
    for gamma in (0.0, 0.02, 0.05):
        exact, wrong = (math.fsum(np.maximum(0.0, p - math.exp(gamma) * q)) for p, q in (worlds, louder))
        found = lost(masses, losses, gamma)
        assert 0.9995 * exact <= found <= exact
        assert wrong > exact


@pytest.mark.parametrize("step", [0.3, 0.05, 0.004])
def test_outcomes_on_a_lattice_say_less(step: float) -> None:
    p = np.array([0.4, 0.3, 0.2, 0.1])
    loss = np.array([0.31, 0.07, -0.06, -1.2])
    factor = on_lattice(p, loss, step)
    places = factor.loss / step
    assert places == pytest.approx(np.rint(places))
    for gamma in np.linspace(-1, 1, 41):
        less, more = lost(factor.p, factor.loss, float(gamma)), lost(p, loss, float(gamma))
        assert less <= more + 1e-15
        assert less >= more - step


def test_repeated_rounds_on_a_lattice_say_less_as_well() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
    exact = Experiment([(Factor(p, q), 20)])
    found = Experiment([(on_lattice(p, np.log(p / q), 0.01), 20)])
    for gamma in (0.0, 0.5, 2.0):
        less, more = found.delta(gamma, "forward").lower, exact.delta(gamma, "forward").upper
        assert 0.98 * more <= less <= more
