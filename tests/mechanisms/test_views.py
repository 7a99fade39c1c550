"""Views: factors, samplers, estimates and spreads against enumeration of the definition; an independent client."""

import functools
import itertools
import json
import math
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from tests import oracles
from tests.enumeration import Law
from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods
from tests.mechanisms.test_vectors import Local, Tape, integers, seal
from tests.recorded_entropy import Recorded
from tests.theory.test_factorisations import assert_equal
from untrackable.arrays import FloatArray
from untrackable.errors import MergeError
from untrackable.estimation.aggregators import Scope
from untrackable.estimation.intervals import Spreads
from untrackable.kernels import counting
from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import from_json
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.local_interface import ClassifiedLocal, crowd_privacy
from untrackable.mechanisms.local_interface import Local as LocalMechanism
from untrackable.mechanisms.stored import Memoized, Stored
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.view_tables import ViewSpreads
from untrackable.mechanisms.views import ViewAggregator, Views, third_value
from untrackable.randomizers import randomness
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

VECTORS = Path(__file__).parents[1] / "vectors"
SMALL = {
    "prefixes": Views.prefixes(bits=4, eps=1.0),
    "unequal prefixes": Views.prefixes(bits=3, eps=1.1, width=2, weights=(1, 2, 4)),
    "single bits": Views.single_bits(bits=3, eps=0.5),
    "pairs": Views(bits=3, views=((0, 1), (1, 2), (0, 2)), eps=0.8),
    "overlapping": Views(bits=4, views=((0, 1), (1, 2, 3), (0, 3), (3,)), eps=1.2, width=2, weights=(1, 2, 3, 1)),
    "one view of some bits": Views(bits=3, views=((0, 2),), eps=0.7, width=2),
}
named = pytest.mark.parametrize("base", SMALL.values(), ids=SMALL)


# --- the definition, written down once more ----------------------------------------------------------------------


def shown(value: int, view: tuple[int, ...]) -> int:
    return int("0" + "".join(str(value >> position & 1) for position in reversed(view)), 2)


def law(base: Views, value: Hashable) -> Law:
    """A view, and the vectors and the answer about what it shows."""
    assert isinstance(value, int)
    outcomes: dict[Hashable, float] = {}
    for number, (view, weight) in enumerate(zip(base.views, base.weights, strict=True)):
        one = oracles.wide_inner_product(len(view), min(base.width, len(view)), base.eps)
        for report, chance in one(shown(value, view)).items():
            outcomes[number, report] = chance * weight / sum(base.weights)
    return outcomes


def report_of(base: Views, outcome: Any) -> int:
    number, (vectors, answer) = outcome
    longest = max(min(base.width, len(view)) * (len(view) + 1) for view in base.views)
    rest = sum(bit << i for i, bit in enumerate(answer))
    for i, vector in enumerate(vectors):
        rest |= vector << len(vectors) + len(base.views[number]) * i
    return int(number << longest | rest)


@functools.cache
def as_vectors(base: Views) -> tuple[list[int], dict[int, FloatArray]]:
    """All reports, and for each value their probabilities."""
    outcomes = list(law(base, 0))
    return [report_of(base, outcome) for outcome in outcomes], {
        value: np.array([law(base, value)[outcome] for outcome in outcomes]) for value in range(base.values)
    }


def sums(base: Views) -> ViewAggregator:
    return base.aggregator(Scope(base, 0, pools=True))


# --- factors -----------------------------------------------------------------------------------------------------


@named
def test_privacy_is_that_of_the_values_that_are_easiest_to_tell_apart(base: Views) -> None:
    """Every pair of values is dominated, and that of values that differ in every bit has the very factor."""
    _, laws = as_vectors(base)
    claimed = Memoized(base).privacy()
    limits = {gamma: claimed.delta(gamma).upper * (1 + 1e-9) for gamma in (0.0, 0.3, 0.9)}
    for (value, other), gamma in itertools.product(itertools.permutations(laws, 2), limits):
        spent = np.maximum(0.0, laws[value] - math.exp(gamma) * laws[other]).sum()
        assert spent <= limits[gamma]
    assert_equal(claimed, Factor(laws[0], laws[base.values - 1]))
    assert claimed.pure() == pytest.approx(base.eps, rel=1e-9)


