"""Black-box bounds hold and are near what they bound. Our own clients pass; published ones with a defect do not.

Bounds are simulated from fixed seeds, so nothing fails by chance; the counts of violations are nonetheless compared
with what a right bound exceeds with probability at most 1e-9. Clients draw from the operating system, so the tests
of clients are random: a right one is called wrong with probability at most `1 - level` = 1e-9 by its bounds and
ALARM = 1e-6 by each sign test.
"""

import dataclasses
import hashlib
import importlib.util
import itertools
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Bitwise, Deck, Fading, InnerProduct, Memoized, NoisyInnerProduct, RandomizedResponse, Rappor
from untrackable.auditing.black_box import (
    ALARM,
    POWER,
    Advantage,
    advantage_lower,
    audit_client,
    disjoint_pairs,
    gamma_lower,
    persistence,
    sharing,
    smallest_found,
    value_leak,
)
from untrackable.auditing.streams import Streams, collect, halves
from untrackable.display.evidence import client_failed, client_verdict
from untrackable.errors import AuditError
from untrackable.mechanisms import Unary
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


def from_bits(samples: Sequence[Bits]) -> list[Streams]:
    """Streams of reports that are bits already. Each sample is clients × reports × bits, for one value."""
    packed = [np.packbits(bits, axis=2) for bits in samples]
    rows = np.concatenate([rows.reshape(-1, rows.shape[2]) for rows in packed])
    known, numbers = np.unique(rows, axis=0, return_inverse=True)
    cuts = np.cumsum([rows.shape[0] * rows.shape[1] for rows in packed])[:-1]
    return [
        Streams(bits, tokens.reshape(bits.shape[:2]), known.shape[0], np.zeros(bits.shape[:2], dtype=np.int64))
        for bits, tokens in zip(samples, np.split(numbers.reshape(-1), cuts), strict=True)
    ]


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

    result = smallest_found(same, different, level)
    assert result is not None
    assert chance(result) >= POWER
    assert chance(result - 0.015) < POWER


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
    result = [
        gamma_lower(
            *halves(from_bits([everyone[i * people : (i + 1) * people]])[0]), level=level, delta=delta, seed=i
        ).lower
        for i in range(runs)
    ]
    assert np.sum(np.array(result) > exact) <= most_violations(runs, level)
    if exact > 0:
        # The same bounds refute a claim of half of it more often than chance allows.
        assert np.sum(np.array(result) > exact / 2) > most_violations(runs, level)


def test_both_directions_of_gamma_count() -> None:
    """Two people may do what one person never does: reports that are kept are never unlike."""
    rng = np.random.default_rng(5)
    kept = np.repeat((rng.random((4000, 1, 1)) < 0.5).astype(np.uint8), 2, axis=1)
    result = gamma_lower(*halves(from_bits([kept])[0]), level=0.99)
    assert (result.outside.hits, result.outside.trials) == (0, 1000)
    assert result.inside.trials == 500
    assert result.inside.sampled == pytest.approx(0.5, abs=0.1)
    assert result.lower > 3.5


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
    result = [
        advantage_lower(*halves(from_bits([everyone[i * people : (i + 1) * people]])[0]), level=level, seed=i)
        for i in range(runs)
    ]
    assert sum(one.lower > exact for one in result) <= most_violations(runs, level)
    # the mean of what was sampled is not more than the truth either: held-out people are not flattered
    assert np.mean([one.sampled for one in result]) <= exact + 4 * 0.5 / math.sqrt(runs * people / 8)
    if exact > 0:  # and the check would notice a bound that claims too much
        assert sum(one.lower > exact / 4 for one in result) > most_violations(runs, level)


def test_the_attack_is_tried_on_people_it_was_not_chosen_on() -> None:
    """On pure noise the mean of what is sampled is 0; an attack chosen on those it is tried on is flattered."""
    rng = np.random.default_rng(1)
    result = []
    for seed in range(400):
        noise = from_bits([rng.integers(0, 2, size=(64, 6, 40), dtype=np.uint8)])[0]
        result.append(advantage_lower(*halves(noise), level=0.5, seed=seed).sampled)
    assert abs(np.mean(result)) < 4 * np.std(result) / math.sqrt(len(result))
    assert np.std(result) > 0.05


