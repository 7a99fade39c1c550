"""Means, quantiles and distributions: their intervals hold, and say so where they tell nothing.

Small populations are asked many times over. Seeds are fixed. Bounds are conservative, so that misses are rarer than
`beta`; that the tests would notice an interval that is too short is shown with one.
"""

import dataclasses
import math
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pydoc_data import topics
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from untrackable import Bit, Buckets, Categories, Deck, Fading, Fresh, HashedStrings, IntegerRange, Memoized
from untrackable.answers.answer import Question, answer
from untrackable.estimation import Rounds
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import LinearSpreads, PooledSpreads, Spread
from untrackable.mechanisms import (
    Bitwise,
    CountMeanSketch,
    DBitFlip,
    HadamardSketch,
    Lgrr,
    Loloha,
    NoisyInnerProduct,
    SubsetSelection,
    Unary,
)
from untrackable.theory.turns import Turns

BETA, TIMES, PEOPLE, ALARM = 0.2, 150, 300, 1e-9
MOST = int(binom.isf(ALARM, TIMES, BETA))
"""More misses than this among `TIMES` have a probability below `ALARM` if intervals miss at a rate of BETA."""
QUANTILES = (0.5, 0.95)
LENGTHS = IntegerRange(low=1, high=12, above="clamp")
MECHANISMS = {
    "one bit": Fresh(NoisyInnerProduct(bits=4, eps=2.0, width=1)),
    "wide": Fresh(NoisyInnerProduct(bits=4, eps=4.0)),
    "deck": Deck(bits=4, slots=3, eps_report=3.0),
    "unary": Unary(values=12, keep=0.9, add=0.1, q=0.9, p=0.1),
    "subset": Fresh(SubsetSelection(values=12, eps=2.0)),
    "dbitflip": DBitFlip(buckets=12, sampled=6, eps=6.0),
    "symbol": Lgrr(values=12, keep=0.8, tell=0.9),
    "seeds": Loloha(values=12, symbols=4, keep=0.9, tell=0.95, seed_bits=6),
    "many seeds": Loloha(values=12, symbols=4, keep=0.9, tell=0.95),
    "sketch": Fresh(CountMeanSketch(hashes=16, width=64, eps=5.0)),
    "hadamard": Fresh(HadamardSketch(hashes=16, width=64, eps=4.0)),
}
SLOW = ("sketch", "hadamard", "seeds")
"""These are asked about one population only."""


@cache
def words() -> NDArray[np.int64]:
    """The lengths of the words of Python's language reference, as it comes with Python."""
    return np.array([len(word) for text in topics.topics.values() for word in text.split()])


def populations() -> dict[str, NDArray[np.int64]]:
    some = words()[: 100 * PEOPLE : 100]
    extremes = np.where(np.arange(PEOPLE) % 2, 1, 12)
    return {"words": some, "all alike": np.full(PEOPLE, 7), "extremes": extremes}


def asked(mechanism: Any, encoding: Any, raw: NDArray[Any], *, times: int = TIMES) -> Iterator[Estimate]:
    """Estimates of one population, asked many times."""
    held = np.tile(encoding.encode_many(raw), times)
    seed = zlib.crc32(repr((mechanism, raw.tolist())).encode())
    reports = np.concatenate([batch.reports for batch in mechanism.simulate(held, rounds=1, seed=seed)])
    question = Question(mechanism, encoding)
    for part in np.split(reports, times):
        yield question.estimate(question.prepare(mechanism.aggregator(1)).add(part), BETA)


