"""L-GRR and LOLOHA: their budgets, samplers, likelihoods and estimates; LOLOHA's experiments with its hash."""

import itertools
import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.enumeration import FiniteMechanism, Law, Stream, streams_factor
from tests.mechanisms.exact_laws import agrees, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods
from tests.oracles import subsets
from tests.theory.test_factorisations import GAMMAS, assert_dominates, assert_equal
from tests.theory.test_symbol_factors import oracle
from untrackable.arrays import FloatArray
from untrackable.errors import StateError, ValueChangeRefused
from untrackable.mechanisms.kept_symbol import Lgrr, Step, steps_for
from untrackable.mechanisms.loloha import Loloha, best_symbols
from untrackable.theory import Experiment
from untrackable.theory.factor import Factor

STEPS: list[Step] = ["published", "exact"]


# --- budgets -----------------------------------------------------------------------------------------------------


@given(st.sampled_from(STEPS), st.floats(0.1, 12.0), st.floats(0.02, 0.98), st.integers(2, 2000))
def test_budgets_keep_both_promises(step: Step, eps: float, share: float, values: int) -> None:
    mechanism = Lgrr.for_budget(values=values, eps=eps, eps_report=share * eps, step=step)
    assert mechanism.privacy().pure() <= eps
    assert mechanism.privacy().pure() == pytest.approx(eps, rel=1e-8)
    one = mechanism.privacy(reports=1).pure()
    assert one <= share * eps
    if step == "exact" or values == 2:
        assert one == pytest.approx(share * eps, rel=1e-6)


def test_published_second_steps_are_noisier_than_they_need_to_be() -> None:
    """(e^(ε+ε₁)-1)/(e^ε-e^ε₁), the odds of the truth against one other symbol, leaves out all third symbols."""
    for values in (2, 8, 100):
        mechanism = Lgrr.for_budget(values=values, eps=2.0, eps_report=1.0)
        odds = mechanism.tell * (values - 1) / (1 - mechanism.tell)
        assert odds == pytest.approx((math.exp(3) - 1) / (math.exp(2) - math.exp(1)), rel=1e-9)
        assert mechanism.keep == pytest.approx(math.exp(2) / (math.exp(2) + values - 1))
    assert mechanism.privacy(reports=1).pure() == pytest.approx(0.165608, rel=1e-5)  # 100 values: promised is 1
    exact = Lgrr.for_budget(values=100, eps=2.0, eps_report=1.0, step="exact")
    assert mechanism.accuracy(1000).standard_error > 9 * exact.accuracy(1000).standard_error


def variance(symbols: int, eps: float, eps_report: float, step: Step) -> float:
    """Of one report's part of an estimate, for a value that its sender does not hold."""
    keep, tell = steps_for(symbols, eps, eps_report, step)
    there, elsewhere = keep * tell + (1 - keep) * (1 - tell) / (symbols - 1), 1 / symbols
    return elsewhere * (1 - elsewhere) / (there - elsewhere) ** 2


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("share", [0.1, 0.4, 0.6, 0.9])
@pytest.mark.parametrize("eps", [0.5, 2.0, 3.0, 5.0, 7.0])
def test_the_best_number_of_symbols(eps: float, share: float, step: Step) -> None:
    """The formula rounds the real minimum, so it may be one off the best integer, at most 2.2% of variance."""
    found = best_symbols(eps, share * eps, step)
    best = min(range(2, 1500), key=lambda g: variance(g, eps, share * eps, step))
    assert abs(found - best) <= 1
    assert variance(found, eps, share * eps, step) <= 1.022 * variance(best, eps, share * eps, step)
    if step == "published" and eps < 6:
        a, b = math.exp(eps), math.exp(share * eps)
        root = math.sqrt(a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1)
        assert found == 1 + max(1, round((1 - a**2 + root) / (6 * (a - b))))


