"""Simulated populations: reproducible, in order, in batches of bounded size. Laws are in test_samplers.py."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from untrackable import (
    Bitwise,
    Dealt,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
    Stored,
)
from untrackable.estimation.aggregators import Reports
from untrackable.mechanisms.interface import Mechanism, simulated_batches

RR = RandomizedResponse(eps=1.0)
NIP = NoisyInnerProduct(bits=13, eps=1.0, width=1)
RAPPOR = Rappor(bloom_bits=13, hashes=2, f=0.5, p=0.25, q=0.75)

MECHANISMS: dict[str, Mechanism] = {
    "Bitwise": Bitwise(eps_state=1.0, eps_report=1.0),
    "InnerProduct": InnerProduct(bits=13, slots=3, eps_report=1.0, width=1),
    "Deck": Deck(bits=13, slots=3, eps_report=1.0, when_empty="replay", width=1),
    "Fading": Fading(bits=2, eps=4.0, delta=0.01),
    "Rappor": RAPPOR,
    "Fresh": Fresh(NIP),
    "Memoized": Memoized(RR),
    "Stored": Stored(RR, 3),
    "Dealt": Dealt(RR, 3, "replay"),
}
each = pytest.mark.parametrize("name", MECHANISMS)


def all_reports(mechanism: Mechanism, values: Any, *, rounds: Any, seed: int) -> Reports:
    """Every batch, in order, after checking that they follow one another."""
    batches = list(mechanism.simulate(values, rounds=rounds, seed=seed))
    start = 0
    for batch in batches:
        assert batch.start == start
        assert batch.reports.shape[1] == len(batch.rounds)
        start += batch.reports.shape[0]
    assert start == len(values)
    return np.concatenate([batch.reports for batch in batches])


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.mechanisms.interface._BATCH", 1 << 10)


@each
def test_same_seed_same_reports_other_seed_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """512 or more random bits differ between two seeds, so equality by chance is out of the question."""
    small_batches(monkeypatch)
    mechanism, values = MECHANISMS[name], np.arange(1000) % 2
    first = all_reports(mechanism, values, rounds=3, seed=1)
    assert np.array_equal(first, all_reports(mechanism, values, rounds=3, seed=1))
    assert not np.array_equal(first, all_reports(mechanism, values, rounds=3, seed=2))


@each
def test_batches_do_not_repeat_each_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small_batches(monkeypatch)
    batches = list(MECHANISMS[name].simulate(np.zeros(1000, dtype=int), rounds=3, seed=1))
    assert len(batches) > 3
    assert not np.array_equal(batches[0].reports, batches[1].reports)


@each
def test_rounds_by_number_or_by_name(name: str) -> None:
    mechanism, values = MECHANISMS[name], np.arange(50) % 2
    by_count = list(mechanism.simulate(values, rounds=3, seed=1))
    by_name = list(mechanism.simulate(values, rounds=[1, 2, 3], seed=1))
    assert [b.rounds for b in by_count] == [b.rounds for b in by_name] == [(1, 2, 3)]
    assert np.array_equal(by_count[0].reports, by_name[0].reports)


def parity(numbers: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.bitwise_count(numbers) & np.uint8(1)


# eps = 60 lies with probability 2^-64 at most a few times over, so reports show whose they are.
LOUD = NoisyInnerProduct(bits=13, eps=60.0, width=1)


@pytest.mark.parametrize(
    "mechanism",
    [
        Fresh(LOUD),
        Memoized(LOUD),
        Stored(LOUD, 4),
        Dealt(LOUD, 64),
        Deck(bits=13, slots=64, eps_report=60.0, width=1),
    ],
)
def test_every_client_is_simulated_with_its_own_value(mechanism: Mechanism) -> None:
    """Across the borders of full-sized batches."""
    values = np.random.default_rng(3).integers(0, 1 << 13, size=40_000)
    reports = all_reports(mechanism, values, rounds=64, seed=1).astype(np.uint64)
    assert len(list(mechanism.simulate(values, rounds=64, seed=1))) == 3
    vectors, bits = reports >> np.uint64(1), reports & np.uint64(1)
    assert vectors.min() > 0
    assert vectors.max() < 1 << 13
    assert np.array_equal(bits, parity(vectors & values[:, None].astype(np.uint64)))


@pytest.mark.parametrize("mechanism", [Fresh(LOUD), Dealt(LOUD, 64)])
def test_every_round_is_simulated_with_its_own_value(mechanism: Mechanism) -> None:
    values = np.random.default_rng(3).integers(0, 1 << 13, size=(20_000, 64))
    reports = all_reports(mechanism, values, rounds=64, seed=1).astype(np.uint64)
    assert np.array_equal(reports & np.uint64(1), parity((reports >> np.uint64(1)) & values.astype(np.uint64)))


def test_bits_are_simulated_in_order() -> None:
    values = np.random.default_rng(3).integers(0, 2, size=40_000)
    for mechanism in (Bitwise(eps_state=60.0, eps_report=60.0), Stored(RandomizedResponse(eps=60.0), 5)):
        reports = all_reports(mechanism, values, rounds=64, seed=1)
        assert np.array_equal(reports, np.broadcast_to(values[:, None], reports.shape))


@pytest.mark.parametrize("bloom_bits", [1, 8, 13, 64, 200])
def test_rappor_is_simulated_in_order(bloom_bits: int) -> None:
    """Without noise, a report is the Bloom filter, in bytes, least significant first."""
    mechanism = Rappor(bloom_bits=bloom_bits, hashes=2, f=0.0, p=0.0, q=1.0)
    words = np.array(["Ada", "Grace", "Emmy", "Sofia", "48879", "é"])
    values = words[np.random.default_rng(3).integers(0, words.size, size=3_000)]
    reports = all_reports(mechanism, values, rounds=16, seed=1)
    size = (bloom_bits + 7) // 8
    assert reports.shape == (3_000, 16, size)
    assert reports.dtype == np.uint8
    expected = [list(mechanism.bloom(value).to_bytes(size, "little")) for value in values.tolist()]
    assert np.array_equal(reports, np.broadcast_to(np.array(expected)[:, None, :], reports.shape))


def test_rappor_of_integers_is_rappor_of_their_digits() -> None:
    numbers = np.arange(100)
    mechanism = Rappor(bloom_bits=13, hashes=2, f=0.0, p=0.0, q=1.0)
    digits = all_reports(mechanism, numbers.astype(str), rounds=1, seed=1)
    assert digits.shape == (100, 1, 2)
    assert np.array_equal(all_reports(mechanism, numbers, rounds=1, seed=1), digits)


def test_dealt_replays_the_same_cards() -> None:
    mechanism = Deck(bits=13, slots=3, eps_report=1.0, when_empty="replay", width=1)
    reports = all_reports(mechanism, np.zeros(500, dtype=int), rounds=[1, 2, 3, 4, 6, 9], seed=1)
    first, second, third, *again = reports.T
    assert [np.array_equal(first, again[0])] + [np.array_equal(third, column) for column in again[1:]] == [True] * 3
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)


def test_memoized_repeats_for_ever() -> None:
    reports = all_reports(Memoized(NIP), np.zeros(500, dtype=int), rounds=5, seed=1)
    assert np.array_equal(reports, np.broadcast_to(reports[:, :1], reports.shape))
    assert np.unique(reports[:, 0]).size > 400


@pytest.mark.parametrize("kind", [np.uint8, np.uint64])
@pytest.mark.parametrize("rounds", [1, 8])
@each
def test_memory_is_bounded(name: str, rounds: int, kind: type[np.unsignedinteger[Any]]) -> None:
    """The first batch of 10^8 clients: what is held does not grow with the population."""
    population = np.broadcast_to(kind(1), 10**8)
    tracemalloc.start()
    try:
        batch = next(MECHANISMS[name].simulate(population, rounds=rounds, seed=1))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert batch.start == 0
    assert 1 <= batch.reports.shape[0] <= 1 << 21
    assert batch.reports.nbytes <= 1 << 24
    assert peak < 1 << 27


def test_many_rounds_make_small_batches() -> None:
    batch = next(Fresh(RR).simulate(np.zeros(10, dtype=int), rounds=1 << 20, seed=1))
    assert batch.reports.shape == (1, 1 << 20)
    wide = Rappor(bloom_bits=256, hashes=2, f=0.5, p=0.25, q=0.75)
    assert next(wide.simulate(np.zeros(10**5, dtype=int), rounds=4, seed=1)).reports.shape == (1 << 11, 4, 32)


@each
def test_shapes_are_checked(name: str) -> None:
    mechanism = MECHANISMS[name]
    may_change = isinstance(mechanism, (Fresh, Dealt, Fading))
    with pytest.raises(ValueError, match=r"^values must have one entry per client.*got shape \(4, 5\)$"):
        mechanism.simulate(np.zeros((4, 5), dtype=int), rounds=3, seed=1)
    with pytest.raises(ValueError, match=r"^values must have one entry per client"):
        mechanism.simulate(np.zeros((4, 3, 1), dtype=int), rounds=3, seed=1)
    if not may_change:
        with pytest.raises(ValueError, match=r"^values must have one entry per client, got shape \(4, 3\)$"):
            mechanism.simulate(np.zeros((4, 3), dtype=int), rounds=3, seed=1)
    with pytest.raises(TypeError, match=r"^values must be integers"):
        mechanism.simulate([0.5], rounds=3, seed=1)


def test_rounds_beyond_the_deck_are_refused() -> None:
    with pytest.raises(ValueError, match="round must be between 1 and 3, got 4"):
        Dealt(RR, 3).simulate([1], rounds=4, seed=1)


def test_too_many_bits_to_simulate_are_refused() -> None:
    with pytest.raises(ValueError, match="bits must be at most 63 in simulation, got 64"):
        Fresh(NoisyInnerProduct(bits=64, eps=1.0, width=1)).simulate([1], rounds=1, seed=1)
    batch = next(Fresh(NoisyInnerProduct(bits=63, eps=1.0, width=1)).simulate([1 << 62] * 64, rounds=1, seed=1))
    assert int(batch.reports.max()) >> 63 == 1
    assert int(batch.reports.min()) >= 2


@pytest.mark.parametrize("rounds", [0, -3, [], [2, 2], [0]])
def test_bad_rounds_are_refused_at_once(rounds: int | list[int]) -> None:
    with pytest.raises(ValueError, match=r"^rounds? must be"):
        Fresh(RR).simulate([1], rounds=rounds, seed=1)


def test_rounds_of_any_integer_kind_and_order() -> None:
    assert next(Fresh(RR).simulate([1], rounds=np.int64(2), seed=1)).rounds == (1, 2)  # type: ignore[arg-type]
    assert next(Fresh(RR).simulate([1], rounds=[7, 3], seed=1)).rounds == (7, 3)


def test_an_empty_population_is_no_error() -> None:
    assert list(Fresh(RR).simulate([], rounds=2, seed=1)) == []
    assert list(RAPPOR.simulate([], rounds=2, seed=1)) == []


def test_noise_is_independent_of_values_drawn_with_the_same_seed() -> None:
    """What a caller draws from the seed, or from what numpy spawns of it, is not the stream of the noise."""

    def first(source: Any) -> int:
        return int(np.random.default_rng(source).integers(1 << 62))

    def noise(values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        return rng.integers(1 << 62, size=1, dtype=np.uint64)

    values = np.zeros(3, dtype=np.uint64)
    for seed in (0, 1, 7, 1 << 70):
        (batch,) = simulated_batches(noise, values, (1,), words=1, seed=seed)
        spawned = np.random.SeedSequence(seed).spawn(3)
        assert int(batch.reports[0]) not in map(first, [seed, [seed, 0], [seed, 0, 0], [seed, 1], *spawned])
