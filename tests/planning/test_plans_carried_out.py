"""Plans carried out: simulated people answer, figures are published, errors are as small and as often as promised.

Every mechanism that a plan can list is tried, at least `TRIALS` times. In some plans people answer every round, in
others by chance; the truth is that of all people, whether or not they answered. A figure misses its promise with
probability at most beta, and figures of different trials are independent; so if all promises are kept, more misses
than allowed happen with probability at most 1e-7, among all trials as well as of any mechanism.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from tests.planning.random_goals import LISTED, NEVER
from tests.promised_radii import widest_radius
from untrackable import Goals, Rappor, plan
from untrackable.estimation import Rounds
from untrackable.estimation.estimate import Estimate
from untrackable.mechanisms import OneChange
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.hash_rows import Sketch
from untrackable.planning.plans import Option

pytestmark = pytest.mark.xdist_group("promises")  # they share what they tried

BETA = 0.2
SEEDS = range(10)
ATTENDED = (0, 1, 5)
BY_CHANCE = ("bitwise", "deck", "fading", "l-grr", "l-osue", "l-oue", "l-soue", "l-sue", "rnip")
"""The mechanisms that keep people from being recognised if these answer by chance."""
ALARM = 1e-7
TRIALS = 24


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
        matched_by_answer=1.0,
        error=0.999,
        beta=BETA,
        simultaneous=bool(rng.integers(2)),
        pooled=int(rng.integers(1, rounds + 1)),
        recognition=1.0,
    )


def attended_goals(seed: int) -> Goals:
    """Goals that people meet if they answer by chance."""
    goals = goals_of(seed)
    return goals.replace(rounds=8, recognition=[0.002, 0.004, 0.05][seed % 3], people=20_000, advantage=0.02)


def figure(mechanism: Mechanism, values: NDArray[np.int64], goals: Goals, seed: int) -> Estimate:
    """The figure of the last rounds."""
    return pooled(mechanism, estimates(mechanism, values, goals, seed))


def estimates(mechanism: Mechanism, values: NDArray[np.int64], goals: Goals, seed: int) -> dict[int, Estimate]:
    """Each of the last rounds, or the last one alone if it needs the reports of all before."""
    rounds = range(1, goals.figure[-1] + 1) if isinstance(mechanism, OneChange) else goals.figure
    reports = np.concatenate([b.reports for b in mechanism.simulate(values, rounds=list(rounds), seed=seed)])
    answered = np.random.default_rng([9, seed]).random((len(rounds), values.size)) < float(goals.answered)
    if isinstance(mechanism, OneChange):
        last = goals.figure[-1]
        return {last: mechanism.aggregator(last).add(reports).estimate(BETA)}
    return {r: _estimated(mechanism, r, reports[answered[i], i], goals.size) for i, r in enumerate(rounds)}


def pooled(mechanism: Mechanism, found: dict[int, Estimate]) -> Estimate:
    """As the library pools them. If all share their hash functions, it does not, and the last one is the figure."""
    last = found[max(found)]
    return Rounds(mechanism, found).pooled(beta=BETA) if last.reach is None else last


def worst(mechanism: Mechanism, found: dict[int, Estimate], goals: Goals) -> float:
    """The radius of the figure for the worst counts. Rounds that depend on each other each have a part of beta."""
    if mechanism.independent:
        return widest_radius(pooled(mechanism, found), simultaneous=goals.simultaneous)
    last = found[max(found)]
    part = replace(last, beta=BETA / goals.pooled)
    hoeffding = replace(last, beta=BETA, chance=None)
    return min(widest_radius(each, simultaneous=goals.simultaneous) for each in (part, hoeffding))


def _estimated(mechanism: Mechanism, round: int, reports: NDArray[Any], size: int) -> Estimate:
    """Of all values, which those that know no list of them are given as candidates."""
    aggregator: Any = mechanism.aggregator(round)
    listed = isinstance(mechanism, Rappor) or isinstance(getattr(mechanism, "base", None), Sketch)
    asked = {"candidates": range(size)} if listed else {}
    found: Estimate = aggregator.add(reports).estimate(beta=BETA, **asked)
    return found


def missed(option: Option, seed: int) -> float:
    """The error of a figure over the promised one: of one value chosen beforehand, or the largest of all."""
    goals = option.goals
    rng = np.random.default_rng([5, seed])
    shares = rng.dirichlet(np.full(goals.size, 0.7))
    values = rng.choice(goals.size, size=goals.people or 1, p=shares)
    found = figure(option.mechanism, values, goals, seed)
    truth = np.bincount(values, minlength=found.frequencies.size)[: found.frequencies.size] / values.size
    off = np.abs(found.frequencies - truth)
    return float(off.max() if goals.simultaneous else off[seed % goals.size]) / option.error_upper


@pytest.fixture(scope="module")
def trials() -> dict[str, list[float]]:
    """What every option of every plan misses its promise by."""
    options: dict[str, list[Option]] = {}
    for goals in (*map(goals_of, SEEDS), *map(attended_goals, ATTENDED)):
        for option in plan(goals=goals).options:
            options.setdefault(option.name + " by chance" * (option.goals.answered < 1), []).append(option)
    return {
        name: [
            missed(option, 1000 * number + 100 * again + i)
            for again in range(-(-TRIALS // len(found)))
            for i, option in enumerate(found)
        ]
        for number, (name, found) in enumerate(options.items())
    }


def test_every_mechanism_is_tried(trials: dict[str, list[float]]) -> None:
    """All families: a new one that no plan here lists, or that cannot be simulated, fails."""
    assert set(trials) == LISTED | {f"{name} by chance" for name in BY_CHANCE}
    assert all(len(ratios) >= TRIALS for ratios in trials.values())
    assert all(max(ratios) > 0.02 for ratios in trials.values())  # none is free of error


def test_what_is_never_tried_is_never_listed() -> None:
    goals = Goals(people=10**12, values=2, rounds=3, eps=8.0, advantage=1.0)
    assert set(CATALOGUE) > NEVER
    for name in NEVER:
        with pytest.raises(Unsuitable):
            CATALOGUE[name].for_budget(goals.budget)


@pytest.mark.parametrize("name", sorted(LISTED) + [f"{name} by chance" for name in BY_CHANCE])
def test_every_mechanism_keeps_its_promises(trials: dict[str, list[float]], name: str) -> None:
    ratios = trials[name]
    allowed = int(binom.isf(ALARM / len(CATALOGUE), len(ratios), BETA))
    assert allowed < 0.8 * len(ratios)
    assert sum(ratio > 1 for ratio in ratios) <= allowed


def test_promised_errors_hold_as_often_as_promised(trials: dict[str, list[float]]) -> None:
    ratios = [ratio for found in trials.values() for ratio in found]
    allowed = int(binom.isf(ALARM, len(ratios), BETA))
    assert allowed < 0.5 * len(ratios)  # enough trials for the test to mean something
    assert sum(ratio > 1 for ratio in ratios) <= allowed


def test_a_promise_that_is_four_times_too_good_is_found_out(trials: dict[str, list[float]]) -> None:
    ratios = [ratio for found in trials.values() for ratio in found]
    assert sum(ratio > 0.25 for ratio in ratios) > binom.isf(ALARM, len(ratios), BETA)


@pytest.mark.parametrize("seed", [4, 5])
def test_estimates_promise_no_more_than_the_plan(seed: int) -> None:
    """The radius that the collector will show is at most the planned one, and the same for the worst counts."""
    goals = goals_of(seed) if seed % 2 else attended_goals(seed)
    for option in plan(goals=goals).options:
        values = np.arange(goals.people or 1, dtype=np.int64) % goals.size
        each = estimates(option.mechanism, values, option.goals, 1)
        found = pooled(option.mechanism, each)
        radius = float((found.simultaneous_radius if goals.simultaneous else found.radius).max())
        close = 0.02 if option.goals.answered == 1 else 0.3 / math.sqrt(20_000 * option.goals.answered / 400)
        assert 0 < radius <= option.error_upper * (1 + close), option.name
        if found.reach is None:
            widest = worst(option.mechanism, each, option.goals)
            assert widest == pytest.approx(option.error_upper, rel=close), option.name
        else:  # Hashing adds to the error. No value need have the worst count.
            assert radius >= 0.5 * option.error_upper, option.name
