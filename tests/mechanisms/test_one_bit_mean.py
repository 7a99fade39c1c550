"""One noisy bit: its factors, sampler and mean against enumeration, and nothing but the mean."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_vectors import Tape, flip
from tests.theory.test_factorisations import assert_equal
from untrackable.arrays import FloatArray
from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.interface import from_json
from untrackable.mechanisms.local import Fresh, OneBitMean
from untrackable.mechanisms.stored import Memoized
from untrackable.randomizers import randomness
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

VECTORS = Path(__file__).parents[1] / "vectors"
BASE = OneBitMean(values=5, eps=1.1)


def law(base: OneBitMean, value: int) -> FloatArray:
    """0 or 1, by the rounding and then by the noise."""
    rounded, lie = Fraction(value, base.values - 1), 1 / (math.exp(base.eps) + 1)
    one = float(rounded) * (1 - lie) + (1 - float(rounded)) * lie
    return np.array([1 - one, one])


@pytest.mark.parametrize("base", [BASE, OneBitMean(values=2, eps=0.3)])
def test_privacy_is_that_of_the_two_ends(base: OneBitMean) -> None:
    assert_equal(Memoized(base).privacy(), Factor(law(base, base.values - 1), law(base, 0)))
    for value in range(base.values):
        for other in range(base.values):
            found = Experiment([Factor(law(base, value), law(base, other))])
            for gamma in (0.0, 0.4, 1.0):
                assert found.delta(gamma).upper <= Memoized(base).privacy().delta(gamma).upper * (1 + 1e-9)


def test_a_repeated_report_is_bounded_for_every_value() -> None:
    """The number of values does not matter: all probabilities between η and 1-η are tried."""
    claimed = Memoized(BASE).tracking(reports=2)
    assert claimed.certainty == "upper"
    lie = 1 / (math.exp(BASE.eps) + 1)
    for rare in np.linspace(lie, 0.5, 30):
        chances = np.array([rare, 1 - rare])
        truth = Experiment([Factor([*chances, 0.0], [*chances**2, 1 - float(chances @ chances)])])
        for gamma in np.linspace(0.0, 3.0, 25):
            for direction in ("forward", "backward"):
                limit = claimed.delta(float(gamma), direction).upper
                assert truth.delta(float(gamma), direction).upper <= limit * (1 + 1e-9) + 1e-15
    assert Dealt(BASE, 4).tracking(reports=4).pure() == 0.0
    assert Dealt(BASE, 4).tracking(reports=4).certainty == "exact"


def test_likelihoods_and_samplers() -> None:
    for value in range(5):
        exact = law(BASE, value)
        assert np.exp(BASE.log_likelihood(np.array([0, 1], dtype=np.uint64), value)) == pytest.approx(exact)
        drawn = [BASE.draw(value, randomness.system) for _ in range(20_000)]
        agrees(histogram(drawn, exact), exact, tilted(exact, 0.1))
        (batch,) = Fresh(BASE).simulate(np.full(100_000, value), rounds=1, seed=value)
        agrees(histogram(batch.reports[:, 0].astype(np.int64), exact), exact, tilted(exact, 0.04))
    assert [report for report in range(-1, 4) if BASE.possible(report)] == [0, 1]


def test_the_mean_is_unbiased_and_covered() -> None:
    base = OneBitMean(values=101, eps=1.0)
    for value in (0, 37, 100):
        found = [Fresh(base).aggregator().add([bit]).estimate().mean().value for bit in (0, 1)]
        assert law(base, value) @ found == pytest.approx(value, abs=1e-9)
    values = np.random.default_rng(1).binomial(100, 0.3, 50_000)
    added = Fresh(base).aggregator()
    for batch in Fresh(base).simulate(values, rounds=1, seed=2):
        added.add(batch.reports)
    mean = added.estimate().mean()
    assert mean.lower < values.mean() < mean.upper
    assert abs(mean.value - values.mean()) < 5 * mean.standard_error
    accuracy = base.accuracy(50_000, 0.05)
    assert mean.upper - mean.value == pytest.approx(100 * accuracy.radius)
    assert mean.standard_error == pytest.approx(100 * accuracy.standard_error)


def test_nothing_else_can_be_estimated() -> None:
    found = Fresh(BASE).aggregator().add([0, 1, 1]).estimate()
    assert np.all(found.interval().lower == 0)
    assert np.all(found.interval().upper == 1)
    with pytest.raises(ValueError, match="tells the mean only"):
        found.quantile(0.5)
    with pytest.raises(ValueError, match="tells the mean only"):
        found.functional(np.arange(5) < 2)


def test_parameters_and_json() -> None:
    deck = Dealt(BASE, 3)
    assert from_json(deck.to_json()) == deck
    with pytest.raises(ValueError, match="values must be between 2 and"):
        OneBitMean(values=1, eps=1.0)
    with pytest.raises(ValueError, match="not shown"):
        BASE.draw(5, randomness.system)


def test_an_independent_client_reproduces_the_vectors() -> None:
    content = json.loads((VECTORS / "onebitmean.json").read_text(encoding="utf-8"))
    for group in content["groups"]:
        values, eps = group["parameters"]["base"]["values"], group["parameters"]["base"]["eps"]
        assert group["thresholds"] == {"flip": str(flip(eps))}
        for case in group["cases"]:
            tape = Tape(bytes.fromhex(case["entropy"]))
            cards = [
                int(tape.below(values - 1) < int(case["value"])) ^ tape.happens(flip(eps))
                for _ in range(group["parameters"]["slots"])
            ]
            assert [int(report) for report in case["reports"]] == cards
            assert tape.at == len(tape.data)
