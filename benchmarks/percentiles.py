"""Exact percentiles of τ against 10,000 vectorised samples of it, and brackets against dp_accounting's.

Ratios above 1 mean that ours is faster (or narrower). Run with `make bench`.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as peer

from untrackable import Rappor
from untrackable.theory import Experiment
from untrackable.theory.percentiles import Trackability, order_interval

DRAWS = 10_000
RAPPOR = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of a few runs, and the last result."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        spent.append(time.perf_counter() - start)
    return min(spent), result


def trials(reports: int, grid: int) -> list[Experiment]:
    """Fresh experiments, so that nothing computed before is reused."""
    found = [RAPPOR.tracking(reports=reports, split=i) for i in range(1, reports // 2 + 1)]
    return [e.with_grid(grid) for e in found if isinstance(e, Experiment)]


def exact(reports: int, grid: int) -> Any:
    """Both quantiles, bracketed."""
    law = Trackability(trials(reports, grid), "absolute")
    return [law.quantile(level) for level in (0.5, 0.9)]


def sampled(reports: int) -> Any:
    """Both quantiles from 10,000 draws of the sufficient statistics, with 95 % intervals."""
    samples = Trackability(trials(reports, 1 << 16), "absolute").sample(np.random.default_rng(1), DRAWS)
    return [order_interval(samples, level) for level in (0.5, 0.9)]


def percentiles() -> None:
    """Time, and width of what is learned, for every k of the paper's figure."""
    print(f"percentiles of τ (median and 90th), exact against {DRAWS:,} vectorised samples")
    print("  k   sampled/exact: time   width (95 % interval / bracket)")
    totals = [0.0, 0.0]
    for reports in (2, 4, 7, 10, 15):
        ours, brackets = best_of(3, functools.partial(exact, reports, 1 << 16))
        theirs, intervals = best_of(3, functools.partial(sampled, reports))
        widths = [(i.upper - i.lower) / max(b.width, 1e-12) for i, b in zip(intervals, brackets, strict=True)]
        totals[0] += ours
        totals[1] += theirs
        shown = " and ".join("exact" if width > 1e6 else f"{width:.1f}" for width in widths)
        print(f"  {reports:2}   {theirs / ours:19.2f}   {shown}")
    print(f"  all  {totals[1] / totals[0]:19.2f}")


def peer_bracket(experiment: Experiment, gamma: float, step: float) -> float:
    """Width of dp_accounting's bracket of delta(gamma), both directions."""
    ends = []
    for pessimistic in (False, True):
        composed = [
            peer.from_two_probability_mass_functions(
                dict(enumerate(np.log(factor.q))),
                dict(enumerate(np.log(factor.p))),
                pessimistic,
                value_discretization_interval=step,
                symmetric=False,
            ).self_compose(count)
            for factor, count in experiment.factors
        ]
        ends.append(functools.reduce(lambda a, b: a.compose(b), composed).get_delta_for_epsilon(gamma))
    return float(ends[1] - ends[0])


def brackets() -> None:
    """Delta of RAPPOR's tracking at gamma = 8, fifteen reports: width for the time."""
    print("\ndelta(8) of RAPPOR's tracking, 15 reports, split 7: against dp_accounting (pessimistic - optimistic)")

    def ours() -> float:
        (experiment,) = [e for e in [RAPPOR.tracking(reports=15, split=7)] if isinstance(e, Experiment)]
        return experiment.delta(8.0).width

    (experiment,) = [e for e in [RAPPOR.tracking(reports=15, split=7)] if isinstance(e, Experiment)]
    mine, width = best_of(3, ours)
    for step in (1e-2, 1e-3, 1e-4):
        spent, peers = best_of(2, functools.partial(peer_bracket, experiment, 8.0, step))
        print(f"  its grid {step:g}: its/our time {spent / mine:6.2f}, its/our width {peers / width:7.2f}")


if __name__ == "__main__":
    percentiles()
    brackets()
