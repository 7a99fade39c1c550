"""The error that comes from who answered: with turns, those whose turn it was, and nobody twice."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from untrackable.theory.turns import Turns

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def share_heard(turns: Turns | None, rounds: int) -> float:
    """Which share of the people was heard for certain with what is asked: all, those of a round, or 0 if pooled."""
    if turns is None:
        return 1.0
    return float(turns.chance) if rounds == 1 else 0.0


def with_sampling(standard_error: Numbers, frequency: Numbers, n: int, heard: float) -> Numbers:
    """The standard error of everybody's frequency, from that of those n who answered.

    Given their number, those who answered one round are a sample without replacement. Its variance is f(1-f)/n,
    less the share of people who were `heard`: the chance of a turn. If several rounds are pooled, that share is 0:
    people may hold another value in another round, so hearing all of them does not mean knowing all values. The
    variance is then at most f(1-f)/n, and less by the variance of people's means if these are all that is asked.
    """
    held = np.clip(frequency, 0, 1)
    found: Numbers = np.sqrt(standard_error**2 + held * (1 - held) * (1 - heard) / n)
    return found
