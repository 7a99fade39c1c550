"""Apple's sketches: their factors, samplers and estimates, and an independent client."""

import itertools
import json
import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import oracles
from tests.enumeration import FiniteMechanism, Law
from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods
from tests.mechanisms.test_vectors import Tape, flip, integers, seal
from tests.oracles import subsets
from tests.theory.test_factorisations import DIRECTIONS, GAMMAS, assert_equal
from untrackable import Dealt, Fresh, Memoized, Stored
from untrackable.errors import MergeError, StateError
from untrackable.estimation.aggregators import Scope
from untrackable.mechanisms.interface import Pair
from untrackable.mechanisms.sketches import CountMeanSketch, EntryCounts, HadamardSketch
from untrackable.randomizers.randomness import mixed
from untrackable.theory import Experiment, Factor

VECTORS = Path(__file__).parents[1] / "vectors"
AnySketch = CountMeanSketch | HadamardSketch

CMS = CountMeanSketch(hashes=2, width=2, eps=1.2, values=64)
HCMS = HadamardSketch(hashes=2, width=2, eps=1.2, values=64)
SMALL: list[AnySketch] = [
    CMS,
    HCMS,
    CountMeanSketch(hashes=1, width=3, eps=2.0, values=64),
    HadamardSketch(hashes=1, width=4, eps=2.0, values=64),
]


# --- the definitions, written down once more -------------------------------------------------------------------


def splitmix(word: int) -> int:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> shift) * factor % 2**64
    return word ^ word >> 31


def hashed(row: int, value: int, width: int) -> int:
    golden = 0x9E3779B97F4A7C15
    return (splitmix((splitmix((value + golden) % 2**64) + (row + 1) * golden) % 2**64) >> 32) * width >> 32


def law(sketch: AnySketch, value: Hashable) -> Law:
    """Of one report, as the integer that is sent."""
    assert isinstance(value, int)
    outcomes: dict[Hashable, float] = {}
    for row in range(sketch.hashes):
        position = hashed(row, value, sketch.width)
        if isinstance(sketch, CountMeanSketch):
            lie = oracles.flip(sketch.eps / 2)
            for vector in range(2**sketch.width):
                flips = (vector ^ 1 << position).bit_count()
                chance = lie**flips * (1 - lie) ** (sketch.width - flips) / sketch.hashes
                outcomes[row << sketch.width | vector] = chance
        else:
            for coordinate in range(sketch.width):
                parity = (coordinate & position).bit_count() % 2
                for bit, chance in oracles.response(parity, oracles.flip(sketch.eps)).items():
                    assert isinstance(bit, int)
                    number = 2 * (row * sketch.width + coordinate) + bit
                    outcomes[number] = chance / sketch.hashes / sketch.width
    return outcomes


def stored(sketch: AnySketch, slots: int) -> FiniteMechanism:
    return oracles.stored(lambda value: law(sketch, value), slots, sketch.values)


def fresh(sketch: AnySketch) -> FiniteMechanism:
    return oracles.stateless(lambda value, round: law(sketch, value), sketch.values)


def collisions(sketch: AnySketch, one: int, other: int) -> int:
    return sum(hashed(r, one, sketch.width) == hashed(r, other, sketch.width) for r in range(sketch.hashes))


def partner(sketch: AnySketch, rows: int) -> int:
    """A value that collides with 0 in so many rows."""
    return next(v for v in range(1, sketch.values) if collisions(sketch, 0, v) == rows)


# --- factors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sketch", SMALL, ids=repr)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_tracking_and_privacy_as_enumerated(sketch: AnySketch, reports: int) -> None:
    rounds = list(range(1, reports + 1))
    other = partner(sketch, 0)
    memoized, unmemoized = stored(sketch, 1), fresh(sketch)
    assert_attained(Memoized(sketch).privacy(), memoized.privacy(0, other, rounds))
    if reports < 3:
        assert_attained(Fresh(sketch).privacy(reports=reports), unmemoized.privacy(0, other, rounds))
    for first in subsets(rounds):
        for value in (0, 5):
            assert_equal(
                Memoized(sketch).tracking(rounds=rounds, first=first), memoized.tracking(value, rounds, first)
            )
        if reports < 3:
            assert Experiment([unmemoized.tracking(0, rounds, first)]).pure() < 1e-12
            assert Fresh(sketch).tracking(rounds=rounds, first=first).pure() == 0.0
            found = Fresh(sketch).detection(rounds=rounds, first=first)
            assert_attained(found, unmemoized.detection(0, other, rounds, first))


