"""Many rounds with different losses as one factor, whose losses are multiples of one step."""

import math
from collections.abc import Iterable

import numpy as np

from untrackable.theory.factor import Factor

_POINTS = 1 << 13
"""The largest total loss is about this many steps."""
_ERROR = 1e-11
"""A bound on the relative error of the masses: a few roundings for each of some thousand rounds."""
_TINY = 1e-60
"""Smaller masses at the ends of the law are not worth computing."""
_TRIMMED = 16
"""The number of rounds after which the ends are cut off again."""

Round = tuple[float, float, float]
"""A round: the probabilities of the losses ε and 0 in the first world, and ε. Loss -ε has the mirrored law."""


def lattice_factor(rounds: Iterable[Round], points: int | None = None) -> Factor:
    """A factor that dominates independent rounds together.

    A loss ε between two multiples a and b = a+h of the step is replaced by a and b, so that the masses of both
    worlds stay what they were: of a mass m at ε, m·(1-e^-(ε-a))/(1-e^-h) goes to b. An observer who does not look
    at which of the two it is sees the old round, so the new one reveals more (Doroshenko et al. 2022, "connect the
    dots"). It adds (b-ε)(ε-a) to the variance, at most h²/4. All numbers are positive, so no digits cancel.

    Losses below 0 mirror those above, -i·h with e^(-i·h) times the mass of i·h, so only half of them is computed.
    Masses at the ends that no longer matter become infinite losses, which reveal more.
    """
    quiet_first = sorted(rounds, key=lambda round: round[2])
    step = math.fsum(eps for _, _, eps in quiet_first) / (points or _POINTS)
    above = [math.floor(eps / step) + 1 for _, _, eps in quiet_first]
    middle, reach, lost = sum(above) + max(above), 0, 0.0
    mirror = np.exp(-step * np.arange(middle + 1))
    law, spread = np.zeros((2, 2 * middle + 1))
    law[middle] = 1.0
    for number, ((up, none, eps), last) in enumerate(zip(quiet_first, above, strict=True)):
        share = min(1.0, max(0.0, math.expm1((last - 1) * step - eps) / math.expm1(-step)))
        reach += last
        right = spread[middle : middle + reach + 1]
        np.multiply(law[middle : middle + reach + 1], none, out=right)
        for place, mass in ((last - 1, up * (1 - share)), (last, up * share)):
            right += mass * law[middle - place : middle - place + reach + 1]
            right += mass * math.exp(-place * step) * law[middle + place : middle + place + reach + 1]
        np.multiply(right, mirror[: reach + 1], out=spread[middle - reach : middle + 1][::-1])
        law, spread = spread, law
        if number % _TRIMMED == 0:
            kept = int(np.flatnonzero(right >= _TINY)[-1])
            lost += float(right[kept + 1 :].sum())
            for ends in (law, spread):
                ends[middle + kept + 1 :] = ends[: middle - kept] = 0.0
            reach = kept
    law = law[middle - reach : middle + reach + 1]
    p, losses = np.append(law, [lost, 0.0]), np.append(step * np.arange(-reach, reach + 1), [np.inf, -np.inf])
    return Factor(p, np.append(law[::-1], [0.0, lost]), losses, error=_ERROR)