@named
def test_a_report_that_is_sent_again(base: Views) -> None:
    _, laws = as_vectors(base)
    for chances in laws.values():
        twice = Factor([*chances, 0.0], [*chances**2, 1 - float(chances @ chances)])
        assert_equal(Experiment([base.repeat_factor()]), twice)
    assert Dealt(base, 5).tracking(reports=5).pure() == 0.0


def test_uniform_prefixes_reveal_more_than_one_question() -> None:
    """ρ = ½(1 + Σ 1/(2^i-1)/h): the highest bit is asked about by itself, and then every report reveals."""
    base = Views.prefixes(bits=16, eps=0.1)
    factor = base.privacy_factor()
    differ = 1 - float(factor.p[factor.loss == 0].sum())
    exact = sum(Fraction(1, 2) / (1 - Fraction(1, 1 << i)) for i in range(1, 17)) / 16
    assert differ == pytest.approx(float(exact), rel=1e-12)
    assert differ == pytest.approx(0.5 * (1 + 1.6067 / 16), rel=1e-4)


@pytest.mark.parametrize("base", [SMALL["prefixes"], SMALL["overlapping"]])
def test_a_crowd_is_bracketed(base: Views) -> None:
    assert isinstance(base, LocalMechanism)
    assert isinstance(base, ClassifiedLocal)
    found = crowd_privacy([(base, 3)], people=1000).delta(0.05)
    assert 0 < found.lower <= found.upper


@named
def test_crowd_classes_are_classes_of_reports(base: Views) -> None:
    """Some third value has them: their probabilities are sums over reports that the definition lists."""
    classes = base.crowd_classes()
    assert classes.mirrored
    _, laws = as_vectors(base)
    first, second, third = laws[0], laws[base.values - 1], laws[third_value(base.views)]
    wanted = sorted(zip(classes.first, classes.second, classes.others, strict=True))
    ratios: dict[Any, Any] = {}
    for one, two, other in zip(first, second, third, strict=True):
        if not math.isclose(one, two, rel_tol=1e-9):
            key = round(one / two, 6), round(other / one, 6)
            ratios[key] = tuple(np.add(ratios.get(key, (0.0, 0.0, 0.0)), (one, two, other)))
    found = {(round(a / b, 6), round(c / a, 6)): (a, b, c) for a, b, c in wanted}
    for key, row in found.items():
        assert all(part <= whole * (1 + 1e-9) for part, whole in zip(row, ratios[key], strict=True))


# --- what an observer computes, and samplers ---------------------------------------------------------------------


@named
def test_likelihoods(base: Views) -> None:
    reports, laws = as_vectors(base)
    every = np.array(reports, dtype=np.uint64)
    for value, chances in laws.items():
        assert np.exp(base.log_likelihood(every, value)) == pytest.approx(chances, rel=1e-9)
    possible = [report for report in range(-2, (1 << base.report_bits) + 2) if base.possible(report)]
    assert possible == sorted(reports)


def test_link_scores() -> None:
    base, value = SMALL["single bits"], 5
    for mechanism, oracle in (
        (Fresh(base), oracles.stateless(lambda value, round: law(base, value), 8)),
        (Dealt(base, 3), oracles.stateless(lambda value, round: law(base, value), 8)),
        (Memoized(base), oracles.stored(lambda value: law(base, value), 1, 8)),
        (Stored(base, 2), oracles.stored(lambda value: law(base, value), 2, 8)),
    ):
        assert_likelihoods(mechanism, oracle, (value, value), lambda r: np.uint64(report_of(base, r)), 3)


@named
def test_samplers_follow_their_law(base: Views) -> None:
    """Clients and simulation; rates as in exact_laws.py."""
    value = base.values - 2
    reports, laws = as_vectors(base)
    exact, numbers = laws[value], {report: i for i, report in enumerate(reports)}
    drawn = [numbers[base.draw(value, randomness.system)] for _ in range(20_000)]
    agrees(histogram(drawn, exact), exact, tilted(exact, 0.15))
    (batch,) = Fresh(base).simulate(np.full(100_000, value), rounds=2, seed=3)
    for column in batch.reports.T:
        agrees(histogram([numbers[report] for report in column.tolist()], exact), exact, tilted(exact, 0.06))