def assert_attained(found: Pair, truth: Factor) -> None:
    """An upper bound, as there may be no two values that never collide; these two attain it."""
    assert found.certainty == "upper"
    assert found.pure() == pytest.approx(Experiment([truth]).pure())
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        expected = Experiment([truth]).delta(gamma, direction).upper
        assert found.delta(gamma, direction).upper == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("sketch", SMALL, ids=repr)
def test_a_replayed_card(sketch: AnySketch) -> None:
    """Rounds 1 and 2 are two cards, 3 and 4 the same again."""
    oracle = oracles.dealt(lambda value: law(sketch, value), 2, sketch.values)
    for rounds, first in (([1, 3], [1]), ([1, 2, 3], [1]), ([1, 2], [2])):
        found = Dealt(sketch, 2, "replay").tracking(rounds=rounds, first=first)
        assert_equal(found, oracle.tracking(3, rounds, first))


@pytest.mark.parametrize("sketch", [CMS, HCMS], ids=repr)
def test_values_that_collide_are_told_apart_less(sketch: AnySketch) -> None:
    bound = Fresh(sketch).privacy(reports=2)
    for rows in (1, 2):
        truth = Experiment([fresh(sketch).privacy(0, partner(sketch, rows), [1, 2])])
        assert truth.pure() <= bound.pure() + 1e-12
        for gamma, direction in itertools.product(GAMMAS, ("forward", "backward")):
            assert truth.delta(gamma, direction).upper <= bound.delta(gamma, direction).upper + 1e-12  # type: ignore[arg-type]


def test_published_sizes() -> None:
    """Masses that underflow keep their losses: ln k - f·ln η - (m-f)·ln(1-η) for f flips."""
    emoji, safari = CountMeanSketch.preset("emoji"), HadamardSketch.preset("safari")
    assert (emoji.hashes, emoji.width, emoji.eps) == (65536, 1024, 4.0)
    assert (safari.hashes, safari.width, safari.eps) == (1024, 32768, 4.0)
    factor, lie = emoji.repeat_factor(), emoji.flip.probability
    f = 122
    loss = math.log(65536) - f * math.log(lie) - (1024 - f) * math.log(1 - lie)
    assert factor.loss[f] == pytest.approx(loss, rel=1e-13)
    assert factor.p[f] == pytest.approx(math.comb(1024, f) * lie**f * (1 - lie) ** (1024 - f), rel=1e-9)
    for sketch in (emoji, safari):
        assert Memoized(sketch).privacy().pure() == pytest.approx(4.0)
        assert Memoized(sketch).tracking(reports=10).advantage().lower > 1 - 1e-7
        assert Fresh(sketch).tracking(reports=10).pure() == 0.0
        assert Fresh(sketch).privacy(reports=10).pure() == pytest.approx(40.0)
    with pytest.raises(ValueError, match="preset must be one of emoji, got 'health'"):
        CountMeanSketch.preset("health")


# --- what an observer computes -----------------------------------------------------------------------------------


