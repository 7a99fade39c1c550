"""Every sampler against its exact law: clients on the operating system's entropy, and simulated populations.

Laws are written here from the definitions, with flips of probability 1/(e^eps + 1); the samplers' own 2^-64 grid is
far below what any sample can see. Client tests are random: each `agrees` fails a right sampler with probability at
most exact_laws.ALARM = 1e-10, both of its halves together, and this file has fewer than 200 of them. Its total
false-alarm rate is below 2e-8. Simulated tests have fixed seeds and are not random at all.
"""

import hashlib
import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from tests.mechanisms.exact_laws import (
    ALARM,
    agrees,
    critical,
    distance,
    histogram,
    missed,
    rejects,
    tilted,
)
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
from untrackable.arrays import FloatArray
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local_interface import Local
from untrackable.randomizers import randomness
from untrackable.randomizers.randomness import Chance

CLIENTS = 60_000
CLIENT_TILT = 0.04
SIMULATED = 1_000_000
SIMULATED_TILT = 0.012

Counts = NDArray[np.int64]


def flip(eps: float) -> float:
    return 1 / (math.exp(eps) + 1)


def response(eps: float, value: int) -> FloatArray:
    """Randomised response: index 0 and 1."""
    lie = flip(eps)
    return np.array([lie, 1 - lie] if value else [1 - lie, lie])


def inner(eps: float, bits: int, value: int) -> FloatArray:
    """Noisy inner product: index 2·vector + bit."""
    law = np.zeros(2 << bits)
    for vector in range(1, 1 << bits):
        truth = bin(vector & value).count("1") % 2
        for bit in (0, 1):
            law[2 * vector + bit] = (flip(eps) if bit != truth else 1 - flip(eps)) / ((1 << bits) - 1)
    return law


def kept_bit(one: float, q: float, p: float) -> FloatArray:
    """Two reports of a permanent bit that is 1 with probability `one`: index (first, second)."""
    told = {1: [1 - q, q], 0: [1 - p, p]}
    return np.array(
        [[one * told[1][x] * told[1][y] + (1 - one) * told[0][x] * told[0][y] for y in (0, 1)] for x in (0, 1)]
    )


def independent(joint: FloatArray) -> FloatArray:
    """The product of the marginals of two reports: what joint laws must be told apart from."""
    return np.outer(joint.sum(axis=1), joint.sum(axis=0))


# --- parts -----------------------------------------------------------------------------------------------------


def test_error_rates_are_as_stated() -> None:
    """The proven bounds against exact enumeration of binomial samples."""
    n = 2000
    law, wrong = np.array([0.9, 0.1]), np.array([0.82, 0.18])
    ones = np.arange(n + 1)
    samples = [np.array([n - x, x]) for x in ones]
    alarm = binom.pmf(ones, n, 0.1)[[rejects(s, law) for s in samples]].sum()
    assert 0 < alarm <= ALARM / 2
    unnoticed = binom.pmf(ones, n, 0.1)[[not rejects(s, wrong) for s in samples]].sum()
    assert 0 < unnoticed <= missed(n, law, wrong) < 1
    assert distance(np.array([5, 1]), np.array([1.0, 0.0])) == math.inf > critical(law)
    assert math.isclose(np.abs(tilted(law, 0.03) - law).sum() / 2, 0.03)


@pytest.mark.parametrize("eighths", [1, 3, 4])
def test_chance(eighths: int) -> None:
    chance = Chance(eighths << 61)
    law = np.array([1 - eighths / 8, eighths / 8])
    drawn = histogram([chance.happens(randomness.system) for _ in range(CLIENTS)], law)
    agrees(drawn, law, tilted(law, CLIENT_TILT))
    simulated = histogram(chance.simulate(np.random.default_rng(1), (SIMULATED,)).astype(np.int64), law)
    agrees(simulated, law, tilted(law, SIMULATED_TILT))


@pytest.mark.parametrize("threshold", [0, 1 << 64])
def test_impossible_and_certain_chances(threshold: int) -> None:
    chance = Chance(threshold)
    assert {chance.happens(randomness.system) for _ in range(1000)} == {bool(threshold)}
    assert np.unique(chance.simulate(np.random.default_rng(1), (1000,))).tolist() == [bool(threshold)]