def test_views_are_drawn_for_every_card() -> None:
    """The views of two cards are independent: not the client's, and not balanced over a deck."""
    base = SMALL["overlapping"]
    shares = np.array([float(share) for share in base.shares()])
    both = np.outer(shares, shares).reshape(-1)
    deck, shift = Dealt(base, 2), base.layout.base_bits
    cards = np.array([deck.new_state(3, randomness.system).cards for _ in range(15_000)]) >> shift
    agrees(histogram(4 * cards[:, 0] + cards[:, 1], both), both, tilted(both, 0.12))
    (batch,) = deck.simulate(np.full(60_000, 3), rounds=2, seed=4)
    views = (batch.reports >> np.uint64(shift)).astype(np.int64)
    agrees(histogram(4 * views[:, 0] + views[:, 1], both), both, tilted(both, 0.06))


# --- estimates ---------------------------------------------------------------------------------------------------


@named
def test_tables_are_unbiased_with_the_moments_that_they_say(base: Views) -> None:
    """Over every report that one person may send, of every value."""
    reports, laws = as_vectors(base)
    rng = np.random.default_rng(1)
    for number, view in enumerate(base.views):
        entry, found = (
            base.table_law(number).entry,
            np.array([sums(base).add([report]).table(number).frequencies for report in reports]),
        )
        weights = rng.normal(size=1 << len(view))
        terms = found @ weights - weights.mean()
        spread = base.table_law(number).spread(weights)
        squares, largest = [], 0.0
        for value, chances in laws.items():
            held, mean = shown(value, view), chances @ found
            assert mean == pytest.approx(np.eye(1 << len(view))[held], abs=1e-9)
            variance = chances @ found**2 - mean**2
            assert variance[held] == pytest.approx(entry.held, rel=1e-9)
            assert np.delete(variance, held).mean() == pytest.approx(entry.free, rel=1e-9)
            largest = max(largest, variance.max())
            squares.append(chances @ terms**2)
        assert largest == pytest.approx(entry.variance, rel=1e-9)
        assert max(squares) <= spread.variance * (1 + 1e-9)
        assert terms.max() - terms.min() <= spread.span * (1 + 1e-9)
        assert found.max() <= entry.largest * (1 + 1e-9)
        assert found.max() - found.min() <= entry.span * (1 + 1e-9)
        if base.width == 1:
            assert max(squares) == pytest.approx(float(spread.variance), rel=1e-9)
            assert found.max() == pytest.approx(entry.largest, rel=1e-9)


@named
def test_tables_of_some_bits_of_a_view(base: Views) -> None:
    """Of all bits that a view shows together: unbiased, with the moments that they say. Others are refused."""
    reports, laws = as_vectors(base)
    together = {bits for view in base.views for size in range(1, 4) for bits in itertools.combinations(view, size)}
    tables = tuple(sorted(together))
    for bits, entry, spread in zip(tables, base.entry_laws(tables), sums(base).entry_spreads(tables), strict=True):
        found = np.array([sums(base).add([report]).table(bits).frequencies for report in reports])
        largest = 0.0
        for value, chances in laws.items():
            mean = chances @ found
            assert mean == pytest.approx(np.eye(1 << len(bits))[shown(value, bits)], abs=1e-9)
            variance = chances @ found**2 - mean**2
            assert variance[shown(value, bits)] == pytest.approx(entry.held, rel=1e-9)
            largest = max(largest, variance.max())
        assert largest == pytest.approx(entry.variance, rel=1e-9)
        assert found.max() - found.min() <= entry.span * (1 + 1e-9)
        assert found.max() <= entry.largest * (1 + 1e-9)
        assert (spread.variance, spread.span) == (entry.variance, entry.span)
    for bits in itertools.combinations(range(base.bits), 2):
        if bits not in together:
            with pytest.raises(ValueError, match="no view shows all bits of this one together"):
                base.table_law(bits)
    with pytest.raises(ValueError, match="different positions in ascending order"):
        base.table_law((1, 0))


