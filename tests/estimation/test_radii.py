"""Error radii where cohorts pull in opposite directions, where hash functions are few, and of a single bit."""

import math

import numpy as np
import pytest

from tests.promised_radii import CLOSE
from untrackable import Deck, Rappor
from untrackable.errors import MergeError
from untrackable.mechanisms import Loloha
from untrackable.mechanisms.rappor import _Fit


def test_cohorts_may_pull_in_opposite_directions() -> None:
    """Without noise a client adds +2 in one cohort and -2 in the other: the span is 4, and the radius holds."""
    rappor = Rappor(bloom_bits=2, hashes=2, f=0.0, p=0.0, q=1.0, cohorts=2)
    candidates = (12664, 58083, 46086)
    assert _Fit(rappor, candidates).spans[2] == pytest.approx(4.0)
    misses = 0
    for seed in range(60):
        sums = rappor.aggregator()
        for batch in rappor.simulate(np.full(500, 12664), rounds=1, seed=seed):
            sums.add(batch.reports)
        found = sums.estimate(beta=0.05, candidates=candidates)
        misses += bool(abs(found.frequencies[2]) > found.radius[2])
    assert misses <= 12  # more has a probability below 1e-5 at a rate of 5 %; the old radius missed one in five
    with pytest.raises(MergeError):
        rappor.aggregator().merge(Rappor(bloom_bits=2, hashes=2, f=0.0, p=0.0, q=1.0).aggregator())


@pytest.mark.parametrize("seed_bits", [1, 4, 8, 32])
def test_few_hash_functions_widen_the_radius(seed_bits: int) -> None:
    mechanism = Loloha(values=8, symbols=2, keep=0.9, tell=0.95, seed_bits=seed_bits)
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(np.zeros(20_000, dtype=int), rounds=1, seed=5):
        sums.add(batch.reports)
    found = sums.estimate(beta=1e-6)
    truth = np.eye(8)[0]
    assert np.all(np.abs(found.frequencies - truth) <= found.simultaneous_radius)
    promised = mechanism.accuracy(20_000, beta=1e-6).radius  # Half of the reports count for values nobody holds.
    assert promised * (1 - CLOSE) <= found.radius.max() <= promised * (1 + 1e-12)
    if seed_bits == 32:
        assert found.radius[0] < 0.06


def test_the_accuracy_of_rappor_is_that_of_least_squares() -> None:
    """The pseudo-inverse and the variances, against their definitions; and what is remembered is not mixed up."""
    rappor = Rappor(bloom_bits=16, hashes=2, f=0.4, p=0.4, q=0.8, cohorts=3)
    for candidates in (range(12), ["1", "2", "x"], range(5)):
        fit = _Fit(rappor, candidates)
        stacked = fit.blooms.reshape(len(candidates), -1)
        assert fit.weights == pytest.approx(3 * np.linalg.pinv(stacked.T) / (fit.one - fit.zero), abs=1e-9)
        held = np.full(len(candidates), 1 / len(candidates))
        means = np.einsum("kcb,vcb->kvc", fit.weights.reshape(fit.blooms.shape), fit.blooms) * (fit.one - fit.zero)
        between = np.einsum("v,kvc->k", held, means**2) / 3 - held
        noise = fit.zero * (1 - fit.zero) + (fit.one * (1 - fit.one) - fit.zero * (1 - fit.zero)) * np.tensordot(
            held, fit.blooms, axes=1
        )
        within = np.einsum("kcb,cb->k", fit.weights.reshape(fit.blooms.shape) ** 2, noise) / 3
        variances = within + np.maximum(0.0, between)
        assert fit.variances(held) == pytest.approx(variances, rel=1e-9)
        found = rappor.accuracy(1000, candidates=candidates)
        assert found.standard_error == pytest.approx(math.sqrt(variances.max() / 1000), rel=1e-9)
    with pytest.raises(TypeError, match="string or an integer"):
        rappor.accuracy(1000, candidates=[False, True, 2, 3, 4])
    with pytest.raises(ValueError, match="candidates cannot be estimated"):
        rappor.accuracy(1000, candidates=[1, 2, "1"])


@pytest.mark.parametrize("slots", [1, 4])
def test_the_two_errors_of_a_bit_are_one(slots: int) -> None:
    deck = Deck(bits=1, slots=slots, eps_report=1.0)
    sums = deck.aggregator()
    (batch, *_) = deck.simulate([0, 1, 1], rounds=1, seed=3)
    found = sums.add(batch.reports).estimate()
    assert found.frequencies.sum() == pytest.approx(1.0)
    assert found.simultaneous_radius.tolist() == found.radius.tolist()
    wider = Deck(bits=2, slots=slots, eps_report=1.0, width=1)
    (batch, *_) = wider.simulate([0, 1, 1] * 100, rounds=1, seed=3)
    other = wider.aggregator().add(batch.reports).estimate()
    assert (other.simultaneous_radius > other.radius).all()
