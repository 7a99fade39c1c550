"""Plain bits in a crowd, against the definition: every composition of the others, and two adaptive rounds."""

import itertools
import math

import numpy as np
import pytest

from tests.theory.enumerated_crowd import World, delta, worst_delta
from untrackable.arrays import FloatArray
from untrackable.theory.crowd import Rounds, crowd_upper
from untrackable.theory.crowd_bit import CrowdBit
from untrackable.theory.search import gaussian_delta

LEVELS = np.array([0.0, 0.3, 0.7, 0.9, 0.99, 1.0, 1.2])
"""Gammas, as shares of eps."""


def ones(people: int, holders: int, flip: float) -> FloatArray:
    """The law of the number of ones among these people, one bit after the other."""
    law = np.ones(1)
    for chance in [1 - flip] * holders + [flip] * (people - holders):
        law = np.convolve(law, [1 - chance, chance])
    return law


def worlds(people: int, eps: float) -> list[World]:
    """Both worlds for every number of others who hold 1: the person holds 0 or 1."""
    flip = 1 / (1 + math.exp(eps))
    laws = [ones(people - 1, holders, flip) for holders in range(people)]
    return [(np.convolve(law, [1 - flip, flip]), np.convolve(law, [flip, 1 - flip])) for law in laws]


def theorem(people: int, holders: int, eps: float, gamma: float) -> float:
    """Delta of one composition, by the formula."""
    flip, alpha = 1 / (1 + math.exp(eps)), math.exp(gamma)
    law = ones(people - 1, holders, flip)
    less = np.append(0.0, np.cumsum(law)[:-1])
    return max(0.0, float(np.max((1 - flip - flip * alpha) * law - (alpha - 1) * less)))


