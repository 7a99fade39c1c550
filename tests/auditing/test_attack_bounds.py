"""The bounds hold: against exactly known advantages and eps, and they are near them.

Everything here is simulated from fixed seeds, so nothing fails by chance; the counts of violations are nonetheless
compared with what a right bound exceeds with probability at most 1e-9.
"""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Bitwise, Deck, InnerProduct, Memoized, RandomizedResponse, Rappor
from untrackable.auditing.attack_bounds import (
    POWER,
    Advantage,
    advantage_lower,
    disjoint_pairs,
    eps_lower,
    gamma_lower,
    smallest_found,
)
from untrackable.auditing.streams import Streams, from_bits, halves
from untrackable.errors import AuditError
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.accuracy import Share, clopper_pearson, lower_bound, upper_bound

Bits = NDArray[np.uint8]


def simulated(mechanism: Mechanism, value: object, clients: int, reports: int, seed: int) -> Bits:
    """Reports as bits: clients × reports × places."""
    parts = [batch.reports for batch in mechanism.simulate(np.array([value] * clients), rounds=reports, seed=seed)]
    told = np.concatenate(parts)
    if told.ndim == 2:
        told = np.ascontiguousarray(told).astype("<u8")[..., None].view(np.uint8)
    return np.unpackbits(told.astype(np.uint8), axis=2, count=mechanism.report_bits, bitorder="little")


def streams(mechanism: Mechanism, value: object, clients: int, reports: int, seed: int) -> Streams:
    return from_bits([simulated(mechanism, value, clients, reports, seed)])[0]


def most_violations(runs: int, level: float) -> int:
    """A bound of this level is violated more often with probability at most 1e-9."""
    return int(binom.isf(1e-9, runs, 1 - level))


def test_clopper_pearson() -> None:
    assert clopper_pearson(8, 10, 0.95) == pytest.approx((0.4439, 0.9748), abs=1e-4)
    assert clopper_pearson(0, 10, 0.95)[0] == 0.0
    assert clopper_pearson(10, 10, 0.95)[1] == 1.0
    # exact: at the bound itself, so many hits or more happen with probability `error`
    for hits, trials in ((1, 7), (30, 100), (99, 100)):
        assert binom.sf(hits - 1, trials, lower_bound(hits, trials, 1e-4)) == pytest.approx(1e-4)
        assert binom.cdf(hits, trials, upper_bound(hits, trials, 1e-4)) == pytest.approx(1e-4)
    assert Share.of(3, 4, 0.9).sampled == 0.75
    for hits, trials in ((5, 4), (-1, 4), (0, 0)):
        with pytest.raises(ValueError, match="hits must be between"):
            clopper_pearson(hits, trials, 0.95)


def test_pairs_are_disjoint() -> None:
    same, left, right = disjoint_pairs(np.arange(21))
    used = np.concatenate([same, left, right])
    assert np.unique(used).size == used.size == 20
    assert same.size == 2 * left.size == 2 * right.size == 10


@pytest.mark.parametrize(("same", "different", "level"), [(24, 12, 0.6), (60, 30, 0.9), (9, 40, 0.5)])
def test_an_advantage_that_is_said_to_be_found_is_found(same: int, different: int, level: float) -> None:
    """By enumeration of all numbers of hits and alarms; a slightly smaller advantage is missed more often."""

    def positive(hits: int, alarms: int) -> bool:
        return Advantage.of("", np.arange(same) < hits, np.arange(different) < alarms, level).lower > 0

    table = np.array([[positive(h, g) for g in range(different + 1)] for h in range(same + 1)], dtype=float)

    def chance(advantage: float) -> float:
        rates = np.linspace(0, 1 - advantage, 301)
        hits = binom.pmf(np.arange(same + 1)[:, None], same, rates + advantage)
        alarms = binom.pmf(np.arange(different + 1)[:, None], different, rates)
        return float(np.einsum("hr,hg,gr->r", hits, table, alarms).min())

    found = smallest_found(same, different, level)
    assert found is not None
    assert chance(found) >= POWER
    assert chance(found - 0.015) < POWER


