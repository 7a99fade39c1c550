"""Plans carried out: simulated people answer, figures are published, errors are as small and as often as promised.

A figure misses its promise with probability at most beta, and figures of different trials are independent; so more
than `ALLOWED` misses among `TRIALS` happen with probability at most 1e-7 if all promises are kept.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Goals, OneChange, Rounds, plan
from untrackable.mechanisms.base import Mechanism
from untrackable.mechanisms.frequencies import Estimate
from untrackable.planning.plans import Option

BETA = 0.2
SEEDS = range(10)
ALARM = 1e-7


def goals_of(seed: int) -> Goals:
    rng = np.random.default_rng([77, seed])
    rounds = int(rng.integers(1, 9))
    tolerance = [0.02, 0.3, 1.0][seed % 3]
    return Goals(
        people=int(rng.integers(2_000, 6_000)),
        values=int(rng.choice([2, 3, 5, 16])) if seed % 4 else 2,
        rounds=rounds,
        eps=float(rng.uniform(1, 8)),
        advantage=tolerance,
        beta=BETA,
        simultaneous=bool(rng.integers(2)),
        pooled=int(rng.integers(1, rounds + 1)),
    )


def figure(mechanism: Mechanism, values: NDArray[np.int64], goals: Goals, seed: int) -> Estimate:
    """The figure of the last rounds, pooled as the library pools them."""
    rounds = range(1, goals.figure[-1] + 1) if isinstance(mechanism, OneChange) else goals.figure
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=list(rounds), seed=seed)])
    if isinstance(mechanism, OneChange):
        return mechanism.aggregator(goals.figure[-1]).add(reports).estimate(BETA)
    estimates = {r: _estimated(mechanism, r, reports[:, i]) for i, r in enumerate(rounds)}
    return Rounds(mechanism, estimates).pooled(beta=BETA) if mechanism.independent else estimates[rounds[-1]]


def _estimated(mechanism: Mechanism, round: int, reports: NDArray[Any]) -> Estimate:
    aggregator: Any = mechanism.aggregator(round)
    found: Estimate = aggregator.add(reports).estimate(BETA)
    return found


def missed(option: Option, seed: int) -> list[float]:
    """Errors of a figure over the promised one: of one value chosen beforehand, or the largest of all."""
    goals = option.goals
    rng = np.random.default_rng([5, seed])
    shares = rng.dirichlet(np.full(goals.size, 0.7))
    values = rng.choice(goals.size, size=goals.people or 1, p=shares)
    found = figure(option.mechanism, values, goals, seed)
    truth = np.bincount(values, minlength=found.frequencies.size)[: found.frequencies.size] / values.size
    off = np.abs(found.frequencies - truth)
    return [float(off.max() if goals.simultaneous else off[seed % goals.size]) / option.error_upper]


@pytest.fixture(scope="module")
def trials() -> dict[str, list[float]]:
    """What every option of every plan misses its promise by, sketches and RAPPOR (lists of candidates) apart."""
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        for i, option in enumerate(plan(goals=goals_of(seed)).options):
            if option.name not in ("cms", "hcms", "rappor"):
                for again in range(2):
                    found.setdefault(option.name, []).extend(missed(option, 100 * seed + 2 * i + again))
    return found


def test_every_mechanism_is_tried(trials: dict[str, list[float]]) -> None:
    wanted = {
        "deck",
        "fading",
        "rnip",
        "memoized",
        "bitwise",
        "l-grr",
        "l-sue",
        "l-osue",
        "l-oue",
        "l-soue",
        "dbitflip",
    }
    assert wanted <= set(trials), wanted - set(trials)


def test_promised_errors_hold_as_often_as_promised(trials: dict[str, list[float]]) -> None:
    ratios = [ratio for found in trials.values() for ratio in found]
    allowed = int(binom.isf(ALARM, len(ratios), BETA))
    assert allowed < 0.5 * len(ratios)  # enough trials for the test to mean something
    assert sum(ratio > 1 for ratio in ratios) <= allowed


def test_a_promise_that_is_four_times_too_good_is_found_out(trials: dict[str, list[float]]) -> None:
    ratios = [ratio for found in trials.values() for ratio in found]
    assert sum(ratio > 0.25 for ratio in ratios) > binom.isf(ALARM, len(ratios), BETA)


def test_estimates_promise_no_more_than_the_plan(trials: dict[str, list[float]]) -> None:
    """The radius that the collector will show is the planned one."""
    goals = goals_of(4)
    for option in plan(goals=goals).options:
        if option.name in ("cms", "hcms", "rappor", "loloha", "biloloha", "ololoha"):
            continue
        values = np.zeros(goals.people or 1, dtype=np.int64)
        found = figure(option.mechanism, values, goals, 1)
        radius = (found.simultaneous_radius if goals.simultaneous else found.radius)[0]
        assert radius == pytest.approx(option.error_upper, rel=0.02), option.name
        assert math.isfinite(radius)