def missed(found: Estimate, raw: NDArray[Any], encoding: Any) -> NDArray[np.bool_]:
    """Whether the intervals of the mean, of each quantile and of the whole distribution miss."""
    numbers = np.clip(raw, 1, 12) if encoding is LENGTHS else raw
    mean = found.mean()
    missing = [not mean.lower <= numbers.mean() <= mean.upper]
    for q in QUANTILES:
        true, quantile = np.quantile(numbers, q, method="inverted_cdf"), found.quantile(q)
        assert quantile.lower <= quantile.interpolated <= quantile.upper
        assert math.isnan(quantile.value) or quantile.value == quantile.interpolated
        missing.append(not quantile.lower <= true <= quantile.upper)
    band = found.distribution()
    shares = (numbers[:, None] <= band.edges).mean(axis=0)
    if encoding is not LENGTHS:  # A bucket does not contain its upper edge.
        shares = (numbers[:, None] < band.edges).mean(axis=0)
    missing.append(bool(np.any(shares < band.lower_simultaneous) or np.any(shares > band.upper_simultaneous)))
    assert np.all(np.diff(band.curve) >= 0)
    return np.array(missing)


@pytest.mark.parametrize("name", MECHANISMS)
def test_intervals_hold(name: str) -> None:
    """They miss with probability at most BETA. A false alarm has probability at most 12·ALARM for a mechanism."""
    for raw in list(populations().values())[: 1 if name in SLOW else 3]:
        estimates = list(asked(MECHANISMS[name], LENGTHS, raw))
        assert np.all(sum(missed(found, raw, LENGTHS) for found in estimates) <= MOST)
        errors = np.array([found.mean().value for found in estimates]) - np.clip(raw, 1, 12).mean()
        standard = estimates[0].mean().standard_error
        bias = float(estimates[0].spread.of(np.linspace(-5.5, 5.5, 12)).bias)
        # The mean of the errors, or their spread, is off by so much with probability below ALARM.
        assert abs(errors.mean()) <= 7 * standard / TIMES**0.5 + bias
        assert errors.std() <= 1.5 * standard


def test_too_short_an_interval_is_noticed() -> None:
    raw, most = populations()["extremes"], []
    for found in asked(MECHANISMS["symbol"], LENGTHS, raw):
        spread = found.spread
        short = LinearSpreads(lambda weights, spread=spread: spread.of(weights).scaled(0.3))  # type: ignore[misc]
        most.append(missed(dataclasses.replace(found, spread=short), raw, LENGTHS))
    assert np.sum(most, axis=0)[0] > MOST


def test_buckets_hide_where_numbers_are() -> None:
    """The interval of the mean holds wherever numbers are in their buckets, and quantiles are within theirs."""
    encoding = Buckets(edges=[0, 1, 2, 4, 8, 16])
    mechanism = Fresh(NoisyInnerProduct(bits=3, eps=4.0))
    rng = np.random.default_rng(5)
    low = np.repeat([0.0, 1, 2, 4, 8], [100, 80, 60, 40, 20])
    for raw in (low, np.nextafter(low * 2, 0) + (low == 0), low + low * rng.random(low.size) * 0.9):
        totals = np.sum([missed(found, raw, encoding) for found in asked(mechanism, encoding, raw)], axis=0)
        assert np.all(totals <= MOST)


def test_a_bit_has_a_mean() -> None:
    mechanism, raw = Bitwise(eps_state=3.0, eps_report=3.0), np.arange(PEOPLE) % 3 == 0
    estimates = list(asked(mechanism, Bit(), raw))
    means = [found.mean() for found in estimates]
    assert sum(not mean.lower <= raw.mean() <= mean.upper for mean in means) <= MOST
    found = estimates[0]
    assert means[0].value == pytest.approx(found.frequencies[1])
    assert found.quantile(0.9).value == 1.0


@pytest.mark.parametrize("whole", [True, False])
def test_a_sample_of_people(whole: bool) -> None:
    """Estimates are of everybody; without the error of the sample, intervals would miss too often."""
    mechanism, rng = Lgrr(values=12, keep=0.999, tell=0.999), np.random.default_rng(6)
    everybody = np.where(np.arange(PEOPLE) % 2, 1, 12)
    misses = 0
    question = Question(mechanism, LENGTHS, turns=Turns(rounds=10))
    for seed in range(TIMES):
        answering = everybody[rng.random(PEOPLE) < 0.1]
        (batch,) = mechanism.simulate(LENGTHS.encode_many(answering), rounds=1, seed=seed)
        found = question.estimate(mechanism.aggregator(1).add(batch.reports), BETA)
        if not whole:
            found = dataclasses.replace(found, spread=mechanism.aggregator(1).add(batch.reports).estimate().spread)
        mean = found.mean()
        misses += not mean.lower <= everybody.mean() <= mean.upper
    assert (misses <= MOST) == whole


