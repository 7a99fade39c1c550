"""Weights of views: the cost that they are tuned by is that of the definition, and no other weights are better."""

import itertools

import numpy as np
import pytest

from untrackable.mechanisms.view_tables import View, _Cost, mean_sign, tuned_weights
from untrackable.mechanisms.views import Views

PAIRS: tuple[View, ...] = ((0, 1), (1, 2, 3, 4))
SHOWN: tuple[View, ...] = (*PAIRS, (0,), (1,), (2, 3, 4))


def variance(views: tuple[View, ...], weights: tuple[int, ...], bits: View) -> float:
    """ρ times the variance of a cell, of which a little more is left if there is no noise, times γ²."""
    base = Views(bits=5, views=views, eps=0.3, weights=weights)
    (law,) = base.entry_laws((bits,))
    return base.differing() * (law.variance + 0.25 ** len(bits)) * mean_sign(base.bases[0]) ** 2


@pytest.mark.parametrize("views", [PAIRS, SHOWN], ids=["asked", "shown"])
def test_the_cost_is_that_of_the_definition(views: tuple[View, ...]) -> None:
    weights = tuple(range(1, len(views) + 1))
    for bits in SHOWN:
        found = _Cost(views, (bits,)).of(np.array(weights))
        assert found == pytest.approx(variance(views, weights, bits), rel=1e-9)


def worst(views: tuple[View, ...], weights: tuple[int, ...]) -> float:
    return max(variance(views, weights, bits) for bits in SHOWN)


@pytest.mark.parametrize("views", [PAIRS, (*PAIRS, (2, 3, 4))], ids=["two", "three"])
def test_no_other_weights_are_much_better(views: tuple[View, ...]) -> None:
    grid = itertools.product((1, 2, 4, 6, 9), repeat=len(views))
    assert worst(views, tuned_weights(views, SHOWN)) < 1.03 * min(worst(views, weights) for weights in grid)


def test_more_views_help_the_worst_table() -> None:
    equal = worst(PAIRS, (1, 1))
    assert worst(PAIRS, tuned_weights(PAIRS, SHOWN)) < 0.75 * equal
    assert worst(SHOWN, tuned_weights(SHOWN, SHOWN)) < 0.6 * equal


def test_views_that_are_alike_or_too_many_are_equally_likely() -> None:
    single = tuple((i,) for i in range(6))
    assert tuned_weights(single, single) == (1,) * 6
    many = tuple((i, i + 1) for i in range(70))
    assert tuned_weights(many, many) == (1,) * 70
