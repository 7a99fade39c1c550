"""Attendance: what the rounds that somebody answers, and the places they answer from, reveal by themselves.

A client answers a round once. So one person is never seen at two places in one round, while two people often are.
An observer can use that to tell one person from two, even if the reports themselves reveal nothing. This is about
people who answer every round, or each round with some probability (Poisson subsampling); `theory.turns` is about
people who answer once.
"""

from fractions import Fraction

import numpy as np

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor

AMONG = 1000
"""Default size of the crowd among which somebody is to be recognised."""


def attendance(rounds: int) -> Experiment:
    """One person against two, who answer every round from one of two places, as a fair coin decides (exact).

    In each round, one person is seen at one of the places. Two people are so with probability 1/2; else both places
    see somebody, or none does. Which of the places it is has the same law in both worlds.
    """
    seen_once = Factor([1.0, 0.0], [0.5, 0.5])
    return Experiment([(seen_once, checks.integer("rounds", rounds, low=1))])


def recognition(rounds: int, people: int = AMONG) -> Bracket:
    """A bound on the probability of recognising a person among N, by attendance alone: 2^k/N, at most 1.

    Somebody else's rounds fit in k rounds with probability 2^-k. It is the power of `attendance` at a false
    positive rate of 1/N.
    """
    rounds, people = checks.integer("rounds", rounds, low=1), checks.integer("people", people, low=1)
    return Bracket.point(1.0 if rounds >= people.bit_length() else (1 << rounds) / people)


# --- rounds that are answered with some probability only, which depends on nothing else -------------------

EVERY_ROUND = Fraction(1)
"""The chance of somebody who answers every round."""


def thinned_factor(factor: Factor, chance: Fraction) -> Factor:
    """One round that is answered with this probability; else the observer sees nothing.

    An unanswered round looks the same in both worlds. Its absence is one more outcome of the round.
    """
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