@pytest.mark.parametrize("count", [2, 9, 11, 16])
@pytest.mark.parametrize(
    "base",
    [
        Views.prefixes(bits=4, eps=1.0),
        Views.prefixes(bits=4, eps=1.0, weights=(5, 3, 1, 2)),
        Views.prefixes(bits=4, eps=3.0, width=3),
        Views(bits=4, views=((0, 1, 2, 3), (0, 2)), eps=1.0),
    ],
    ids=repr,
)
def test_shares_of_the_first_values_at_once(base: Views, count: int) -> None:
    """As one by one; with wide answers, not less."""
    view = next(i for i, view in enumerate(base.views) if len(view) == 4)
    spreads = ViewSpreads(base.table_law(view), np.zeros(16))
    found, expected = spreads.of_first(count), Spreads.of_first(spreads, count)
    for name in ("variance", "span"):
        ratio = getattr(found, name) / getattr(expected, name)
        assert np.all(ratio >= 1 - 1e-9)
        assert base.width > 1 or ratio == pytest.approx(np.ones(count - 1), rel=1e-9)


@pytest.mark.parametrize("width", [1, 3])
def test_estimates_of_a_population(width: int) -> None:
    """Tables agree where they show the same bits; errors are as large as they say, and intervals hold."""
    base = Views.prefixes(bits=6, eps=2.0, width=width)
    values = np.minimum(np.random.default_rng(1).geometric(0.08, 200_000), 63)
    truth = np.bincount(values, minlength=64) / values.size
    added = Fresh(base).aggregator()
    for batch in Fresh(base).simulate(values, rounds=1, seed=2):
        added.add(batch.reports)
    assert isinstance(added, ViewAggregator)
    found = added.estimate()
    apart = np.abs(found.frequencies - truth)
    assert found.frequencies.sum() == pytest.approx(1)
    assert np.all(apart < found.simultaneous_radius)
    assert np.all(apart < 6 * found.standard_error)  # each fails with probability 2e-9
    assert np.mean(apart / found.standard_error < 0.5) < 0.7  # and they are not too wide
    promised = base.accuracy(values.size, 0.05).radius  # That of an entry whose variance is the largest.
    assert np.all(found.radius <= promised * (1 + 1e-12))
    (law,) = base.entry_laws((tuple(range(6)),))
    worst = replace(found, frequencies=np.full(64, float(law.held > law.elsewhere)))
    assert worst.radius == pytest.approx(np.full(64, promised), rel=0.01)
    for number in range(6):
        halves = found.frequencies.reshape(2 << number, -1).sum(axis=1)
        assert added.table(number).frequencies == pytest.approx(halves, abs=1e-12)
    share = found.functional(np.arange(64) < 13)
    assert share.lower < truth[:13].sum() < share.upper
    assert abs(share.value - truth[:13].sum()) < 6 * share.standard_error
    assert share.upper - share.lower < 0.1


def test_many_choices_of_which_only_the_bits_are_asked_about() -> None:
    """200 bits: a report of two bytes, 512 sums, and one table for each bit."""
    base = Views.single_bits(bits=200, eps=2.0)
    assert (base.report_bits, sums(base).sums.size) == (10, 512)
    rng = np.random.default_rng(1)
    shares = rng.uniform(size=200)
    chosen = rng.uniform(size=(40_000, 200)) < shares
    words = np.packbits(np.pad(chosen, ((0, 0), (0, 56))), axis=1, bitorder="little").view("<u8")
    (batch,) = Fresh(base).simulate(words, rounds=1, seed=2)
    added = Fresh(base).aggregator().add(batch.reports)
    assert isinstance(added, ViewAggregator)
    tables = [added.table(i) for i in range(200)]
    apart = np.array([table.frequencies[1] for table in tables]) - chosen.mean(axis=0)
    assert np.all(np.abs(apart) < 6 * np.array([table.standard_error[1] for table in tables]))
    assert np.std(apart) == pytest.approx(tables[0].standard_error[1], rel=0.25)
    sure = [added.table(i, 1e-6 / 200).radius[1] for i in range(200)]  # All of them hold, but once in a million.
    assert np.all(np.abs(apart) < sure)
    assert (np.abs(apart) > np.array(sure) / 3).sum() > 0
    with pytest.raises(ValueError, match="not about whole values: estimate a table instead"):
        added.estimate()
    client = Fresh(base).client((1 << 200) - 1)
    assert all(base.possible(client.report(t)) for t in range(1, 50))
    with pytest.raises(ValueError, match="4 words along a last axis"):
        Fresh(base).simulate(chosen, rounds=1, seed=1)
    with pytest.raises(ValueError, match="not shown"):
        Fresh(base).simulate(np.full((1, 4), (1 << 64) - 1, dtype=np.uint64), rounds=1, seed=1)


