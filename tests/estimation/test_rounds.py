"""Many rounds: optimal weights, radii that hold, and bands around a trend."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Bitwise, Deck, Fading, Fresh, Memoized, NoisyInnerProduct, RandomizedResponse
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.rounds import Rounds, _around, _line_weights
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


# --- trends ----------------------------------------------------------------------------------------------------


def test_lines_are_least_squares() -> None:
    rng = np.random.default_rng(1)
    for size in range(2, 8):
        x, y, precision = np.arange(size) - rng.integers(size) * 1.0, rng.random(size), rng.random(size) + 0.1
        at_zero = np.polyfit(x, y, 1, w=np.sqrt(precision))[1]
        weights = _line_weights(x, precision)
        assert math.isclose(weights @ y, at_zero, rel_tol=1e-9)
        assert math.isclose(weights.sum(), 1, rel_tol=1e-9)
        assert abs(weights @ x) < 1e-9
    assert _line_weights(np.zeros(1), np.ones(1)).tolist() == [1.0]


def test_windows_stay_inside() -> None:
    assert [_around(i, 3, 5).indices(5)[:2] for i in range(5)] == [(0, 3), (0, 3), (1, 4), (2, 5), (2, 5)]
    assert [_around(i, 9, 4).indices(4)[:2] for i in range(4)] == [(0, 4)] * 4
    assert [_around(i, 1, 3).indices(3)[:2] for i in range(3)] == [(0, 1), (1, 2), (2, 3)]


def rising(people: int, rounds: int) -> NDArray[np.int64]:
    """One more tenth of the people holds 1 each round, a straight line."""
    return (np.arange(people)[:, None] % 20 < np.arange(1, rounds + 1)[None, :]).astype(np.int64)


def test_bands_hold_for_a_straight_truth() -> None:
    """400 populations over 10 rounds: the band misses somewhere in at most beta of them; and it is the narrower."""
    times, people, rounds, beta = 400, 200, 10, 0.2
    mechanism = Fresh(RandomizedResponse(eps=1.0))
    values = np.tile(rising(people, rounds), (times, 1))
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=rounds, seed=3)])
    truth = rising(people, rounds).mean(axis=0)
    missed = alone = 0
    for part in reports.reshape(times, people, rounds):
        found = {i + 1: mechanism.aggregator().add(part[:, i]).estimate(beta) for i in range(rounds)}
        series = Rounds(mechanism, found).series(1, window=9, beta=beta)
        missed += bool(np.any((truth < series.trend_lower) | (truth > series.trend_upper)))
        alone += int((truth[4] < series.lower[4]) | (truth[4] > series.upper[4]))
        assert np.abs(series.trend - truth).sum() < 10
    most = binom.isf(1e-9, times, beta)
    assert missed <= most
    assert alone <= most
    assert series.rounds == tuple(range(1, 11))
    inner = series.trend_upper[3:7] - series.trend_lower[3:7]
    assert np.all(inner < (series.upper - series.lower)[3:7])
    # In the middle of its window the line is a mean of nine rounds: no wider than Hoeffding's for all ten at once.
    span = 1 / math.tanh(0.5)
    bound = span * math.sqrt(math.log(2 * rounds / beta) / (2 * people * 9))
    assert np.all(inner[1:3] <= 2 * bound * (1 + 1e-9))
    assert np.all(1.3 * inner[1:3] > 2 * bound * (1 + 1e-9))  # a band that is a third wider is noticed


def test_a_trend_of_kept_noise_is_no_narrower() -> None:
    rounds = collected(Bitwise(eps_state=1.0, eps_report=1.0), np.zeros(4000, dtype=int), 5)
    series = rounds.series(0, window=3)
    radius = rounds.alone(1).radius[0]
    assert np.all(series.trend_upper >= np.minimum(1, series.trend + radius))
    for bad in ({"place": 2}, {"place": 0, "window": 0}, {"place": 0, "beta": 1.0}):
        with pytest.raises(ValueError, match="must be"):
            rounds.series(**bad)
