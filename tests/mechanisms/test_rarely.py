"""One answer for ever or silence: samplers, privacy and tracking by enumeration, estimates, golden vectors."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_vectors import WHOLE, Tape, flip, seal
from untrackable.arrays import FloatArray
from untrackable.mechanisms import Rarely
from untrackable.mechanisms.rarely import SILENT
from untrackable.settings.catalogue import CATALOGUE
from untrackable.settings.demands import Budget, Unsuitable
from untrackable.theory.floor import tracking_lower

VECTORS = Path(__file__).parents[1] / "vectors"
MECHANISM = Rarely(eps=1.2, chance=0.3)


def law(mechanism: Rarely, value: int) -> FloatArray:
    """0, 1 and silence."""
    lie = 1 / (math.exp(mechanism.eps) + 1)
    told = [mechanism.chance * (1 - lie), mechanism.chance * lie]
    return np.array([*(reversed(told) if value else told), 1 - mechanism.chance])


@pytest.mark.parametrize("value", [0, 1])
def test_clients_and_simulations_follow_the_law(value: int) -> None:
    """All reports of one person are the same, and the first has the law: it is told from one that is 3 % off."""
    exact = law(MECHANISM, value)
    clients = [MECHANISM.client(value) for _ in range(40_000)]
    drawn = np.array([[client.report(t) for t in (1, 2, 9)] for client in clients])
    assert np.all(drawn == drawn[:, :1])
    agrees(histogram(drawn[:, 0], exact), exact, tilted(exact, 0.05))
    found = np.concatenate([b.reports for b in MECHANISM.simulate(np.full(1_600_000, value), rounds=2, seed=3)])
    assert np.all(found == found[:, :1])
    counts = histogram(found[:, 0].astype(np.int64), exact)
    agrees(counts, exact, law(Rarely(eps=1.2, chance=0.3 * 1.03), value))
    agrees(counts, exact, law(Rarely(eps=1.2 * 1.05, chance=0.3), value))
    assert np.exp(MECHANISM.base.log_likelihood(np.arange(3, dtype=np.uint64), value)) == pytest.approx(exact)


@pytest.mark.parametrize("chance", [0.3, 1.0])
def test_privacy_and_tracking_are_those_of_one_report_that_is_kept(chance: float) -> None:
    """Enumerated: all reports of one person, and of two who hold the same value."""
    mechanism = Rarely(eps=1.2, chance=chance)
    zero, one = law(mechanism, 0), law(mechanism, 1)
    for gamma in (0.0, 0.4, 1.1, 3.0):
        told = np.maximum(0.0, zero - math.exp(gamma) * one).sum()
        found = mechanism.privacy().delta(gamma)
        assert found.lower == pytest.approx(told, abs=1e-9) == found.upper
        pairs = list(itertools.product(range(3), repeat=2))
        person = np.array([zero[x] if x == y else 0.0 for x, y in pairs])
        people = np.array([zero[x] * zero[y] for x, y in pairs])
        for one_world, other, direction in ((person, people, "forward"), (people, person, "backward")):
            exact = np.maximum(0.0, one_world - math.exp(gamma) * other).sum()
            seen = mechanism.tracking(reports=7, split=3).delta(gamma, direction)  # type: ignore[arg-type]
            assert seen.lower == pytest.approx(exact, abs=1e-9) == seen.upper
    assert mechanism.privacy().pure() == pytest.approx(1.2)
    assert mechanism.tracking(reports=1).advantage().upper == 0
    assert mechanism.privacy(reports=50).pure() == mechanism.privacy().pure()


@pytest.mark.parametrize("variance", [1.0, 10.0, 1000.0])
def test_it_is_as_accurate_as_asked_and_near_the_floor(variance: float) -> None:
    mechanism = Rarely.for_variance(eps=1.0, variance=variance)
    assert mechanism.accuracy(1).standard_error ** 2 == pytest.approx(variance)
    floor = tracking_lower(variance, eps=1.0, delta=0.0, reports=None)
    found = mechanism.tracking(reports=365).advantage()
    assert floor < found.lower < (1 + 2 / variance) * floor
    with pytest.raises(ValueError, match="variance is too small for eps = 1"):
        Rarely.for_variance(eps=1.0, variance=0.9)


def test_estimates_are_unbiased_and_covered() -> None:
    for value in (0, 1):
        found = [MECHANISM.aggregator().add([r]).estimate().frequencies[1] for r in range(3)]
        assert law(MECHANISM, value) @ found == pytest.approx(value)
        contributions = np.array(found)
        spread = law(MECHANISM, value) @ (contributions - value) ** 2
        assert spread == pytest.approx(MECHANISM.accuracy(1).standard_error ** 2)
    people = 20_000
    errors = []
    for seed in range(300):
        (batch,) = MECHANISM.simulate(np.arange(people) % 4 == 0, rounds=1, seed=seed)
        estimate = MECHANISM.aggregator().add(batch.reports[:, 0]).estimate()
        errors.append(estimate.frequencies[1] - 0.25)
        assert abs(errors[-1]) < estimate.radius[1]
        assert abs(errors[-1]) < MECHANISM.accuracy(people).radius
    # The relative error of a sampled standard deviation is about 1/√600; five of them are hardly ever exceeded.
    assert np.std(errors) == pytest.approx(MECHANISM.accuracy(people).standard_error, rel=5 / math.sqrt(600))
    weighted = MECHANISM.aggregator().add([0, 1, SILENT]).estimate().functional(np.array([0.0, 2.0]))
    assert weighted.value == pytest.approx(1.0)


def test_no_plan_proposes_it_and_the_reason_is_said() -> None:
    with pytest.raises(Unsuitable, match=r"the few people who answer are followed with certainty\."):
        CATALOGUE["rarely"].for_budget(Budget(values=2))
    with pytest.raises(ValueError, match="its reports can be linked, so a crowd does not hide them"):
        MECHANISM.crowd(people=1000, reports=3)


def test_parameters() -> None:
    for chance in (0.0, 1e-25):
        with pytest.raises(ValueError, match="chance must be above 0"):
            Rarely(eps=1.0, chance=chance)
    with pytest.raises(ValueError, match="chance must be between 0 and 1"):
        Rarely(eps=1.0, chance=1.5)
    with pytest.raises(ValueError, match="not shown"):
        MECHANISM.client(2)
    with pytest.raises(ValueError, match="a report must be between 0 and 2"):
        MECHANISM.aggregator().add([3])
    assert repr(MECHANISM) == "Rarely(eps=1.2, chance=0.3)"


def test_an_independent_client_reproduces_the_vectors() -> None:
    content = json.loads((VECTORS / "rarely.json").read_text(encoding="utf-8"))
    for group in content["groups"]:
        eps, chance = group["parameters"]["eps"], group["parameters"]["chance"]
        answers = math.floor(Fraction(chance) * WHOLE)
        assert group["thresholds"] == {"answers": str(answers), "flip": str(flip(eps))}
        for case in group["cases"]:
            tape = Tape(bytes.fromhex(case["entropy"]))
            kept = int(case["value"]) ^ tape.happens(flip(eps)) if tape.happens(answers) else 2
            assert seal(group["mechanism"], bytes([kept])).hex() == case["state"], case["label"]
            for report in case["reports"]:
                tape.take(8)  # One slot out of one.
                assert int(report) == kept
            assert tape.at == len(tape.data)
