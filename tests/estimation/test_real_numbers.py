"""Means, quantiles and distributions of data that nobody here made: intervals hold, and are not too wide.

Some of the data are asked many times over. Seeds are fixed, so the false-alarm rates are those of having met an
unlucky seed when it was chosen.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.real_data import city_sizes, delays, every, hours, word_lengths
from tests.seen_spread import BETA, TIMES, check_width, most_misses
from untrackable import Buckets, Deck, Fading, Fresh, IntegerRange
from untrackable.answers.answer import Question
from untrackable.estimation.estimate import Distribution, Estimate
from untrackable.mechanisms import HadamardSketch, Lgrr, SubsetSelection, Unary
from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.fading import Faded
from untrackable.mechanisms.local import OneBitMean
from untrackable.mechanisms.views import Views

PEOPLE = 2000
ROUND = 2
QUANTILES = (0.25, 0.5, 0.95)
LENGTHS = IntegerRange(low=1, high=12, above="clamp")
HOURS = IntegerRange(low=4, high=24, below="clamp")
SIZES = Buckets(edges=[15_000 * 2**i for i in range(12)])
DELAYS = Buckets(edges=[-60, -10, -5, 0, 5, 10, 20, 40, 80, 160, 320, 640, 1400])


class Population(NamedTuple):
    """What people hold: numbers within the range of their encoding."""

    encoding: Any
    numbers: NDArray[Any]


def population(name: str) -> Population:
    return {
        "words": lambda: Population(LENGTHS, np.minimum(every(word_lengths(), PEOPLE), 12)),
        "cities": lambda: Population(SIZES, every(city_sizes(), PEOPLE)),
        "delays": lambda: Population(DELAYS, every(delays(), PEOPLE)),
        "hours": lambda: Population(HOURS, np.maximum(every(hours(), PEOPLE), 4)),
    }[name]()


def mechanism(name: str, encoding: Any) -> Any:
    """Reports of one bit, or nearly: their variance hardly depends on what people hold."""
    bits, values = encoding.bits, encoding.values
    made: dict[str, Callable[[], Any]] = {
        "deck": lambda: Deck(bits=bits, slots=3, eps_report=1.0, width=1),
        "fading": lambda: Fading(bits=bits, eps=4.0, delta=1e-3, width=1),
        "views": lambda: Dealt(Views.prefixes(bits=bits, eps=1.0), 3),
        "fading views": lambda: Faded(local=Views.prefixes(bits=bits, eps=1.0), eps=4.0, delta=1e-3),
        "one bit": lambda: Dealt(OneBitMean(values=values, eps=1.0), 3),
        "wide": lambda: Deck(bits=bits, slots=3, eps_report=3.0),
        "subset": lambda: Fresh(SubsetSelection(values=values, eps=1.0)),
        "symbol": lambda: Lgrr(values=values, keep=0.8, tell=0.9),
        "unary": lambda: Unary(values=values, keep=0.9, add=0.1, q=0.9, p=0.1),
        "sketch": lambda: Fresh(HadamardSketch(hashes=16, width=64, eps=2.0)),
    }
    return made[name]()


def asked(made: Any, given: Population, times: int) -> Iterator[Estimate]:
    """Estimates of the population, asked many times."""
    held = np.tile(given.encoding.encode_many(given.numbers), times)
    seed = zlib.crc32(repr((made, held.size)).encode())
    reports = np.concatenate([batch.reports for batch in made.simulate(held, rounds=[ROUND], seed=seed)])
    question = Question(made, given.encoding)
    for part in np.split(reports, times):
        yield question.estimate(question.prepare(made.aggregator(ROUND)).add(part), BETA)


def true_shares(given: Population) -> NDArray[np.float64]:
    """The shares up to the edges. A bucket does not contain its upper edge."""
    edges, numbers = given.encoding.numbers().upper[:-1], given.numbers[:, None]
    below = numbers <= edges if isinstance(given.encoding, IntegerRange) else numbers < edges
    shares: NDArray[np.float64] = below.mean(axis=0)
    return shares


def quantile_interval(given: Population, band: Distribution, q: float) -> tuple[float, float]:
    """From the first to the last value that the band of each edge, taken by itself, does not exclude."""
    edges = given.encoding.numbers()
    first = np.flatnonzero(np.append(band.upper >= q, True))[0]
    last = np.flatnonzero(np.append(True, band.lower <= q))[-1]
    return float(edges.lower[first]), float(edges.upper[last])


TIGHT = [
    *(("deck", held) for held in ("cities", "delays", "hours")),
    ("views", "cities"),
    ("views", "delays"),
    ("fading", "cities"),
    ("fading views", "delays"),
]


@pytest.mark.parametrize(("made", "held"), TIGHT)
def test_intervals_hold_and_are_as_wide_as_they_must_be(made: str, held: str) -> None:
    given = population(held)
    truth, shares = given.numbers.mean(), true_shares(given)
    quantiles = {q: float(np.quantile(given.numbers, q, method="inverted_cdf")) for q in QUANTILES}
    means, seen, missed = [], [], np.zeros(2 + len(QUANTILES), dtype=int)
    for found in asked(mechanism(made, given.encoding), given, TIMES):
        mean, band = found.mean(), found.distribution()
        intervals = {q: quantile_interval(given, band, q) for q in QUANTILES}
        missed += [
            not mean.lower <= truth <= mean.upper,
            bool(np.any((shares < band.lower_simultaneous) | (shares > band.upper_simultaneous))),
            *(not low <= quantiles[q] <= high for q, (low, high) in intervals.items()),
        ]
        means.append(mean.value)
        seen.append(band.shares)
    assert np.all(missed <= most_misses())
    for q, interval in intervals.items():
        quantile = found.quantile(q)
        assert (quantile.lower, quantile.upper) == interval
    assert found.quantile(0.5).tells
    errors = np.array(seen) - shares
    # Unbiased: the mean of so many errors is within five of its standard errors.
    assert np.all(np.abs(errors.mean(axis=0)) <= 5 * errors.std(axis=0) / TIMES**0.5)
    edges = given.encoding.numbers()
    middle = (edges.lower + edges.upper) / 2
    check_width(float(found.spread.of(middle - middle.mean()).radius(found.n, BETA)), np.array(means) - means[0])
    for edge in np.flatnonzero((band.lower > 0) & (band.upper < 1))[::3]:
        check_width(float(band.upper[edge] - band.lower[edge]) / 2, errors[:, edge])
    # Neighbours may narrow one end of the band for all edges. The widest end is as wide as it must be.
    ends = (band.shares - band.lower_simultaneous, band.upper_simultaneous - band.shares)
    inside = (band.lower_simultaneous > 0) & (band.upper_simultaneous < 1)
    widest = np.where(inside, np.maximum(*ends), 0)
    edge = int(np.argmax(widest))
    check_width(float(widest[edge]), errors[:, edge], together=shares.size)


@pytest.mark.parametrize("held", ["words", "hours"])
def test_a_mean_from_one_bit(held: str) -> None:
    given = population(held)
    found = [estimate.mean() for estimate in asked(mechanism("one bit", given.encoding), given, TIMES)]
    truth = given.numbers.mean()
    assert sum(not mean.lower <= truth <= mean.upper for mean in found) <= most_misses()
    errors = np.array([mean.value for mean in found]) - truth
    assert abs(errors.mean()) <= 5 * errors.std() / TIMES**0.5
    if held == "hours":  # Many flights leave in the middle of the day, where a bit says least.
        check_width((found[0].upper - found[0].lower) / 2, errors)


@pytest.mark.parametrize("held", ["cities", "delays"])
@pytest.mark.parametrize("made", ["wide", "subset", "symbol", "unary", "sketch"])
def test_other_mechanisms_hold(made: str, held: str) -> None:
    """Fewer times, and their errors may be smaller than those of the worst population."""
    given, times = population(held), 60
    truth, shares, missed = given.numbers.mean(), true_shares(given), np.zeros(3, dtype=int)
    middle = np.quantile(given.numbers, 0.5, method="inverted_cdf")
    for found in asked(mechanism(made, given.encoding), given, times):
        mean, median, band = found.mean(), found.quantile(0.5), found.distribution()
        missed += [
            not mean.lower <= truth <= mean.upper,
            not median.lower <= middle <= median.upper,
            bool(np.any((shares < band.lower_simultaneous) | (shares > band.upper_simultaneous))),
        ]
        assert median.tells
    assert np.all(missed <= most_misses(times))
