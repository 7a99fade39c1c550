"""The median and the 95th percentile of ordered values: views against flat buckets, in the same run.

Everybody answers once in each of 12 rounds, all reports together are everlastingly (2, 1e-6)-private, and one round
is looked at. People hold start-up times, a log-normal law, in buckets up to 20 seconds. An error is how far the
share of people at or below the estimated quantile is from the wanted share. Errors are root mean squares over
several rounds (sampled). The mean is told by views, by flat buckets and by one noisy bit.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck
from untrackable.estimation.estimate import NumberEdges
from untrackable.mechanisms.deck import dealt_for_budget
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local import OneBitMean
from untrackable.mechanisms.views import Views
from untrackable.settings.demands import Want, wanted_spread

BUDGET: dict[str, Any] = {"slots": 12, "eps": 2.0, "delta": 1e-6}
QUANTILES = (0.5, 0.95)
LONGEST = 20.0
"""Seconds."""
UNIT = "times its error (sampled)"
MEDIAN = Comparison(work="Error of the median, by views", peer="flat buckets", unit=UNIT)
HIGH = Comparison(work="Error of the 95th percentile, by views", peer="flat buckets", unit=UNIT)
MEAN = Comparison(work="Error of the mean, by one bit", peer="views", unit=UNIT)
FLAT_MEAN = Comparison(work="Error of the mean, by one bit", peer="flat buckets", unit=UNIT)
COMPARISONS = (MEDIAN, HIGH, MEAN, FLAT_MEAN)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Three numbers of buckets."""
    people, trials = (1000, 2) if small else (1_000_000, 40)
    for bits in (6, 10, 16):
        flat = Deck.for_budget(bits=bits, width=1, **BUDGET)
        views = dealt_for_budget(Views.prefixes(bits=bits, eps=1.0), **BUDGET)
        one_bit = dealt_for_budget(OneBitMean(values=1 << bits, eps=1.0), **BUDGET)
        plain, better = (measured(each, people, 1 << bits, trials) for each in (flat, views))
        noisy = measured(one_bit, people, 1 << bits, trials, quantiles=False)[-1]
        size = f"{1 << bits:,} buckets, {people:,} people"
        yield MEDIAN.row(better[0] / plain[0], size)
        yield HIGH.row(better[1] / plain[1], size)
        yield MEAN.row(noisy / better[-1], size)
        yield FLAT_MEAN.row(noisy / plain[-1], size)


def held(people: int, seed: int) -> NDArray[np.float64]:
    """Start-up times of about two seconds."""
    seconds = np.random.default_rng(seed).lognormal(np.log(2.0), 0.7, people)
    return np.minimum(seconds, LONGEST * (1 - 1e-9))


def promised(mechanism: Mechanism, want: Want, buckets: int, people: int) -> float:
    """The error that a plan promises."""
    return float(np.max(wanted_spread(mechanism, want, values=buckets).radius(people, 0.05)))


def measured(
    mechanism: Mechanism, people: int, buckets: int, trials: int, *, quantiles: bool = True
) -> list[float]:
    """The root mean square errors of the quantiles, and of the mean of the buckets as a share of the range."""
    squares = np.zeros(len(QUANTILES) + 1)
    edges = np.linspace(0, LONGEST, buckets + 1)
    for seed in range(trials):
        seconds = held(people, seed)
        values = (seconds / LONGEST * buckets).astype(np.int64)
        sums = mechanism.aggregator(1)
        for batch in mechanism.simulate(values, rounds=1, seed=seed):
            sums.add(batch.reports)
        found = sums.estimate()
        squares[-1] += ((found.mean().value - values.mean()) / (buckets - 1)) ** 2
        found = replace(found, numbers=lambda: NumberEdges(edges[:-1], edges[1:]))
        for i, q in enumerate(QUANTILES if quantiles else ()):
            squares[i] += (np.mean(seconds <= found.quantile(q).interpolated) - q) ** 2
    return [float(error) for error in np.sqrt(squares / trials)]
