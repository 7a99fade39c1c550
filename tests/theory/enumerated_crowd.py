"""The definition of privacy in a crowd, enumerated: all reports of everybody in a round, as a multiset.

Others may hold any values, in the second round chosen with knowledge of what the observer saw in the first.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from untrackable.arrays import FloatArray
from untrackable.theory.crowd import CrowdParts

Law = Sequence[Any]
"""The probabilities of all reports of one value: numbers or fractions."""
World = tuple[FloatArray, FloatArray]
"""The probabilities of all multisets in world P and in world Q."""


def parts_of(laws: Sequence[Law], first: int = 0, second: int = 1) -> CrowdParts:
    """How the reports of two values differ, and how far all others can be from them."""
    one, two = laws[first], laws[second]
    ratio = max(max(a / b, b / a) for a, b in zip(one, two, strict=True))
    distance = sum(abs(a - b) for a, b in zip(one, two, strict=True)) / 2
    other = max(max(a, b) / c for law in laws for a, b, c in zip(one, two, law, strict=True))
    return CrowdParts(float(ratio), float(distance), float(other))


def multisets(people: Sequence[Law]) -> dict[tuple[int, ...], Any]:
    """The law of the sorted reports of these people, in fractions if theirs are."""
    law_of_all: dict[tuple[int, ...], Any] = {(): 1}
    for law in people:
        longer: dict[tuple[int, ...], Any] = defaultdict(int)
        for seen, chance in law_of_all.items():
            for report, mass in enumerate(law):
                if mass:
                    longer[tuple(sorted((*seen, report)))] += chance * mass
        law_of_all = longer
    return law_of_all


def delta_of(one: Mapping[Any, Any], two: Mapping[Any, Any], gamma: float) -> float:
    """Σ (P - e^gamma·Q)⁺ of two laws."""
    return math.fsum(max(0.0, float(p) - math.exp(gamma) * float(two.get(seen, 0))) for seen, p in one.items())


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
