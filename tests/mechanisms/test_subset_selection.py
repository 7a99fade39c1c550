"""Subset selection: its factors, sampler and estimates against enumeration, and an independent client."""

import decimal
import itertools
import json
import math
from collections.abc import Hashable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import oracles
from tests.client.samples import campaign
from tests.enumeration import FiniteMechanism, Law
from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods
from tests.mechanisms.test_vectors import Tape, integers, seal
from tests.oracles import subsets
from tests.promised_radii import CLOSE, widest_radius
from tests.theory.test_factorisations import assert_equal
from untrackable.accounting.check import verify
from untrackable.errors import StateError
from untrackable.estimation.aggregators import Scope
from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.interface import from_json
from untrackable.mechanisms.local import Fresh, SubsetSelection
from untrackable.mechanisms.stored import Memoized, Stored
from untrackable.randomizers.local import best_size
from untrackable.theory.experiment import Experiment

VECTORS = Path(__file__).parents[1] / "vectors"
WHOLE = 1 << 64
SMALL = [
    SubsetSelection(values=2, eps=1.3, size=1),
    SubsetSelection(values=3, eps=0.4, size=2),
    SubsetSelection(values=4, eps=1.0, size=2),
    SubsetSelection(values=5, eps=2.0, size=1),
]


# --- the definition, written down once more ----------------------------------------------------------------------


def missing(values: int, size: int, eps: float) -> int:
    """⌈2^64·(k-d)/(d·e^eps + k-d)⌉."""
    with decimal.localcontext(prec=90):
        return math.ceil(
            (values - size) * Fraction(WHOLE) / (size * Fraction(decimal.Decimal(eps).exp()) + values - size)
        )


def law(base: SubsetSelection, value: Hashable) -> Law:
    """Every set of the right size as a mask; those with the value are equally likely, and so are those without."""
    miss = missing(base.values, base.size, base.eps) / WHOLE
    sets = list(itertools.combinations(range(base.values), base.size))
    inside = sum(value in chosen for chosen in sets)
    return {
        sum(1 << v for v in chosen): (1 - miss) / inside if value in chosen else miss / (len(sets) - inside)
        for chosen in sets
    }


def stored(base: SubsetSelection, slots: int) -> FiniteMechanism:
    return oracles.stored(lambda value: law(base, value), slots, base.values)


def fresh(base: SubsetSelection) -> FiniteMechanism:
    return oracles.stateless(lambda value, round: law(base, value), base.values)