@pytest.mark.parametrize("people", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("eps", [0.1, 1.0, 2.0, 4.0])
def test_the_worst_composition_is_found(people: int, eps: float) -> None:
    """Exact where all compositions are looked at: one by one, and the largest, in both directions."""
    gammas = LEVELS * eps
    every = [[delta(world, gamma) for gamma in gammas.tolist()] for world in worlds(people, eps)]
    back = [[delta((q, p), gamma) for gamma in gammas.tolist()] for p, q in worlds(people, eps)]
    for holders, found in enumerate(every):
        formula = [theorem(people, holders, eps, gamma) if gamma < eps else 0.0 for gamma in gammas.tolist()]
        assert found == pytest.approx(formula, rel=1e-9, abs=1e-15)
        assert found == pytest.approx(back[-1 - holders], rel=1e-9, abs=1e-15)
    bounds = CrowdBit(eps).deltas(people, gammas)
    assert bounds == pytest.approx(np.max(every, axis=0), rel=2e-6, abs=2e-15)
    assert np.all(bounds >= np.max(every, axis=0) - 1e-15)


def test_no_composition_is_the_worst_everywhere() -> None:
    """The worst number of ones falls from half to none as gamma grows."""
    every = worlds(12, 2.0)
    worst = [int(np.argmax([delta(world, gamma) for world in every])) for gamma in np.linspace(0, 1.9, 20).tolist()]
    assert worst[0] == 5
    assert worst[-1] == 0
    assert worst == sorted(worst, reverse=True)


@pytest.mark.parametrize("people", [3, 5, 9])
@pytest.mark.parametrize("eps", [0.7, 2.5])
def test_two_steps_beside_the_top_decide_which_of_two_neighbours_is_worse(people: int, eps: float) -> None:
    """One other person holds 0 or 1. D is what the formula takes the largest of, without this person."""
    flip = 1 / (1 + math.exp(eps))
    for holders, gamma in itertools.product(range(people - 1), np.linspace(0, 0.95 * eps, 9).tolist()):
        alpha, rest = math.exp(gamma), np.append(ones(people - 2, holders, flip), 0.0)
        total = np.concatenate(([0.0], np.cumsum(rest)))
        more, less = 1 - flip - flip * alpha, alpha * (1 - flip) - flip
        drawn = np.concatenate(([0.0], more * total[1:] - less * total[:-1], [(1 - alpha) * total[-1]]))
        top = int(np.argmax(drawn))
        a, b = drawn[top] - drawn[top - 1], drawn[top] - drawn[top + 1]
        held_zero, held_one = (theorem(people, h, eps, gamma) for h in (holders, holders + 1))
        assert held_zero == pytest.approx(drawn[top] - min(flip * a, (1 - flip) * b), rel=1e-9, abs=1e-15)
        assert held_one == pytest.approx(drawn[top] - min((1 - flip) * a, flip * b), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("people", "eps"), [(2, 1.0), (4, 2.0), (7, 1.0), (9, 3.0)])
def test_two_adaptive_rounds_are_bounded(people: int, eps: float) -> None:
    """The others' values of the second round are chosen when the outcome of the first is known."""
    bound, every = crowd_upper({(CrowdBit(eps), people): 2}), worlds(people, eps)
    for gamma in (0.0, 0.2 * eps, 0.6 * eps, eps, 1.6 * eps):
        truth = worst_delta(every, gamma, 2)
        assert truth <= bound.delta(gamma).upper * (1 + 1e-9)
        assert bound.delta(gamma).upper < 1.2 * truth + 1e-9


@pytest.mark.parametrize(("people", "eps"), [(300, 0.5), (300, 4.0), (300, 9.0), (1_500, 2.0)])
def test_larger_crowds_are_computed_precisely_even_where_delta_is_tiny(people: int, eps: float) -> None:
    """By convolution, which keeps every digit; only every tenth composition, which is enough for a lower end."""
    gammas = CrowdBit(eps).shift(people) * np.array([0.0, 2.0, 5.0, 7.5])
    some = worlds(people, eps) if people <= 300 else []
    flip = 1 / (1 + math.exp(eps))
    some = some or [
        (np.convolve(law, [1 - flip, flip]), np.convolve(law, [flip, 1 - flip]))
        for law in (ones(people - 1, holders, flip) for holders in (0, 100, 400, people // 2))
    ]
    truth = np.max([[delta(world, gamma) for gamma in gammas.tolist()] for world in some], axis=0)
    found = CrowdBit(eps).deltas(people, gammas)
    known = gammas < eps
    assert np.all(found[known] >= truth[known] * (1 - 1e-9))
    assert found[known] == pytest.approx(truth[known], rel=1e-5 if people <= 300 else 0.02, abs=3e-19)


@pytest.mark.parametrize("people", [20_000, 3_000_000])
def test_laws_that_stand_for_several_compositions_are_a_bound(people: int) -> None:
    """A few of others' reports are known to the observer. A less sharp bound knows more of them."""
    bit = CrowdBit(2.0)
    gammas = bit.shift(people) * np.array([0.0, 1.0, 3.0, 5.0])
    sharp, rough = (bit.deltas(people, gammas, sharp=how) for how in (True, False))
    assert np.all(sharp <= rough * (1 + 1e-9))
    assert np.all(rough < 1.5 * sharp)
    expected = [gaussian_delta(bit.shift(people), gamma) for gamma in gammas.tolist()]
    assert sharp[:2] == pytest.approx(expected[:2], rel=0.05)


def test_louder_bits_and_smaller_crowds_reveal_more() -> None:
    gammas = np.linspace(0, 0.5, 6)
    for (eps, people), (louder, fewer) in itertools.pairwise([(1.0, 500), (1.1, 500), (1.1, 450), (2.0, 450)]):
        assert np.all(CrowdBit(eps).deltas(people, gammas) < CrowdBit(louder).deltas(fewer, gammas))
    assert CrowdBit(1.0).joined(CrowdBit(2.0)) == CrowdBit(2.0).joined(CrowdBit(1.0)) == CrowdBit(2.0)
    many: Rounds = {(CrowdBit(float(eps)), 10_000): 1 for eps in np.linspace(1, 2, 33)}
    found = crowd_upper(many).gamma(1e-6).upper
    assert found < crowd_upper({(CrowdBit(2.0), 10_000): 33}).gamma(1e-6).upper
    assert found > crowd_upper({(CrowdBit(1.0), 10_000): 33}).gamma(1e-6).upper
    with pytest.raises(ValueError, match="eps must be positive"):
        CrowdBit(0.0)
