"""Where each person answers by chance, estimates are of everybody, and errors count who answered."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chi2

from untrackable import Deck, Fresh, NoisyInnerProduct
from untrackable.answers.question import Question
from untrackable.encodings.categories import Categories
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.rounds import Rounds
from untrackable.estimation.sampling import with_sampling
from untrackable.mechanisms.interface import Mechanism

TIMES, PEOPLE, SHARE, BETA, ALARM = 600, 400, Fraction(1, 4), 0.2, 1e-9
VALUES = np.repeat([0, 1, 2, 3], [PEOPLE // 2, PEOPLE // 4, PEOPLE // 8, PEOPLE // 8])
LOUD = Fresh(NoisyInnerProduct(bits=2, eps=6.0, width=2))
TRUTH = np.bincount(VALUES) / PEOPLE


def by_chance(mechanism: Mechanism) -> list[Estimate]:
    """One population asked many times. Each person answers by a coin."""
    rng = np.random.default_rng(5)
    question = Question(mechanism, Categories(names=["a", "b", "c", "d"]), participation=SHARE)
    found = []
    for seed in range(TIMES):
        answering = rng.random(PEOPLE) < float(SHARE)
        reports = np.concatenate([b.reports for b in mechanism.simulate(VALUES[answering], rounds=1, seed=seed)])
        found.append(question.estimate(question.prepare(mechanism.aggregator()).add(reports), BETA))
    return found


@pytest.mark.parametrize(
    "mechanism",
    [
        LOUD,
        Fresh(NoisyInnerProduct(bits=2, eps=3.0, width=2)),
        Deck(bits=2, slots=3, eps_report=2.0, width=1),
    ],
)
def test_estimates_are_of_everybody(mechanism: Mechanism) -> None:
    found = by_chance(mechanism)
    errors = np.array([e.frequencies - TRUTH for e in found])
    claimed = np.array([e.standard_error for e in found])
    # Unbiased, except with probability 1e-9.
    assert np.all(np.abs(errors.mean(axis=0)) < 6.5 * errors.std(axis=0) / math.sqrt(TIMES))
    low, high = (math.sqrt(float(chi2.ppf(rate, TIMES - 1)) / (TIMES - 1)) for rate in (ALARM, 1 - ALARM))
    spread = errors.std(axis=0) / np.sqrt((claimed**2).mean(axis=0))
    assert np.all(low < spread)
    assert np.all(spread < high)
    missed = sum(bool(np.any(e.interval(simultaneous=True).lower > TRUTH)) for e in found)
    missed += sum(bool(np.any(e.interval(simultaneous=True).upper < TRUTH)) for e in found)
    assert missed <= binom.isf(ALARM, TIMES, BETA)


def test_the_noise_alone_is_too_small_an_error() -> None:
    """The test above would notice if who answered did not count."""
    found = by_chance(LOUD)
    errors = np.array([e.frequencies[0] - TRUTH[0] for e in found])
    noise = np.array([e.standard_error[0] ** 2 - 0.25 * 0.75 / e.n for e in found])
    assert errors.std() / math.sqrt(noise.mean()) > math.sqrt(float(chi2.ppf(1 - ALARM, TIMES - 1)) / (TIMES - 1))


def test_the_variance_of_a_sample_by_enumeration() -> None:
    """All ways in which two of four people answer, two of whom hold the value."""
    shares = [(a + b) / 2 for i, a in enumerate((1, 1, 0, 0)) for b in (1, 1, 0, 0)[i + 1 :]]
    assert with_sampling(0.0, 0.5, 2, Fraction(1, 2)) == pytest.approx(math.sqrt(0.5 * 0.5 * 0.5 / 2))
    exact = np.var(shares)  # (N - n)/(N - 1) in place of 1 - n/N
    assert exact == pytest.approx(0.125 / 2 * 4 / 3)


def test_what_is_kept_and_what_is_told() -> None:
    mechanism = Deck(bits=2, slots=3, eps_report=1.0, width=1)
    question = Question(mechanism, Categories(names=["a", "b", "c", "d"]), participation="1/20")
    (batch,) = mechanism.simulate(VALUES, rounds=2, seed=1)
    alone = {}
    for i in (0, 1):
        alone[i + 1] = question.estimate(mechanism.aggregator(i + 1).add(batch.reports[:, i]), 0.05)
    everybody = alone[1]
    assert everybody.participation == Fraction(1, 20)
    assert everybody.people == 20 * PEOPLE
    certain = replace(everybody, standard_error=np.zeros(4)).of_everybody(Fraction(1))
    assert np.all(certain.standard_error == 0)
    assert Rounds(mechanism, alone).pooled().participation == Fraction(1, 20)
    with pytest.raises(ValueError, match="above 0"):
        Question(mechanism, None, participation=0)
