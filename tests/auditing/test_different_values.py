"""People with different values: the bound against enumeration of both worlds, and against the attack."""

from collections.abc import Mapping

import numpy as np
import pytest

from tests import oracles
from tests.enumeration import FiniteMechanism, Stream, streams_factor
from untrackable import Bitwise, Deck, Rappor, Stored
from untrackable.auditing.attacks import link, matched_upper
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.experiment import Experiment

RATES = (1e-3, 0.01, 0.05, 0.2, 0.6)


def exact_powers(finite: FiniteMechanism, reports: int, weights: list[float]) -> list[float]:
    """The best test of one person at both places against two people with values of their own."""
    rounds = list(range(1, 2 * reports + 1))
    one: dict[Stream, float] = {}
    sides: list[dict[Stream, float]] = [{}, {}]
    for value, weight in enumerate(weights):
        for stream, chance in finite.streams(value, rounds).items():
            one[stream] = one.get(stream, 0.0) + weight * chance
            for side, part in zip(sides, (stream[:reports], stream[reports:]), strict=True):
                side[part] = side.get(part, 0.0) + weight * chance
    two = {a + b: p * q for a, p in sides[0].items() for b, q in sides[1].items()}
    pair = Experiment([streams_factor(one, two)])
    return [pair.power(rate).upper for rate in RATES]


CASES: Mapping[str, tuple[Mechanism, FiniteMechanism, int, list[float]]] = {
    "deck": (
        Deck(bits=2, slots=4, eps_report=2.0, width=1),
        oracles.dealt(oracles.inner_product(2, 2.0), 4, 4),
        1,
        [0.5, 0.25, 0.15, 0.1],
    ),
    "loud deck": (
        Deck(bits=1, slots=4, eps_report=4.0, width=1),
        oracles.dealt(oracles.inner_product(1, 4.0), 4, 2),
        2,
        [0.9, 0.1],
    ),
    "bitwise": (Bitwise(eps_state=2.0, eps_report=1.0), oracles.bitwise(2.0, 1.0), 2, [0.7, 0.3]),
    "stored": (
        Stored(NoisyInnerProduct(bits=1, eps=1.0), 3),
        oracles.stored(oracles.inner_product(1, 1.0), 3, 2),
        1,
        [0.6, 0.4],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_test_beats_the_bound(name: str) -> None:
    mechanism, finite, reports, weights = CASES[name]
    bounds = matched_upper(mechanism, reports, np.array(weights), RATES)
    for bound, exact in zip(bounds, exact_powers(finite, reports, weights), strict=True):
        assert exact <= bound.upper * (1 + 1e-9)


def test_the_bound_is_near_for_loud_reports() -> None:
    """Loud reports reveal the value, so that a person of a rare value is found among those who share it."""
    weights = np.array([0.9, 0.1])
    (bound,) = matched_upper(Deck(bits=1, slots=40, eps_report=8.0, width=1), 20, weights, (0.01,))
    # A test that knows both values: 0.1 of the people have a value that 0.1 share, and 0.01 of all are accepted.
    assert bound.upper == pytest.approx(0.1, rel=0.02)


def test_one_value_is_as_good_as_guessing() -> None:
    (bound,) = matched_upper(Deck(bits=2, slots=4, eps_report=3.0), 2, np.array([1.0, 0.0]), (0.001,))
    assert bound.upper == pytest.approx(0.001)


def test_quiet_reports_hide_every_value() -> None:
    (bound,) = matched_upper(Deck(bits=4, slots=20, eps_report=0.01), 10, np.full(16, 1 / 16), (0.001,))
    assert bound.upper < 0.0011


@pytest.mark.parametrize(
    "mechanism", [Deck(bits=4, slots=20, eps_report=3.0), Rappor(bloom_bits=16, hashes=1, f=0.5, p=0.4, q=0.6)]
)
def test_attack_stays_within_the_bound(mechanism: Mechanism) -> None:
    weights = (1 / np.arange(1, 9)).tolist()
    result = link(mechanism, people=400, reports=8, distribution=weights, seed=3)
    assert result.top1_bound is not None
    assert result.top5_bound is not None
    assert 1 / 400 < result.top1.lower <= result.top1_bound.upper
    assert result.top5.lower <= result.top5_bound.upper
    assert result.top1.sampled > 2 / 400  # Different values are told apart, so the attack is no guess.