def test_too_few_pairs_never_find_anything() -> None:
    assert smallest_found(4, 2, 0.99) is None
    perfect = Advantage.of("", np.ones(4, dtype=bool), np.zeros(2, dtype=bool), 0.99)
    assert (perfect.lower, perfect.found_from, perfect.weak) == (0.0, None, True)
    assert perfect.as_dict()["found_from_upper"] is None
    sizes = [smallest_found(2 * pairs, pairs, 0.99) or 1.0 for pairs in (25, 125, 1250)]
    assert sizes == sorted(sizes, reverse=True)
    assert not Advantage.of("", np.ones(250, dtype=bool), np.zeros(125, dtype=bool), 0.99).weak


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize(
    ("mechanism", "value", "reports"),
    [(Bitwise(eps_state=0.5, eps_report=3.0), 0, 2), (Deck(bits=3, slots=4, eps_report=1.0), 5, 4)],
    ids=lambda given: type(given).__name__,
)
def test_gamma_is_covered(mechanism: Mechanism, value: object, reports: int, delta: float) -> None:
    runs, people, level = 150, 640, 0.8
    everyone = simulated(mechanism, value, runs * people, reports, seed=13)
    worlds = mechanism.tracking(reports=reports, split=reports // 2)
    exact = worlds.gamma(delta).upper if delta else worlds.pure()
    found = [
        gamma_lower(
            *halves(from_bits([everyone[i * people : (i + 1) * people]])[0]), level=level, delta=delta, seed=i
        ).lower
        for i in range(runs)
    ]
    assert np.sum(np.array(found) > exact) <= most_violations(runs, level)
    if exact > 0:
        # The same bounds refute a claim of half of it more often than chance allows.
        assert np.sum(np.array(found) > exact / 2) > most_violations(runs, level)


def test_both_directions_of_gamma_count() -> None:
    """Two people may do what one person never does: reports that are kept are never unlike."""
    rng = np.random.default_rng(5)
    kept = np.repeat((rng.random((4000, 1, 1)) < 0.5).astype(np.uint8), 2, axis=1)
    found = gamma_lower(*halves(from_bits([kept])[0]), level=0.99)
    assert (found.outside.hits, found.outside.trials) == (0, 1000)
    assert found.inside.trials == 500
    assert found.inside.sampled == pytest.approx(0.5, abs=0.1)
    assert found.lower > 3.5


@pytest.mark.parametrize(
    ("mechanism", "value", "reports"),
    [
        (Memoized(RandomizedResponse(eps=1.0)), 1, 2),
        (Bitwise(eps_state=1.0, eps_report=2.0), 0, 6),
        (Rappor(bloom_bits=8, hashes=1, f=0.5, p=0.25, q=0.75), "x", 4),
        (Deck(bits=3, slots=4, eps_report=1.0), 5, 4),
    ],
    ids=lambda given: type(given).__name__,
)
def test_advantage_is_covered(mechanism: Mechanism, value: object, reports: int) -> None:
    runs, people, level = 150, 320, 0.8
    everyone = simulated(mechanism, value, runs * people, reports, seed=11)
    exact = mechanism.tracking(reports=reports, split=reports // 2).advantage().upper
    found = [
        advantage_lower(*halves(from_bits([everyone[i * people : (i + 1) * people]])[0]), level=level, seed=i)
        for i in range(runs)
    ]
    assert sum(one.lower > exact for one in found) <= most_violations(runs, level)
    # the mean of what was sampled is not more than the truth either: held-out people are not flattered
    assert np.mean([one.sampled for one in found]) <= exact + 4 * 0.5 / math.sqrt(runs * people / 8)
    if exact > 0:  # and the check would notice a bound that claims too much
        assert sum(one.lower > exact / 4 for one in found) > most_violations(runs, level)


def test_the_attack_is_tried_on_people_it_was_not_chosen_on() -> None:
    """On pure noise the mean of what is sampled is 0; an attack chosen on those it is tried on is flattered."""
    rng = np.random.default_rng(1)
    found = []
    for seed in range(400):
        noise = from_bits([rng.integers(0, 2, size=(64, 6, 40), dtype=np.uint8)])[0]
        found.append(advantage_lower(*halves(noise), level=0.5, seed=seed).sampled)
    assert abs(np.mean(found)) < 4 * np.std(found) / math.sqrt(len(found))
    assert np.std(found) > 0.05


def test_eps_is_covered() -> None:
    runs, clients, level = 200, 160, 0.8
    mechanism = Bitwise(eps_state=1.0, eps_report=2.0)
    exact = mechanism.privacy(reports=5).pure()
    both = [simulated(mechanism, value, runs * clients, 5, seed=12 + value) for value in (0, 1)]
    found = []
    for i in range(runs):
        samples = from_bits([bits[i * clients : (i + 1) * clients] for bits in both])
        found.append(eps_lower(samples, level=level, seed=i).lower)
    assert sum(lower > exact for lower in found) <= most_violations(runs, level)
    assert sum(lower > exact / 3 for lower in found) > most_violations(runs, level)


def test_advantage_of_rappor_is_nearly_exact_and_of_deck_nothing() -> None:
    rappor = Rappor(bloom_bits=32, hashes=2, f=0.5, p=0.25, q=0.75)
    exact = rappor.tracking(reports=8, split=4).advantage()
    found = advantage_lower(*halves(streams(rappor, "x", 4000, 8, seed=5)))
    assert exact.lower > 0.9
    assert exact.lower - 0.15 < found.lower < exact.upper
    assert found.similarity == "learned agreement of bits"
    assert found.same.lower < found.same.sampled < found.same.upper
    deck = Deck(bits=6, slots=8, eps_report=1.0)
    nothing = advantage_lower(*halves(streams(deck, 3, 4000, 8, seed=5)))
    assert nothing.lower == 0.0
    assert abs(nothing.sampled) < 0.05


def test_repeats_follow_stored_executions() -> None:
    rnip = InnerProduct(bits=16, slots=20, eps_report=0.5)
    found = advantage_lower(*halves(streams(rnip, 3, 4000, 8, seed=5)))
    upper = rnip.tracking(reports=8, split=4).advantage().upper
    assert upper - 0.12 < found.lower < upper
    assert "repeats" in found.similarity


def test_eps_is_nearly_exact() -> None:
    mechanism = Memoized(RandomizedResponse(eps=1.0))
    samples = from_bits([simulated(mechanism, value, 20_000, 1, seed=value) for value in (0, 1)])
    found = eps_lower(samples)
    assert 0.85 < found.lower < 1.0
    assert 0.9 < found.sampled < 1.1
    with_delta = eps_lower(samples, delta=0.1)
    assert with_delta.lower == pytest.approx(math.log((math.e / (1 + math.e) - 0.1) * (1 + math.e)), abs=0.15)


def test_eps_looks_at_all_reports_and_at_the_easiest_pair() -> None:
    rng = np.random.default_rng(3)
    fresh = [(rng.random((400, 400, 1)) < chance).astype(np.uint8) for chance in (0.4, 0.45, 0.6)]
    found = eps_lower(from_bits(fresh))
    assert found.lower > 3.5
    assert found.outside.hits == 0
    assert found.sampled == math.inf
    one = eps_lower([sample.between(0, 1) for sample in from_bits(fresh)])
    assert one.lower < 0.9


def test_too_few_people() -> None:
    sample = streams(Deck(bits=3, slots=4, eps_report=1.0), 5, 15, 4, seed=1)
    with pytest.raises(AuditError, match="at least 16 people"):
        advantage_lower(*halves(sample))
    with pytest.raises(AuditError, match="at least 16 clients"):
        eps_lower([sample, sample])
    with pytest.raises(ValueError, match="at least two values"):
        eps_lower([sample])
    with pytest.raises(ValueError, match="level must be strictly between"):
        advantage_lower(*halves(sample), level=1.0)
