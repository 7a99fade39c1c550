"""Many rounds with different losses as one factor, whose losses are multiples of one step."""

import math
from collections.abc import Iterable

import numpy as np

from untrackable.theory.factor import Factor, FloatArray

_POINTS = 1 << 13
"""The largest total loss is about this many steps."""
_ERROR = 1e-11
"""A bound on the relative error of the masses: a few roundings for each of some thousand rounds."""

Round = tuple[float, float, float]
"""A round: the probabilities of the losses ε and 0 in the first world, and ε. Loss -ε has the mirrored law."""


def lattice_factor(rounds: Iterable[Round]) -> Factor:
    """A factor that dominates independent rounds together.

    A loss ε between two multiples a and b = a+h of the step is replaced by a and b, so that the masses of both
    worlds stay what they were: of a mass m at ε, m·(1-e^-(ε-a))/(1-e^-h) goes to b. An observer who does not look
    at which of the two it is sees the old round, so the new one reveals more (Doroshenko et al. 2022, "connect the
    dots"). It adds (b-ε)(ε-a) to the variance, at most h²/4. All numbers are positive, so no digits cancel.
    """
    quiet_first = sorted(rounds, key=lambda round: round[2])
    step = math.fsum(eps for _, _, eps in quiet_first) / _POINTS
    law: FloatArray = np.ones(1)
    for up, none, eps in quiet_first:
        below = math.floor(eps / step)
        share = min(1.0, max(0.0, math.expm1(below * step - eps) / math.expm1(-step)))
        above, size = below + 1, law.size
        spread = np.zeros(size + 2 * above)
        spread[above : above + size] = none * law
        for place, mass in ((below, up * (1 - share)), (above, up * share)):
            spread[above + place : above + place + size] += mass * law
            spread[above - place : above - place + size] += mass * math.exp(-place * step) * law
        law = spread
    reach = law.size // 2
    return Factor(law, law[::-1], step * np.arange(-reach, reach + 1), error=_ERROR)