def test_eps_is_covered() -> None:
    runs, clients, level = 200, 160, 0.8
    mechanism = Bitwise(eps_state=1.0, eps_report=2.0)
    exact = mechanism.privacy(reports=5).pure()
    both = [simulated(mechanism, value, runs * clients, 5, seed=12 + value) for value in (0, 1)]
    result = []
    for i in range(runs):
        samples = from_bits([bits[i * clients : (i + 1) * clients] for bits in both])
        result.append(value_leak(samples, level=level, seed=i).eps.lower)
    assert sum(lower > exact for lower in result) <= most_violations(runs, level)
    assert sum(lower > exact / 3 for lower in result) > most_violations(runs, level)


def test_advantage_of_rappor_is_nearly_exact_and_of_deck_nothing() -> None:
    rappor = Rappor(bloom_bits=32, hashes=2, f=0.5, p=0.25, q=0.75)
    exact = rappor.tracking(reports=8, split=4).advantage()
    result = advantage_lower(*halves(streams(rappor, "x", 4000, 8, seed=5)))
    assert exact.lower > 0.9
    assert exact.lower - 0.15 < result.lower < exact.upper
    assert result.similarity == "learned agreement of bits"
    assert result.same.lower < result.same.sampled < result.same.upper
    deck = Deck(bits=6, slots=8, eps_report=1.0)
    nothing = advantage_lower(*halves(streams(deck, 3, 4000, 8, seed=5)))
    assert nothing.lower == 0.0
    assert abs(nothing.sampled) < 0.05


def test_repeats_follow_stored_executions() -> None:
    rnip = InnerProduct(bits=16, slots=20, eps_report=0.5)
    result = advantage_lower(*halves(streams(rnip, 3, 4000, 8, seed=5)))
    upper = rnip.tracking(reports=8, split=4).advantage().upper
    assert upper - 0.12 < result.lower < upper
    assert "repeats" in result.similarity


def test_eps_is_nearly_exact() -> None:
    mechanism = Memoized(RandomizedResponse(eps=1.0))
    samples = from_bits([simulated(mechanism, value, 20_000, 1, seed=value) for value in (0, 1)])
    result = value_leak(samples).eps
    assert 0.85 < result.lower < 1.0
    assert 0.9 < result.sampled < 1.1
    with_delta = value_leak(samples, delta=0.1).eps
    assert with_delta.lower == pytest.approx(math.log((math.e / (1 + math.e) - 0.1) * (1 + math.e)), abs=0.15)


def test_eps_looks_at_all_reports_and_at_the_easiest_pair() -> None:
    rng = np.random.default_rng(3)
    fresh = [(rng.random((400, 400, 1)) < chance).astype(np.uint8) for chance in (0.4, 0.45, 0.6)]
    result = value_leak(from_bits(fresh)).eps
    assert result.lower > 3.5
    assert result.outside.hits == 0
    assert result.sampled == math.inf
    one = value_leak([sample.between(0, 1) for sample in from_bits(fresh)]).eps
    assert one.lower < 0.9


def test_too_few_people() -> None:
    sample = streams(Deck(bits=3, slots=4, eps_report=1.0), 5, 15, 4, seed=1)
    with pytest.raises(AuditError, match="at least 16 people"):
        advantage_lower(*halves(sample))
    with pytest.raises(AuditError, match="at least 16 clients"):
        value_leak([sample, sample])
    with pytest.raises(ValueError, match="at least two values"):
        value_leak([sample])
    with pytest.raises(ValueError, match="level must be strictly between"):
        advantage_lower(*halves(sample), level=1.0)


SURE = 1 - 1e-9
COIN = random.SystemRandom()


