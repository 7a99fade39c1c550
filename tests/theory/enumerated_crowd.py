"""The definition of privacy in a crowd, enumerated: all reports of everybody in a round, as a multiset.

Others may hold any values, in the second round chosen with knowledge of what the observer saw in the first.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Law = Sequence[float]
"""The probabilities of all reports of one value."""
World = tuple[FloatArray, FloatArray]
"""The probabilities of all multisets in world P and in world Q."""


def multisets(people: Sequence[Law]) -> dict[tuple[int, ...], float]:
    """The law of the sorted reports of these people."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for law in people:
        longer: dict[tuple[int, ...], float] = defaultdict(float)
        for seen, chance in found.items():
            for report, mass in enumerate(law):
                if mass:
                    longer[tuple(sorted((*seen, report)))] += chance * mass
        found = longer
    return found


def worlds(one: Law, two: Law, others: Sequence[Law]) -> World:
    """Both worlds: one person with the first law or with the second, and others."""
    here, there = multisets([one, *others]), multisets([two, *others])
    seen = sorted({*here, *there})
    return np.array([here.get(s, 0.0) for s in seen]), np.array([there.get(s, 0.0) for s in seen])


def all_worlds(laws: Sequence[Law], people: int) -> Iterator[World]:
    """The worlds for all pairs of values of the person, in both orders, and all values of the others."""
    for others in itertools.combinations_with_replacement(range(len(laws)), people - 1):
        for one, two in itertools.permutations(range(len(laws)), 2):
            yield worlds(laws[one], laws[two], [laws[v] for v in others])


def delta(world: World, gamma: float) -> float:
    """Σ (P - e^gamma·Q)⁺."""
    return math.fsum(np.maximum(0.0, world[0] - math.exp(gamma) * world[1]))


def worst_delta(rounds: Sequence[World], gamma: float, times: int) -> float:
    """The largest delta of one or two rounds. The second is chosen when the outcome of the first is known."""
    if times == 1:
        return max(delta(world, gamma) for world in rounds)
    deltas = [_delta_function(world) for world in rounds]
    largest = 0.0
    for p, q in rounds:
        # Given an outcome, P₁·P₂ - e^γ·Q₁·Q₂ is P₁ times a difference at γ less the outcome's loss.
        tilts = math.exp(gamma) * q / p
        largest = max(largest, float(p @ np.max([at(tilts) for at in deltas], axis=0)))
    return largest


def _delta_function(world: World) -> Callable[[FloatArray], FloatArray]:
    p, q = world
    return lambda tilts: np.maximum(0.0, p[None, :] - tilts[:, None] * q[None, :]).sum(axis=1)