@pytest.mark.parametrize(
    "base",
    [
        Views.prefixes(bits=10, eps=1.0),
        Views(bits=40, views=((0, 1, 2, 3, 20, 21, 22, 23), (3, 39), (7,)), eps=2.0, width=2),
        Views(bits=80, views=(tuple(range(60, 76)), tuple(range(9)), (2, 79)), eps=5.0, width=6, weights=(3, 2, 1)),
    ],
    ids=["words", "wide words", "bytes"],
)
def test_sums_add_merge_and_come_back(base: Views) -> None:
    mechanism = Fresh(base)
    rng = np.random.default_rng(1)
    values: Any = rng.integers(0, 1 << min(base.bits, 62), 3000)
    if base.bits > 63:
        values = np.stack((values, rng.integers(0, 1 << base.bits - 64, 3000)), axis=1)
    (batch,) = mechanism.simulate(values, rounds=1, seed=2)
    rows = batch.reports[:, 0]
    whole = mechanism.aggregator().add(batch.reports)
    numbers = [int.from_bytes(bytes(row), "little") for row in rows] if rows.ndim == 2 else rows.tolist()
    assert all(base.possible(number) for number in numbers)
    assert np.isfinite(base.log_likelihood(rows, 5)).all()
    halves = mechanism.aggregator().add(numbers[1000:]).merge(mechanism.aggregator().add(rows[:1000]))
    assert halves.to_bytes() == whole.to_bytes()
    assert mechanism.restore_sums(whole.to_bytes()).to_bytes() == whole.to_bytes()
    whole.check(rows)
    before = whole.to_bytes()
    strange = len(base.views) << base.layout.base_bits | 2, 0, 1, -1, 1 << base.report_bits
    for report in strange:
        assert not base.possible(report)
        with pytest.raises(ValueError, match="must be about one of"):
            whole.add([*numbers[:50], report])
        with pytest.raises(ValueError, match="must be about one of"):
            whole.check([*numbers[:50], report])
        assert whole.to_bytes() == before
    with pytest.raises(MergeError):
        whole.merge(Fresh(SMALL["pairs"]).aggregator())