def encoded(sketch: AnySketch, report: Any) -> Any:
    if isinstance(sketch, HadamardSketch):
        return np.uint64(report)
    return np.frombuffer(report.to_bytes((sketch.report_bits + 7) // 8, "little"), dtype=np.uint8)


@pytest.mark.parametrize("sketch", SMALL, ids=repr)
def test_likelihoods(sketch: AnySketch) -> None:
    for mechanism, oracle in (
        (Fresh(sketch), fresh(sketch)),
        (Dealt(sketch, 3), fresh(sketch)),
        (Memoized(sketch), stored(sketch, 1)),
        (Stored(sketch, 2), stored(sketch, 2)),
    ):
        assert_likelihoods(mechanism, oracle, (7, 7), lambda report: encoded(sketch, report), 3)


@pytest.mark.parametrize(
    "sketch",
    [
        CountMeanSketch(hashes=3, width=9, eps=1.0),
        CountMeanSketch(hashes=1, width=8, eps=1.0),
        HadamardSketch(hashes=5, width=32, eps=1.0),
    ],
    ids=repr,
)
def test_likelihood_of_every_report(sketch: AnySketch) -> None:
    """More than one byte, or no bit for the row; and a row that there is not."""
    outcomes = law(sketch, 7)
    reports = np.array([encoded(sketch, report) for report in outcomes])
    assert sketch.log_likelihood(reports, 7) == pytest.approx(np.log(list(outcomes.values())), rel=1e-12)
    if sketch.row_bits:
        beyond = np.array([encoded(sketch, len(outcomes))])
        assert sketch.log_likelihood(beyond, 7)[0] == -math.inf


@pytest.mark.parametrize(
    "sketch",
    [*SMALL, CountMeanSketch(hashes=3, width=2, eps=1.0), HadamardSketch(hashes=3, width=4, eps=1.0)],
    ids=repr,
)
def test_samplers_follow_their_law(sketch: AnySketch) -> None:
    """Clients and simulation; rates as in exact_laws.py."""
    mechanism = Fresh(sketch)
    outcomes = law(sketch, 5)
    expected = np.array([outcomes.get(i, 0.0) for i in range(len(outcomes))])
    client = mechanism.client(5)
    drawn = histogram([client.report(t) for t in range(1, 30_001)], expected)
    (batch,) = mechanism.simulate(np.full(150_000, 5), rounds=2, seed=9)
    simulated = histogram(batch.reports.reshape(-1).astype(np.int64), expected)
    agrees(drawn, expected, tilted(expected, 0.07))
    agrees(simulated, expected, tilted(expected, 0.03))


def test_hash_functions() -> None:
    assert mixed(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # the first output of SplitMix64 seeded with 0
    for sketch in (CountMeanSketch(hashes=50, width=13, eps=1.0, values=1 << 64), HadamardSketch.preset("safari")):
        rows = np.arange(50, dtype=np.uint64)[:, None]
        values = np.array([0, 1, 2, 77, sketch.values - 1], dtype=np.uint64)
        table = sketch.positions(rows, values)
        for i, j in itertools.product(range(50), range(5)):
            position = sketch.position(i, int(values[j]))
            assert table[i, j] == position == hashed(i, int(values[j]), sketch.width)
            assert 0 <= position < sketch.width


def test_hash_values_look_uniform_and_pairwise_independent() -> None:
    """Of 200,000 positions, and of pairs of positions of neighbouring values and of neighbouring rows."""
    sketch = CountMeanSketch(hashes=400, width=5, eps=1.0)
    rows, values = np.arange(400, dtype=np.uint64)[:, None], np.arange(500, dtype=np.uint64)
    table = sketch.positions(rows, values).astype(np.int64)
    uniform, pairs = np.full(5, 1 / 5), np.full(25, 1 / 25)
    agrees(histogram(table, uniform), uniform, tilted(uniform, 0.02))
    for one, other in ((table[:, 0::2], table[:, 1::2]), (table[0::2], table[1::2])):
        agrees(histogram(5 * one + other, pairs), pairs, tilted(pairs, 0.05))


# --- estimates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sketch",
    [
        CountMeanSketch(hashes=300, width=32, eps=3.0, values=40),
        CountMeanSketch(hashes=1024, width=13, eps=4.0, values=40),
        HadamardSketch(hashes=300, width=32, eps=3.0, values=40),
    ],
    ids=repr,
)
def test_estimates(sketch: AnySketch) -> None:
    people = 60_000
    truth = np.concatenate(([0.4, 0.3, 0.1, 0.1, 0.05, 0.05], np.zeros(34)))
    values = np.repeat(np.arange(40), np.rint(truth * people).astype(int))
    sums, memoized = Fresh(sketch).aggregator(), Memoized(sketch).aggregator()
    for batch in Fresh(sketch).simulate(values, rounds=1, seed=2):
        sums.add(batch.reports)
    for batch in Memoized(sketch).simulate(values, rounds=1, seed=2):
        memoized.add(batch.reports)
    for found in (sums.estimate(), memoized.estimate()):
        assert np.all(np.abs(found.frequencies - truth) < 6 * found.standard_error)
        assert np.all(np.abs(found.frequencies - truth) < found.simultaneous_radius)
        assert found.radius[0] == pytest.approx(sketch.accuracy(people, 0.05).radius)
        assert found.standard_error[-1] >= 0.99 * sketch.accuracy(people, 0.05).standard_error
    again = Fresh(sketch).aggregator().add([Fresh(sketch).client(3).report(1) for _ in range(10)])
    assert sums.merge(again).n == people + 10
    with pytest.raises(MergeError):
        sums.merge(memoized)


@pytest.mark.parametrize("sketch", [CMS, HadamardSketch(hashes=3, width=4, eps=1.0, values=9)], ids=repr)
def test_the_estimator_is_the_published_one(sketch: AnySketch) -> None:
    """The server's sketch M as published, entry by entry: debiased, transformed back, averaged, corrected."""
    k, m = sketch.hashes, sketch.width
    client = Fresh(sketch).client(4)
    reports = [client.report(t) for t in range(1, 40)]
    table = np.zeros((k, m))
    for report in reports:
        if isinstance(sketch, CountMeanSketch):
            scale = (math.exp(sketch.eps / 2) + 1) / (math.exp(sketch.eps / 2) - 1)
            signs = np.array([1 if report >> i & 1 else -1 for i in range(m)])
            table[report >> m] += k * (scale / 2 * signs + 0.5)
        else:
            scale = (math.exp(sketch.eps) + 1) / (math.exp(sketch.eps) - 1)
            table[report // 2 // m, report // 2 % m] += k * scale * (1 - 2 * (report & 1))
    if isinstance(sketch, HadamardSketch):
        hadamard = np.array([[(-1) ** (i & j).bit_count() for j in range(m)] for i in range(m)])
        table = table @ hadamard.T
    sums = sketch.aggregator(Scope(sketch, 0, pools=True)).add(reports)
    found = sums.estimate(candidates=[4, 0, 8]).frequencies
    for value, frequency in zip((4, 0, 8), found, strict=True):
        mean = sum(table[row, hashed(row, value, m)] for row in range(k)) / k
        expected = m / (m - 1) * (mean - len(reports) / m)
        assert frequency == pytest.approx(expected / len(reports), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_variances_over_uniform_hash_values(kind: type[AnySketch], width: int) -> None:
    """What one report adds to its own value and to another one: unbiased, and of the variances that are told."""
    sketch = kind(hashes=1, width=width, eps=1.3)
    lie, scale = sketch.flip.probability, width / (width - 1)
    mine, others = np.zeros(2), np.zeros(2)
    for held, asked in itertools.product(range(width), repeat=2):
        if kind is CountMeanSketch:
            one = 1 - lie if asked == held else lie
            told = [(bit - lie, one if bit else 1 - one) for bit in (0, 1)]
        else:
            signs = [(-1) ** ((i & held).bit_count() + (i & asked).bit_count()) for i in range(width)]
            told = [(sign * s, chance / width) for s in signs for sign, chance in ((1, 1 - lie), (-1, lie))]
        moments = np.zeros(2)
        for says, chance in told:
            adds = scale * (says / sketch.gap - 1 / width)
            moments += chance * np.array([adds, adds**2])
        others += moments / width**2
        mine += moments / width if held == asked else 0.0
    assert mine[0] == pytest.approx(1, abs=1e-12)
    assert others[0] == pytest.approx(0, abs=1e-12)
    assert sketch._variances() == pytest.approx((mine[1] - 1, others[1]), rel=1e-12)
    assert sketch.accuracy(100, 0.1).standard_error == pytest.approx(math.sqrt(others[1] / 100))


@pytest.mark.parametrize(
    "sketch", [CountMeanSketch(hashes=200, width=16, eps=1.0), HadamardSketch.preset("safari")], ids=repr
)
def test_collisions_stay_within_the_radius(sketch: AnySketch) -> None:
    """A population that all holds one value: infinitely many reports leave only collisions, for 2,000 others."""
    rows = np.arange(sketch.hashes, dtype=np.uint64)[:, None]
    held, others = (sketch.positions(rows, np.arange(*ends, dtype=np.uint64)) for ends in ((0, 1), (1, 2001)))
    shares = (held == others).mean(axis=0)
    bias = np.abs(sketch.width / (sketch.width - 1) * (shares - 1 / sketch.width))
    assert bias.max() <= sketch._radius(10**18, 1e-6, statistics=2000)
    assert np.sqrt((bias**2).mean()) == pytest.approx(1 / math.sqrt((sketch.width - 1) * sketch.hashes), rel=0.2)


# --- wide reports, refusals, states ------------------------------------------------------------------------------


def test_wide_reports_pass_through_every_wrapper() -> None:
    sketch = CountMeanSketch(hashes=1000, width=1003, eps=4.0, values=1 << 64)
    size = (sketch.report_bits + 7) // 8
    held = np.full(12, (1 << 64) - 1, dtype=np.uint64)
    for mechanism in (Fresh(sketch), Memoized(sketch), Stored(sketch, 3), Dealt(sketch, 4)):
        (batch,) = mechanism.simulate(held, rounds=4, seed=1)
        assert batch.reports.shape == (12, 4, size)
        assert mechanism.log_likelihood(batch.reports, (1 << 64) - 1, [1, 2, 3, 4]).shape == (12,)
        scores = mechanism.link_scores(batch.reports[:, :2], batch.reports[:, 2:], (1 << 64) - 1)
        assert scores.shape == (12, 12)
        report = int.from_bytes(batch.reports[3, 2].tobytes(), "little")
        sums = mechanism.aggregator(1).add(batch.reports[:, 0])
        again = mechanism.aggregator(1).add([int.from_bytes(r.tobytes(), "little") for r in batch.reports[:, 0]])
        assert isinstance(sums, EntryCounts)
        assert isinstance(again, EntryCounts)
        assert np.array_equal(sums.counts, again.counts)
        found = sums.estimate(candidates=[(1 << 64) - 1, 3]).frequencies
        assert found[0] > 0.5
        assert sketch.possible(report)
    (batch,) = Memoized(sketch).simulate(held, rounds=2, seed=1)
    scores = Memoized(sketch).link_scores(batch.reports[:, :1], batch.reports[:, 1:], (1 << 64) - 1)
    assert np.array_equal(np.isfinite(scores), np.eye(12, dtype=bool))


def test_batches_of_wide_reports_are_small() -> None:
    first = next(Fresh(CountMeanSketch.preset("emoji")).simulate(np.zeros(10**6, dtype=int), rounds=2, seed=1))
    assert first.reports.shape == ((1 << 21) // 2 // 1026, 2, 130)


@pytest.mark.parametrize(
    "sketch", [CountMeanSketch(hashes=5, width=12, eps=1.0), HadamardSketch(hashes=5, width=16, eps=1.0)], ids=repr
)
def test_states_and_refusals(sketch: AnySketch) -> None:
    memoized = Memoized(sketch)
    client = memoized.client(4)
    state = client.to_bytes()
    assert memoized.restore(state).to_bytes() == state
    assert memoized.restore(state).report(9) == client.report(1)
    for damaged in (state[:-1], state[:-1] + bytes([state[-1] ^ 1])):
        with pytest.raises(StateError):
            memoized.restore(damaged)
    beyond = 5 << 12 if isinstance(sketch, CountMeanSketch) else 2 * 5 * 16
    assert sketch.possible(beyond - 1)
    assert not sketch.possible(beyond)
    with pytest.raises(StateError, match="cannot have made"):
        memoized.unpack_state(beyond.to_bytes(2 if isinstance(sketch, CountMeanSketch) else 1, "big"))
    with pytest.raises(ValueError, match="a report must be"):
        memoized.aggregator().add([beyond])
    with pytest.raises(ValueError, match=f"value must be between 0 and {2**32 - 1}") as caught:
        Fresh(sketch).client(1 << 40)
    assert str(1 << 40) not in str(caught.value)
    sums = sketch.aggregator(Scope(sketch, 0, pools=True)).add([0])
    with pytest.raises(ValueError, match="candidates must be given, as there are 4294967296 values"):
        sums.estimate()
    with pytest.raises(ValueError, match="candidates must be a sequence"):
        sums.estimate(candidates=[])
    with pytest.raises(ValueError, match="candidate must be between 0 and 4294967295, got -1"):
        sums.estimate(candidates=[3, -1])
    with pytest.raises(ValueError, match="hashes times width must be at most 67108864 to add reports up"):
        Fresh(type(sketch)(hashes=65536, width=65536, eps=1.0)).aggregator()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"hashes": 0}, ValueError, "hashes must be between 1 and 65536, got 0"),
        ({"width": 1}, ValueError, "width must be between 2 and 65536, got 1"),
        ({"width": 12.0}, TypeError, "width must be an integer, not float"),
        ({"eps": -1}, ValueError, "eps must be positive"),
        ({"values": 1}, ValueError, "values must be between 2"),
    ],
)
@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardSketch])
def test_bad_parameters(kind: type[AnySketch], given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        kind(**{"hashes": 4, "width": 8, "eps": 1.0, **given})


def test_widths_and_eps_that_one_of_them_refuses() -> None:
    with pytest.raises(ValueError, match="width must be a power of two, got 12"):
        HadamardSketch(hashes=2, width=12, eps=1.0)
    with pytest.raises(ValueError, match="eps is too small"):
        CountMeanSketch(hashes=2, width=12, eps=2.5e-19)


def test_an_independent_client_reproduces_the_vectors() -> None:
    content = json.loads((VECTORS / "sketches.json").read_text(encoding="utf-8"))
    assert len(content["groups"]) == 12

    def draw(base: dict[str, Any], value: int, tape: Tape) -> int:
        row, width = tape.below(base["hashes"]), int(base["width"])
        position = hashed(row, value, width)
        if base["name"] == "CountMeanSketch":
            lie = flip(base["eps"] / 2)
            vector = sum((int(i == position) ^ tape.happens(lie)) << i for i in range(width))
            return (row << width) + vector
        coordinate = tape.below(width)
        bit = (coordinate & position).bit_count() % 2 ^ tape.happens(flip(base["eps"]))
        return 2 * (row * width + coordinate) + bit

    for group in content["groups"]:
        wrapper, base = group["parameters"]["wrapper"], group["parameters"]["base"]
        half = base["eps"] / 2 if base["name"] == "CountMeanSketch" else base["eps"]
        assert group["thresholds"] == {"flip": str(flip(half))}
        row_bits = (base["hashes"] - 1).bit_length()
        report_bits = base["width"] if base["name"] == "CountMeanSketch" else base["width"].bit_length()
        for case in group["cases"]:
            tape, value = Tape(bytes.fromhex(case["entropy"])), int(case["value"])
            if wrapper == "Memoized":
                kept = draw(base, value, tape)
                state = integers([kept], row_bits + report_bits)
                reports = [
                    kept + 0 * tape.take(8) for _ in case["rounds"]
                ]  # the only slot takes a word all the same
            else:
                state = integers([value], (int(base["values"]) - 1).bit_length())
                reports = [draw(base, value, tape) for _ in case["rounds"]]
            assert seal(group["mechanism"], state).hex() == case["state"] == case["state_after"], case["label"]
            assert [str(report) for report in reports] == case["reports"], case["label"]
            assert tape.at == len(tape.data)
