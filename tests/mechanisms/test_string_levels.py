"""Levels: the level of every execution drawn for itself, factors by enumeration, sums that add and merge."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from tests import oracles
from tests.enumeration import Law
from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods
from tests.mechanisms.test_vectors import Tape, flip, groups, integers, local, seal
from tests.promised_radii import CLOSE, widest_radius
from tests.recorded_entropy import Recorded
from untrackable import Dealt, Fresh, Memoized, NoisyInnerProduct, RandomizedResponse, Stored, framing
from untrackable.arrays import FloatArray
from untrackable.errors import MergeError, SumsError
from untrackable.mechanisms import Levelled
from untrackable.mechanisms.string_levels import LevelAggregator
from untrackable.mechanisms.views import LevelLayout
from untrackable.randomizers import randomness
from untrackable.theory.experiment import Experiment

BASE = NoisyInnerProduct(bits=2, eps=1.2, width=1)
LEVELLED = Levelled(BASE, 3)
VALUE = 0b10_01_11
DRAWN = 120_000


def law(value: Hashable) -> Law:
    """A uniform level, and the noisy inner product of that part."""
    assert isinstance(value, int)
    outcomes: dict[Hashable, float] = {}
    for level in range(3):
        for report, chance in oracles.inner_product(2, 1.2)(value >> 2 * level & 3).items():
            outcomes[level, report] = chance / 3
    return outcomes


def number(report: Any) -> int:
    level, (vector, bit) = report
    return int(level << 3 | vector << 1 | bit)


def parts(value: int) -> list[int]:
    return [LEVELLED.part(value, level) for level in range(3)]


def as_vector(value: int) -> FloatArray:
    found = np.zeros(1 << LEVELLED.report_bits)
    for report, chance in law(value).items():
        found[number(report)] = chance
    return found


def test_shape() -> None:
    assert (LEVELLED.values, LEVELLED.report_bits) == (64, 5)
    assert parts(VALUE) == [3, 1, 2]
    possible = [report for report in range(-3, 40) if LEVELLED.possible(report)]
    assert possible == sorted(number(report) for report in law(0))


@pytest.mark.parametrize("value", [0, VALUE])
def test_clients_and_simulation_follow_the_law(value: int) -> None:
    exact = as_vector(value)
    drawn = [LEVELLED.draw(value, randomness.system) for _ in range(DRAWN)]
    agrees(histogram(drawn, exact), exact, tilted(exact, 0.04))
    fresh = Fresh(LEVELLED)
    (batch,) = fresh.simulate([parts(value)] * DRAWN, rounds=2, seed=3)
    for column in batch.reports.T:
        agrees(histogram(column.astype(np.int64), exact), exact, tilted(exact, 0.04))


def test_levels_are_drawn_for_every_slot() -> None:
    """The levels of two cards of a deck, and of two reports, are independent, not balanced and not the client's."""
    cards = np.array([Dealt(LEVELLED, 2).new_state(VALUE, randomness.system).cards for _ in range(DRAWN)]) >> 3
    fair = np.full(9, 1 / 9)
    agrees(histogram(3 * cards[:, 0] + cards[:, 1], fair), fair, tilted(fair, 0.04))
    (batch,) = Dealt(LEVELLED, 2).simulate([parts(VALUE)] * DRAWN, rounds=2, seed=4)
    levels = (batch.reports >> np.uint64(3)).astype(np.int64)
    agrees(histogram(3 * levels[:, 0] + levels[:, 1], fair), fair, tilted(fair, 0.04))


def test_privacy_is_the_worst_pair_of_values_by_enumeration() -> None:
    claimed = Experiment([LEVELLED.privacy_factor()])
    for gamma in (0.0, 0.3, 0.9, 1.3):
        worst = max(
            sum(max(0.0, p - math.exp(gamma) * law(other)[report]) for report, p in law(VALUE).items())
            for other in range(64)
        )
        assert claimed.delta(gamma).upper == pytest.approx(worst, rel=1e-9)
    assert LEVELLED.certainty == "exact"


def test_repeats_by_enumeration() -> None:
    """One report seen twice, or two reports that happen to be equal."""
    chances = list(law(VALUE).values())
    for gamma in (0.0, 1.0, 3.0):
        once = [(p, p * p) for p in chances]
        apart = 1 - sum(q for _, q in once)
        there = sum(max(0.0, p - math.exp(gamma) * q) for p, q in once)
        back = sum(max(0.0, q - math.exp(gamma) * p) for p, q in once) + apart
        found = Experiment([LEVELLED.repeat_factor()]).delta(gamma)
        assert found.upper == pytest.approx(max(there, back), rel=1e-9)
    single = Levelled(BASE, 1)
    assert np.allclose(single.repeat_factor().q, BASE.repeat_factor().q)


