"""How an answer changes over the rounds: a number by round, a band for all rounds together, and certain changes."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from untrackable import checks
from untrackable.answers.answer import Answer
from untrackable.encodings.number_ranges import Buckets, IntegerRange
from untrackable.estimation.change_points import Change, located_changes, round_comparisons
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.functional import checked_weights
from untrackable.estimation.intervals import FloatArray, interval_around
from untrackable.estimation.quantile_windows import RoundQuantiles
from untrackable.estimation.round_numbers import Errors, RoundNumbers
from untrackable.estimation.rounds import Rounds, deviation_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trend:
    """A number round by round, such as the share of a value.

    The true numbers of all rounds lie between `lower` and `upper` at once, except with probability `beta` (upper).
    The `changes` are all true at once, except with probability `beta` (upper). Both hold for `together` numbers of
    this kind at once. If a client's reports are not `independent` from round to round, errors do not cancel, so
    single rounds are compared, and not longer stretches. There are no standard errors of quantiles.
    """

    name: str
    rounds: tuple[int, ...]
    reports: tuple[int, ...]
    estimates: FloatArray
    standard_errors: FloatArray | None
    lower: FloatArray
    upper: FloatArray
    beta: float
    together: int
    independent: bool
    changes: tuple[Change, ...]


def share_trend(answer: Answer, value: Any, *, beta: float = 0.05, together: int = 1) -> Trend:
    """The share of people who hold a value, round by round.

    `together` is how many values the statements are about at once, if this value was chosen by looking at them:
    `values_together(answer)` is right for any choice.
    """
    beta, together = checks.open_probability("beta", beta), checks.integer("together", together, low=1)
    estimates = list(answer.rounds.values())
    place = _place(estimates[0], value)
    shares = np.array([estimate.frequencies[place] for estimate in estimates])
    errors = np.array([estimate.standard_error[place] for estimate in estimates])
    if all(estimate.reach is None for estimate in estimates):
        bounds = _share_errors(estimates, place)
        return _linear(answer, answer.label(value), shares, errors, bounds, beta, together)
    # Hashing adds an error that all rounds share, so each round is bounded as a whole.
    radius = np.array([radius_at(estimate, place, beta / together / shares.size) for estimate in estimates])
    lower, upper = interval_around(shares, radius)
    changes = located_changes(tuple(answer.rounds), round_comparisons(shares, lower, upper))
    return _trend(answer, answer.label(value), shares, errors, lower, upper, beta, together, False, changes)


def sum_trend(answer: Answer, weights: ArrayLike, *, name: str, beta: float = 0.05, together: int = 1) -> Trend:
    """A weighted sum of frequencies, round by round, such as the share of several values together."""
    beta, together = checks.open_probability("beta", beta), checks.integer("together", together, low=1)
    estimates = list(answer.rounds.values())
    given = checked_weights(estimates[0], weights)
    centre = float(given.mean()) if estimates[0].complete else 0.0
    sums = np.array([centre + float((given - centre) @ estimate.frequencies) for estimate in estimates])
    bounds = Errors.of([e.spread.of(given - centre) for e in estimates], [e.n for e in estimates])
    ends = [*given, *([] if estimates[0].complete else [0.0])]
    return _linear(
        answer, name, sums, np.sqrt(bounds.variances), bounds, beta, together, lowest=min(ends), highest=max(ends)
    )


def mean_trend(answer: Answer, *, beta: float = 0.05, together: int = 1) -> Trend:
    """The mean number, round by round. A number in a bucket counts as the middle of the bucket."""
    low, high = value_numbers(answer)
    if not np.isfinite([*low, *high]).all():
        raise ValueError("a mean needs a bound on every number, and numbers out of range have none: see quantiles")
    exact = np.array_equal(low, high)
    return sum_trend(
        answer, (low + high) / 2, name="mean" if exact else "mean of middles", beta=beta, together=together
    )


def quantile_trend(answer: Answer, quantile: float, *, beta: float = 0.05, together: int = 1) -> Trend:
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
    independent = independent_rounds(answer) and bounds.bias is None
    found = RoundQuantiles(
        rounds=tuple(answer.rounds),
        quantile=quantile,
        shares=shares,
        errors=bounds,
        low=low,
        high=high,
        independent=independent,
    )
    first, last = found.band(beta, together=together)
    changes = found.changes(beta, together=together)
    name = "median" if quantile == 0.5 else f"{100 * quantile:g} % quantile"
    return _trend(
        answer, name, found.estimates(), None, low[first], high[last], beta, together, independent, changes
    )


def values_together(answer: Answer) -> int:
    """How many errors are bounded at once, whichever value is looked at: one if all share it, as a bit's two do."""
    first = next(iter(answer.rounds.values()))
    return 1 if np.array_equal(first.radius, first.simultaneous_radius) else first.frequencies.size


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


def independent_rounds(answer: Answer) -> bool:
    """Whether a client's reports of all these rounds are independent, given its values."""
    try:
        return Rounds(answer.mechanism, answer.rounds).independent(answer.rounds)
    except ValueError:  # Hash functions are the same in every round.
        return False


def radius_at(estimate: Estimate, place: int, beta: float) -> float:
    """The radius of one value at another beta than the estimate's."""
    if estimate.reach is not None:
        return estimate.reach(beta)
    return float(deviation_of(estimate)[place]) * math.sqrt(math.log(2 / beta) / 2)


def _linear(
    answer: Answer,
    name: str,
    estimates: FloatArray,
    standard_errors: FloatArray,
    errors: Errors,
    beta: float,
    together: int,
    *,
    lowest: float = 0.0,
    highest: float = 1.0,
) -> Trend:
    independent = independent_rounds(answer) and errors.bias is None
    found = RoundNumbers(
        rounds=tuple(answer.rounds),
        estimates=estimates,
        errors=errors,
        independent=independent,
        lowest=lowest,
        highest=highest,
    )
    lower, upper = found.band(beta, together=together)
    changes = found.changes(beta, together=together)
    return _trend(answer, name, estimates, standard_errors, lower, upper, beta, together, independent, changes)


def _trend(
    answer: Answer,
    name: str,
    estimates: FloatArray,
    standard_errors: FloatArray | None,
    lower: FloatArray,
    upper: FloatArray,
    beta: float,
    together: int,
    independent: bool,
    changes: tuple[Change, ...],
) -> Trend:
    return Trend(
        name=name,
        rounds=tuple(answer.rounds),
        reports=tuple(estimate.n for estimate in answer.rounds.values()),
        estimates=estimates,
        standard_errors=standard_errors,
        lower=lower,
        upper=upper,
        beta=beta,
        together=together,
        independent=independent,
        changes=changes,
    )


def _share_errors(estimates: list[Estimate], place: int) -> Errors:
    """The errors of one value's share. The variance of what a report adds is bounded too if it is known."""
    squares = np.array([deviation_of(estimate)[place] for estimate in estimates]) ** 2
    weights = np.zeros(estimates[0].frequencies.size)
    weights[place] = 1.0
    try:
        known = Errors.of([estimate.spread.of(weights) for estimate in estimates], [e.n for e in estimates])
    except ValueError:  # It is not known.
        return Errors(squares, np.full(squares.size, math.inf), np.full(squares.size, math.inf))
    return known if known.bias is not None else known._replace(squares=np.minimum(squares, known.squares))


def _place(estimate: Estimate, value: Any) -> int:
    """Where a value is in an estimate."""
    if estimate.values is not None:
        return list(estimate.values).index(value)
    return checks.integer("value", value, low=0, high=estimate.frequencies.size - 1)