def as_bytes(base: SubsetSelection, report: Any) -> Any:
    return np.frombuffer(report.to_bytes((base.values + 7) // 8, "little"), dtype=np.uint8)


# --- factors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", SMALL, ids=repr)
def test_privacy_is_that_of_every_pair_of_values(base: SubsetSelection) -> None:
    for value, other in itertools.permutations(range(base.values), 2):
        assert_equal(Memoized(base).privacy(), stored(base, 1).privacy(value, other, [1]))
        assert_equal(Fresh(base).privacy(reports=2), fresh(base).privacy(value, other, [1, 2]))
    assert Memoized(base).privacy().pure() == pytest.approx(base.eps, rel=1e-12)


@pytest.mark.parametrize("base", SMALL, ids=repr)
@pytest.mark.parametrize("reports", [2, 3])
def test_a_report_that_is_sent_again(base: SubsetSelection, reports: int) -> None:
    rounds = list(range(1, reports + 1))
    for first in subsets(rounds):
        for value in (0, base.values - 1):
            found = Memoized(base).tracking(rounds=rounds, first=first)
            assert_equal(found, stored(base, 1).tracking(value, rounds, first))
    assert Dealt(base, 5).tracking(reports=5).pure() == 0.0


def test_a_campaign_of_it_is_confirmed() -> None:
    for eps, holds in ((0.03, True), (0.3, False)):
        assert verify(campaign(Dealt(SubsetSelection(values=4, eps=eps), 30))).holds == holds
    narrow = campaign(Dealt(SubsetSelection(values=3, eps=0.03), 30))
    assert "does not take all 4 values" in verify(narrow).problems[0]


# --- what an observer computes, and samplers ---------------------------------------------------------------------


@pytest.mark.parametrize("base", SMALL, ids=repr)
def test_likelihoods(base: SubsetSelection) -> None:
    for mechanism, oracle in (
        (Fresh(base), fresh(base)),
        (Dealt(base, 3), fresh(base)),
        (Memoized(base), stored(base, 1)),
        (Stored(base, 2), stored(base, 2)),
    ):
        assert_likelihoods(mechanism, oracle, (1, 1), lambda report: as_bytes(base, report), 3)


@pytest.mark.parametrize("base", [SubsetSelection(values=9, eps=1.0), SubsetSelection(values=17, eps=0.3, size=2)])
def test_likelihood_of_every_report(base: SubsetSelection) -> None:
    for value in (0, 7, base.values - 1):
        outcomes = law(base, value)
        reports = np.array([as_bytes(base, report) for report in outcomes])
        assert base.log_likelihood(reports, value) == pytest.approx(np.log(list(outcomes.values())), rel=1e-12)
    larger = np.array([as_bytes(base, (1 << (base.size + 1)) - 1)])
    assert base.log_likelihood(larger, 0)[0] == -math.inf


@pytest.mark.parametrize("base", SMALL, ids=repr)
@pytest.mark.parametrize("held", [0, 1])
def test_samplers_follow_their_law(base: SubsetSelection, held: int) -> None:
    """Clients and simulation; rates as in exact_laws.py."""
    outcomes = law(base, held)
    expected = np.array(list(outcomes.values()))
    numbers = {report: i for i, report in enumerate(outcomes)}
    client = Fresh(base).client(held)
    drawn = histogram([numbers[client.report(t)] for t in range(1, 30_001)], expected)
    (batch,) = Fresh(base).simulate(np.full(150_000, held), rounds=1, seed=3)
    masks = batch.reports.reshape(-1).tolist()
    simulated = histogram([numbers[mask] for mask in masks], expected)
    agrees(drawn, expected, tilted(expected, 0.07))
    agrees(simulated, expected, tilted(expected, 0.03))


def test_wide_sets_are_simulated_as_they_are_drawn() -> None:
    """Of 100 values: every set has the right size; how often it has which values, by client and by simulation."""
    base = SubsetSelection(values=100, eps=1.0, size=20)
    batches = Fresh(base).simulate(np.full(20_000, 63), rounds=1, seed=4)
    reports = np.concatenate([batch.reports[:, 0] for batch in batches])
    bits = np.unpackbits(reports, axis=-1, count=100, bitorder="little")
    assert (bits.sum(axis=1) == 20).all()
    there, elsewhere, _ = base._shares()
    for value in (0, 62, 63, 64, 99):
        share = there if value == 63 else elsewhere
        expected = np.array([1 - share, share])
        agrees(histogram(bits[:, value].astype(np.int64), expected), expected, tilted(expected, 0.06))
    client = Fresh(base).client(63)
    assert all(base.possible(client.report(t)) for t in range(1, 200))


# --- estimates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", SMALL, ids=repr)
def test_the_estimator_is_unbiased_with_the_variance_that_it_says(base: SubsetSelection) -> None:
    """Over every set that one person may send."""
    for value in range(base.values):
        mean, square = np.zeros(base.values), np.zeros(base.values)
        for report, chance in law(base, value).items():
            assert isinstance(report, int)
            found = base.aggregator(Scope(base, 0, pools=True)).add([report]).estimate().frequencies
            mean, square = mean + chance * found, square + chance * found**2
        assert mean == pytest.approx(np.eye(base.values)[value], abs=1e-12)
        other = (value + 1) % base.values
        error = base.accuracy(1, 0.05).standard_error
        assert square[other] - mean[other] ** 2 == pytest.approx(error**2, rel=1e-12)


@pytest.mark.parametrize("base", [SubsetSelection(values=40, eps=1.0), SubsetSelection(values=40, eps=3.0, size=5)])
def test_estimates(base: SubsetSelection) -> None:
    people = 60_000
    truth = np.concatenate(([0.4, 0.3, 0.1, 0.1, 0.05, 0.05], np.zeros(34)))
    values = np.repeat(np.arange(40), np.rint(truth * people).astype(int))
    sums = Memoized(base).aggregator()
    for batch in Memoized(base).simulate(values, rounds=1, seed=2):
        sums.add(batch.reports)
    found = sums.estimate()
    apart = np.abs(found.frequencies - truth)
    assert np.all(apart < found.simultaneous_radius)
    assert np.all(apart < 6 * found.standard_error)  # each fails with probability 2e-9
    assert np.any(apart > 0.5 * found.standard_error)  # and they are not too wide
    promised = base.accuracy(people, 0.05).radius
    assert widest_radius(found) == pytest.approx(promised, rel=CLOSE)
    assert np.all(found.radius <= promised)
    assert found.standard_error[-1] == pytest.approx(base.accuracy(people, 0.05).standard_error, rel=0.02)


def test_the_size_with_the_smallest_variance_is_chosen() -> None:
    for values, eps in itertools.product((2, 3, 10, 100), (0.01, 0.5, 1.0, 3.0, 10.0)):
        errors = [
            SubsetSelection(values=values, eps=eps, size=size).accuracy(1, 0.05).standard_error
            for size in range(1, values)
        ]
        chosen = SubsetSelection(values=values, eps=eps)
        assert chosen.size == best_size(values, eps)
        assert chosen.accuracy(1, 0.05).standard_error == pytest.approx(min(errors), rel=1e-9)


# --- parameters, states, JSON ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"values": 1}, ValueError, "values must be between 2 and 4096, got 1"),
        ({"size": 9}, ValueError, "size must be between 0 and 8, got 9"),
        ({"eps": -1}, ValueError, "eps must be positive"),
        ({"eps": 2.5e-19, "size": 8}, ValueError, "eps is too small for"),
        ({"values": 2.0}, TypeError, "values must be an integer, not float"),
    ],
)
def test_bad_parameters(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SubsetSelection(**{"values": 9, "eps": 1.0, **given})


def test_reports_and_states_that_cannot_be() -> None:
    base = SubsetSelection(values=9, eps=1.0, size=2)
    assert base.possible(0b110)
    assert not any(base.possible(report) for report in (0b111, 0b1, 1 << 9 | 1, -1))
    with pytest.raises(StateError, match="cannot have made"):
        Memoized(base).unpack_state((0b111).to_bytes(2, "big"))
    sums = Memoized(base).aggregator()
    for report, message in ((0b111, "a report must be a set of 2 values"), (1 << 9 | 1, "must have 9 bits")):
        with pytest.raises(ValueError, match=message):
            sums.add([report])
    with pytest.raises(ValueError, match="value must be between 0 and 8") as caught:
        Fresh(base).client(77)
    assert "77" not in str(caught.value)


def test_the_interface_answers_for_it() -> None:
    base = SubsetSelection(values=100, eps=1.0)
    deck = Dealt(base, 30)
    assert (deck.capacity, deck.last_round, deck.report_bits) == (100, 30, 100)
    assert "Ye, Barg" in Memoized(base).publications
    assert from_json(deck.to_json()) == deck
    assert Experiment([(base.privacy_factor(), 30)]).delta(1.0).upper == deck.privacy().delta(1.0).upper


def test_an_independent_client_reproduces_the_vectors() -> None:
    content = json.loads((VECTORS / "subsetselection.json").read_text(encoding="utf-8"))
    assert len(content["groups"]) == 15

    def draw(base: dict[str, Any], value: int, tape: Tape) -> int:
        missed = tape.happens(missing(base["values"], base["size"], base["eps"]))
        chosen: set[int] = set()
        count, others = base["size"] - 1 + missed, base["values"] - 1
        for last in range(others - count, others):
            drawn = tape.below(last + 1)
            chosen.add(last if drawn in chosen else drawn)
        elements = [v + (v >= value) for v in chosen] + [value] * (1 - missed)
        return sum(1 << v for v in elements)

    for group in content["groups"]:
        wrapper, base = group["parameters"]["wrapper"], group["parameters"]["base"]
        assert group["thresholds"] == {"miss": str(missing(base["values"], base["size"], base["eps"]))}
        for case in group["cases"]:
            tape, value = Tape(bytes.fromhex(case["entropy"])), int(case["value"])
            flags = [b"", b""]
            if wrapper == "Fresh":
                state = integers([value], (base["values"] - 1).bit_length())
                reports = [draw(base, value, tape) for _ in case["rounds"]]
            elif wrapper == "Memoized":
                kept = draw(base, value, tape)
                state, reports = integers([kept], base["values"]), [kept + 0 * tape.take(8) for _ in case["rounds"]]
            else:
                reports = [draw(base, value, tape) for _ in range(2)]
                state, flags = integers(reports, base["values"]), [bytes([0]), bytes([0b11000000])]
            for key, sent in zip(("state", "state_after"), flags, strict=True):
                assert seal(group["mechanism"], sent + state).hex() == case[key], case["label"]
            assert [str(report) for report in reports] == case["reports"], case["label"]
            assert tape.at == len(tape.data)
