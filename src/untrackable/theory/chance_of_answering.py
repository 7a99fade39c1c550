"""Rounds that are answered with some probability only, which depends on nothing else.

So an unanswered round looks the same in both worlds. Its absence is one more outcome of the round.
"""

from fractions import Fraction

import numpy as np

from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

EVERY_ROUND = Fraction(1)
"""The chance of somebody who answers every round."""


def thinned_factor(factor: Factor, chance: Fraction) -> Factor:
    """One round that is answered with this probability; else the observer sees nothing."""
    share, absent = float(chance), float(1 - chance)
    return Factor(
        np.append(factor.p * share, absent),
        np.append(factor.q * share, absent),
        np.append(factor.loss, 0.0),
        error=factor.error,
    )


def thinned(rounds: Experiment, chance: Fraction) -> Experiment:
    """Independent rounds, one factor each, that are answered with this probability each."""
    if rounds.gaussian:
        raise ValueError("rounds that a Gaussian stands for cannot be left out one by one")
    factors = [(thinned_factor(factor, chance), count) for factor, count in rounds.factors]
    return Experiment(factors, certainty=rounds.certainty, grid=rounds.grid)
