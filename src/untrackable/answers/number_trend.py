"""One number round by round, such as a share, a mean or a quantile: its band, and where it changed.

The band holds for all rounds together. `together` says of how many numbers the statements hold at once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from untrackable import checks
from untrackable.answers.answer import Answer
from untrackable.answers.trend import answered_trend
from untrackable.encodings.number_ranges import Buckets, IntegerRange
from untrackable.estimation.change_points import Change
from untrackable.estimation.functional import checked_weights
from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.quantile_windows import RoundQuantiles
from untrackable.estimation.round_numbers import Errors, RoundNumbers
from untrackable.estimation.rounds import independent_rounds

_QUANTILES = (0.5, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumberTrend:
    """A number round by round, such as the share of a value.

    The true numbers of all rounds lie between `lower` and `upper` at once, except with probability `beta` (upper).
    The `changes` are all true at once, except with probability `beta` (upper). If a client's reports are not
    `independent` from round to round, errors do not cancel, so single rounds are compared, and no longer stretches.
    Standard errors are estimated for shares, upper for weighted sums, and not known for quantiles.
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


def share_trends(answer: Answer, values: Sequence[Any], *, beta: float = 0.05) -> tuple[NumberTrend, ...]:
    """The shares of people who hold these values, round by round. Values may be chosen by looking at estimates."""
    found = answered_trend(answer, values, beta=beta)
    lower, upper = found.interval()
    return tuple(
        NumberTrend(
            name=answer.label(value),
            rounds=found.rounds,
            reports=found.reports,
            estimates=found.frequencies[:, i],
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
    )


def mean_trend(answer: Answer, *, beta: float = 0.05, together: int = 1) -> NumberTrend:
    """The mean number, round by round. A number in a bucket counts as the middle of the bucket."""
    low, high = value_numbers(answer)
    if not np.isfinite([*low, *high]).all():
        raise ValueError("a mean needs a bound on every number, and numbers out of range have none: see quantiles")
    exact = np.array_equal(low, high)
    return sum_trend(
        answer, (low + high) / 2, name="mean" if exact else "mean of middles", beta=beta, together=together
    )


def quantile_trend(answer: Answer, quantile: float, *, beta: float = 0.05, together: int = 1) -> NumberTrend:
    """The number up to which a share `quantile` of the people lies, round by round.

    If numbers are in buckets, the estimate is the middle of a bucket, and the band ends at edges of buckets.
    """
    beta, together = checks.open_probability("beta", beta), checks.integer("together", together, low=1)
    quantile = checks.open_probability("quantile", quantile)
    low, high = value_numbers(answer)
    estimates = list(answer.rounds.values())
    if not estimates[0].complete:
        raise ValueError("a quantile needs estimates of all values that people may hold")
    size = estimates[0].frequencies.size
    sums = np.stack([np.cumsum(estimate.frequencies) for estimate in estimates])
    shares = sums[:, :-1] + np.arange(1, size) / size * (1 - sums[:, -1:])
    bounds = Errors.of([e.spread.of_first(size) for e in estimates], [e.n for e in estimates])
    found = RoundQuantiles(
        rounds=tuple(answer.rounds),
        quantile=quantile,
        shares=shares,
        errors=bounds,
        low=low,
        high=high,
        independent=_independent(answer, bounds),
    )
    first, last = found.band(beta, together=together)
    return NumberTrend(
        name="median" if quantile == 0.5 else f"{100 * quantile:g} % quantile",
        rounds=found.rounds,
        reports=_reports(answer),
        estimates=found.estimates(),
        standard_errors=None,
        lower=low[first],
        upper=high[last],
        beta=beta,
        independent=found.independent,
        changes=found.changes(beta, together=together),
    )


def number_trends(answer: Answer, *, beta: float = 0.05) -> tuple[NumberTrend, ...]:
    """Mean, median and 95 % quantile, as far as these reports can tell them; none if values are no numbers.

    Their bands and changes hold together.
    """
    if not isinstance(answer.encoding, IntegerRange | Buckets):
        return ()
    asked: list[Callable[..., NumberTrend]] = [
        mean_trend,
        *(partial(quantile_trend, quantile=quantile) for quantile in _QUANTILES),
    ]
    found = []
    for each in asked:
        try:
            found.append(each(answer, beta=beta, together=len(asked)))
        except ValueError:  # There is no bound on the numbers, or none is known for the error.
            continue
    return tuple(found)


def value_numbers(answer: Answer) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest number that each value stands for. Numbers out of range have no bound."""
    encoding, first = answer.encoding, next(iter(answer.rounds.values()))
    if encoding is None and first.values is None:
        plain = np.arange(first.frequencies.size, dtype=np.float64)
        return plain, plain
    if not isinstance(encoding, IntegerRange | Buckets) or first.values is not None:
        raise ValueError("these values are not numbers")
    edges = [_edges(encoding, value) for value in range(encoding.values)]
    low, high = np.array(edges, dtype=np.float64).T
    return low, high


def _edges(encoding: IntegerRange | Buckets, value: int) -> tuple[float, float]:
    if isinstance(encoding, Buckets):
        return encoding.decode(value)
    number = encoding.decode(value)
    if not isinstance(number, str):
        return number, number
    return (-math.inf, encoding.low) if value == 0 else (encoding.high, math.inf)


def _reports(answer: Answer) -> tuple[int, ...]:
    return tuple(estimate.n for estimate in answer.rounds.values())


def _independent(answer: Answer, errors: Errors) -> bool:
    """Whether rounds are independent, and share no bias."""
    return errors.bias is None and independent_rounds(answer.mechanism, answer.rounds)
