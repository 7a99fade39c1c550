"""Answers of several bits: their experiments against brute-force enumeration of the definitions."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from scipy.special import ndtri

from tests import oracles
from tests.oracles import subsets
from tests.theory.test_factorisations import assert_dominates, assert_equal
from untrackable import Deck, Fading, Fresh, InnerProduct, Memoized, NoisyInnerProduct
from untrackable.mechanisms.fading import ONE_BY_ONE, later_shift, told
from untrackable.randomizers.inner_product import LARGEST_WIDTH
from untrackable.theory import Experiment
from untrackable.theory.convolution import group_slope

SHAPES = [(2, 2), (3, 2), (3, 3)]
each_shape = pytest.mark.parametrize(("bits", "width"), SHAPES)


@pytest.mark.parametrize(("bits", "width"), [(1, 1), (2, 1), (3, 1), (4, 2), (4, 3), *SHAPES])
def test_how_often_two_values_have_the_same_answer(bits: int, width: int) -> None:
    """All lists of vectors counted, for every two values; the product of the docstring; and its closed form."""
    law: Any = oracles.wide_inner_product(bits, width, 1.0)(0)
    lists = {vectors for vectors, _ in law}
    product = math.prod(Fraction(2 ** (bits - 1) - 2**i, 2**bits - 2**i) for i in range(width))
    assert NoisyInnerProduct(bits=bits, eps=1.0, width=width)._lists() == len(lists)
    for difference in range(1, 2**bits):
        same = sum(all((v & difference).bit_count() % 2 == 0 for v in vectors) for vectors in lists)
        assert Fraction(same, len(lists)) == product == Fraction(2 ** (bits - width) - 1, 2**bits - 1)
    assert NoisyInnerProduct(bits=bits, eps=1.0, width=width).differing() == pytest.approx(float(1 - product))


@each_shape
@pytest.mark.parametrize("eps", [0.3, 1.2, 4.0])
def test_one_report(bits: int, width: int, eps: float) -> None:
    """Exact for every two values, also with value 0 among them."""
    law = oracles.wide_inner_product(bits, width, eps)
    oracle = oracles.stateless(lambda value, round: law(value), 2**bits)
    mechanism = Fresh(NoisyInnerProduct(bits=bits, eps=eps, width=width))
    for value, other in itertools.combinations(range(2**bits), 2):
        assert_equal(mechanism.privacy(reports=1), oracle.privacy(value, other, [1]))
    assert mechanism.privacy(reports=1).pure() == pytest.approx(eps, rel=1e-12)


@pytest.mark.parametrize(("bits", "width"), [(2, 2), (3, 2)])
def test_fresh(bits: int, width: int) -> None:
    law = oracles.wide_inner_product(bits, width, 1.2)
    oracle = oracles.stateless(lambda value, round: law(value), 2**bits)
    mechanism = Fresh(NoisyInnerProduct(bits=bits, eps=1.2, width=width))
    assert_equal(mechanism.privacy(reports=2), oracle.privacy(0, 2**bits - 1, [1, 2]))
    for first in subsets([1, 2]):
        assert Experiment([oracle.tracking(1, [1, 2], first)]).pure() < 1e-12
        assert mechanism.tracking(rounds=[1, 2], first=first).pure() == 0
        assert_equal(mechanism.detection(rounds=[1, 2], first=first), oracle.detection(1, 0, [1, 2], first))


@each_shape
def test_memoized(bits: int, width: int) -> None:
    oracle = oracles.stored(oracles.wide_inner_product(bits, width, 1.2), 1, 2**bits)
    mechanism = Memoized(NoisyInnerProduct(bits=bits, eps=1.2, width=width))
    for value in (0, 1):
        assert_equal(mechanism.privacy(), oracle.privacy(value, 2**bits - 1, [1, 2]))
        for first in subsets([1, 2]):
            if bits < 3 or width < 3:
                assert_equal(mechanism.tracking(rounds=[1, 2], first=first), oracle.tracking(value, [1, 2], first))


@pytest.mark.parametrize("value", [0, 3])
def test_stored(value: int) -> None:
    mechanism = InnerProduct(bits=2, slots=2, eps_report=0.8, width=2)
    oracle = oracles.stored(oracles.wide_inner_product(2, 2, 0.8), 2, 4)
    assert_dominates(mechanism.privacy(reports=2), oracle.privacy(value, 1, [1, 2]))
    for first in subsets([1, 2]):
        assert_dominates(mechanism.tracking(rounds=[1, 2], first=first), oracle.tracking(value, [1, 2], first))
        assert_dominates(mechanism.detection(rounds=[1, 2], first=first), oracle.detection(value, 1, [1, 2], first))


def test_deck() -> None:
    mechanism = Deck(bits=2, slots=2, eps_report=0.9, width=2, when_empty="replay")
    oracle = oracles.dealt(oracles.wide_inner_product(2, 2, 0.9), 2, 4)
    assert_equal(mechanism.privacy(), oracle.privacy(0, 3, [1, 2]))
    for rounds in ([1, 2], [1, 3]):
        for first in subsets(rounds):
            assert_equal(mechanism.tracking(rounds=rounds, first=first), oracle.tracking(0, rounds, first))
    assert mechanism.tracking(rounds=[1, 2]).advantage().upper == 0


def test_fading() -> None:
    mechanism = Fading(bits=2, eps=4.0, delta=1e-3, width=2)
    laws = {t: oracles.wide_inner_product(2, 2, mechanism.eps_report(t)) for t in (1, 5)}
    oracle = oracles.stateless(lambda value, round: laws[round](value), 4)
    for first in subsets([1, 5]):
        assert_equal(mechanism.detection(rounds=[1, 5], first=first), oracle.detection(3, 0, [1, 5], first))
    assert mechanism.privacy().delta(4.0).upper <= 1e-3


def test_a_report_that_cannot_repeat_by_chance() -> None:
    """2^-2048 is no double; what it is worth to have seen a report twice is known nevertheless."""
    base = NoisyInnerProduct(bits=256, eps=4.0, width=8)
    truth, lists = base.flip.opposite().probability, math.log(base._lists())
    assert base.repeat_factor().loss[0] == pytest.approx(lists - math.log(truth), rel=1e-12)
    assert Memoized(base).tracking(reports=2, split=1).advantage().lower == pytest.approx(1)


# --- the tail of Fading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 3, 5, LARGEST_WIDTH])
@pytest.mark.parametrize("bits", [LARGEST_WIDTH, 16])
@pytest.mark.parametrize("scale", [0.05, 1.0, 8.0])
def test_the_gaussian_dominates_a_round(width: int, bits: int, scale: float) -> None:
    """The slope times eps is a shift whose trade-off curve is below that of any round of the tail."""
    largest = scale * (ONE_BY_ONE + 1) ** -0.75
    hit = NoisyInnerProduct.share_of_lists(bits, width) * told(width, largest)
    slope = group_slope(hit, 1, largest)
    for eps in (largest, largest / 2, largest / 10):
        one = Experiment([NoisyInnerProduct(bits=bits, eps=eps, width=width).privacy_factor()])
        gaussian = Experiment(gaussian=slope * eps)
        for gamma in (0.0, 0.1 * eps, 0.5 * eps, 0.99 * eps):
            assert one.delta(gamma).lower <= gaussian.delta(gamma).upper * (1 + 1e-9)
    if scale <= 1:  # and a tenth less would not do, where the Gaussian curve is as steep as at the vertex
        base, short = NoisyInnerProduct(bits=bits, eps=largest, width=width), 0.9 * slope * largest
        steep = short * float(ndtri(1 - base.privacy_factor().q[0])) - short**2 / 2
        assert (
            Experiment([base.privacy_factor()]).delta(steep).lower > Experiment(gaussian=short).delta(steep).upper
        )


@pytest.mark.parametrize("width", [2, 4])
def test_the_tail_of_fading_dominates_its_rounds(width: int) -> None:
    scale, power, last = 3.0, 0.75, ONE_BY_ONE + 60
    rounds = [
        NoisyInnerProduct(bits=5, eps=scale * t**-power, width=width).privacy_factor()
        for t in range(ONE_BY_ONE + 1, last + 1)
    ]
    one_by_one = Experiment(rounds)
    tail = Experiment(
        gaussian=later_shift(NoisyInnerProduct.share_of_lists(5, width), width, scale, power, ONE_BY_ONE, last)
    )
    for gamma in (0.0, 0.2, 0.5, 1.0):
        assert one_by_one.delta(gamma).lower <= tail.delta(gamma).upper
