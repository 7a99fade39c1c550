"""Running one private mechanism on the output of another [NV, Section "Mechanism Chaining"]."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from untrackable import checks
from untrackable.theory.factor import FloatArray


def basic(eps_first: float, eps_second: float) -> float:
    """Upper bound min(ε₁, ε₂) on the chain's privacy [NV, Theorem "Basic Chaining"]."""
    return min(checks.non_negative("eps_first", eps_first), checks.non_negative("eps_second", eps_second))


def tight(eps_first: float, eps_second: float) -> float:
    """Upper bound ln((e^(ε₁+ε₂) + 1)/(e^ε₁ + e^ε₂)) on the chain's privacy [NV, Theorem "Advanced Chaining"].

    Randomised response attains it. The formula is computed as 2·artanh(tanh(ε₁/2)·tanh(ε₂/2)), which neither
    overflows nor cancels.
    """
    smaller = basic(eps_first, eps_second)
    larger = max(eps_first, eps_second)
    product = math.tanh(smaller / 2) * math.tanh(larger / 2)
    if product < 0.9:
        return 2 * math.atanh(product)
    # Near 1, artanh would lose digits. This form for ε₁ ≤ ε₂ does not: ε₁ + ln(1 + e^-(ε₁+ε₂)) - ln(1 + e^(ε₁-ε₂)).
    if smaller == math.inf:
        return math.inf
    return smaller + math.log1p(math.exp(-smaller - larger)) - math.log1p(math.exp(smaller - larger))


def product(eps_first: float, eps_second: float) -> float:
    """Upper bound ε₁ε₂/2 on the chain's privacy [NV, Corollary of "Advanced Chaining"].

    It is never below `tight`, and close to it for small ε.
    """
    return checks.non_negative("eps_first", eps_first) * checks.non_negative("eps_second", eps_second) / 2


def tight_chain(eps: Iterable[float]) -> float:
    """Fold the tight bound along several mechanisms, each of which reads the output of the one before."""
    total = math.inf
    for one in eps:
        total = tight(total, one)
    return total


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Channel:
    """A mechanism on finite sets, where `law[x₁, …, x_m, y]` is the probability of output y on inputs x₁ … x_m."""

    law: FloatArray

    def __init__(self, law: ArrayLike) -> None:
        array = np.array(law, dtype=np.float64)
        if array.ndim < 2:
            raise ValueError(f"law must have at least two axes (inputs, output), got {array.ndim}")
        if not (np.all(array >= 0) and np.allclose(array.sum(axis=-1), 1, rtol=0, atol=1e-9)):
            raise ValueError("law must contain probabilities that sum to 1 along its last axis")
        array.flags.writeable = False
        object.__setattr__(self, "law", array)

    def eps(self, position: int) -> float:
        """The exact ε of the input at this position: the largest log ratio when only that input changes."""
        if not 0 <= position < self.law.ndim - 1:
            raise ValueError(f"position must be between 0 and {self.law.ndim - 2}, got {position}")
        highest, lowest = self.law.max(axis=position), self.law.min(axis=position)
        possible = highest > 0
        if np.any(lowest[possible] == 0):
            return math.inf
        return float(np.max(np.log(highest[possible] / lowest[possible])))


def response_channel(eps: float) -> Channel:
    """Randomised response on one bit, as a channel."""
    truth = 1 / (1 + math.exp(-checks.non_negative("eps", eps)))
    return Channel([[truth, 1 - truth], [1 - truth, truth]])


Level = Sequence[tuple[Channel, Sequence[int]]]
"""One stage of a hierarchy: each mechanism, with the indices of the entries of the stage before that it reads."""


@dataclass(frozen=True, slots=True)
class Chained:
    """Privacy of one person's entry in a chained hierarchy: the exact ε and two upper bounds."""

    exact: float
    tight_upper: float
    basic_upper: float


def hierarchy(levels: Sequence[Level]) -> list[Chained]:
    """Chain sets of mechanisms over partitions (people → families → cities …) [NV, "k Mechanism Chaining"].

    Exactly one mechanism of the next stage reads each entry of a stage. For each person, this returns the exact ε
    of the whole chained channel and the bounds folded along the person's path. The bounds hold because each
    mechanism on the path is private in the entry that the path goes through when everyone else's data is fixed.
    """
    if not levels:
        raise ValueError("levels must not be empty")
    people = sum(len(reads) for _, reads in levels[0])
    sizes: list[int | None] = [None] * people
    for channel, reads in levels[0]:
        for axis, person in enumerate(reads):
            if 0 <= person < people:
                sizes[person] = channel.law.shape[axis]
    entries = [_Entry(np.eye(size), (person,)) for person, size in enumerate(sizes) if size is not None]
    paths: list[list[float]] = [[] for _ in range(people)]
    for number, level in enumerate(levels, start=1):
        read = sorted(index for _, reads in level for index in reads)
        if read != list(range(len(entries))):
            raise ValueError(f"level {number} must read each of the {len(entries)} entries before it exactly once")
        for channel, reads in level:
            for position, index in enumerate(reads):
                for person in entries[index].people:
                    paths[person].append(channel.eps(position))
        entries = [_combine(channel, [entries[index] for index in reads]) for channel, reads in level]
    exact = [0.0] * people
    for entry in entries:
        channel = Channel(entry.law)
        for position, person in enumerate(entry.people):
            exact[person] = channel.eps(position)
    return [Chained(exact[i], tight_chain(paths[i]), min(paths[i])) for i in range(people)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The law of one intermediate output given the values of the people below it.

    The law has one axis for each of these people, and the output as its last axis.
    """

    law: FloatArray
    people: tuple[int, ...]


def _combine(channel: Channel, inputs: Sequence[_Entry]) -> _Entry:
    if channel.law.ndim != len(inputs) + 1:
        raise ValueError(f"a mechanism of {channel.law.ndim - 1} inputs was given {len(inputs)} entries")
    law: FloatArray = channel.law
    people: tuple[int, ...] = ()
    for entry in inputs:
        if entry.law.shape[-1] != law.shape[0]:
            raise ValueError(f"a mechanism expects {law.shape[0]} inputs where {entry.law.shape[-1]} can occur")
        # This sums out the first remaining input. The people's axes gather at the end, so the output's axis, which
        # is then the first, must be moved back to the end after the loop.
        law = np.tensordot(law, entry.law, axes=(0, entry.law.ndim - 1))
        people += entry.people
    return _Entry(np.moveaxis(law, 0, -1), people)