def test_presets() -> None:
    assert Lgrr.preset("example").privacy().pure() == pytest.approx(2.0)
    two, best = Loloha.preset("BiLOLOHA"), Loloha.preset("OLOLOHA")
    assert (two.values, two.symbols, best.symbols) == (360, 2, 8)
    assert best == Loloha.for_budget("OLOLOHA", values=360, eps=5.0, eps_report=2.0)
    assert two == Loloha.for_budget("BiLOLOHA", values=360, eps=5.0, eps_report=2.0)
    assert best.accuracy(1000).standard_error < two.accuracy(1000).standard_error
    for mechanism in (two, best):
        assert mechanism.privacy().pure() == pytest.approx(5.0)
        assert mechanism.privacy(reports=1).pure() <= 2.0
        assert mechanism.tracking(reports=2).advantage().lower > 0.9999  # the seed


# --- the hash ----------------------------------------------------------------------------------------------------

WHOLE = 1 << 64


def mixed(word: int) -> int:
    """SplitMix64's finaliser in integers of any size."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> shift) * factor % WHOLE
    return word ^ word >> 31


def test_hash_is_as_specified() -> None:
    golden = 0x9E3779B97F4A7C15
    assert mixed(golden) == 0xE220A8397B1DCDAF  # the first output of SplitMix64 seeded with 0
    for symbols, bits in ((2, 32), (7, 48), (4096, 1)):
        mechanism = Loloha(values=4096, symbols=symbols, keep=0.9, tell=0.9, seed_bits=bits)
        for seed, value in itertools.product((0, 1, (1 << bits) - 1), (0, 1, 4095)):
            key = mixed((seed + 1) * golden % WHOLE)
            assert mechanism.hashed(seed, value) == mixed(key ^ (value + 1) * golden % WHOLE) % symbols


@pytest.mark.parametrize("symbols", [2, 5])
def test_hash_separates_values_as_often_as_chance(symbols: int) -> None:
    """Over 2^16 seeds; nothing is drawn here, so it holds once and for all."""
    mechanism = Loloha(values=4096, symbols=symbols, keep=0.9, tell=0.9, seed_bits=16)
    seeds, values = np.arange(1 << 16, dtype=np.uint64), [0, 1, 2, 3, 17, 1024, 4095]
    hashes = {v: mechanism._hashes(seeds, np.array([v], dtype=np.uint64)) for v in values}
    deviation = math.sqrt((1 / symbols) * (1 - 1 / symbols) / seeds.size)
    for one, other in itertools.combinations(values, 2):
        assert abs(np.mean(hashes[one] == hashes[other]) - 1 / symbols) < 4.5 * deviation
    for found in hashes.values():
        assert np.abs(np.bincount(found.astype(np.int64)) / seeds.size - 1 / symbols).max() < 4.5 * deviation


# --- LOLOHA's experiments ----------------------------------------------------------------------------------------

TINY = Loloha(values=5, symbols=3, keep=0.7, tell=0.6, seed_bits=2)
PAIR = Loloha(values=4, symbols=2, keep=0.8, tell=0.7, seed_bits=1)


def definition(mechanism: Loloha) -> FiniteMechanism:
    """A uniform seed, and a kept symbol for the one that the value is hashed to; a report shows seed and symbol."""
    m, plain = mechanism, oracle(mechanism.symbols, mechanism.keep, mechanism.tell)

    def state(value: Hashable) -> Law:
        assert isinstance(value, int)
        law: dict[Hashable, float] = {}
        for seed in range(1 << m.seed_bits):
            for kept, chance in plain.state(m.hashed(seed, value)).items():
                law[seed, kept] = chance / (1 << m.seed_bits)
        return law

    def report(state: Hashable, round: int) -> Law:
        assert isinstance(state, tuple)
        return {(state[0], told): chance for told, chance in plain.report(state[1], round).items()}

    return FiniteMechanism(range(m.values), state, report)


def sequence_law(mechanism: Loloha, values: tuple[int, ...]) -> dict[Stream, float]:
    """One client, a seed and a kept symbol for every symbol, whose value at round t is values[t-1]."""
    m, plain = mechanism, oracle(mechanism.symbols, mechanism.keep, mechanism.tell)
    total: dict[Stream, float] = {}
    rounds = range(1, len(values) + 1)
    for seed in range(1 << m.seed_bits):
        hashed = [m.hashed(seed, v) for v in values]
        parts = [(s, [r for r in rounds if hashed[r - 1] == s]) for s in sorted(set(hashed))]
        for stream, chance in plain.several_people(parts).items():
            total[tuple((seed, told) for told in stream)] = chance / (1 << m.seed_bits)
    return total


@pytest.mark.parametrize("mechanism", [TINY, PAIR])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_loloha_experiments(mechanism: Loloha, reports: int) -> None:
    truth, rounds = definition(mechanism), list(range(1, reports + 1))
    pairs = list(itertools.permutations(range(mechanism.values), 2))[:5]
    for one, other in pairs:
        assert_dominates(mechanism.privacy(reports=reports), truth.privacy(one, other, rounds))
    for first in subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), truth.tracking(1, rounds, first))
        if len(first) == reports:
            assert mechanism.detection(rounds=rounds, first=first).pure() == 0
            continue
        fresh = mechanism.detection(rounds=rounds, first=first)
        same = mechanism.detection(rounds=rounds, first=first, after="same")
        for one, other in pairs[:3]:
            assert_dominates(fresh, truth.detection(one, other, rounds, first))
            changed = tuple(one if r in first else other for r in rounds)
            steady = sequence_law(mechanism, (one,) * reports)
            assert_dominates(same, streams_factor(steady, sequence_law(mechanism, changed)))


def test_loloha_pure_bounds_are_attained() -> None:
    """Any seed that separates two values shows as much as all of them would."""
    for mechanism in (TINY, PAIR):
        pairs = itertools.combinations(range(mechanism.values), 2)
        truths = [Experiment([definition(mechanism).privacy(a, b, [1, 2])]) for a, b in pairs]
        found = mechanism.privacy(reports=2)
        assert found.pure() == pytest.approx(max(truth.pure() for truth in truths))
        assert any(truth.pure() == 0 for truth in truths) or mechanism is TINY  # two values that always collide
    assert any(TINY.hashed(seed, 0) != TINY.hashed(seed, 1) for seed in range(4))
    changed = streams_factor(sequence_law(TINY, (0, 0, 0)), sequence_law(TINY, (0, 1, 1)))
    same = TINY.detection(reports=3, split=1, after="same")
    assert same.pure() == pytest.approx(Experiment([changed]).pure())


def test_any_sequence_of_values_is_bounded() -> None:
    bound = PAIR.privacy(reports=3, values="any")
    laws = [sequence_law(PAIR, s) for s in itertools.product(range(PAIR.values), repeat=3)]
    truths = [
        Experiment([streams_factor(a, b)])
        for a, b in itertools.islice(itertools.combinations(laws, 2), 0, None, 17)
    ]
    assert bound.certainty == "upper"
    for gamma in GAMMAS:
        assert bound.delta(gamma).upper >= max(t.delta(gamma).upper for t in truths)
    assert PAIR.privacy(values="any").advantage().upper == 1
    lgrr = Lgrr(values=3, keep=0.5, tell=0.6).privacy(reports=2, values="any")
    assert lgrr.pure() == pytest.approx(2 * math.log(0.6 * 2 / 0.4))


def apart(keep: float, tell: float, symbols: int, one: tuple[int, ...], other: tuple[int, ...]) -> Factor:
    """Two sequences of hashed symbols, one kept symbol for each, under a given seed."""
    plain = oracle(symbols, keep, tell)

    def law(sequence: tuple[int, ...]) -> dict[Stream, float]:
        rounds = range(1, len(sequence) + 1)
        parts = [(s, [r for r in rounds if sequence[r - 1] == s]) for s in sorted(set(sequence))]
        return plain.several_people(parts)

    return streams_factor(law(one), law(other))


def test_no_multiple_of_eps_covers_all_sequences() -> None:
    """Someone who changes to and fro against someone who stays: the pattern shows, more with every report."""
    keep, tell, symbols = 0.6, 0.9, 2
    eps = math.log(keep / (1 - keep))
    losses = [Experiment([apart(keep, tell, symbols, (0, 1) * n, (0,) * 2 * n)]).pure() for n in (1, 2, 3, 4)]
    steps = np.diff(losses)
    assert np.all(steps > 0.9 * math.log(tell / (1 - tell)))  # ln ρ for every further pair of reports
    assert losses[0] > symbols * eps  # the published g·ε, exceeded by two reports
    # What does hold: sequences that repeat at the same rounds cost ε for each symbol that they use.
    same_pattern = Experiment([apart(keep, tell, symbols, (0, 1, 0, 1, 1), (1, 0, 1, 0, 0))])
    assert same_pattern.pure() <= 2 * eps
    three = Experiment([apart(0.6, 0.8, 3, (0, 1, 2, 0, 1), (1, 2, 0, 1, 2))])
    assert three.pure() <= 3 * math.log(0.6 * 2 / 0.4)


# --- samplers ----------------------------------------------------------------------------------------------------


def joint(symbols: int, keep: float, tell: float, patterns: tuple[int, ...]) -> FloatArray:
    """Law of reports about kept symbols, those with equal numbers about the same one; as `indexed`."""
    plain = oracle(symbols, keep, tell)
    parts = [(0, [r for r, p in enumerate(patterns) if p == n]) for n in sorted(set(patterns))]
    law = plain.several_people(parts)
    return np.array([law[s] for s in itertools.product(range(symbols), repeat=len(patterns))])


def indexed(columns: Any, symbols: int) -> Any:
    """Rows of symbols as numbers in base g."""
    total = np.zeros(len(columns), dtype=np.int64)
    for column in np.asarray(columns).astype(np.int64).T:
        total = symbols * total + column
    return total


def test_lgrr_samplers_follow_their_law() -> None:
    """Two reports of one client, relative to its value."""
    mechanism = Lgrr(values=3, keep=0.6, tell=0.5)
    law = joint(3, 0.6, 0.5, (0, 0))
    drawn = []
    for i in range(20_000):
        client = mechanism.client(i % 3)
        drawn.append([(client.report(r) - i) % 3 for r in (1, 2)])
    values = np.arange(600_000) % 3
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=2, seed=3)])
    simulated = (reports.astype(np.int64) - values[:, None]) % 3
    for sample, tilt in ((drawn, 0.08), (simulated, 0.016)):
        agrees(np.bincount(indexed(sample, 3), minlength=9), law, tilted(law, tilt))


def test_loloha_samplers_follow_their_law() -> None:
    """Seeds are uniform; three reports, of a value, of another with another symbol, and of the first again."""
    mechanism = Loloha(values=6, symbols=3, keep=0.6, tell=0.5, seed_bits=3)
    law, seeds_law = joint(3, 0.6, 0.5, (0, 1, 0)), np.full(8, 1 / 8)
    drawn = np.empty((20_000, 3), dtype=np.uint64)
    for row in drawn:
        client = mechanism.client(4)
        row[:] = client.report(1), client.report(2, 1), client.report(3, 4)
    sequences = np.tile([4, 1, 4], (600_000, 1))
    simulated = np.concatenate([b.reports for b in mechanism.simulate(sequences, rounds=3, seed=4)])
    for sample, tilt in ((drawn, 0.1), (simulated, 0.02)):
        seeds, told = mechanism._parts(sample)
        assert np.all(seeds == seeds[:, :1])
        counts = np.bincount(seeds[:, 0].astype(np.int64), minlength=8)
        agrees(counts, seeds_law, tilted(seeds_law, tilt))
        hashes = mechanism._hashes(seeds, np.array([[4, 1, 4]], dtype=np.uint64))
        separate = hashes[:, 0] != hashes[:, 1]
        off = (told.astype(np.int64) - hashes.astype(np.int64)) % 3
        agrees(np.bincount(indexed(off[separate], 3), minlength=27), law, tilted(law, tilt))
        # Where the two values collide, nothing changes.
        one = joint(3, 0.6, 0.5, (0, 0, 0))
        if separate.sum() < len(separate):
            agrees(np.bincount(indexed(off[~separate], 3), minlength=27), one, tilted(one, 2 * tilt))


def test_loloha_simulates_fixed_values_too() -> None:
    mechanism = Loloha(values=6, symbols=3, keep=0.6, tell=0.5, seed_bits=20)
    law = joint(3, 0.6, 0.5, (0, 0))
    reports = np.concatenate([b.reports for b in mechanism.simulate(np.full(300_000, 5), rounds=2, seed=9)])
    seeds, told = mechanism._parts(reports)
    off = (told.astype(np.int64) - mechanism._hashes(seeds, np.array([5], dtype=np.uint64)).astype(np.int64)) % 3
    agrees(np.bincount(indexed(off, 3), minlength=9), law, tilted(law, 0.02))


# --- likelihoods -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("values", "keep", "tell"), [(2, 0.7, 0.8), (3, 0.6, 0.9), (4, 0.9, 0.3), (3, 0.5, 1.0)])
def test_lgrr_likelihoods(values: int, keep: float, tell: float) -> None:
    mechanism = Lgrr(values=values, keep=keep, tell=tell)
    truth = oracle(values, keep, tell)
    if tell < 1:
        assert_likelihoods(mechanism, truth, (1, 1), np.uint64, 4)
    found = mechanism.log_likelihood(np.array([[0, 0], [1, 1], [0, 1]], dtype=np.uint64), 1, [1, 2])
    law = truth.streams(1, [1, 2])
    with np.errstate(divide="ignore"):
        expected = np.log([law[0, 0], law[1, 1], law[0, 1]])
    assert found - found[0] == pytest.approx(expected - expected[0])


def test_scores_of_pairs_one_by_one_are_the_same() -> None:
    """What is used where powers of ρ would underflow."""
    mechanism = Lgrr(values=50, keep=0.6, tell=0.9)
    (batch,) = mechanism.simulate(np.full(40, 7), rounds=9, seed=1)
    first, second = batch.reports[:, :4], batch.reports[:, 4:]
    assert mechanism._together(first, second, 7) == pytest.approx(mechanism._together_by_pair(first, second, 7))
    sharp = Lgrr(values=1 << 20, keep=0.6, tell=1 - 2.0**-53)
    (batch,) = sharp.simulate(np.full(3, 7), rounds=40, seed=1)
    batch.reports[0, :15] = batch.reports[1, 20:35]  # one user's with another's, which no powers of ρ may hide
    scores = sharp.link_scores(batch.reports[:, :20], batch.reports[:, 20:], 7)
    assert np.all(np.isfinite(scores))


@pytest.mark.parametrize("mechanism", [TINY, PAIR])
def test_loloha_likelihoods(mechanism: Loloha) -> None:
    def encode(report: Any) -> Any:
        return np.uint64(report[0] << mechanism.symbol_bits | report[1])

    assert_likelihoods(mechanism, definition(mechanism), (3, 3), encode, 3)


# --- estimates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        Lgrr.for_budget(values=7, eps=3.0, eps_report=1.0, step="exact"),
        Loloha.for_budget("BiLOLOHA", values=7, eps=3.0, eps_report=1.0),
        Loloha.for_budget("OLOLOHA", values=7, eps=5.0, eps_report=2.5),
    ],
)
def test_estimates(mechanism: Lgrr | Loloha) -> None:
    truth = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05, 0.0])
    values = np.repeat(np.arange(7), np.rint(truth * 200_000).astype(int))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(values, rounds=1, seed=2):
        sums.add(batch.reports)
    found = sums.estimate()
    assert np.all(np.abs(found.frequencies - truth) < 6 * found.standard_error)
    assert np.all(np.abs(found.frequencies - truth) < found.simultaneous_radius)
    assert mechanism.accuracy(200_000).standard_error == pytest.approx(found.standard_error[-1], rel=0.05)
    again = mechanism.aggregator().add([mechanism.client(3).report(1) for _ in range(10)])
    assert again.merge(mechanism.aggregator().add([0])).n == 11
    with pytest.raises(ValueError, match="a report must be between 0 and"):
        mechanism.aggregator().add([1 << mechanism.report_bits])


def test_a_symbol_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="a symbol below 3"):
        TINY.aggregator().add([3])
    with pytest.raises(ValueError, match="between 0 and 4"):
        Lgrr(values=5, keep=0.5, tell=0.5).aggregator().add(np.array([5], dtype=np.uint64))


# --- states and refusals -----------------------------------------------------------------------------------------


def test_states() -> None:
    lgrr, loloha = Lgrr(values=5, keep=0.5, tell=0.5), Loloha(values=9, symbols=5, keep=0.5, tell=0.5, seed_bits=12)
    for mechanism in (lgrr, loloha):
        client = mechanism.client(4)
        state = client.to_bytes()
        assert mechanism.restore(state).to_bytes() == state
        client.report(1)
        assert client.to_bytes() == state
        for damaged in (state[:-1], state[:-5] + bytes([state[-5] ^ 1]) + state[-4:], b""):
            with pytest.raises(StateError):
                mechanism.restore(damaged)
    with pytest.raises(StateError):
        loloha.restore(lgrr.client(1).to_bytes())
    for mechanism, payload in ((lgrr, b"\x05"), (loloha, b"\0\1" + b"\x05" * 6), (loloha, b"\0")):
        with pytest.raises(StateError):
            mechanism.unpack_state(payload)
    client = loloha.client(4)
    before = client.to_bytes()
    client.report(1, 5)
    client.report(2, 4)
    assert client.to_bytes() == before  # what is kept stays, whatever the value was in between
    with pytest.raises(ValueChangeRefused):
        lgrr.client(1).report(1, 2)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="value must be between 0 and 4") as caught:
        Lgrr(values=5, keep=0.5, tell=0.5).client(48879)
    assert "48879" not in str(caught.value)
    with pytest.raises(ValueError, match="value must be between 0 and 8") as caught:
        Loloha(values=9, symbols=5, keep=0.5, tell=0.5).client(2).report(1, 48879)
    assert "48879" not in str(caught.value)
    with pytest.raises(ValueError, match=r"keep must be above 1/values, 0\.2, got 0\.2"):
        Lgrr(values=5, keep=0.2, tell=0.5)
    with pytest.raises(ValueError, match=r"tell must be above 1/symbols, 0\.5, got 0\.4"):
        Loloha(values=5, symbols=2, keep=0.7, tell=0.4)
    with pytest.raises(ValueError, match="keep must be between 0 and 1"):
        Lgrr(values=5, keep=1.2, tell=0.5)
    with pytest.raises(TypeError, match="values must be an integer"):
        Lgrr(values=2.5, keep=0.7, tell=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed_bits must be between 1 and 48, got 64"):
        Loloha(values=5, symbols=2, keep=0.7, tell=0.6, seed_bits=64)
    with pytest.raises(ValueError, match=r"eps_report must be below eps, 1\.0, got 2\.0"):
        Lgrr.for_budget(values=5, eps=1.0, eps_report=2.0)
    with pytest.raises(ValueError, match="name must be one of BiLOLOHA, OLOLOHA"):
        Loloha.for_budget("LOLOHA", values=5, eps=2.0, eps_report=1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 4096 symbols are possible"):
        Loloha.for_budget("OLOLOHA", values=5, eps=20.0, eps_report=12.0)
