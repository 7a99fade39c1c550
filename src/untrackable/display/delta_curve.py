"""The curve of delta by gamma of two worlds, at the gammas that a picture and a table show."""

import math
from typing import NamedTuple

import numpy as np

from untrackable.brackets import Bracket
from untrackable.theory.world_pair import WorldPair

SMALLEST_DELTA = 1e-9
"""The smallest delta that is shown."""
_GAMMAS = 61
_FARTHEST = 20.0
"""The largest gamma that is shown where delta never falls below the smallest."""


class DeltaPoint(NamedTuple):
    """Delta at one gamma."""

    gamma: float
    delta: Bracket


def delta_curve(pair: WorldPair) -> list[DeltaPoint]:
    """Delta from gamma = 0 to where there is nothing beyond, or too little to be shown."""
    small = pair.gamma(SMALLEST_DELTA).upper
    end = small if math.isfinite(small) else min(pair.pure(), _FARTHEST)
    gammas = np.linspace(0.0, end if end > 0 else 1.0, _GAMMAS).tolist()
    return [DeltaPoint(gamma, pair.delta(gamma)) for gamma in gammas]
