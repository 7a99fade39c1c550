"""Exact percentiles of τ beside 10,000 vectorised samples of it, and brackets beside dp_accounting's."""

import functools
from collections.abc import Iterator

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as peer

from benchmarks.shared.clocks import fastest, in_turns
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Rappor
from untrackable.brackets import Bracket
from untrackable.theory import Experiment
from untrackable.theory.experiment import QuantileInterval, Trackability, order_interval

DRAWS = 10_000
RAPPOR = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)
EXACT = "Median and 90th percentile of RAPPOR's τ, in brackets"
SAMPLED = f"{DRAWS:,} samples"
FASTER = Comparison(work=EXACT, peer=SAMPLED, unit="times as fast")
NARROWER = Comparison(work=EXACT, peer=SAMPLED, unit="times as narrow, at least")
DELTA = "Bracket of delta(8) of RAPPOR's tracking, 15 reports"
PEER = "dp_accounting, pessimistic and optimistic"
FASTER_THAN_PEER = Comparison(work=DELTA, peer=PEER, unit="times as fast")
NARROWER_THAN_PEER = Comparison(work=DELTA, peer=PEER, unit="times as narrow")
COMPARISONS = (FASTER, NARROWER, FASTER_THAN_PEER, NARROWER_THAN_PEER)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Every k of the paper's figure; then one delta, with three grids of the peer."""
    for reports in (2, 2, 2, 2, 2) if small else (2, 4, 7, 10, 15):
        theirs, ours = in_turns(functools.partial(sampled, reports), functools.partial(exact, reports))
        widths = [
            (interval.upper - interval.lower) / max(bracket.width, 1e-12)
            for interval, bracket in zip(sampled(reports), exact(reports), strict=True)
        ]
        yield FASTER.row(theirs / ours, f"{reports} reports")
        yield NARROWER.row(min(*widths, 1e6), f"{reports} reports")
    mine, width = fastest(delta), delta().width
    for step in (1e-1, 1e-1, 1e-1) if small else (1e-2, 1e-3, 1e-4):
        spent, size = fastest(functools.partial(peer_width, step), 1), f"its grid {step:g}"
        yield FASTER_THAN_PEER.row(spent / mine, size)
        yield NARROWER_THAN_PEER.row(peer_width(step) / width, size)


def trials(reports: int) -> list[Experiment]:
    """Fresh experiments, so that nothing computed before is reused."""
    found = [RAPPOR.tracking(reports=reports, split=i) for i in range(1, reports // 2 + 1)]
    return [e.with_grid(1 << 16) for e in found if isinstance(e, Experiment)]


def exact(reports: int) -> list[Bracket]:
    """Both quantiles, bracketed."""
    law = Trackability(trials(reports), "absolute")
    return [law.quantile(level) for level in (0.5, 0.9)]


def sampled(reports: int) -> list[QuantileInterval]:
    """Both quantiles from 10,000 draws of the sufficient statistics, with 95 % intervals."""
    samples = Trackability(trials(reports), "absolute").sample(np.random.default_rng(1), DRAWS)
    return [order_interval(samples, level) for level in (0.5, 0.9)]


def tracking() -> Experiment:
    """Fifteen reports, divided into seven and eight."""
    found = RAPPOR.tracking(reports=15, split=7)
    if not isinstance(found, Experiment):
        raise TypeError("RAPPOR's tracking must be one experiment")
    return found


def delta() -> Bracket:
    """Ours."""
    return tracking().delta(8.0)


def peer_width(step: float) -> float:
    """Width of dp_accounting's bracket, both directions."""
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
            for factor, count in tracking().factors
        ]
        ends.append(functools.reduce(lambda a, b: a.compose(b), composed).get_delta_for_epsilon(8.0))
    return float(ends[1] - ends[0])