@pytest.mark.parametrize(
    ("mechanism", "values", "reports", "delta", "persists"),
    [
        (Deck(bits=3, slots=10, eps_report=0.3), [0, 5], 10, 0.0, False),
        (Deck.for_budget(bits=3, slots=10, eps=1, delta=1e-6), [0, 5], 10, 1e-6, False),
        (Fading(bits=3, eps=1, delta=1e-6), [0, 5], 10, 1e-6, False),
        (Bitwise(eps_state=1.0, eps_report=2.0), [0, 1], 10, 0.0, True),
        (Rappor(bloom_bits=16, hashes=1, f=0.5, p=0.25, q=0.75), ["a", "b"], 6, 0.0, True),
        (Unary(values=6, keep=0.5, add=0.12, q=0.8, p=0.2), [0, 1, 2], 6, 0.0, True),
        (InnerProduct(bits=8, slots=5, eps_report=0.3), [0, 5], 10, 0.0, True),
        (Memoized(NoisyInnerProduct(bits=3, eps=1.0)), [0, 5], 4, 0.0, True),
        (Memoized(RandomizedResponse(eps=1.0)), [0, 1], 4, 0.0, True),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Mechanism) else "",
)
def test_our_own_clients_pass(
    mechanism: Mechanism, values: list[Any], reports: int, delta: float, persists: bool
) -> None:
    privacy = mechanism.privacy()
    claimed = privacy.gamma(delta).upper if delta else privacy.pure()
    result = audit_client(
        mechanism.client,
        values,
        reports=reports,
        claimed_eps=claimed,
        claimed_delta=delta,
        clients=1000 if isinstance(mechanism, Bitwise) else 400,
        level=SURE,
    )
    assert not result.refuted
    assert not result.shares_randomness
    assert result.persists == persists
    if persists:
        assert result.tracking.lower <= mechanism.tracking(reports=reports).advantage().upper
    else:
        assert result.tracking.lower == 0.0
    assert "not refuted" in " ".join(client_verdict(result))