@pytest.mark.parametrize("limit", [2, 3, 10])
def test_below(limit: int) -> None:
    law = np.full(limit, 1 / limit)
    drawn = histogram([randomness.below(limit, randomness.system) for _ in range(CLIENTS)], law)
    agrees(drawn, law, tilted(law, CLIENT_TILT))


def test_below_redraws_so_that_no_remainder_is_favoured() -> None:
    """With a limit of 3·2^62, remainders of plain words would hit the lowest third twice as often."""
    limit = 3 << 62
    law = np.full(3, 1 / 3)
    drawn = histogram([randomness.below(limit, randomness.system) >> 62 for _ in range(CLIENTS)], law)
    agrees(drawn, law, tilted(law, CLIENT_TILT))
    agrees(drawn, law, np.array([0.5, 0.25, 0.25]))


def test_below_one_is_zero() -> None:
    assert {randomness.below(1, randomness.system) for _ in range(100)} == {0}


def test_nonzero_vector_of_few_bits() -> None:
    law = np.array([0, *[1 / 7] * 7])
    drawn = histogram([randomness.nonzero_vector(3, randomness.system) for _ in range(CLIENTS)], law)
    agrees(drawn, law, tilted(law, CLIENT_TILT))
    agrees(drawn, law, np.full(8, 1 / 8))
    assert {randomness.nonzero_vector(1, randomness.system) for _ in range(100)} == {1}


@pytest.mark.parametrize("bits", [9, 13, 64, 100])
def test_nonzero_vector_of_odd_widths(bits: int) -> None:
    """Its two highest and two lowest bits, which is where a wrong mask or a wrong byte order would show."""
    among = 1 << (bits - 4)
    law = np.array([(among - (cell == 0)) / ((1 << bits) - 1) for cell in range(16)])
    vectors = [randomness.nonzero_vector(bits, randomness.system) for _ in range(CLIENTS)]
    assert max(vectors) < 1 << bits
    drawn = histogram([(vector >> (bits - 2)) << 2 | vector & 3 for vector in vectors], law)
    agrees(drawn, law, tilted(law, 0.05))


LOCALS: list[tuple[Local, int, FloatArray]] = [
    (RandomizedResponse(eps=1.0), 0, response(1.0, 0)),
    (RandomizedResponse(eps=0.1), 1, response(0.1, 1)),
    (NoisyInnerProduct(bits=1, eps=1.0, width=1), 1, inner(1.0, 1, 1)),
    (NoisyInnerProduct(bits=3, eps=0.5, width=1), 0, inner(0.5, 3, 0)),
    (NoisyInnerProduct(bits=3, eps=2.0, width=1), 5, inner(2.0, 3, 5)),
]


@pytest.mark.parametrize(("base", "value", "law"), LOCALS)
def test_local_mechanisms(base: Local, value: int, law: FloatArray) -> None:
    drawn = histogram([base.draw(value, randomness.system) for _ in range(CLIENTS)], law)
    agrees(drawn, law, tilted(law, CLIENT_TILT))
    values = np.full(SIMULATED, value, dtype=np.uint64)
    simulated = histogram(base.simulate(values, np.random.default_rng(2)).astype(np.int64), law)
    agrees(simulated, law, tilted(law, SIMULATED_TILT))


@pytest.mark.parametrize("eps", [0.5, 1.0, 2.0])
def test_eps_of_randomized_response_is_within_four_percent(eps: float) -> None:
    """The same test, with a wrong law that is the right one of a slightly different eps."""
    base = RandomizedResponse(eps=eps)
    reports = base.simulate(np.ones(4 * SIMULATED, dtype=np.uint64), np.random.default_rng(3)).astype(np.int64)
    agrees(histogram(reports, response(eps, 1)), response(eps, 1), response(1.04 * eps, 1))


# --- mechanisms: the joint law of the reports of a few rounds ---------------------------------------------------


