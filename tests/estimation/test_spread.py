"""What one report adds to a weighted sum, against the exact law of one report."""

import itertools
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from untrackable.arrays import FloatArray
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import Spread, WeightCounts, first_values, independent_bits_spread
from untrackable.mechanisms.changing_bit import OneChange
from untrackable.mechanisms.dbitflip import DBitFlip
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.fixed_vector import Assigned, FixedVector
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.kept_bits import Bitwise, Unary
from untrackable.mechanisms.kept_symbol import Lgrr
from untrackable.mechanisms.local import Fresh, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.loloha import Loloha, shared_hashes
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.sketches import CountMeanSketch, HadamardSketch


class Case(NamedTuple):
    """A mechanism that is small enough to try all its reports."""

    mechanism: Any
    values: int
    tight: bool = True
    """Whether the variance is exact, and not an upper bound."""
    rounds: tuple[int, ...] = (1,)
    candidates: list[Any] | None = None


CASES = {
    "bit": Case(Fresh(RandomizedResponse(eps=0.7)), 2),
    "bitwise": Case(Bitwise(eps_state=2.0, eps_report=1.0), 2),
    "inner product of one bit": Case(Fresh(NoisyInnerProduct(bits=3, eps=1.0, width=1)), 8),
    "inner product of two bits": Case(Fresh(NoisyInnerProduct(bits=3, eps=1.5, width=2)), 8),
    "inner product of three bits": Case(Fresh(NoisyInnerProduct(bits=3, eps=4.0, width=3)), 8),
    "fading": Case(Fading(bits=2, eps=6.0, delta=1e-3), 4, rounds=(3,)),
    "fixed vector": Case(FixedVector(bits=2, eps=2.0, noise="fixed"), 4),
    "equal numbers": Case(Assigned(bits=2, eps=2.0, people=6), 4),
    "unequal numbers": Case(Assigned(bits=2, eps=2.0, people=7), 4, tight=False),
    "unary": Case(Unary(values=4, keep=0.8, add=0.3, q=0.75, p=0.4), 4),
    "subset": Case(Fresh(SubsetSelection(values=5, eps=1.0, size=2)), 5),
    "subset of two": Case(Fresh(SubsetSelection(values=2, eps=1.0)), 2),
    "one bucket": Case(DBitFlip(buckets=4, sampled=1, eps=1.5, output_flip=0.1), 4),
    "two buckets": Case(DBitFlip(buckets=4, sampled=2, eps=1.5), 4, tight=False),
    "symbol": Case(Lgrr(values=4, keep=0.7, tell=0.6), 4),
    "few seeds": Case(Loloha(values=4, symbols=2, keep=0.8, tell=0.9, seed_bits=6), 4),
    "too few seeds": Case(Loloha(values=5, symbols=2, keep=0.8, tell=0.9, seed_bits=2), 5),
    "sketch": Case(Fresh(CountMeanSketch(hashes=4, width=3, eps=2.0, values=5)), 5, tight=False),
    "sketch of one row": Case(Fresh(CountMeanSketch(hashes=1, width=3, eps=2.0, values=5)), 5),
    "hadamard sketch": Case(Fresh(HadamardSketch(hashes=4, width=4, eps=2.0, values=5)), 5),
    "filters": Case(
        Rappor(bloom_bits=4, hashes=1, f=0.5, p=0.3, q=0.8, cohorts=2), 3, tight=False, candidates=["a", "b", "c"]
    ),
    "one filter": Case(Rappor(bloom_bits=4, hashes=1, f=0.5, p=0.3, q=0.8), 2, candidates=["a", "d"]),
    "one change": Case(OneChange(rounds=4, changes=1, eps=1.0), 2, rounds=(2, 3)),
}


@cache
def one_report(name: str) -> tuple[Estimate, FloatArray, FloatArray]:
    """An estimate, what each possible report adds to each frequency, and its probability for each value."""
    case = CASES[name]
    m, found, made = case.mechanism, [], []
    estimate = None
    for numbers in itertools.product(range(1 << m.report_bits), repeat=len(case.rounds)):
        try:
            sums = m.aggregator(case.rounds[-1]).add(list(numbers))
            estimate = sums.estimate(candidates=case.candidates)
        except ValueError:
            continue
        made.append(m.aggregator(case.rounds[-1])._array(list(numbers)))
        found.append(estimate.frequencies)
    assert estimate is not None
    reports = np.stack(made)
    values = range(case.values) if case.candidates is None else case.candidates
    chances = np.exp([m.log_likelihood(reports, value, case.rounds) for value in values])
    return estimate, np.stack(found), chances