@pytest.mark.parametrize("few", [0, 1 << 18])
def test_many_reports_are_counted_like_few(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces, or equal ones first; one impossible report at the end undoes all of them."""
    monkeypatch.setattr(counting, "_FEW", few)
    mechanism = Fresh(Views.prefixes(bits=8, eps=1.0))
    (batch,) = mechanism.simulate(np.arange(1 << 19) % 256, rounds=1, seed=5)
    rows = np.tile(batch.reports[:, 0], 3)
    once, many = mechanism.aggregator(), mechanism.aggregator().add(rows)
    for start in range(0, rows.size, 10_000):  # Too few to count equal ones first.
        once.add(rows[start : start + 10_000])
    assert once.to_bytes() == many.to_bytes()
    for impossible in (2 << 9 | 16, 3 << 9 | 1, 8 << 9 | 2, (1 << 64) - 1):  # The third view has vectors below 8.
        with pytest.raises(ValueError, match="8 views"):
            many.add(np.append(rows, np.uint64(impossible)))
    assert many.to_bytes() == once.to_bytes()


# --- parameters, states, JSON ------------------------------------------------------------------------------------


def test_levels_are_views_without_common_bits() -> None:
    """The same reports from the same entropy, and the same law."""
    levels = Levelled(NoisyInnerProduct(bits=3, eps=1.0, width=1), 2)
    views = Views(bits=6, views=((0, 1, 2), (3, 4, 5)), eps=1.0)
    for seed in range(20):
        tape = np.random.default_rng(seed).bytes(400)
        assert levels.draw(43, Recorded(tape)) == views.draw(43, Recorded(tape))
    reports = np.arange(2, 32, dtype=np.uint64)
    assert np.array_equal(levels.log_likelihood(reports, 43), views.log_likelihood(reports, 43))


def test_json_and_states() -> None:
    for base in SMALL.values():
        deck = Dealt(base, 5)
        assert from_json(deck.to_json()) == deck
        client = deck.client(3)
        again = deck.restore(client.to_bytes())
        assert [client.report(t) for t in range(1, 6)] == [again.report(t) for t in range(1, 6)]
    described = Dealt(Views.prefixes(bits=2, eps=1.0), 5).to_json()["base"]
    assert described == {
        "mechanism": "views", "bits": 2, "views": [[1], [0, 1]], "eps": 1, "width": 1, "weights": [1, 1]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"views": ()}, ValueError, "there must be between 1 and 4096 views, got 0"),
        ({"views": ((),)}, ValueError, "a view must be between 1 and 24 different positions in ascending order"),
        ({"views": ((1, 0),)}, ValueError, "in ascending order"),
        ({"views": ((0, 4),)}, ValueError, "a position in a view must be between 0 and 3, got 4"),
        ({"views": ((0,), (0,))}, ValueError, "views must be different"),
        ({"weights": (1,)}, ValueError, "one number for each of 2 views, got 1"),
        ({"weights": (1, 0)}, ValueError, "a weight must be between 1 and"),
        ({"weights": (1, 0.5)}, TypeError, "a weight must be an integer"),
        ({"width": 3}, ValueError, "width must be between 1 and 2, got 3"),
        ({"eps": -1.0}, ValueError, "eps must be positive"),
        ({"bits": 300}, ValueError, "bits must be between 1 and 256, got 300"),
    ],
)
def test_bad_parameters(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Views(**{"bits": 4, "views": ((0, 1), (3,)), "eps": 1.0, **given})


def test_views_that_need_too_much_memory_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 33,554,432 entries"):
        Views(bits=30, views=tuple(tuple(range(i, i + 24)) for i in range(3)), eps=1.0)
    with pytest.raises(ValueError, match="not shown"):
        SMALL["pairs"].draw(8, randomness.system)
    with pytest.raises(ValueError, match="view must be between 0 and 2"):
        sums(SMALL["pairs"]).add([2]).table(3)


def test_an_independent_client_reproduces_the_vectors() -> None:
    """The view first, by its weight, and then the base about the bits that it shows."""
    content = json.loads((VECTORS / "views.json").read_text(encoding="utf-8"))
    for group in content["groups"]:
        base, slots = group["parameters"]["base"], group["parameters"]["slots"]
        bases = [Local(len(view), base["eps"], min(base["width"], len(view))) for view in base["views"]]
        longest = max(one.report_bits for one in bases)
        number_bits = (len(bases) - 1).bit_length()
        for case in group["cases"]:
            tape, value, cards = Tape(bytes.fromhex(case["entropy"])), int(case["value"]), []
            for _ in range(slots):
                place, number = tape.below(sum(base["weights"])), 0
                while place >= base["weights"][number]:
                    place, number = place - base["weights"][number], number + 1
                part = sum((value >> position & 1) << i for i, position in enumerate(base["views"][number]))
                cards.append(number << longest | bases[number].draw(part, tape))
            assert tape.at == len(tape.data)
            assert [int(report) for report in case["reports"]] == cards[: len(case["rounds"])]
            payload = bytes((slots + 7) // 8) + integers(cards, longest + number_bits)
            assert seal(group["mechanism"], payload).hex() == case["state"]
    assert len(content["groups"]) == 5


def test_intervals_of_quantiles_and_means_hold() -> None:
    """Over many rounds of one population, at least as often as promised."""
    base, beta, trials = Views.prefixes(bits=6, eps=2.0), 0.2, 120
    values = np.minimum(np.random.default_rng(8).geometric(0.06, 1500), 63)
    truths = {q: float(np.quantile(values, q, method="inverted_cdf")) for q in (0.5, 0.95)}
    missed, told = dict.fromkeys((*truths, "mean"), 0), 0
    for seed in range(trials):
        (batch,) = Fresh(base).simulate(values, rounds=1, seed=100 + seed)
        found = Fresh(base).aggregator().add(batch.reports).estimate(beta)
        for q, truth in truths.items():
            interval = found.quantile(q)
            missed[q] += not interval.lower <= truth <= interval.upper
            told += interval.tells
        mean = found.mean()
        missed["mean"] += not mean.lower <= values.mean() <= mean.upper
    allowed = int(binom.isf(1e-9, trials, beta))
    assert all(count <= allowed for count in missed.values())
    assert told > 1.8 * trials  # intervals are not everything