def test_pooled_rounds() -> None:
    """Independent rounds tell more together than apart, others do not, and both intervals hold."""
    raw, rounds, times = populations()["words"], 3, 60
    most = int(binom.isf(ALARM, times, BETA))
    for mechanism in (Fading(bits=4, eps=30.0, delta=1e-3), Memoized(NoisyInnerProduct(bits=4, eps=2.0))):
        held = np.tile(LENGTHS.encode_many(raw), times)
        reports = np.concatenate([b.reports for b in mechanism.simulate(held, rounds=rounds, seed=7)])
        misses = np.zeros(4, dtype=int)
        for part in np.split(reports, times):
            sums = {t: mechanism.aggregator(t).add(part[:, t - 1]) for t in range(1, rounds + 1)}
            found = answer(Question(mechanism, LENGTHS), sums, beta=BETA)
            assert found.pooled is not None
            pooled = found.pooled.mean()
            misses += missed(found.pooled, raw, LENGTHS)
        assert np.all(misses <= most)
        first = found.rounds[1].mean()
        shorter = pooled.standard_error < 0.95 * first.standard_error
        assert shorter == Rounds(mechanism, found.rounds).independent([1, 2, 3])
        assert pooled.standard_error < 1.05 * first.standard_error


@pytest.mark.parametrize("independent", [True, False])
def test_pooled_moments(independent: bool) -> None:
    """Two rounds, of one report and of two, against the moments of their weighted sum."""
    terms, chances, sizes, shares = np.array([-1.0, 0.5, 2.0]), np.array([0.5, 0.3, 0.2]), (1, 2), (0.4, 0.6)
    mean = float(chances @ terms)
    variance, span = float(chances @ terms**2) - mean**2, float(np.ptp(terms))
    one = LinearSpreads(lambda weights: Spread.of_term(variance, span).scaled(float(weights[0])))
    rounds = [(one, n, np.array([share])) for n, share in zip(sizes, shares, strict=True)]
    spread = PooledSpreads(rounds, independent).of(np.ones(1))

    def log_moment(by: float) -> float:
        return float(np.log(chances @ np.exp(by * (terms - mean))))

    for step in np.linspace(-2.9, 2.9, 12) / float(spread.part):
        # Three times the pooled mean, of which every report of a round of n has the weight 3·share/n.
        first, second = (3 * step * share / n for n, share in zip(sizes, shares, strict=True))
        if independent:
            log = log_moment(first) + 2 * log_moment(second)
        else:  # The client of the first round sends the same report in the second.
            log = log_moment(first + second) + log_moment(second)
        assert log <= 3 * step**2 * float(spread.span) ** 2 / 8
        assert log <= 3 * step**2 * float(spread.variance) / (2 * (1 - abs(step) * float(spread.part) / 3))


def test_what_the_reports_cannot_tell() -> None:
    mechanism = Fresh(NoisyInnerProduct(bits=4, eps=0.1))
    found = next(asked(mechanism, LENGTHS, populations()["words"], times=1))
    assert not found.mean().tells
    median = found.quantile(0.5)
    assert not median.tells
    assert (median.lower, median.upper) == (1.0, 12.0)
    good = next(asked(MECHANISMS["symbol"], LENGTHS, populations()["words"]))
    assert good.mean().tells
    assert good.quantile(0.5).tells


def test_a_median_is_a_number_that_somebody_holds() -> None:
    """Half of the people are at 4 and half at 11. In many runs the curve reaches a half in between."""
    encoding, raw, times, beta = IntegerRange(low=0, high=15), np.repeat([4, 11], 1000), 200, 0.01
    most = binom.isf(ALARM, times, beta / 2)  # A lower end is above zero where nobody is.
    for eps in (2.0, 1.0, 0.5):
        between = named = gaps = 0
        for found in asked(Fresh(NoisyInnerProduct(bits=4, eps=eps)), encoding, raw, times=times):
            median = replace(found, beta=beta).quantile(0.5)
            between += median.tells and median.interpolated not in (4, 11)
            named += median.tells and not math.isnan(median.value) and median.value not in (4, 11)
            gaps += median.tells and median.lower <= 5 <= median.upper and not median.gaps
        assert named <= most < between
        assert gaps == 0