@dataclass
class Scenario:
    """A client's reports at some rounds and their joint law: an axis for each round, an index for each report."""

    mechanism: Mechanism
    value: int
    rounds: tuple[int, ...]
    law: FloatArray
    changes: tuple[int | None, ...] = ()
    wrong: FloatArray | None = None
    tilt: float = CLIENT_TILT

    def drawn(self) -> Counts:
        """Counts from clients on the operating system's entropy."""
        counts = np.zeros(self.law.shape, dtype=np.int64)
        changes = self.changes or (None,) * len(self.rounds)
        for _ in range(CLIENTS):
            client = self.mechanism.client(self.value)
            counts[tuple(client.report(r, v) for r, v in zip(self.rounds, changes, strict=True))] += 1
        return counts

    def simulated(self) -> Counts:
        """Counts from a simulated population."""
        if self.changes:
            held, row = self.value, []
            for change in self.changes:
                held = held if change is None else change
                row.append(held)
            values = np.tile(np.array(row), (SIMULATED, 1))
        else:
            values = np.full(SIMULATED, self.value)
        counts = np.zeros(self.law.size, dtype=np.int64)
        for batch in self.mechanism.simulate(values, rounds=self.rounds, seed=4):
            positions = np.ravel_multi_index(tuple(batch.reports.astype(np.int64).T), self.law.shape)
            counts += np.bincount(positions, minlength=counts.size)
        return counts.reshape(self.law.shape)


RR = RandomizedResponse(eps=1.0)
NIP = NoisyInnerProduct(bits=2, eps=1.0, width=1)
P0, P1 = response(1.0, 0), response(1.0, 1)
V1, V2 = inner(1.0, 2, 1), inner(1.0, 2, 2)
REPEATED = (P1[:, None] * P0)[:, :, None] * np.eye(2)[:, None, :]
"""Three reports, the third being the first again: index (x, y, z)."""

FADING = Fading(bits=2, eps=4.0, delta=0.01)

