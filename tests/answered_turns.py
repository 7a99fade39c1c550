"""Simulated people who each answer once, for tests of estimates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Aggregator
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.turns import Turns


def answered(
    mechanism: Mechanism,
    values: NDArray[Any],
    turns: Turns,
    seed: int,
    *,
    active: NDArray[np.bool_] | None = None,
    rounds: int | None = None,
) -> dict[int, Aggregator]:
    """The sums of the first `rounds` rounds that have reports.

    `values` has a row for each person, and a column for each round if they change; `active` says who was when.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(1, turns.rounds + 1, len(values))
    drawn[rng.random(len(values)) >= float(turns.share)] = 0
    found: dict[int, Aggregator] = {}
    for number in range(1, (rounds or turns.rounds) + 1):
        there = drawn == number if active is None else (drawn == number) & active[:, number - 1]
        held = values[there] if values.ndim == 1 else values[there, number - 1]
        if held.size:
            reports = [batch.reports for batch in mechanism.simulate(held, rounds=1, seed=seed * 1000 + number)]
            found[number] = mechanism.aggregator(number).add(np.concatenate(reports))
    return found
