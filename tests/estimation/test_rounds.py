"""Many rounds: optimal weights, and radii that hold."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Bitwise, Deck, Fading, Fresh, Memoized, NoisyInnerProduct, RandomizedResponse
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.rounds import Rounds
from untrackable.mechanisms import CountMeanSketch
from untrackable.mechanisms.interface import Mechanism

FADING = Fading(bits=2, eps=6.0, delta=0.01)
DECK = Deck(bits=2, slots=3, eps_report=1.0, when_empty="replay")


def collected(
    mechanism: Mechanism, values: NDArray[Any], rounds: int, *, seed: int = 1, beta: float = 0.05
) -> Rounds:
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=rounds, seed=seed)])
    found: dict[int, Estimate] = {}
    for i in range(rounds):
        sums: Any = mechanism.aggregator(i + 1)
        found[i + 1] = sums.add(reports[:, i]).estimate(beta)
    return Rounds(mechanism, found)


def test_equal_rounds_pool_as_their_sums_do() -> None:
    deck = Deck(bits=3, slots=3, eps_report=1.0)
    values = np.arange(3000) % 3
    pooled = collected(deck, values, 3).pooled(beta=0.01)
    sums: Any = deck.aggregator()
    for batch in deck.simulate(values, rounds=3, seed=1):
        sums.add(batch.reports)
    whole = sums.estimate(0.01)
    for name in ("frequencies", "radius", "simultaneous_radius", "span"):
        assert np.allclose(getattr(pooled, name), getattr(whole, name), rtol=1e-9), name
    assert pooled.n == whole.n
    assert np.allclose(pooled.shift(5), whole.shift(5))
    assert np.allclose(pooled.p_values(), whole.p_values())
    assert pooled.tail == "exact binomial"


def test_weights_are_the_best() -> None:
    """1/Σ(1/variance) where nobody holds the value; any other weights have more."""
    rounds = collected(FADING, np.zeros(2000, dtype=int), 4)
    variances = np.array([FADING.accuracy(2000, round=i).standard_error ** 2 for i in rounds.numbers])
    pooled = rounds.pooled()
    best = 1 / variances
    best /= best.sum()
    expected = best @ np.stack([rounds.alone(i).frequencies for i in rounds.numbers])
    assert np.allclose(pooled.frequencies, expected, rtol=1e-9)
    least = 1 / (1 / variances).sum()
    rng = np.random.default_rng(1)
    for other in rng.dirichlet(np.ones(4), size=100):
        assert other**2 @ variances >= least * (1 - 1e-12)
    assert math.isclose(best**2 @ variances, least)


@pytest.mark.parametrize(
    ("mechanism", "independent"),
    [
        (FADING, True),
        (Deck(bits=2, slots=4, eps_report=1.5), True),
        (Fresh(RandomizedResponse(eps=1.0)), True),
        (Memoized(NoisyInnerProduct(bits=2, eps=1.0)), False),
        (Bitwise(eps_state=1.0, eps_report=1.0), False),
        (DECK, False),
    ],
    ids=lambda x: repr(x)[:30],
)
def test_pooled_errors_stay_within_the_radius(mechanism: Mechanism, independent: bool) -> None:
    """1000 populations: at most beta of them outside, so at most so many, except with probability 1e-9."""
    times, people, beta = 1000, 100, 0.2
    values = np.arange(people) % 2
    reports = np.concatenate([b.reports for b in mechanism.simulate(np.tile(values, times), rounds=4, seed=2)])
    outside = together = 0
    errors = []
    for part in reports.reshape(times, people, 4):
        found = {}
        for i in range(4):
            sums: Any = mechanism.aggregator(i + 1)
            found[i + 1] = sums.add(part[:, i]).estimate(beta)
        pooled = Rounds(mechanism, found).pooled(beta=beta)
        truth = np.bincount(values, minlength=pooled.frequencies.size) / people
        wrong = np.abs(pooled.frequencies - truth)
        outside += wrong[0] > pooled.radius[0]
        together += bool(np.any(wrong > pooled.simultaneous_radius))
        errors.append((wrong[0] ** 2, pooled.standard_error[0] ** 2))
    most = binom.isf(1e-9, times, beta)
    assert outside <= most
    assert together <= most
    assert Rounds(mechanism, found).independent(range(1, 5)) == independent
    spread, stated = np.mean(errors, axis=0)
    assert spread < 1.3 * stated  # 1000 squares: off by 0.3 has a probability below 1e-9
    if independent:
        assert spread > 0.7 * stated


def test_asking_again_does_not_help_where_the_noise_is_kept() -> None:
    rounds = collected(Memoized(NoisyInnerProduct(bits=2, eps=1.0)), np.zeros(500, dtype=int), 4)
    assert np.all(rounds.pooled().radius >= rounds.alone(1).radius)
    assert np.allclose(rounds.pooled().radius, replace(rounds.alone(1), beta=0.05 / 4).radius)
    assert np.allclose(rounds.pooled().frequencies, rounds.alone(1).frequencies)


def test_cards_that_are_dealt_again_are_the_same_cards() -> None:
    rounds = collected(DECK, np.zeros(500, dtype=int), 5)
    assert rounds.independent((1, 2, 3))
    assert rounds.independent((4, 5))
    assert not rounds.independent((3, 4))
    assert rounds.pooled((1, 2)).radius[0] < rounds.pooled((1, 4)).radius[0] * 0.8


def test_windows() -> None:
    rounds = collected(FADING, np.zeros(500, dtype=int), 4)
    assert np.array_equal(rounds.window(2).frequencies, rounds.pooled([4, 3, 3]).frequencies)
    assert rounds.window(1) is rounds.alone(4)
    assert rounds.window(1, beta=0.01).radius[0] > rounds.alone(4).radius[0]
    for bad in (0, 5):
        with pytest.raises(ValueError, match="last must be between 1 and 4"):
            rounds.window(bad)
    with pytest.raises(ValueError, match="round must be one of 1, 2, 3, 4, got 7"):
        rounds.alone(7)
    with pytest.raises(ValueError, match="at least one"):
        rounds.pooled([])


def test_rounds_must_fit_together() -> None:
    one = collected(FADING, np.zeros(50, dtype=int), 1).alone(1)
    other = collected(Deck(bits=3, slots=1, eps_report=1.0), np.zeros(50, dtype=int), 1).alone(1)
    with pytest.raises(ValueError, match="the same values in all rounds; round 2"):
        Rounds(FADING, {1: one, 2: other})
    with pytest.raises(ValueError, match="at least one round"):
        Rounds(FADING, {})
    sketch = Fresh(CountMeanSketch(hashes=8, width=16, eps=2.0, values=4))
    with pytest.raises(ValueError, match="hash functions"):
        collected(sketch, np.zeros(50, dtype=int), 2)
