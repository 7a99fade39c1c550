"""Campaigns that plans propose, carried out: errors are as large as promised, and estimates have such radii.

Simulated people draw a round each, and all is repeated with independent draws. The sum of squares of errors over
their promised variance is nearly chi-square. With 3,000 trials, a right law is refused with probability 1e-6, and
one whose variance is off by 1.3 times is accepted with probability below 1e-7 (both computed).
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from untrackable import plan
from untrackable.encodings import Choices
from untrackable.estimation.estimate import Estimate
from untrackable.planning.plans import Plan

ALARM = 1e-6
SHARE = 0.05


def holders(people: int, values: int, share: float) -> NDArray[np.int64]:
    """Values of which the first has this share, and the others the rest."""
    many = round(share * people)
    rest = np.arange(people - many) % (values - 1) + 1
    return np.concatenate([np.zeros(many, dtype=np.int64), rest])


def senders(found: Plan, rounds: int, people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Those whose turn is in one of these rounds, each with a round and a share of their own."""
    turn = rng.integers(0, found.turns.rounds, size=people) < rounds
    return turn & (rng.random(people) < float(found.turns.share))


def estimated(found: Plan, values: NDArray[np.int64], seed: int) -> Estimate:
    reports = np.concatenate([b.reports for b in found.mechanism.simulate(values, rounds=1, seed=seed)])
    return found.mechanism.aggregator().add(reports[:, 0]).estimate(found.goals.beta)


def squares_are_as_promised(squares: NDArray[np.float64], variance: float) -> bool:
    ratio, count = squares.sum() / variance, squares.size
    return bool(chi2.ppf(ALARM / 2, count) < ratio < chi2.isf(ALARM / 2, count))


@pytest.mark.parametrize(
    ("asked", "pooled"),
    [
        ({"values": 2, "eps": 1.0}, 1),
        ({"values": 2, "eps": 4.0}, 1),
        ({"values": 2, "eps": 4.0}, 4),
        ({"values": 16, "eps": 4.0, "share": "1/2"}, 1),
        ({"values": 16, "eps": 1.5}, 2),
    ],
    ids=str,
)
def test_standard_errors_and_radii_of_shares(asked: dict[str, Any], pooled: int) -> None:
    people, trials = 3000, 3000
    found = plan(people=people, rounds=4, pooled=pooled, looks=1, error=0.999, **asked)
    share = 0.5 if asked["values"] == 2 else SHARE
    values, rng = holders(people, asked["values"], share), np.random.default_rng(7)
    errors, radii = np.zeros(trials), np.zeros(trials)
    for trial in range(trials):
        turn, has = rng.integers(0, 4, size=people), rng.random(people) < float(found.turns.share)
        heard = (turn < pooled) & has
        # Answers to a yes/no question change from round to round, so that the sample of pooled rounds is the worst.
        changed = values ^ (turn & 1) if asked["values"] == 2 else values
        estimate = estimated(found, changed[heard], trial).of_active(found.turns, pooled=pooled > 1)
        errors[trial] = estimate.frequencies[0] - share
        if trial < 200:
            radii[trial] = estimate.first(asked["values"]).simultaneous_radius[0]
    promise = found.figure
    assert promise.certainty == ("exact" if pooled == 1 else "upper")
    assert squares_are_as_promised(errors**2, promise.standard_error**2)
    for wrong in (0.85, 1.15):
        assert not squares_are_as_promised(errors**2, (wrong * promise.standard_error) ** 2)
    # Estimates near the share have about the promised radius; a few have larger ones by chance.
    assert np.median(radii[:200]) == pytest.approx(promise.radius_upper, rel=0.1)
    misses = int((np.abs(errors) > promise.radius_upper).sum())
    assert misses <= binom.isf(ALARM, trials, found.goals.beta)


@pytest.mark.parametrize("want", ["quantiles", "mean"])
def test_ordered_values(want: str) -> None:
    people, trials, beta = 40_000, 400, 0.2
    found = plan(people=people, values=16, rounds=40, eps=3.0, want=want, error=0.999, beta=beta)
    rng = np.random.default_rng(3)
    values = np.where(rng.random(people) < 0.5, 0, 15)
    missed, squares = 0, np.zeros(trials)
    for trial in range(trials):
        mine = values[senders(found, 1, people, rng)]
        estimate = estimated(found, mine, trial).of_active(found.turns)
        weights = np.linspace(0, 1, 16) if want == "mean" else np.arange(16) < 8
        error = float(estimate.frequencies[:16] @ weights - np.mean(weights[values]))
        squares[trial], missed = error**2, missed + (abs(error) > found.figure.radius_upper)
    # Half of the people at each end are the worst for a mean, for which the bound is then exact.
    assert squares.sum() / found.figure.standard_error**2 < chi2.isf(ALARM, trials)
    if want == "mean":
        assert squares_are_as_promised(squares, found.figure.standard_error**2)
    assert missed <= binom.isf(ALARM, trials, beta)


@pytest.mark.parametrize("eps", [1.0, 4.0])
def test_several_answers_at_once(eps: float) -> None:
    """For shares of a half, the standard error is exact whatever the way to ask."""
    people, trials = 3000, 3000
    found = plan(people=people, encoding=Choices(names=["a", "b"]), rounds=4, eps=eps, error=0.999)
    assert found.way == ("draw" if eps == 1 else "joint")
    rng = np.random.default_rng(5)
    values = np.arange(people) % 4
    errors, radii = np.zeros((trials, 2)), []
    for trial in range(trials):
        mine = values[senders(found, 1, people, rng)]
        reports = np.concatenate([b.reports for b in found.mechanism.simulate(mine, rounds=1, seed=trial)])
        sums: Any = found.mechanism.aggregator().add(reports[:, 0])
        for bit in (0, 1):
            table = sums.table((bit,)).of_active(found.turns)
            errors[trial, bit] = table.frequencies[1] - 0.5
            if trial < 50:
                radii.append(float(table.radius[1]))
    variance = found.figure.standard_error**2
    assert squares_are_as_promised(errors[:, 0] ** 2, variance)
    assert not squares_are_as_promised(errors[:, 0] ** 2, 1.3 * variance)
    misses = int((np.abs(errors) > found.figure.radius_upper).any(axis=1).sum())
    assert misses <= binom.isf(ALARM, trials, 0.05)
    # The radius is of all shares at once, so that of one share is smaller.
    assert 0.75 * found.figure.radius_upper < np.median(radii) < found.figure.radius_upper
