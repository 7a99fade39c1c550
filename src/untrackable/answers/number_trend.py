"""One number round by round, such as a share, a mean or a quantile: its band, and where it changed.

The band holds for all rounds together. `together` says of how many numbers the statements hold at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from untrackable import checks
from untrackable.answers.answer import Answer
from untrackable.answers.number_summary import MEDIAN_AND_95, MOST_NUMBERS
from untrackable.answers.trend import answered_trend
from untrackable.estimation.change_points import Change
from untrackable.estimation.functional import checked_weights
from untrackable.estimation.intervals import FloatArray, is_told
from untrackable.estimation.ordered_values import NumberEdges, cumulative_shares, held_values, numbered
from untrackable.estimation.quantile_windows import RoundQuantiles
from untrackable.estimation.round_numbers import Errors, RoundNumbers
from untrackable.notebook_view import NotebookTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NumberTrend(NotebookTable):
    """A number round by round, such as the share of a value.

    The true numbers of all rounds lie between `lower` and `upper` at once, except with probability `beta` (upper).
    The `changes` are all true at once, except with probability `beta` (upper). If a client's reports are not
    `independent` from round to round, errors do not cancel, so single rounds are compared, and no longer stretches.
    Standard errors are estimated for shares, upper for weighted sums, and not known for quantiles. The `unit` is
    empty if numbers have none, and None for shares of people. A share, mean or quantile that the reports of a round
    cannot tell has no estimate (NaN), nor has a quantile of which it is not certain that anybody holds it.
    """

    name: str
    rounds: tuple[int, ...]
    reports: tuple[int, ...]
    estimates: FloatArray
    standard_errors: FloatArray | None
    lower: FloatArray
    upper: FloatArray
    beta: float
    independent: bool
    changes: tuple[Change, ...]
    quantile: float | None = None
    unit: str | None = None


def share_trends(answer: Answer, values: Sequence[Any], *, beta: float = 0.05) -> tuple[NumberTrend, ...]:
    """The shares of people who hold these values, round by round. Values may be chosen by looking at estimates."""
    found = answered_trend(answer, values, beta=beta)
    shares, (lower, upper) = found.shares(), found.interval()
    return tuple(
        NumberTrend(
            name=answer.label(value),
            rounds=found.rounds,
            reports=found.reports,
            estimates=shares[:, i],
            standard_errors=found.standard_errors[:, i],
            lower=lower[:, i],
            upper=upper[:, i],
            beta=beta,
            independent=found.independent,
            changes=found.changes[i],
        )
        for i, value in enumerate(values)
    )


def sum_trend(
    answer: Answer, weights: ArrayLike, *, name: str, beta: float = 0.05, together: int = 1
) -> NumberTrend:
    """A weighted sum of frequencies, round by round, such as the share of several values together."""
    beta, together = checks.open_probability("beta", beta), checks.integer("together", together, low=1)
    estimates = list(answer.rounds.values())
    given = checked_weights(estimates[0], weights)
    if not estimates[0].complete and (reason := estimates[0].spread.only_if_complete):
        raise ValueError(reason)
    centre = float(given.mean()) if estimates[0].complete else 0.0
    sums = np.array([centre + float((given - centre) @ estimate.frequencies) for estimate in estimates])
    bounds = Errors.of([e.spread.of(given - centre) for e in estimates], [e.n for e in estimates])
    ends = [*given, *([] if estimates[0].complete else [0.0])]
    found = RoundNumbers(
        rounds=tuple(answer.rounds),
        estimates=sums,
        errors=bounds,
        independent=_independent(answer, bounds),
        lowest=min(ends),
        highest=max(ends),
    )
    lower, upper = found.band(beta, together=together)
    return NumberTrend(
        name=name,
        rounds=found.rounds,
        reports=_reports(answer),
        estimates=sums,
        standard_errors=np.sqrt(bounds.variances),
        lower=lower,
        upper=upper,
        beta=beta,
        independent=found.independent,
        changes=found.changes(beta, together=together),
        unit="",
    )


def mean_trend(answer: Answer, *, beta: float = 0.05, together: int = 1) -> NumberTrend:
    """The mean number, round by round.

    If numbers are in buckets, the band covers every position within them. Estimates and changes are those of the
    mean that there would be if each number were in the middle of its bucket.
    """
    edges = _numbers(answer)
    if not np.isfinite([*edges.lower, *edges.upper]).all():
        raise ValueError("there is no bound on the mean: numbers out of range count as one value")
    low, middle, high = (
        sum_trend(answer, weights, name="mean", beta=beta, together=together)
        for weights in (edges.lower, (edges.lower + edges.upper) / 2, edges.upper)
    )
    possible = float(edges.upper[-1] - edges.lower[0])
    estimates = _told(middle.estimates, high.upper - low.lower, possible)
    return replace(middle, estimates=estimates, lower=low.lower, upper=high.upper, unit=_unit(answer))


def quantile_trend(answer: Answer, quantile: float, *, beta: float = 0.05, together: int = 1) -> NumberTrend:
    """The number that a share `quantile` of the people is at or below, round by round.

    If numbers are in buckets, the estimate is the middle of a bucket, and the band ends at edges of buckets. There
    is an estimate only if it is certain that somebody holds it, or the band has one value only.
    """
    beta, together = checks.open_probability("beta", beta), checks.integer("together", together, low=1)
    quantile = checks.open_probability("quantile", quantile)
    edges = _numbers(answer)
    estimates = [numbered(estimate)[0] for estimate in answer.rounds.values()]
    bounds = Errors.of([e.spread.of_first(edges.lower.size) for e in estimates], [e.n for e in estimates])
    found = RoundQuantiles(
        rounds=tuple(answer.rounds),
        quantile=quantile,
        shares=np.stack([cumulative_shares(estimate) for estimate in estimates]),
        errors=bounds,
        low=edges.lower,
        high=edges.upper,
        independent=_independent(answer, bounds),
    )
    first, last = found.band(beta, together=together)
    share = beta / len(estimates)
    held = np.stack([held_values(replace(estimate, beta=share)) for estimate in estimates])
    known = (first == last) | held[np.arange(first.size), found.places()]
    return NumberTrend(
        name="quantile",
        quantile=quantile,
        rounds=found.rounds,
        reports=_reports(answer),
        estimates=np.where(known, _told(found.estimates(), last - first + 1, edges.lower.size), np.nan),
        standard_errors=None,
        lower=edges.lower[first],
        upper=edges.upper[last],
        beta=beta,
        independent=found.independent,
        changes=found.changes(beta, together=together),
        unit=_unit(answer),
    )


def number_trends(
    answer: Answer, quantiles: Sequence[float] = MEDIAN_AND_95, *, beta: float = 0.05
) -> tuple[NumberTrend, ...]:
    """Mean and quantiles, as far as these reports can tell them; none if values are not numbers.

    Their bands and changes hold together.
    """
    if answer.encoding is None or not answer.encoding.ordered or answer.encoding.values > MOST_NUMBERS:
        return ()
    asked: list[Callable[..., NumberTrend]] = [
        mean_trend,
        *(partial(quantile_trend, quantile=q) for q in quantiles),
    ]
    found = []
    for each in asked:
        try:
            found.append(each(answer, beta=beta, together=len(asked)))
        except ValueError:  # There is no bound on the numbers, or none is known for the error.
            continue
    return tuple(found)


def _numbers(answer: Answer) -> NumberEdges:
    """The numbers that values stand for."""
    return numbered(next(iter(answer.rounds.values())))[1]


def _told(estimates: FloatArray, left: ArrayLike, possible: float) -> FloatArray:
    """The estimates of the rounds whose bands leave out enough of what is possible, and NaN for the others."""
    told = [is_told(float(each), possible) for each in np.asarray(left)]
    return np.where(told, estimates, np.nan)


def _unit(answer: Answer) -> str:
    """The unit of the numbers, empty if they have none."""
    unit: str = getattr(answer.encoding, "unit", "")
    return unit


def _reports(answer: Answer) -> tuple[int, ...]:
    return tuple(estimate.n for estimate in answer.rounds.values())


def _independent(answer: Answer, errors: Errors) -> bool:
    """Whether rounds are independent, and share no bias."""
    return errors.bias is None and answer.independent
