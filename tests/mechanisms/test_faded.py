"""Fading views and one-bit means: the privacy of every round as enumerated, states, and an independent client."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.mechanisms.test_vectors import Local, Tape, flip, integers, seal
from untrackable.errors import StateError
from untrackable.mechanisms.fading import Faded, Fading
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import from_json
from untrackable.mechanisms.local import OneBitMean
from untrackable.mechanisms.views import Views
from untrackable.theory.experiment import Experiment

VECTORS = Path(__file__).parents[1] / "vectors"
VIEWS = Faded(local=Views.prefixes(bits=6, eps=5.0), eps=1.0, delta=1e-6)
MEAN = Faded(local=OneBitMean(values=101, eps=1.0), eps=1.0, delta=1e-6)
both = pytest.mark.parametrize("mechanism", [VIEWS, MEAN], ids=["views", "mean"])


@both
def test_few_rounds_are_the_product_of_their_factors(mechanism: Faded) -> None:
    factors = [mechanism.base(t).privacy_factor() for t in range(1, 6)]
    found, expected = mechanism.privacy(reports=5), Experiment(factors)
    for eps in (0.0, 0.1, 0.3):
        assert found.delta(eps).upper == pytest.approx(expected.delta(eps).upper, rel=1e-6)


@both
def test_all_rounds_for_ever_keep_the_budget(mechanism: Faded) -> None:
    assert 0.9e-6 < mechanism.privacy().delta(1.0).upper <= 1e-6
    assert mechanism.tracking(rounds=[1, 2, 9], first={2}).pure() == 0.0
    with pytest.raises(ValueError, match="is too large"):
        Faded(local=mechanism.local, eps=1.0, delta=1e-6, scale=1.01 * mechanism.scale)  # type: ignore[arg-type]


def test_one_bit_fades_like_a_bit_and_views_pay_for_the_highest_bit() -> None:
    assert Fading(bits=1, eps=1.0, delta=1e-6).scale == MEAN.scale
    assert Fading(bits=6, eps=1.0, delta=1e-6).scale > VIEWS.scale > MEAN.scale


@both
def test_fewer_rounds_may_be_louder(mechanism: Faded) -> None:
    """The loudest scale keeps the budget, and a slightly larger one does not."""
    budget: dict[str, Any] = {"local": mechanism.local, "delta": 1e-6}
    assert Faded.for_budget(eps=1.0, **budget) == mechanism
    for rounds in (12, 5):
        found = Faded.for_budget(eps=1.0, rounds=rounds, **budget)
        assert found.scale > 1.1 * mechanism.scale
        assert found.eps > 1
        assert found.privacy(reports=rounds).delta(1.0).upper <= 1e-6
        louder = Faded(local=found.local, eps=9.0, delta=1e-6, scale=1.01 * found.scale)  # type: ignore[arg-type]
        assert louder.privacy(reports=rounds).delta(1.0).upper > 1e-6
        assert found.privacy().delta(found.eps).upper <= 1e-6


@pytest.mark.parametrize("local", [Views.prefixes(bits=2, eps=1.0), OneBitMean(values=5, eps=1.0)])
def test_a_crowd_hides_louder_reports(local: Any) -> None:
    people = 1_500
    found = Faded.for_crowd(local=local, rounds=2, people=people, eps=1.0, delta=1e-6)
    assert found.scale > 5 * Faded(local=local, eps=1.0, delta=1e-6).scale
    inside = found.crowd(people=people, reports=2).gamma(1e-6)
    assert 0.97 < inside.upper <= 1 + 1e-9
    assert found.privacy().delta(found.eps).upper <= 1e-6


def test_the_crowd_of_a_found_mechanism_is_the_one_that_was_searched() -> None:
    """The bound has spikes, so even the smallest change of the scale would need another look at it."""
    found = Faded.for_crowd(local=OneBitMean(values=9, eps=1.0), rounds=6, people=1_000, eps=1.0, delta=1e-6)
    assert found.crowd(people=1_000, reports=6).delta(1.0).upper <= 1e-6


@both
def test_states_json_and_estimates(mechanism: Faded) -> None:
    assert from_json(mechanism.to_json()) == mechanism
    for _ in range(20):  # A bit may be 0 or 1.
        client = mechanism.client(7)
        mechanism.restore(client.to_bytes()).report(1)
        sent = client.report(3)
        again = mechanism.restore(client.to_bytes())
        assert again.report(3) == sent
        assert mechanism.local.possible(again.report(4))
    values = np.random.default_rng(1).integers(0, 50, 200_000)
    sums = mechanism.aggregator(2)
    for batch in mechanism.simulate(values, rounds=[2], seed=4):
        sums.add(batch.reports[:, 0])
        assert np.isfinite(mechanism.log_likelihood(batch.reports, 3, [2])).all()
    mean = sums.estimate().mean()
    assert mean.lower < values.mean() < mean.upper
    assert abs(mean.value - values.mean()) < 5 * mean.standard_error


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(TypeError, match="local must be Views or OneBitMean"):
        Faded(local=NoisyInnerProduct(bits=3, eps=1.0), eps=1.0, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="answers of one bit"):
        Faded(local=Views.prefixes(bits=3, eps=1.0, width=2), eps=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="not shown"):
        MEAN.client(101)
    payload = bytes(8) + integers([5], 7) + integers([1], 1)
    with pytest.raises(StateError, match="cannot have"):
        MEAN.unpack_state(payload)


def test_an_independent_client_reproduces_the_vectors() -> None:
    content = json.loads((VECTORS / "faded.json").read_text(encoding="utf-8"))
    for group in content["groups"]:
        given = group["parameters"]

        def draw(value: int, round: int, tape: Tape, given: dict[str, Any] = given) -> int:
            eps = given["scale"] * math.pow(round, -given["power"])
            base = given["local"]
            if base["mechanism"] == "one-bit-mean":
                return int(tape.below(base["values"] - 1) < value) ^ tape.happens(flip(eps))
            number = tape.below(len(base["views"]))
            view = base["views"][number]
            part = sum((value >> position & 1) << i for i, position in enumerate(view))
            return number << 7 | Local(len(view), eps, 1).draw(part, tape)

        value_bits, report_bits = (6, 10) if given["local"]["mechanism"] == "views" else (7, 1)
        for case in group["cases"]:
            tape, last, report = Tape(bytes.fromhex(case["entropy"])), 0, 0
            for round, expected in zip(case["rounds"], case["reports"], strict=True):
                if round != last:
                    last, report = round, draw(int(case["value"]), round, tape)
                assert report == int(expected)
            assert tape.at == len(tape.data)
            payload = (
                integers([last], 64) + integers([int(case["value"])], value_bits) + integers([report], report_bits)
            )
            assert seal(group["mechanism"], payload).hex() == case["state_after"]