@pytest.mark.parametrize("name", CASES)
def test_spread_against_all_reports(name: str) -> None:
    case = CASES[name]
    estimate, added, chances = one_report(name)
    assert np.allclose(chances.sum(axis=1), 1)
    rng = np.random.default_rng(3)
    for weights in (*rng.normal(size=(4, case.values)), np.eye(case.values)[0], first_values(1, case.values)):
        terms = added @ weights
        mean = chances @ terms
        variance = float((chances @ terms**2 - mean**2).max())
        spread = estimate.spread.of(weights)
        assert np.abs(mean - weights).max() <= float(spread.bias) + 1e-9
        assert variance <= float(spread.variance) * (1 + 1e-9)
        if case.tight:
            assert variance == pytest.approx(float(spread.variance))
            assert float(spread.bias) == pytest.approx(np.abs(mean - weights).max(), abs=1e-9)
        _check_moments(spread, terms, chances, mean)
        whole = terms[chances.max(axis=0) > 0]
        if spread.span == spread.part:
            assert np.ptp(whole) <= float(spread.span) * (1 + 1e-9)


def _check_moments(spread: Spread, terms: FloatArray, chances: FloatArray, mean: FloatArray) -> None:
    """The moment generating function is at most what the spread says."""
    most = 3 / float(spread.part)
    for step in (*np.linspace(-0.95, 0.95, 8) * most, -5 * most, 5 * most):
        shifted = step * (terms[None, :] - mean[:, None])
        log = np.log((chances * np.exp(shifted)).sum(axis=1)).max()
        assert log <= step**2 * float(spread.span) ** 2 / 8 + 1e-9
        if abs(step) < most:
            assert log <= step**2 * float(spread.variance) / (2 * (1 - abs(step) / most)) + 1e-9


@pytest.mark.parametrize("name", CASES)
def test_shares_of_the_first_values(name: str) -> None:
    """All at once they are the same as one by one."""
    case = CASES[name]
    estimate, *_ = one_report(name)
    together = estimate.spread.of_first(case.values)
    for size in range(1, case.values):
        alone = estimate.spread.of(first_values(size, case.values))
        for field in ("variance", "span", "part", "bias"):
            found = np.broadcast_to(getattr(together, field), case.values - 1)[size - 1]
            assert found == pytest.approx(float(getattr(alone, field)), abs=1e-12)


def test_hash_functions_of_their_own() -> None:
    """LOLOHA with uniform hash functions is a set of independent bits: against all functions of three values."""
    values, symbols, there = 3, 2, 0.8
    functions = np.array(list(itertools.product(range(symbols), repeat=values)))
    weights = np.array([1.0, -0.3, 2.0])
    spread = independent_bits_spread(WeightCounts(weights, np.ones(3)), there=there, elsewhere=1 / symbols)
    variances = []
    for value in range(values):
        terms, chances = [], []
        for function, symbol in itertools.product(functions, range(symbols)):
            terms.append(weights @ ((function == symbol) - 1 / symbols) / (there - 1 / symbols))
            chances.append((there if function[value] == symbol else 1 - there) / len(functions))
        x, p = np.array(terms), np.array(chances)
        assert p @ x == pytest.approx(weights[value])
        variances.append(p @ x**2 - (p @ x) ** 2)
    assert max(variances) == pytest.approx(float(spread.variance))


def test_shared_hash_functions() -> None:
    """How often clients share a function: against all draws of five clients from eight."""
    n, bits, failure = 5, 3, 0.9
    draws = np.array(list(itertools.product(range(1 << bits), repeat=n)))
    counts = (draws[:, :, None] == np.arange(1 << bits)).sum(axis=1)
    squares, most = (counts**2).sum(axis=1), counts.max(axis=1)
    assert squares.mean() == pytest.approx(n + n * (n - 1) / (1 << bits))
    alone = Spread(1.0, 2.0, 3.0)
    shared = shared_hashes(lambda _: alone, n, bits, failure)(WeightCounts(np.ones(1), np.ones(1)))
    assert (squares > n * float(shared.variance)).mean() <= failure / 2
    assert float(shared.span) == pytest.approx(2 * math.sqrt(float(shared.variance)))
    allowed = float(shared.part) / 3
    assert 1 < allowed < n
    assert (most > allowed).mean() <= failure / 2
    assert shared.failure == failure
    many = shared_hashes(lambda _: alone, 10_000, 48, 0.02)(WeightCounts(np.ones(1), np.ones(1)))
    assert float(many.variance) == pytest.approx(1, abs=1e-8)
    assert many.part == alone.part
