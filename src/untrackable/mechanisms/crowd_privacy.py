"""Privacy in a crowd: the observer sees the reports of all people in every round, but not who sent which."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from untrackable import checks
from untrackable.mechanisms.local.local_interface import Local
from untrackable.theory.crowd_counts import CrowdParts, crowd_factor
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor


def crowd_privacy(base: Local, *, people: int, reports: int, participation: Fraction) -> Experiment:
    """Two values of one person, by `reports` rounds of a crowd of this many enrolled people (upper).

    Every round has a fresh report of the base, or none. So rounds are independent given everybody's values, and the
    reports of one person cannot be linked.
    """
    reports = checks.integer("reports", reports, low=1)
    if base.certainty != "exact":
        raise ValueError(f"how well a crowd hides reports of {type(base).__name__} is not known")
    return Experiment([(_one_round(crowd_parts(base), people, participation), reports)], certainty="upper")


def crowd_parts(base: Local) -> CrowdParts:
    """How the reports of two values differ, for the two values that are easiest to tell apart.

    No two laws have a larger ratio, so everybody else's law is within the same ratio of both.
    """
    factor = base.privacy_factor()
    ratio = math.exp(float(np.abs(factor.loss).max()))
    distance = float(np.maximum(0.0, factor.p - factor.q).sum())
    return CrowdParts(ratio, distance, ratio)


@lru_cache(maxsize=64)
def _one_round(parts: CrowdParts, people: int, participation: Fraction) -> Factor:
    return crowd_factor(parts, people, participation)
