"""The median and the 95th percentile of ordered values: views against flat buckets, in the same run.

Everybody answers once in each of 12 rounds, all reports together are everlastingly (2, 1e-6)-private, and one round
is looked at. People hold start-up times, a log-normal law, in buckets up to 20 seconds. An error is how far the
share of people at or below the estimated quantile is from the wanted share. Errors are root mean squares over
several rounds (sampled). Beside them is what a plan promises for one number chosen beforehand (upper, fails with
probability 0.05). The mean is told by views, by flat buckets and by one noisy bit; its error is a share of the
range. Ratios above 1 mean that views are better, or one bit for the mean. Run with `make bench`, or with the number
of people as argument.
"""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import Deck
from untrackable.estimation.ordered_values import NumberEdges
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.one_bit_mean import OneBitMean
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wanted_figure import Want, wanted_error
from untrackable.mechanisms.wrappers.dealt_budget import dealt_for_budget
from untrackable.theory.chance_of_answering import EVERY_ROUND

BUDGET: dict[str, Any] = {"slots": 12, "eps": 2.0, "delta": 1e-6}
QUANTILES = (0.5, 0.95)
TRIALS = 40
LONGEST = 20.0
"""Seconds."""


def held(people: int, seed: int) -> NDArray[np.float64]:
    """Start-up times of about two seconds."""
    seconds = np.random.default_rng(seed).lognormal(np.log(2.0), 0.7, people)
    return np.minimum(seconds, LONGEST * (1 - 1e-9))


def promised(mechanism: Mechanism, want: Want, buckets: int, people: int) -> float:
    """The error that a plan promises."""
    return wanted_error(
        mechanism,
        want,
        values=buckets,
        rounds=[1],
        reports=people,
        beta=0.05,
        participation=EVERY_ROUND,
        simultaneous=False,
    ).radius


def measured(mechanism: Mechanism, people: int, buckets: int, *, quantiles: bool = True) -> list[float]:
    """The root mean square errors of the quantiles, and of the mean of the buckets as a share of the range."""
    squares = np.zeros(len(QUANTILES) + 1)
    edges = np.linspace(0, LONGEST, buckets + 1)
    for seed in range(TRIALS):
        seconds = held(people, seed)
        values = (seconds / LONGEST * buckets).astype(np.int64)
        sums = mechanism.aggregator(1)
        for batch in mechanism.simulate(values, rounds=1, seed=seed):
            sums.add(batch.reports)
        found = sums.estimate()
        squares[-1] += ((found.mean().value - values.mean()) / (buckets - 1)) ** 2
        found = replace(found, numbers=lambda: NumberEdges(edges[:-1], edges[1:]))
        for i, q in enumerate(QUANTILES if quantiles else ()):
            squares[i] += (np.mean(seconds <= found.quantile(q).value) - q) ** 2
    return [float(error) for error in np.sqrt(squares / TRIALS)]


def main() -> None:
    """One table for quantiles and one for the mean."""
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{people:,} people in one round; errors are root mean squares over {TRIALS} rounds (sampled)")
    print("buckets   median: flat   views   flat/views   95th: flat   views   flat/views   promised: flat   views")
    rows = []
    for bits in (6, 10, 16):
        flat = Deck.for_budget(bits=bits, width=1, **BUDGET)
        views = dealt_for_budget(Views.prefixes(bits=bits, eps=1.0), **BUDGET)
        one_bit = dealt_for_budget(OneBitMean(values=1 << bits, eps=1.0), **BUDGET)
        buckets = 1 << bits
        off = {name: measured(one, people, buckets) for name, one in (("flat", flat), ("views", views))}
        median, high = ((off["flat"][i], off["views"][i]) for i in range(2))
        told = [promised(one, "quantiles", buckets, people) for one in (flat, views)]
        print(
            f"{buckets:7,}   {median[0]:12.4f}   {median[1]:5.4f}   {median[0] / median[1]:10.1f}   "
            f"{high[0]:10.4f}   {high[1]:5.4f}   {high[0] / high[1]:10.1f}   {told[0]:14.4f}   {told[1]:5.4f}"
        )
        noisy = measured(one_bit, people, buckets, quantiles=False)[-1]
        means = [promised(one, "mean", buckets, people) for one in (flat, views, one_bit)]
        rows.append((buckets, off["flat"][-1], off["views"][-1], noisy, *means))
    print("\nbuckets   mean: flat   views   one bit   views/one bit   promised: flat   views   one bit")
    for size, plain, by_views, bit, *told in rows:
        print(
            f"{size:7,}   {plain:10.4f}   {by_views:5.4f}   {bit:7.4f}   {by_views / bit:13.1f}   "
            f"{told[0]:14.4f}   {told[1]:5.4f}   {told[2]:7.4f}"
        )


if __name__ == "__main__":
    main()
