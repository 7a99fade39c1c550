"""Counts of simulated people, by the mechanism's own simulation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from untrackable import Rappor
from untrackable.rappor_decode.files import Counts


def collected(params: Rappor, values: Sequence[str] | NDArray[np.str_], seed: int) -> Counts:
    sums = params.aggregator()
    for batch in params.simulate(np.asarray(values), rounds=1, seed=seed):
        sums.add(batch.reports[:, 0])
    return Counts.of(sums)


def zipf(names: Sequence[str], people: int, rng: np.random.Generator) -> NDArray[np.str_]:
    weights = 1 / np.arange(1, len(names) + 1)
    drawn: NDArray[np.str_] = rng.choice(np.asarray(names), size=people, p=weights / weights.sum())
    return drawn
