"""Reports of simulated populations, in batches of bounded size."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Reports
from untrackable.kernels.compilation import compiled

_BATCH = 1 << 21
"""The most random words that one simulated batch draws."""
_PER_ENTRY = 11
"""Compiled kernels are worth loading if each entry of their tables serves 2^11 random words or more."""
_NOISE = 0x6E6F697365
"""The key of the noise. It keeps it apart from whatever else a caller draws from the same seed."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports of consecutive simulated clients: client `start + i` sends `reports[i, t]` at `rounds[t]`.

    Reports wider than 64 bits, and reports of kept bits, have a third axis: their bytes, least significant first.
    """

    start: int
    rounds: tuple[int, ...]
    reports: Reports


def simulated_batches(
    simulate: Callable[[NDArray[Any], tuple[int, ...], np.random.Generator], Reports],
    values: NDArray[Any],
    rounds: tuple[int, ...],
    *,
    words: int,
    seed: int,
) -> Iterator[Batch]:
    """Batches of clients with these values. Each batch draws its own random numbers.

    They are independent of `default_rng(seed)`, so values may be drawn with the same seed. `words` is the number of
    random words per report.
    """
    drawn = max(1, len(rounds) * words)
    size = max(1, _BATCH // drawn)
    compiled(values.shape[0] * drawn >> _PER_ENTRY)

    def batches() -> Iterator[Batch]:
        for start in range(0, values.shape[0], size):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_NOISE, start)))
            yield Batch(start, rounds, simulate(values[start : start + size], rounds, rng))

    return batches()