def rappor_client() -> Any:
    """pure-ldp's RAPPOR client; its package cannot be imported whole, as it needs what it does not require."""
    home = importlib.util.find_spec("pure_ldp")
    assert home is not None
    assert home.submodule_search_locations is not None
    path = Path(home.submodule_search_locations[0], "frequency_oracles", "rappor", "rappor_client.py")
    spec = importlib.util.spec_from_file_location("rappor_client", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RAPPORClient


def hash_function(cohort: int, number: int) -> Callable[[str], int]:
    return lambda text: hashlib.sha256(f"{cohort} {number} {text}".encode()).digest()[0] % 32


@pytest.mark.parametrize("cohorts", [1, 8])
def test_pure_ldp_never_clears_a_set_bit(cohorts: int) -> None:
    """Whoever lacks one bit of a value's Bloom filter does not hold that value: eps is infinite, claimed 2.04."""
    hashes = [[hash_function(cohort, number) for number in range(2)] for cohort in range(cohorts)]
    client = rappor_client()(f=0.75, m=32, hash_funcs=hashes, num_of_cohorts=cohorts)
    claimed = client.convert_f_to_eps(0.75, 2)
    assert claimed == pytest.approx(4 * math.log(0.625 / 0.375))
    result = audit_client(
        lambda value: lambda: client.privatise(value), [0, 1], reports=2, claimed_eps_one=claimed, clients=2000
    )
    assert result.refuted
    assert result.eps_one.lower > 2.5
    assert "CLAIM REFUTED: for one report" in " ".join(client_verdict(result))


@pytest.mark.parametrize("name", ["L_SUE", "L_GRR"])
def test_multi_freq_ldpy_redraws_its_permanent_noise(name: str) -> None:
    """Averaging 200 reports gives everyone's value; with permanent noise of eps 2 it could not."""
    module = importlib.import_module(f"multi_freq_ldpy.long_freq_est.{name}")
    send = getattr(module, f"{name}_Client")
    result = audit_client(
        lambda value: lambda: send(value, 4, 2.0, 1.0),
        [0, 1],
        reports=200,
        claimed_eps=2.0,
        claimed_eps_one=1.0,
        clients=500,
        level=SURE,
    )
    assert result.refuted
    assert result.averages_out
    assert result.recovered.lower > 0.9
    assert result.recovered_one.sampled < 0.8
    assert result.recovered.sampled > math.exp(2) / (1 + math.exp(2))
    assert result.eps_one.lower < 1.0  # one report is as private as it says
    assert "NOISE IS NOT PERMANENT" in " ".join(client_verdict(result))


def flipping(eps: float) -> Callable[[int], Callable[[], int]]:
    def factory(value: int) -> Callable[[], int]:
        kept = value ^ (COIN.random() < 1 / (1 + math.exp(eps)))
        return lambda: kept

    return factory


def test_a_weak_client_is_refuted() -> None:
    result = audit_client(flipping(2.0), [0, 1], reports=2, claimed_eps=1.0, clients=2000)
    assert result.refuted
    assert 1.0 < result.eps.lower < 2.1
    honest = audit_client(flipping(1.0), [0, 1], reports=2, claimed_eps=1.0, clients=2000, level=SURE)
    assert not honest.refuted


def kept_noise(value: int) -> Callable[[], int]:
    """A client with a kept number: nobody learns its value, and everybody recognises it."""
    kept = COIN.getrandbits(20)
    return lambda: kept + 0 * value


def test_a_client_with_kept_noise_fails_a_check_and_a_deck_passes() -> None:
    kept = audit_client(kept_noise, [0, 1], reports=10, clients=200)
    assert kept.tracking.sampled == 1.0
    assert (kept.refuted, kept.trackable, kept.failures) == (False, True, ("tracking",))
    assert kept.as_dict()["check"] == {
        "passed": False,
        "failures": ["tracking"],
        "tracking_limit": 0.1,
        "false_alarm_upper": pytest.approx(0.01 + 2e-6),
    }
    assert any(
        sentence.startswith("CLIENTS CAN BE FOLLOWED: the tracking adv") for sentence in client_verdict(kept)
    )
    deck = Deck(bits=3, slots=10, eps_report=0.3)
    passes = audit_client(deck.client, [0, 5], reports=10, clients=400, level=SURE)
    assert passes.failures == ()
    assert client_failed(passes) == ""
    assert passes.as_dict()["check"]["passed"]
    assert "A smaller one may have been missed" in client_verdict(passes)[-1]


@pytest.mark.parametrize(
    ("claims", "failures"),
    [
        ({"claimed_eps": 0.5}, ("tracking",)),
        ({"claimed_advantage": 0.5}, ("advantage",)),
        ({"claimed_advantage": 1.0}, ()),
        ({"claimed_gamma": 1.0}, ("gamma",)),
        ({"claimed_gamma": 1.0, "claimed_delta": 1.0}, ()),
        ({"claimed_gamma": 50.0, "claimed_advantage": 0.2}, ("advantage",)),
        ({"claimed_gamma": 0.0, "claimed_advantage": 0.0}, ("advantage", "gamma")),
    ],
)
def test_claims_about_tracking_are_refuted(claims: dict[str, Any], failures: tuple[str, ...]) -> None:
    result = audit_client(kept_noise, [0, 1], reports=4, clients=400, level=1 - 1e-6, **claims)
    assert result.failures == failures
    assert result.refuted == bool(set(failures) - {"tracking"})
    assert sum("CLAIM REFUTED" in sentence for sentence in client_verdict(result)) == len(
        set(failures) - {"tracking"}
    )
    assert len(client_failed(result).split("; ")) == max(1, len(failures))
    tests = len([name for name in claims if name != "claimed_delta"]) + ("claimed_eps" in claims)
    assert result.false_alarm_upper == pytest.approx(tests * 1e-6 + 2e-6)


def test_true_claims_about_tracking_are_not_refuted() -> None:
    """With what is exactly true, and a client that keeps a bit; a little less is not refuted by chance either."""
    mechanism = Bitwise(eps_state=1.0, eps_report=2.0)
    worlds = mechanism.tracking(reports=10, split=5)
    claims: dict[str, Any] = {"claimed_advantage": worlds.advantage().upper, "claimed_gamma": worlds.pure()}
    result = audit_client(mechanism.client, [0, 1], reports=10, clients=1000, level=SURE, **claims)
    assert result.failures == ()
    little: dict[str, Any] = {
        "claimed_advantage": 0.98 * worlds.advantage().lower,
        "claimed_gamma": 0.98 * worlds.pure(),
    }
    assert audit_client(mechanism.client, [0, 1], reports=10, level=SURE, clients=1000, **little).failures == ()


def test_nothing_links_reports_is_refuted_by_anything_that_persists() -> None:
    """Four in ten clients are a little more often 1: the advantage is not shown to be positive, but it is not 0."""

    def slightly(value: int) -> Callable[[], int]:
        share = 0.5 + 0.12 * COIN.choice((-1, 1))
        return lambda: int(COIN.random() < share)

    result = audit_client(slightly, [0, 1], reports=40, clients=1000, level=1 - 1e-6, claimed_advantage=0.0)
    assert result.persists
    assert result.failures == ("advantage",)
    assert (
        "CLAIM REFUTED: the tracking advantage between the halves of 40 reports is above 0, because something"
        in (" ".join(client_verdict(result)))
    )
    loose = dataclasses.replace(result, claimed_advantage=None, claimed_gamma=0.0, claimed_delta=0.9)
    assert loose.refuted_by_persistence == ()


def shared_by_neighbours(value: int, count: Any = itertools.count()) -> Callable[[], int]:  # noqa: B008
    source = np.random.default_rng(next(count) // 2)
    return lambda: value ^ bool(source.random() < 0.4)


def shared_by_all(value: int) -> Callable[[], int]:
    source = np.random.default_rng(1)
    return lambda: value ^ bool(source.random() < 0.4)


def test_shared_randomness_is_found() -> None:
    neighbours = audit_client(shared_by_neighbours, [0, 1], reports=10, clients=200)
    assert neighbours.shares_randomness
    assert neighbours.sharing.p_value < ALARM
    assert not neighbours.identical
    assert client_verdict(neighbours)[0].startswith("SHARED RANDOMNESS: clients made one after the other")
    everyone = audit_client(shared_by_all, [0, 1], reports=10, clients=64)
    assert everyone.identical
    assert "the same reports" in " ".join(client_verdict(everyone))
    # what never varies at all is not shared randomness
    assert not audit_client(lambda value: lambda: value, [0, 1], reports=2, clients=64).shares_randomness


def test_sign_tests_alarm_no_more_often_than_they_say() -> None:
    """P-values at most 0.1 in at most a tenth of runs, up to 1e-9; seeds are fixed."""
    rng = np.random.default_rng(4)
    runs, low = 400, [0, 0]
    for _ in range(runs):
        kept = (rng.random((80, 1, 3)) < 0.3).astype(np.uint8)
        memo = from_bits([np.repeat(kept, 4, axis=1)])
        fresh = from_bits([(rng.random((80, 4, 3)) < 0.3).astype(np.uint8)])
        low[0] += sharing(memo).p_value <= 0.1
        low[1] += persistence(fresh, rng).p_value <= 0.1
        assert persistence(memo, rng).p_value < 1e-3
    from scipy.stats import binom

    assert max(low) <= binom.isf(1e-9, runs, 0.1)


@pytest.mark.parametrize(
    "make",
    [
        lambda bit: bit,
        lambda bit: [bit, 0],
        lambda bit: np.array([bit, 1 - bit], dtype=np.float64),
        lambda bit: "10" if bit else "01",
        lambda bit: "apple" if bit else "pear",
        lambda bit: bytes([bit, 7]),
        lambda bit: (bit, [bit, -1], "x"),
        lambda bit: -(1 << 200) if bit else 3,
        np.int64,
        bool,
    ],
)
def test_every_kind_of_report(make: Callable[[int], Any]) -> None:
    result = audit_client(lambda value: lambda: make(value), [0, 1], reports=2, clients=64, claimed_eps=1.0)
    assert result.refuted
    assert result.recovered.sampled == 1.0


def failing(value: object) -> Callable[[], int]:
    raise RuntimeError(f"secret {value}")


def running_out(value: object) -> Callable[[], int]:
    left = iter([1, 2])
    return lambda: next(left)


@pytest.mark.parametrize(
    ("factory", "kind", "message"),
    [
        (failing, AuditError, "the factory raised RuntimeError when making a client"),
        (running_out, AuditError, "a client raised StopIteration at report 3 of 4"),
        (Deck(bits=3, slots=2, eps_report=1.0).client, AuditError, "a client raised DeckEmpty at report 3 of 4"),
        (lambda value: lambda: [0] * COIN.randint(1, 9), AuditError, "the same shape"),
        (lambda value: lambda: COIN.choice([1, "1"]), AuditError, "the same shape"),
        (lambda value: list, AuditError, "empty"),
        (lambda value: lambda: 0.5, TypeError, "not float"),
        (lambda value: lambda: [0.5], TypeError, "whole numbers"),
        (lambda value: lambda: [[1], [1, 2]], TypeError, "flat list"),
        (lambda value: lambda: None, TypeError, "not NoneType"),
        (lambda value: 5, TypeError, r"\.report\(round\), not int"),
        (lambda value: lambda: bytes(1 << 20), ValueError, "fewer clients or reports"),
        (5, TypeError, "factory must be callable"),
    ],
)
def test_clients_that_cannot_be_audited(factory: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        audit_client(factory, [31337, 31338] if factory is failing else [0, 1], reports=4, clients=200)
    assert "31337" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"values": [1]}, ValueError, "at least two"),
        ({"values": "ab"}, TypeError, "sequence of values"),
        ({"values": 3}, TypeError, "sequence of values"),
        ({"reports": 1}, ValueError, "reports must be between 2 and 100000"),
        ({"clients": 5}, ValueError, "clients must be at least 64"),
        ({"level": 1.0}, ValueError, "level"),
        ({"claimed_eps": -1.0}, ValueError, "claimed_eps"),
        ({"claimed_delta": 2.0}, ValueError, "claimed_delta"),
        ({"claimed_advantage": 1.5}, ValueError, "claimed_advantage"),
        ({"claimed_gamma": -1.0}, ValueError, "claimed_gamma"),
    ],
)
def test_bad_arguments(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments: dict[str, Any] = {"values": [0, 1], "reports": 2, **given}
    with pytest.raises(kind, match=message):
        audit_client(flipping(1.0), arguments.pop("values"), **arguments)


def test_clients_are_made_in_pairs_and_progress_is_told() -> None:
    made: list[int] = []

    def factory(value: int) -> Callable[[], int]:
        made.append(value)
        return lambda: value

    told: list[float] = []
    samples = collect(factory, [0, 1], 6, 3, lambda what, done: told.append(done or 0.0))
    assert made == [0, 0, 1, 1] * 3
    assert [sample.bits.shape for sample in samples] == [(6, 3, 1)] * 2
    assert told == sorted(told)


def test_as_dict_labels_every_number() -> None:
    import json

    result = audit_client(flipping(2.0), [0, 1], reports=2, clients=64)
    data = json.loads(json.dumps(result.as_dict()))
    assert {"eps_lower", "eps_one_lower", "advantage_lower", "refuted"} <= data.keys()
    assert {"lower", "sampled", "level"} <= data["eps"].keys()
    assert {"lower", "sampled", "upper", "trials"} <= data["recovered"].keys()


@pytest.mark.parametrize("values", [("cat", "dog"), ("secretvalue1", "secretvalue2"), (3, 5), ("yes", "no")])
@pytest.mark.parametrize("reports", [2, 20])
def test_a_value_sent_in_the_clear_is_found(values: tuple[object, object], reports: int) -> None:
    """Cuts lie between scores: how sums are rounded, which depends on how many there are, must not decide."""
    for seed in range(3):
        result = audit_client(
            lambda value: lambda: value, values, reports=reports, claimed_eps=2.0, clients=400, seed=seed
        )
        assert result.refuted
        assert result.eps.lower > 3.0
        assert result.eps_one.lower > 3.0