def test_numbers_out_of_range_have_no_mean() -> None:
    encoding = IntegerRange(low=1, high=10, below="separate", above="separate")
    assert encoding.numbers().lower.tolist() == [-np.inf, *range(1, 12)]
    assert encoding.numbers().upper.tolist() == [*range(11), np.inf]
    found = next(asked(MECHANISMS["symbol"], encoding, np.clip(words()[:PEOPLE], 0, 11)))
    with pytest.raises(ValueError, match="no bound on the mean"):
        found.mean()
    assert found.quantile(0.5).tells
    beyond = next(asked(MECHANISMS["symbol"], encoding, np.full(PEOPLE, 11)))
    highest = beyond.quantile(0.5)
    assert (highest.lower, highest.value, highest.upper) == (11.0, np.inf, np.inf)
    lowest = next(asked(MECHANISMS["symbol"], encoding, np.zeros(PEOPLE, dtype=int))).quantile(0.5)
    assert (lowest.lower, lowest.value, lowest.upper) == (-np.inf, -np.inf, 0.0)


def test_what_has_no_numbers() -> None:
    mechanism = Lgrr(values=4, keep=0.8, tell=0.9)
    names = Categories(names=["a", "b", "c", "d"])
    found = Question(mechanism, names).estimate(mechanism.aggregator(1).add([0, 1, 2]), BETA)
    for asked_for in (found.mean, lambda: found.quantile(0.5), found.distribution):
        with pytest.raises(ValueError, match="not numbers"):
            asked_for()
    assert found.functional([1, 0, 0, 0]).tells in (True, False)
    with pytest.raises(ValueError, match="weights must be 4"):
        found.functional([1, 0])
    with pytest.raises(ValueError, match="finite"):
        found.functional([1, 0, 0, np.nan])
    wide = Fresh(NoisyInnerProduct(bits=40, eps=4.0))
    listed = wide.aggregator().add(wide.client(5).report(1) for _ in range(200)).estimate(BETA, candidates=[5, 6])
    assert listed.functional([1, 1]).lower > 0.5
    with pytest.raises(ValueError, match="other values"):
        listed.mean()
    hashed = HashedStrings(bits=4, salt=bytes(16), longest=9)
    strings = Question(deck := MECHANISMS["deck"], hashed, ["a", "b"])
    shares = strings.named(
        strings.estimate(deck.aggregator(1).add(deck.client(3).report(1) for _ in range(20)), BETA)
    )
    with pytest.raises(ValueError, match="collide"):
        shares.functional([1, 1])
    with pytest.raises(ValueError, match="other values"):
        shares.mean()
    sketch = MECHANISMS["sketch"]
    some = sketch.aggregator(1).add(sketch.client(5).report(1) for _ in range(20)).estimate(BETA, candidates=[5, 6])
    with pytest.raises(ValueError, match="collide"):
        some.functional([1, 1])


def test_unused_values_are_left_out() -> None:
    """A collector estimates the values of the mechanism that the encoding does not use, too."""
    raw, mechanism = populations()["words"], MECHANISMS["one bit"]
    held = LENGTHS.encode_many(raw)
    (batch,) = mechanism.simulate(held, rounds=1, seed=1)
    sums = mechanism.aggregator(1).add(batch.reports)
    used, more = (
        Question(mechanism, LENGTHS, unused_values=unused).estimate(sums, BETA) for unused in (False, True)
    )
    assert more.frequencies.size == 16
    assert used.mean() == more.mean()
    # A median that the reports cannot tell is not a number, and equals nothing, not even itself.
    assert repr(used.quantile(0.5)) == repr(more.quantile(0.5))
