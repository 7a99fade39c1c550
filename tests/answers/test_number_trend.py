"""Trends of means and quantiles: bands and changes are wrong as rarely as stated, and steps are found."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Bitwise, Categories, Deck, Memoized, NoisyInnerProduct
from untrackable.answers.answer import Answer, Question, answer
from untrackable.answers.trend import (
    NumberTrend,
    mean_trend,
    number_trends,
    quantile_trend,
    share_trends,
    sum_trend,
    trend,
)
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.estimation.aggregators import Aggregator
from untrackable.mechanisms import CountMeanSketch, Fresh
from untrackable.mechanisms.interface import Mechanism

ROUNDS, PEOPLE, TIMES, BETA = 6, 250, 80, 0.2
NUMBERS = IntegerRange(low=10, high=17)
DECK = Deck(bits=3, slots=ROUNDS, eps_report=3.0)
KEPT = Memoized(NoisyInnerProduct(bits=3, eps=3.0))


def reports_of(mechanism: Mechanism, values: NDArray[np.int64], seed: int = 1) -> NDArray[np.uint64]:
    """Reports of people whose values change. Those who keep their noise have a state for each value."""
    rounds = values.shape[1]
    if mechanism.independent:
        return np.concatenate([batch.reports for batch in mechanism.simulate(values, rounds=rounds, seed=seed)])
    result: NDArray[np.uint64] | None = None
    for value in np.unique(values):
        alone = np.concatenate(
            [b.reports for b in mechanism.simulate(np.full(len(values), value), rounds=rounds, seed=seed + value)]
        )
        mine = (values == value).reshape(*values.shape, *(1,) * (alone.ndim - 2))
        result = alone if result is None else np.where(mine, alone, result)
    assert result is not None
    return result


def answered(
    mechanism: Mechanism, reports: NDArray[np.uint64], encoding: Encoding | None = NUMBERS, beta: float = BETA
) -> Answer:
    sums: dict[int, Aggregator] = {}
    for i in range(reports.shape[1]):
        sums[i + 1] = mechanism.aggregator(i + 1).add(reports[:, i])
    return answer(Question(mechanism, encoding), sums, beta=beta)


def held(shape: str) -> NDArray[np.int64]:
    """The encoded values of some people in each round: spread around a middle that stays, or that rises by 3."""
    around = np.arange(PEOPLE) * 3 // PEOPLE
    rise = 3 * (np.arange(ROUNDS) >= 3) if shape == "step" else np.zeros(ROUNDS, dtype=np.int64)
    return np.asarray(around[:, None] + 1 + rise, dtype=np.int64)


def truths(shape: str) -> dict[str, NDArray[np.float64]]:
    numbers = 10.0 + held(shape)
    return {
        "mean": numbers.mean(axis=0),
        "median": np.sort(numbers, axis=0)[-(-PEOPLE // 2) - 1],
        "0.9": np.sort(numbers, axis=0)[-(-PEOPLE * 9 // 10) - 1],
    }


def asked(result: Answer) -> dict[str, NumberTrend]:
    return {
        "mean": mean_trend(result, beta=BETA),
        "median": quantile_trend(result, 0.5, beta=BETA),
        "0.9": quantile_trend(result, 0.9, beta=BETA),
    }


@pytest.mark.parametrize("shape", ["still", "step"])
@pytest.mark.parametrize("mechanism", [DECK, KEPT], ids=["deck", "kept"])
def test_bands_and_changes_are_wrong_as_rarely_as_stated(mechanism: Mechanism, shape: str) -> None:
    """At most beta of the populations, so at most so many, except with probability 1e-9; and some are told."""
    reports = reports_of(mechanism, np.tile(held(shape), (TIMES, 1)))
    missed, wrong, changed = (dict.fromkeys(truths(shape), 0) for _ in range(3))
    for part in reports.reshape(TIMES, PEOPLE, *reports.shape[1:]):
        for name, result in asked(answered(mechanism, part)).items():
            truth = truths(shape)[name]
            missed[name] += bool(np.any((truth < result.lower) | (truth > result.upper)))
            changed[name] += bool(result.changes)
            for change in result.changes:
                before, after = (truth[a - 1 : b] for a, b in (change.before, change.after))
                # Rounds weigh the same. A mixture's quantile lies between those of its rounds.
                least, most = after.min() - before.max(), after.max() - before.min()
                inside = change.lower <= most + 1e-9 and change.upper >= least - 1e-9
                stretch = truth[change.first - 1 : change.last]
                wrong[name] += not (inside and np.ptp(stretch) > 0)
            assert result.independent == mechanism.independent
    most = binom.isf(1e-9, TIMES, BETA)
    for name in truths(shape):
        assert missed[name] <= most
        assert wrong[name] <= most
        if shape == "step" and mechanism is DECK:
            assert changed[name] > TIMES // 2
    if shape == "still":
        assert changed == wrong


def test_a_step_is_located() -> None:
    result = asked(answered(DECK, reports_of(DECK, np.repeat(held("step"), 20, axis=0))))
    for trend_found in result.values():
        (change,) = trend_found.changes
        assert (change.first, change.last, change.at, change.rose) == (3, 4, 4, True)
        assert change.lower <= 3 <= change.upper
        assert change.lower > 1


def test_sums_are_those_of_each_round() -> None:
    result = answered(DECK, reports_of(DECK, held("step")), beta=0.05)
    weights = np.arange(8) >= 5
    together = sum_trend(result, weights, name="many", beta=0.05 * ROUNDS)
    for i, estimate in enumerate(result.rounds.values()):
        alone = estimate.functional(weights)
        assert together.estimates[i] == pytest.approx(alone.value)
        assert together.lower[i] == pytest.approx(alone.lower)
        assert together.upper[i] == pytest.approx(alone.upper)
        assert together.standard_errors is not None
        assert together.standard_errors[i] == pytest.approx(alone.standard_error)
    with pytest.raises(ValueError, match="weights must be 8"):
        sum_trend(result, [1.0], name="few")


def test_numbers_are_those_of_each_round() -> None:
    encoding = Buckets(edges=[0, 1, 2, 4, 8, 16, 32, 64, 128])
    result = answered(DECK, reports_of(DECK, held("step")), encoding, beta=0.05)
    mean, median = mean_trend(result, beta=0.05 * ROUNDS), quantile_trend(result, 0.5, beta=0.05 * ROUNDS)
    for i, estimate in enumerate(result.rounds.values()):
        assert mean.lower[i] == pytest.approx(estimate.mean().lower)
        assert mean.upper[i] == pytest.approx(estimate.mean().upper)
        assert mean.estimates[i] == pytest.approx(estimate.mean().value)
        quantile = estimate.quantile(0.5)
        assert (median.lower[i], median.upper[i]) == (quantile.lower, quantile.upper)
    assert [trend_found.quantile for trend_found in number_trends(result)] == [None, 0.5, 0.95]


def test_numbers_without_a_bound_have_no_mean() -> None:
    encoding = Buckets(edges=[0, 1, 2, 4, 8, 16, 32, 64], above="separate")
    result = answered(DECK, reports_of(DECK, held("still")), encoding)
    with pytest.raises(ValueError, match="no bound on the mean"):
        mean_trend(result)
    assert [trend_found.quantile for trend_found in number_trends(result)] == [0.5, 0.95]
    names = answered(DECK, reports_of(DECK, held("still")), Categories(names=list("abcdefgh")))
    assert number_trends(names) == ()


def test_shares_are_the_same_from_sums_and_from_an_answer() -> None:
    reports = reports_of(DECK, held("step"))
    question = Question(DECK, NUMBERS)
    sums = {i + 1: DECK.aggregator(i + 1).add(reports[:, i]) for i in range(ROUNDS)}
    ones, others = trend(question, sums, [3, 6]), share_trends(answer(question, sums, beta=0.3), [3, 6])
    assert [each.name for each in ones] == [each.name for each in others] == ["13", "16"]
    for one, other in zip(ones, others, strict=True):
        for name in ("estimates", "lower", "upper", "standard_errors"):
            assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-12, equal_nan=True)
        assert one.changes == other.changes


def test_changes_of_shares_hold_for_all_values_at_once() -> None:
    """Nothing changes: any change of any of the 8 values is wrong."""
    reports = reports_of(DECK, np.tile(held("still"), (TIMES, 1)))
    wrong = 0
    for part in reports.reshape(TIMES, PEOPLE, *reports.shape[1:]):
        wrong += any(each.changes for each in share_trends(answered(DECK, part), range(8), beta=BETA))
    assert wrong <= binom.isf(1e-9, TIMES, BETA)


def test_values_that_share_hash_functions_have_a_band_too() -> None:
    sketch = Fresh(CountMeanSketch(hashes=16, width=64, eps=6.0, values=4))
    reports = reports_of(sketch, np.repeat([[0, 0, 0, 3, 3, 3]], 20_000, axis=0).astype(np.int64))
    result = share_trends(answered(sketch, reports, None), [0, 3])
    assert not result[0].independent
    assert result[0].lower[0] <= next(iter(answered(sketch, reports, None).rounds.values())).interval().lower[0]
    fell, rose = (each.changes for each in result)
    assert [(change.first, change.last, change.rose) for change in (*fell, *rose)] == [(3, 4, False), (3, 4, True)]


def test_another_beta() -> None:
    for mechanism in (DECK, Bitwise(eps_state=1.0, eps_report=1.0)):
        sums = mechanism.aggregator(1).add(reports_of(mechanism, held("still") % 2)[:, 0])
        wide, narrow = sums.estimate(0.01), replace(sums.estimate(0.2), beta=0.01)
        assert np.allclose(wide.radius, narrow.radius)
        assert np.allclose(wide.simultaneous_radius, narrow.simultaneous_radius)
        assert narrow.beta == 0.01
