"""The radius that an estimate would have for the worst counts, which is what a plan promises beforehand."""

import math
from dataclasses import replace

import numpy as np

from untrackable.estimation.estimate import Estimate
from untrackable.estimation.rounds import deviation_of
from untrackable.theory.accuracy import mean_radius
from untrackable.theory.turns import Turns

CLOSE = 2e-3
"""How much more a plan promises: it looks at some counts only, and adds what the others may be worse by."""
_MOST = 20_001


def widest_radius(found: Estimate, *, simultaneous: bool = False) -> float:
    """The largest radius over all counts that a share within [0, 1] gives on average, if a random part answered.

    Of an estimate without a law of counts, it is Hoeffding's radius, which is the same for all populations.
    """
    statistics = found.statistics if simultaneous else 1
    if found.chance is None:
        return float(np.max(deviation_of(found))) * mean_radius(1, found.beta, statistics=statistics)
    elsewhere, span = float(np.ravel(found.chance)[0]), float(found.span[0])
    counts = np.unique(np.linspace(math.ceil(found.n * elsewhere), found.n * (elsewhere + 1 / span), _MOST) // 1)
    shares = (counts / found.n - elsewhere) * span
    every = replace(
        found,
        frequencies=shares,
        standard_error=np.zeros(shares.size),
        span=np.full(shares.size, span),
        chance=elsewhere,
        deviation=None,
        statistics=statistics,
        values=None,
        turns=Turns(rounds=2),
    )
    return float(every.radius_of(simultaneous=True).max())
