"""The error that comes from who answered: each person does so with some probability, by a coin of their own."""

from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def with_sampling(standard_error: Numbers, frequency: Numbers, n: int, participation: Fraction) -> Numbers:
    """The standard error of everybody's frequency, from that of those n who answered.

    Given their number, those who answered are a sample without replacement. Its variance is f(1-f)/n, less the
    share of people who answered, which is about the participation.
    """
    held = np.clip(frequency, 0, 1)
    found: Numbers = np.sqrt(standard_error**2 + held * (1 - held) * float(1 - participation) / n)
    return found