SCENARIOS: dict[str, Scenario] = {
    "Bitwise, joint law of two reports": Scenario(
        Bitwise(eps_state=1.0, eps_report=1.5),
        1,
        (1, 2),
        kept_bit(1 - flip(1.0), 1 - flip(1.5), flip(1.5)),
        wrong=independent(kept_bit(1 - flip(1.0), 1 - flip(1.5), flip(1.5))),
    ),
    "Bitwise, value 0, other rounds": Scenario(
        Bitwise(eps_state=0.3, eps_report=3.0),
        0,
        (9, 3),
        kept_bit(flip(0.3), 1 - flip(3.0), flip(3.0)),
    ),
    "Fresh randomised response": Scenario(Fresh(RR), 1, (1, 2), np.outer(P1, P1)),
    "Fresh randomised response, changed": Scenario(Fresh(RR), 1, (1, 2), np.outer(P1, P0), changes=(None, 0)),
    "Fresh inner product": Scenario(Fresh(NIP), 1, (1, 2), np.outer(V1, V1), tilt=0.05),
    "Memoized randomised response": Scenario(Memoized(RR), 1, (1, 5), np.diag(P1), wrong=np.outer(P1, P1)),
    "Memoized inner product": Scenario(Memoized(NIP), 2, (1, 5), np.diag(V2)),
    "Stored randomised response": Scenario(
        Stored(RR, 3), 1, (1, 2), np.outer(P1, P1) * 2 / 3 + np.diag(P1) / 3, wrong=np.outer(P1, P1)
    ),
    "InnerProduct": Scenario(
        InnerProduct(bits=2, slots=2, eps_report=1.0, width=1),
        1,
        (1, 2),
        np.outer(V1, V1) / 2 + np.diag(V1) / 2,
        wrong=np.outer(V1, V1) * 2 / 3 + np.diag(V1) / 3,
        tilt=0.05,
    ),
    "Dealt": Scenario(Dealt(RR, 2), 1, (1, 2), np.outer(P1, P1)),
    "Dealt, rounds skipped and out of order": Scenario(Dealt(RR, 5), 1, (5, 2), np.outer(P1, P1)),
    "Dealt, changed": Scenario(Dealt(RR, 3), 1, (1, 2), np.outer(P1, P0), changes=(None, 0)),
    "Dealt, replay": Scenario(
        Dealt(RR, 2, "replay"),
        1,
        (1, 2, 3),
        np.outer(P1, P1)[:, :, None] * np.eye(2)[:, None, :],
        wrong=np.outer(P1, P1)[:, :, None] * P1,
    ),
    "Deck": Scenario(Deck(bits=2, slots=2, eps_report=1.0, width=1), 1, (1, 2), np.outer(V1, V1), tilt=0.05),
    "Deck, changed": Scenario(
        Deck(bits=2, slots=2, eps_report=1.0, width=1), 1, (1, 2), np.outer(V1, V2), changes=(None, 2), tilt=0.05
    ),
    "Deck, replay": Scenario(
        Deck(bits=2, slots=1, eps_report=1.0, when_empty="replay", width=1), 2, (1, 4), np.diag(V2)
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("path", ["client", "simulated"])
def test_joint_law(name: str, path: str) -> None:
    scenario = SCENARIOS[name]
    law = scenario.law.reshape(-1)
    counts = (scenario.drawn() if path == "client" else scenario.simulated()).reshape(-1)
    agrees(counts, law, tilted(law, scenario.tilt if path == "client" else SIMULATED_TILT))
    if scenario.wrong is not None:
        agrees(counts, law, scenario.wrong.reshape(-1))


def test_dealt_changed_then_replayed() -> None:
    """The cards sent before the change are replayed as they were; simulation refuses this on purpose."""
    mechanism = Dealt(RR, 2, "replay")
    counts = Scenario(mechanism, 1, (1, 2, 3), REPEATED, changes=(None, 0, None)).drawn().reshape(-1)
    law = REPEATED.reshape(-1)
    agrees(counts, law, tilted(law, CLIENT_TILT))
    agrees(counts, law, ((P1[:, None] * P0)[:, :, None] * P0).reshape(-1))
    with pytest.raises(ValueError, match="replayed"):
        next(mechanism.simulate(np.zeros((5, 3), dtype=int), rounds=3, seed=1))


def test_fading_at_two_rounds() -> None:
    """Each round's law with its own eps_t; and the two rounds are independent given the value."""
    rounds, value = (1, 16), 3
    eps = [FADING.scale, FADING.scale / 8]  # 16^-0.75 is 1/8
    laws = [inner(e, 2, value) for e in eps]
    drawn = np.zeros((8, 8), dtype=np.int64)
    for _ in range(36_000):
        client = FADING.client(value)
        drawn[client.report(rounds[0]), client.report(rounds[1])] += 1
    simulated = Scenario(FADING, value, rounds, np.outer(*laws)).simulated()
    for counts, tilt in ((drawn, 0.05), (simulated, SIMULATED_TILT)):
        for law, marginal in zip(laws, (counts.sum(axis=1), counts.sum(axis=0)), strict=True):
            agrees(marginal, law, tilted(law, tilt))
        agrees(counts.sum(axis=1), laws[0], laws[1])
        # Lie or truth at either round: vector 1, 2, 3 has inner product 1, 1, 0 with the value 3.
        lies = np.array([0, 0, 1, 0, 1, 0, 0, 1])
        joint = np.zeros((2, 2), dtype=np.int64)
        np.add.at(joint, (lies[:, None], lies), counts)
        both = np.outer([1 - flip(eps[0]), flip(eps[0])], [1 - flip(eps[1]), flip(eps[1])]).reshape(-1)
        agrees(joint.reshape(-1), both, tilted(both, tilt))


def test_fading_changed() -> None:
    law = np.outer(inner(FADING.scale, 2, 3), inner(FADING.scale / 8, 2, 1))
    counts = Scenario(FADING, 3, (1, 16), law, changes=(None, 1)).simulated()
    agrees(counts.reshape(-1), law.reshape(-1), tilted(law.reshape(-1), SIMULATED_TILT))
    wrong = np.outer(law.sum(axis=1), inner(FADING.scale / 8, 2, 3))
    agrees(counts.reshape(-1), law.reshape(-1), wrong.reshape(-1))


# --- Stored: which rounds repeat a slot ------------------------------------------------------------------------


def partitions(slots: int, rounds: int) -> FloatArray:
    """P(which rounds share a slot), indexed by the first round that each round shares its slot with."""
    law = np.zeros((rounds,) * rounds)
    for drawn in product(range(slots), repeat=rounds):
        law[tuple(drawn.index(slot) for slot in drawn)] += slots**-rounds
    return law


def first_equal(reports: NDArray[np.uint64]) -> Counts:
    """For each report of a row, the first round that has the same one."""
    firsts: Counts = (reports[:, :, None] == reports[:, None, :]).argmax(axis=2).astype(np.int64)
    return firsts


@pytest.mark.parametrize("path", ["client", "simulated"])
@pytest.mark.parametrize("slots", [3, 6])
def test_which_rounds_repeat_a_slot(path: str, slots: int) -> None:
    """Executions over 60 bits never coincide by chance (2^-60 · pairs), so equal reports are equal slots."""
    mechanism = Stored(NoisyInnerProduct(bits=60, eps=1.0, width=1), slots)
    rounds = 4
    if path == "client":
        clients = [mechanism.client(5) for _ in range(CLIENTS)]
        reports = np.array([[c.report(t + 1) for t in range(rounds)] for c in clients], dtype=np.uint64)
    else:
        population = np.full(SIMULATED // 2, 5)
        reports = np.concatenate([b.reports for b in mechanism.simulate(population, rounds=rounds, seed=5)])
    law = partitions(slots, rounds)
    positions = np.ravel_multi_index(tuple(first_equal(reports).T), law.shape)
    counts = histogram(positions, law.reshape(-1))
    tilt = 0.045 if path == "client" else 0.02
    agrees(counts, law.reshape(-1), tilted(law.reshape(-1), tilt))
    agrees(counts, law.reshape(-1), partitions(slots + 1, rounds).reshape(-1))


# --- RAPPOR: two reports of a set bit and of an unset bit ------------------------------------------------------


@pytest.mark.parametrize("path", ["client", "simulated"])
@pytest.mark.parametrize(("p", "q"), [(0.2, 0.75), (0.9, 0.3)])
def test_rappor_two_reports_of_a_bit(path: str, p: float, q: float) -> None:
    width, f, value = 8, 0.4, "Grace"
    digest = hashlib.md5(bytes(4) + b"Grace", usedforsecurity=False).digest()
    positions = {digest[0] % width, digest[1] % width}
    assert len(positions) == 2
    mechanism = Rappor(bloom_bits=width, hashes=2, f=f, p=p, q=q)
    if path == "client":
        clients = [mechanism.client(value) for _ in range(30_000)]
        reports = np.array([[c.report(1), c.report(2)] for c in clients])
        bits = reports[:, :, None] >> np.arange(width) & 1
    else:
        batches = mechanism.simulate(np.full(SIMULATED // 2, value), rounds=2, seed=6)
        bits = np.unpackbits(np.concatenate([b.reports for b in batches]), axis=-1, bitorder="little").astype(
            np.int64
        )
    pairs = 2 * bits[:, 0, :] + bits[:, 1, :]
    for one, chosen in ((1 - f / 2, sorted(positions)), (f / 2, sorted(set(range(width)) - positions))):
        law = kept_bit(one, q, p)
        counts = histogram(pairs[:, chosen], law.reshape(-1))
        agrees(
            counts, law.reshape(-1), tilted(law.reshape(-1), CLIENT_TILT if path == "client" else SIMULATED_TILT)
        )
        agrees(counts, law.reshape(-1), independent(law).reshape(-1))
        if path == "simulated":
            agrees(counts, law.reshape(-1), kept_bit(one - 0.05 * (2 * one - 1), q, p).reshape(-1))


def test_rappor_bits_are_independent() -> None:
    """Neighbouring positions of one report: what a simulation that reuses words would get wrong."""
    mechanism = Rappor(bloom_bits=13, hashes=2, f=0.5, p=0.25, q=0.75)
    bloom = mechanism.bloom("Grace")
    clear = [i for i in range(12) if not bloom >> i & 1 and not bloom >> (i + 1) & 1]
    one = 0.25 * 0.75 + 0.75 * 0.25
    law = np.outer([1 - one, one], [1 - one, one]).reshape(-1)
    batches = mechanism.simulate(np.full(SIMULATED, "Grace"), rounds=1, seed=7)
    reports = np.concatenate([b.reports[:, 0, :] for b in batches])
    bits = np.unpackbits(reports, axis=-1, bitorder="little").astype(np.int64)
    assert not bits[:, 13:].any()
    for position in clear[:3]:
        agrees(histogram(2 * bits[:, position] + bits[:, position + 1], law), law, tilted(law, SIMULATED_TILT))
