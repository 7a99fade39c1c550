"""How an answer changes over the rounds: a number by round, a band for all rounds together, and certain changes."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.answers.answer import Answer
from untrackable.estimation.change_points import Change, every_two_rounds, located_changes
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import FloatArray, interval_around
from untrackable.estimation.round_numbers import Errors, RoundNumbers
from untrackable.estimation.rounds import Rounds, deviation_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trend:
    """A number round by round, such as the share of a value.

    The true numbers of all rounds lie between `lower` and `upper` at once, except with probability `beta` (upper).
    The `changes` are all true at once, except with probability `beta` (upper). Both hold for `together` numbers of
    this kind at once. If a client's reports are not `independent` from round to round, errors do not cancel, so
    changes are compared between two rounds, and not between longer stretches.
    """

    name: str
    rounds: tuple[int, ...]
    reports: tuple[int, ...]
    estimates: FloatArray
    standard_errors: FloatArray
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
    beta = checks.open_probability("beta", beta)
    together = checks.integer("together", together, low=1)
    estimates = list(answer.rounds.values())
    place = _place(estimates[0], value)
    shares = np.array([estimate.frequencies[place] for estimate in estimates])
    numbers = tuple(answer.rounds)
    independent = independent_rounds(answer)
    if any(estimate.reach is not None for estimate in estimates):
        # Hashing adds an error that all rounds share, so each round is bounded as a whole.
        radius = np.array([radius_at(estimate, place, beta / together / len(numbers)) for estimate in estimates])
        lower, upper = interval_around(shares, radius)
        changes = located_changes(numbers, every_two_rounds(shares, lower, upper))
    else:
        deviations = np.array([deviation_of(estimate)[place] for estimate in estimates])
        unknown = np.full(shares.size, math.inf)
        errors = Errors(deviations**2, unknown, unknown)
        found = RoundNumbers(rounds=numbers, estimates=shares, errors=errors, independent=independent)
        lower, upper = found.band(beta, together=together)
        changes = found.changes(beta, together=together)
    return Trend(
        name=answer.label(value),
        rounds=numbers,
        reports=tuple(estimate.n for estimate in estimates),
        estimates=shares,
        standard_errors=np.array([estimate.standard_error[place] for estimate in estimates]),
        lower=lower,
        upper=upper,
        beta=beta,
        together=together,
        independent=independent,
        changes=changes,
    )


def values_together(answer: Answer) -> int:
    """How many errors are bounded at once, whichever value is looked at: one if all share it, as a bit's two do."""
    first = next(iter(answer.rounds.values()))
    return 1 if np.array_equal(first.radius, first.simultaneous_radius) else first.frequencies.size


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


def _place(estimate: Estimate, value: Any) -> int:
    """Where a value is in an estimate."""
    if estimate.values is not None:
        return list(estimate.values).index(value)
    return checks.integer("value", value, low=0, high=estimate.frequencies.size - 1)
