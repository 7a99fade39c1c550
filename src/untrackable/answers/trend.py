"""How shares develop: each round alone, with intervals that hold for all rounds and all values at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.answers.question import Question
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.intervals import FloatArray, Interval, interval_around


@dataclass(frozen=True, slots=True, eq=False)
class Trend:
    """The shares of some values by round: a row for each round, and a column for each value.

    `radius` bounds the errors of all rounds and all values at once, those that are not shown too, except with
    probability `beta` (upper). So values may be chosen after looking at the estimates.
    """

    rounds: tuple[int, ...]
    values: tuple[Any, ...]
    beta: float
    reports: tuple[int, ...]
    frequencies: FloatArray
    radius: FloatArray

    def interval(self) -> Interval:
        """Where all true shares lie at once."""
        return interval_around(self.frequencies, self.radius)


def trend(
    question: Question, sums: Mapping[int, Aggregator], values: Sequence[Any], *, beta: float = 0.05
) -> Trend:
    """Estimate these values in every round, from sums as `question.prepare` returns them.

    Each of R rounds may fail with probability beta/R, so all of them together fail with at most beta (union bound).
    This needs no independence between rounds. Sums are read one round at a time, and estimates are not kept.
    """
    beta = checks.open_probability("beta", beta)
    numbers = tuple(sorted(sums))
    if not numbers:
        raise ValueError("sums must be of at least one round")
    reports, frequencies, radii = [], [], []
    for number in numbers:
        estimate = question.named(question.estimate(sums[number], beta / len(numbers)))
        places = _places(estimate.values, values)
        reports.append(estimate.n)
        frequencies.append(estimate.frequencies[places])
        radii.append(estimate.simultaneous_radius[places])
    return Trend(numbers, tuple(values), beta, tuple(reports), np.stack(frequencies), np.stack(radii))


def _places(known: Sequence[Any] | None, values: Sequence[Any]) -> list[int]:
    """Where the values are in an estimate."""
    if known is None:
        return [int(value) for value in values]
    at = {value: place for place, value in enumerate(known)}
    return [at[value] for value in values]