def test_likelihoods_by_enumeration() -> None:
    for mechanism, oracle in (
        (Fresh(LEVELLED), oracles.stateless(lambda value, round: law(value), 64)),
        (Stored(LEVELLED, 2), oracles.stored(law, 2, 64)),
        (Memoized(LEVELLED), oracles.stored(law, 1, 64)),
    ):
        assert_likelihoods(mechanism, oracle, (VALUE, VALUE), lambda r: np.uint64(number(r)), 2)


def test_impossible_reports_have_no_likelihood() -> None:
    assert np.isneginf(LEVELLED.log_likelihood(np.array([3 << 3 | 2], dtype=np.uint64), VALUE)).all()


def test_entropy_is_the_level_first() -> None:
    levels = Levelled(NoisyInnerProduct(bits=4, eps=1.0, width=1), 3)
    value, never = 0x5A3, b"\xff" * 8
    tape = Recorded(b"\x00" * 7 + b"\x05" + b"\x06" + never)  # 5 mod 3 = 2: the part 5; vector 6: ⟨6, 5⟩ = 1
    assert levels.draw(value, tape) == 2 << 5 | 6 << 1 | 1
    assert tape.used == 17


def test_independent_client_reproduces_every_case() -> None:
    """Level first, then the base about that part; and the package restores what is recorded."""
    extra = 0
    for kind, group in groups("levelled"):
        given = group["parameters"]
        base, levels, slots = local(given), given["levels"], given["slots"]
        level_bits = len(bin(levels - 1)) - 2 if levels > 1 else 0
        assert (kind, group["thresholds"]["flip"]) == ("Levelled", str(flip(base.eps, 1 << base.width)))
        made = NoisyInnerProduct(bits=base.bits, eps=base.eps, width=base.width)
        mechanism = Dealt(Levelled(made, levels), slots)
        assert framing.identity(mechanism).decode() == group["mechanism"]
        for case in group["cases"]:
            tape = Tape(bytes.fromhex(case["entropy"]))
            cards = []
            for _ in range(slots):
                level = tape.below(levels)
                part = int(case["value"]) >> base.bits * level & ((1 << base.bits) - 1)
                cards.append(level << base.report_bits | base.draw(part, tape))
            assert tape.at == len(tape.data)
            assert [int(report) for report in case["reports"]] == cards[: len(case["rounds"])]
            payload = bytes((slots + 7) // 8) + integers(cards, base.report_bits + level_bits)
            assert seal(group["mechanism"], payload).hex() == case["state"]
            assert mechanism.restore(bytes.fromhex(case["state"])).report(1) == cards[0]
            extra += tape.data.startswith(b"\xff" * 8)
    assert extra == 2


@pytest.mark.parametrize(
    ("base_bits", "levels"), [(5, 1), (21, 3), (62, 4), (63, 4), (64, 1), (64, 3), (126, 5), (131, 9)]
)
def test_levels_above_reports_of_any_width(base_bits: int, levels: int) -> None:
    layout = LevelLayout(base_bits, levels)
    rng = np.random.default_rng(base_bits)
    rest = [int.from_bytes(rng.bytes(32)) % (1 << base_bits) for _ in range(50)] + [(1 << base_bits) - 1, 0]
    above = rng.integers(0, levels, len(rest), dtype=np.uint64)
    size = -(-base_bits // 8)
    given = (
        np.array(rest, dtype=np.uint64)
        if base_bits <= 64
        else np.array([list(number.to_bytes(size, "little")) for number in rest], dtype=np.uint8)
    )
    joined = layout.joined(above, given)
    whole = [int(level) << base_bits | number for level, number in zip(above, rest, strict=True)]
    if layout.bytes:
        assert [int.from_bytes(bytes(row), "little") for row in joined] == whole
    else:
        assert joined.tolist() == whole
    back, again = layout.split(joined)
    assert np.array_equal(back, above)
    assert np.array_equal(again, given)


@pytest.mark.parametrize(("bits", "width", "levels"), [(2, 2, 3), (20, 3, 3), (20, 6, 3), (9, 8, 16)])
def test_wide_answers_have_levels_too(bits: int, width: int, levels: int) -> None:
    """Words become bytes, within the base or by the level alone: what is sent one by one adds up to the same."""
    mechanism = Fresh(Levelled(NoisyInnerProduct(bits=bits, eps=3.0, width=width), levels))
    values = np.random.default_rng(1).integers(0, 1 << bits, (500, levels))
    (batch,) = mechanism.simulate(values, rounds=1, seed=2)
    sums = mechanism.aggregator().add(batch.reports)
    rows = batch.reports[:, 0]
    numbers = [int.from_bytes(bytes(r), "little") for r in rows] if rows.ndim == 2 else rows.tolist()
    assert all(mechanism.base.possible(number) for number in numbers)
    assert mechanism.aggregator().add(numbers).to_bytes() == sums.to_bytes()
    assert np.all(np.isfinite(mechanism.log_likelihood(batch.reports, 5, [1])))
    client = mechanism.client((1 << bits * levels) - 1)
    report = client.report(1)
    assert mechanism.base.possible(report)
    assert report < 1 << mechanism.report_bits
    before = sums.to_bytes()
    with pytest.raises(ValueError, match="levels"):
        sums.add([*numbers, 0])  # vectors that are not independent
    assert sums.to_bytes() == before


def test_wide_answers_follow_their_law() -> None:
    base = NoisyInnerProduct(bits=2, eps=1.5, width=2)
    wide, value = Levelled(base, 2), 0b1101
    every = np.array([r for r in range(1 << wide.report_bits) if wide.possible(r)], dtype=np.uint64)
    exact = np.exp(wide.log_likelihood(every, value))
    assert exact.sum() == pytest.approx(1, rel=1e-12)
    (batch,) = Fresh(wide).simulate([[wide.part(value, i) for i in range(2)]] * DRAWN, rounds=1, seed=5)
    agrees(histogram(np.searchsorted(every, batch.reports[:, 0]), exact), exact, tilted(exact, 0.05))
    drawn = np.array([wide.draw(value, randomness.system) for _ in range(DRAWN)], dtype=np.uint64)
    agrees(histogram(np.searchsorted(every, drawn), exact), exact, tilted(exact, 0.05))


def collected(n: int = 3000, seed: int = 1) -> tuple[LevelAggregator, "np.ndarray"]:
    (batch,) = Fresh(LEVELLED).simulate([parts(VALUE)] * n, rounds=1, seed=seed)
    sums = Fresh(LEVELLED).aggregator().add(batch.reports)
    assert isinstance(sums, LevelAggregator)
    return sums, batch.reports


def test_sums_add_and_merge_in_any_order() -> None:
    whole, reports = collected()
    first, second = (Fresh(LEVELLED).aggregator().add(half) for half in (reports[:1000], reports[1000:]))
    assert second.merge(first).to_bytes() == whole.to_bytes()
    assert Fresh(LEVELLED).aggregator().add(reports[::-1, 0].tolist()).to_bytes() == whole.to_bytes()
    assert Fresh(LEVELLED).restore_sums(whole.to_bytes()).to_bytes() == whole.to_bytes()
    assert sum(part.n for part in whole.parts) == whole.n == 3000
    with pytest.raises(MergeError):
        whole.merge(Fresh(Levelled(BASE, 2)).aggregator())
    with pytest.raises(SumsError, match="another mechanism"):
        Fresh(Levelled(BASE, 2)).restore_sums(whole.to_bytes())


@pytest.mark.parametrize("strange", [3 << 3 | 2, 1 << 3 | 1, 2 << 3, -1, 1 << 70])
def test_what_is_no_report_changes_nothing(strange: int) -> None:
    sums, reports = collected()
    before = sums.to_bytes()
    with pytest.raises(ValueError, match="levels"):
        sums.add([*reports[:50, 0].tolist(), strange])
    assert sums.to_bytes() == before
    if abs(strange) < 1 << 60:
        with pytest.raises(ValueError, match="levels"):
            sums.add(np.array([*reports[:50, 0].tolist(), strange], dtype=np.int64))
        assert sums.to_bytes() == before


def test_damaged_payloads_are_refused() -> None:
    sums, _ = collected()
    payload = sums._packed()
    before = sums.to_bytes()
    for damaged in (payload[:-8], payload[:40], payload + b"\x00" * 8):
        with pytest.raises(SumsError):
            sums._add_packed(memoryview(damaged), 3000)
    with pytest.raises(SumsError, match="as many"):
        sums._add_packed(memoryview(payload), 2999)
    assert sums.to_bytes() == before


def test_candidates_are_estimated_without_bias() -> None:
    """Over all reports there are: every report's contribution, weighted by its law, is the share of equal parts."""
    aggregate = Fresh(LEVELLED).aggregator()
    assert isinstance(aggregate, LevelAggregator)
    candidates = [VALUE, VALUE ^ 0b100, 0]
    mean = np.zeros(3)
    for report, chance in law(VALUE).items():
        found = Fresh(LEVELLED).aggregator().add([number(report)]).estimate(candidates=candidates)
        mean += chance * found.frequencies
    assert mean == pytest.approx([1, 2 / 3, 0], abs=1e-12)
    sums, _ = collected(100_000)
    estimate = sums.estimate(beta=1e-6, candidates=candidates)
    assert np.all(np.abs(estimate.frequencies - [1, 2 / 3, 0]) < estimate.radius)
    assert estimate.p_values()[0] < 1e-9
    accuracy = LEVELLED.accuracy(100_000, 1e-6)
    assert widest_radius(estimate) == pytest.approx(accuracy.radius, rel=CLOSE)
    assert np.all(estimate.radius <= accuracy.radius)
    with pytest.raises(ValueError, match="candidates must be given"):
        sums.estimate()
    with pytest.raises(ValueError, match="no reports"):
        aggregate.estimate(candidates=[0])


def test_populations_have_their_parts_along_a_last_axis() -> None:
    fresh = Fresh(LEVELLED)
    changing = np.zeros((5, 2, 3), dtype=np.int64)
    assert next(iter(fresh.simulate(changing, rounds=2, seed=1))).reports.shape == (5, 2)
    assert list(fresh.simulate(np.zeros((0, 3), dtype=np.int64), rounds=1, seed=1)) == []
    with pytest.raises(ValueError, match="3 parts along a last axis"):
        fresh.simulate([1, 2, 3], rounds=1, seed=1)
    with pytest.raises(ValueError, match="3 parts along a last axis"):
        fresh.simulate([[1, 2]], rounds=1, seed=1)
    with pytest.raises(ValueError, match="between 0 and 3"):
        fresh.simulate([[1, 2, 4]], rounds=1, seed=1)
    with pytest.raises(TypeError, match="integers"):
        fresh.simulate([[1.0, 2.0, 3.0]], rounds=1, seed=1)
    with pytest.raises(ValueError, match="one entry per client"):
        Stored(LEVELLED, 2).simulate(changing, rounds=2, seed=1)


def test_states_survive() -> None:
    deck = Dealt(LEVELLED, 4)
    client = deck.client(VALUE)
    again = deck.restore(client.to_bytes())
    assert [client.report(t) for t in range(1, 5)] == [again.report(t) for t in range(1, 5)]


def test_parameters_are_checked() -> None:
    with pytest.raises(TypeError, match="NoisyInnerProduct, not RandomizedResponse"):
        Levelled(RandomizedResponse(eps=1.0), 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="levels must be between 1 and 16, got 0"):
        Levelled(BASE, 0)
    with pytest.raises(ValueError, match="bits of the base must be between 1 and 26, got 27"):
        Levelled(NoisyInnerProduct(bits=27, eps=1.0), 2)
    with pytest.raises(ValueError, match="not shown"):
        LEVELLED.draw(64, randomness.system)


def test_one_level_of_reports_of_whole_bytes() -> None:
    """No bit tells the level, and none is looked for."""
    base = NoisyInnerProduct(bits=8, eps=6.0, width=8)
    assert base.report_bits == 72
    mechanism = Fresh(Levelled(base, 1))
    (batch,) = mechanism.simulate(np.arange(50).reshape(50, 1), rounds=1, seed=1)
    sums = mechanism.aggregator().add(batch.reports)
    sums.add([mechanism.client(7).report(1)])
    assert sums.n == 51


def test_sums_over_strings_are_refused_in_words() -> None:
    """People who hold one string would be counted for others that begin alike."""
    fresh = Fresh(LEVELLED)
    sums: Any = fresh.aggregator().add(fresh.client(VALUE).report(1) for _ in range(200))
    found = sums.estimate(candidates=[VALUE, VALUE ^ 3])
    with pytest.raises(ValueError, match="strings that begin alike share prefixes"):
        found.functional([1, 1])
