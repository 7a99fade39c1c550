"""Experiments in which each round is answered with some probability only, by a secret coin.

The coin depends on nothing else, so an unanswered round looks the same in both worlds. Its absence is one more
outcome of the round.
"""

import math
from collections.abc import Callable
from copy import copy
from fractions import Fraction
from typing import TypeVar

import numpy as np

from untrackable.theory.dominating_experiment import dominating_experiment
from untrackable.theory.experiment import Experiment, Mixture, Worst
from untrackable.theory.factor import Factor, FloatArray

EVERY_ROUND = Fraction(1)
"""The participation of a client that answers every round."""

Pair = TypeVar("Pair", bound=Experiment | Mixture | Worst)

_RARE = 1e-18
"""Numbers of answers that are less probable than this, in all, are replaced by larger ones."""
_TINIEST = 5e-324
"""The smallest floating-point number above 0. It stands for every smaller probability."""
_FEW = 64
"""Up to this many rounds, every number of answers is a component of its own."""


def thinned_factor(factor: Factor, participation: Fraction) -> Factor:
    """One round that is answered with this probability; else the observer sees nothing."""
    share, absent = float(participation), float(1 - participation)
    return Factor(
        np.append(factor.p * share, absent),
        np.append(factor.q * share, absent),
        np.append(factor.loss, 0.0),
        error=factor.error,
    )


def thinned(rounds: Experiment, participation: Fraction) -> Experiment:
    """Independent rounds, one factor each, that are answered with this probability each."""
    if rounds.gaussian:
        raise ValueError("rounds that a Gaussian stands for cannot be left out one by one")
    factors = [(thinned_factor(factor, participation), count) for factor, count in rounds.factors]
    return Experiment(factors, certainty=rounds.certainty, grid=rounds.grid)


def mixed_over_counts(
    of: Callable[[int], Experiment | Mixture | Worst], rounds: int, participation: Fraction
) -> Mixture | Worst:
    """Rounds of which only the number that is answered matters. `of` describes what this many answers reveal.

    The observer sees how many rounds were answered, which has the same law in both worlds. With many rounds, very
    small and very large numbers of answers are replaced by larger ones, which reveal more (upper).
    """
    weights = _binomial(rounds, participation)
    low, high = 0, rounds
    if rounds > _FEW:
        low = int(np.searchsorted(np.cumsum(weights), _RARE))
        high = rounds - int(np.searchsorted(np.cumsum(weights[::-1]), _RARE))
    kept = dict(zip(range(low, high + 1), weights[low : high + 1], strict=True))
    kept[low] += math.fsum(weights[:low])
    if high < rounds:
        kept[rounds] = max(math.fsum(weights[high + 1 :]), _TINIEST)
    pairs = [(weight, of(count) if count else Experiment()) for count, weight in kept.items() if weight > 0]
    return _mixed(pairs, exact=not low and high == rounds)


def _mixed(pairs: list[tuple[float, Experiment | Mixture | Worst]], *, exact: bool) -> Mixture | Worst:
    """A mixture with the same weights in both worlds; the worst of several if each pair is the worst of as many."""
    sizes = {len(pair.members) for _, pair in pairs if isinstance(pair, Worst)}
    if len(sizes) > 1:
        pairs = [
            (weight, dominating_experiment(pair) if isinstance(pair, Worst) else pair) for weight, pair in pairs
        ]
        sizes = set()
    mixtures = []
    for i in range(*sizes or (1,)):
        components = []
        for weight, pair in pairs:
            member = pair.members[i] if isinstance(pair, Worst) else pair
            parts = member.components if isinstance(member, Mixture) else ((1.0, 1.0, member),)
            components += [(weight * p, weight * q, experiment) for p, q, experiment in parts]
        mixtures.append(Mixture(components))
    whole: Mixture | Worst = mixtures[0] if len(mixtures) == 1 else Worst(mixtures)
    return whole if exact else as_upper(whole)


def as_upper(pair: Pair) -> Pair:
    """The same worlds as an upper bound on others."""
    bound = copy(pair)
    bound.certainty = "upper"
    return bound


def _binomial(trials: int, chance: Fraction) -> FloatArray:
    """The probabilities of 0 … trials successes. None is 0, because the largest loss may be that of the rarest."""
    counts = np.arange(trials)
    steps = np.log((trials - counts) / (counts + 1)) + log_of(chance) - log_of(1 - chance)
    logs = trials * log_of(1 - chance) + np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    weights = np.maximum(weights / weights.sum(), _TINIEST)
    found: FloatArray = weights
    return found


def log_of(ratio: Fraction) -> float:
    """The natural logarithm of a fraction, precise also where the fraction is close to 1."""
    if ratio > Fraction(1, 2):
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator)
