"""What an observer computes of a row of reports, against the enumerated law of all streams."""

import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest

from tests import oracles
from tests.enumeration import FiniteMechanism
from untrackable import (
    Bitwise,
    Dealt,
    Fading,
    Fresh,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
    Stored,
)
from untrackable.mechanisms import Unary
from untrackable.mechanisms.interface import Mechanism


def assert_likelihoods(
    mechanism: Mechanism,
    oracle: FiniteMechanism,
    values: tuple[Any, Hashable],
    encode: Callable[[Any], Any],
    reports: int,
) -> None:
    """Log likelihoods, and scores of every pair of half streams, as enumerated."""
    value, other = values
    rounds = list(range(1, reports + 1))
    law = oracle.streams(other, rounds)

    def array(streams: list[Any]) -> Any:
        return np.array([[encode(report) for report in stream] for stream in streams])

    streams = list(law)
    found = mechanism.log_likelihood(array(streams), value, rounds)
    apart = found - np.log([law[stream] for stream in streams])
    assert np.abs(apart).max() < 1e-9
    half = reports // 2
    left, right = oracle.streams(other, rounds[:half]), oracle.streams(other, rounds[half:])
    scores = mechanism.link_scores(array(list(left)), array(list(right)), value)
    for i, first in enumerate(left):
        for j, second in enumerate(right):
            together = law.get(first + second, 0.0)
            true = math.log(together / (left[first] * right[second])) if together else -math.inf
            assert scores[i, j] == pytest.approx(true, abs=1e-9)


def pair_as_report(report: Any) -> Any:
    return np.uint64(2 * report[0] + report[1])


def bits_as_bytes(report: Any) -> Any:
    return np.frombuffer(sum(bit << i for i, bit in enumerate(report)).to_bytes(1, "little"), dtype=np.uint8)


@pytest.mark.parametrize("value", [0, 1])
def test_bitwise(value: int) -> None:
    mechanism = Bitwise(eps_state=1, eps_report=0.7)
    assert_likelihoods(mechanism, oracles.bitwise(1, 0.7), (value, value), np.uint64, 4)


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_stored(slots: int) -> None:
    base = NoisyInnerProduct(bits=2, eps=0.8, width=1)
    oracle = oracles.stored(oracles.inner_product(2, 0.8), slots, 4)
    assert_likelihoods(Stored(base, slots), oracle, (2, 2), pair_as_report, 4)
    if slots == 1:
        assert_likelihoods(Memoized(base), oracle, (1, 1), pair_as_report, 3)


def test_many_equal_reports_may_be_several_executions() -> None:
    base = RandomizedResponse(eps=0.6)
    assert_likelihoods(Stored(base, 3), oracles.stored(oracles.bit_response(0.6), 3, 2), (1, 1), np.uint64, 6)


def test_independent_rounds() -> None:
    law = oracles.inner_product(2, 0.8)
    base = NoisyInnerProduct(bits=2, eps=0.8, width=1)
    stateless = oracles.stateless(lambda value, round: law(value), 4)
    for mechanism in (Fresh(base), Dealt(base, 4)):
        assert_likelihoods(mechanism, stateless, (3, 3), pair_as_report, 3)
    fading = Fading(bits=2, eps=1, delta=1e-3)
    laws = {t: oracles.inner_product(2, fading.eps_report(t)) for t in (1, 2, 3)}
    assert_likelihoods(fading, oracles.stateless(lambda v, r: laws[r](v), 4), (3, 3), pair_as_report, 3)


def test_kept_bits() -> None:
    unary = Unary.for_budget("L-OSUE", values=3, eps=2, eps_report=1)
    oracle = oracles.unary(3, unary.keep, unary.add, unary.q, unary.p)
    assert_likelihoods(unary, oracle, (1, 1), bits_as_bytes, 3)


def test_rappor_with_cohorts() -> None:
    """The state is a uniform cohort and the noisy filter that the value has in it."""
    rappor = Rappor(bloom_bits=2, hashes=1, f=0.5, p=0.3, q=0.8, cohorts=3)
    oracle = oracles.rappor_cohorts(rappor, ["here"])
    assert_likelihoods(rappor, oracle, ("here", "here"), bits_as_bytes, 3)
