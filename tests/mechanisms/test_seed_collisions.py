"""LOLOHA with few seeds: collisions corrected exactly, by enumeration over all seeds, symbols and lies."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from untrackable.mechanisms import Loloha
from untrackable.mechanisms.loloha import seeds_can_be_tried

CORRECTED = [
    Loloha(values=5, symbols=3, keep=0.7, tell=0.8, seed_bits=4),
    Loloha(values=4, symbols=2, keep=0.8, tell=0.7, seed_bits=5),
    Loloha(values=9, symbols=4, keep=0.9, tell=0.6, seed_bits=6),
]
NOT_CORRECTED = [
    Loloha(values=8, symbols=2, keep=0.9, tell=0.95, seed_bits=1),
    Loloha(values=9, symbols=3, keep=0.9, tell=0.9, seed_bits=2),
]


def law(mechanism: Loloha, value: int) -> dict[int, float]:
    """The law of one report of a value: every seed, every kept and every told symbol, by the definition."""
    found: dict[int, float] = {}
    seeds, g = 1 << mechanism.seed_bits, mechanism.symbols
    keep, tell = 1 - mechanism.keep_lie.probability, 1 - mechanism.tell_lie.probability
    for seed, kept, told in itertools.product(range(seeds), range(g), range(g)):
        mass = keep if kept == mechanism.hashed(seed, value) else (1 - keep) / (g - 1)
        mass *= tell if told == kept else (1 - tell) / (g - 1)
        report = seed << mechanism.symbol_bits | told
        found[report] = found.get(report, 0.0) + mass / seeds
    return found


def moments(mechanism: Loloha, value: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of the estimate from one report of this value."""
    weights = law(mechanism, value)
    assert sum(weights.values()) == pytest.approx(1)
    found = {report: mechanism.aggregator().add([report]).estimate().frequencies for report in weights}
    mean = np.sum([mass * found[report] for report, mass in weights.items()], axis=0)
    square = np.sum([mass * found[report] ** 2 for report, mass in weights.items()], axis=0)
    return mean, square - mean**2


@pytest.mark.parametrize("mechanism", CORRECTED)
def test_estimates_are_unbiased_over_all_seeds(mechanism: Loloha) -> None:
    tried = mechanism._tried()
    assert tried is not None
    assert tried.weights is not None
    assert tried.bias > 0.01  # so that the uncorrected estimate would be off
    worst = 0.0
    for value in range(mechanism.values):
        mean, variance = moments(mechanism, value)
        held = np.eye(mechanism.values)[value]
        assert mean == pytest.approx(held, abs=1e-9)
        assert tried.second[:, value] - held == pytest.approx(variance, abs=1e-9)
        worst = max(worst, float(np.delete(variance, value).max()))
    assert mechanism.accuracy(100).standard_error == pytest.approx(math.sqrt(worst / 100))


@pytest.mark.parametrize("mechanism", CORRECTED)
def test_one_report_moves_an_estimate_by_no_more_than_its_span(mechanism: Loloha) -> None:
    reports = law(mechanism, 0)
    found = np.array([mechanism.aggregator().add([report]).estimate().frequencies for report in reports])
    span = mechanism.aggregator().add([0]).estimate().span
    assert np.ptp(found, axis=0).max() == pytest.approx(span.max())


@pytest.mark.parametrize("mechanism", NOT_CORRECTED)
def test_where_seeds_cannot_tell_values_apart_the_radius_has_the_exact_bias(mechanism: Loloha) -> None:
    tried = mechanism._tried()
    assert tried is not None
    assert tried.weights is None
    largest = 0.0
    for value in range(mechanism.values):
        mean, _ = moments(mechanism, value)
        largest = max(largest, float(np.abs(mean - np.eye(mechanism.values)[value]).max()))
    assert tried.bias == pytest.approx(largest)
    assert mechanism.aggregator().add([0] * 10**6).estimate().radius.min() >= largest
    assert mechanism.accuracy(10**9).radius >= largest


def test_only_few_seeds_are_tried() -> None:
    assert seeds_can_be_tried(360, 2, 10)
    assert not seeds_can_be_tried(360, 2, 32)
    assert not seeds_can_be_tried(4096, 2, 8)
    assert Loloha(values=8, symbols=2, keep=0.9, tell=0.95)._tried() is None
