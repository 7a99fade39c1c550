"""Many rounds of a crowd, composed: bounded from above by the parts of reports, and from below by classes of them.

Every round becomes a factor whose losses are multiples of one step that all rounds have in common. Losses on a
lattice are composed in every digit, so a delta of 1e-12 is as sharp as one of 1e-3.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from untrackable.theory.crowd_classes import CrowdClasses, counted_outcomes, on_lattice
from untrackable.theory.crowd_counts import CrowdParts, crowd_deltas, resolution
from untrackable.theory.dominating_experiment import chords_factor
from untrackable.theory.experiment import Certainty, Experiment
from untrackable.theory.factor import Factor, FloatArray

_POINTS = 320
"""The standard deviation of the loss of all rounds together is about this many steps."""
_FINE = 24
"""That of a round's loss is at least this many steps of its own, which are multiples of the common one."""
_FARTHEST = 14
"""A round's gammas end after this many standard deviations."""
_ENOUGH = 1e-18
"""Where delta has fallen to this, no larger gamma is looked at."""
_BLOCK = 1024
"""More rounds than this that are alike are composed in blocks, and then the blocks with each other."""
_LOUD = 6.0
"""Blocks whose losses have a larger standard deviation than this are not made: they would tell everything."""
_FEW = 4
"""Up to this many different rounds are bounded as sharply as possible."""
_MANY = 32
"""If there are more different rounds, those that are nearly alike count as the loudest of them."""
_NEARLY = 1.05
"""Rounds are nearly alike if the largest losses of one report differ by at most this factor."""
_SEEN = 512
"""From below, only this many different rounds are looked at: those that reveal most."""

Rounds = Mapping[tuple[CrowdParts, int], int]
"""How many rounds there are with these parts and this number of people."""


class _Part(NamedTuple):
    """Rounds that are alike, or blocks of them: the standard deviation of the loss of one, and their number.

    `factor` makes one of them a factor whose losses are multiples of a step.
    """

    deviation: float
    times: int
    factor: Callable[[float], Factor]


def crowd_upper(rounds: Rounds, *, sharp: bool | None = None) -> Experiment:
    """Rounds of a crowd (upper). The bound is `sharp` where few of them differ, unless that is given."""
    if len(rounds) > _MANY:
        rounds = _nearly_alike(rounds)
    sharp = len(rounds) <= _FEW if sharp is None else sharp
    parts = [
        _Part(parts.shift(people), count, partial(_above, parts, people, sharp))
        for (parts, people), count in rounds.items()
    ]
    return _composed([_upper_blocks(part) for part in parts], "upper")


def crowd_lower(rounds: Mapping[tuple[CrowdClasses, int], int]) -> Experiment:
    """The same rounds if all others hold one value, seen in part. Delta of P from Q is a lower end."""
    parts = [
        _Part(classes.shift(people), count, partial(_below, classes, people))
        for (classes, people), count in rounds.items()
    ]
    loudest = sorted(parts, key=lambda part: -part.deviation)[:_SEEN]
    return _composed([_lower_blocks(part) for part in loudest], "exact")


def _composed(parts: Sequence[_Part], certainty: Certainty) -> Experiment:
    common = math.sqrt(math.fsum(part.times * part.deviation**2 for part in parts)) / _POINTS
    factors = [(part.factor(_own_step(part.deviation, common)), part.times) for part in parts]
    return Experiment(factors, certainty=certainty)


def _own_step(deviation: float, common: float) -> float:
    """The common step times a power of two: as coarse as a round of this deviation permits."""
    return common * 2.0 ** max(0, math.floor(math.log2(deviation / (_FINE * common))))


def _nearly_alike(rounds: Rounds) -> Rounds:
    """Fewer rounds that dominate these: those with the same number of people and nearly the same parts are joined.

    The parts of several rounds together are the largest of each kind, because delta grows with all of them.
    """
    joined: dict[tuple[CrowdParts, int], int] = {}
    for people in {people for _, people in rounds}:
        own = sorted((key for key in rounds if key[1] == people), key=lambda key: -key[0].ratio)
        while own:
            limit = math.log(own[0][0].ratio) / _NEARLY
            group = [key for key in own if math.log(key[0].ratio) >= limit]
            own = own[len(group) :]
            largest = CrowdParts(*(max(values) for values in zip(*(key[0].numbers for key in group), strict=True)))
            joined[largest, people] = joined.get((largest, people), 0) + sum(rounds[key] for key in group)
    return joined


@lru_cache(maxsize=256)
def _above(parts: CrowdParts, people: int, sharp: bool, step: float) -> Factor:
    """One round as a factor on a lattice that dominates it."""
    largest = math.log(parts.ratio)
    gammas = _gammas(parts.shift(people), largest, step)
    deltas = crowd_deltas(parts, people, gammas, resolution(people, sharp=sharp))
    return _chords(gammas, np.where(gammas < largest, deltas, 0.0))


def _gammas(deviation: float, largest: float, step: float) -> FloatArray:
    """Multiples of the step, as far as losses go."""
    farthest = _FARTHEST * (deviation + step) + deviation**2
    return np.arange(math.ceil(min(largest, farthest) / step) + 1, dtype=np.float64) * step


def _chords(gammas: FloatArray, deltas: FloatArray) -> Factor:
    needed = int(np.searchsorted(-deltas, -_ENOUGH)) + 1
    return chords_factor(gammas[:needed], np.minimum.accumulate(deltas[:needed]))


def _upper_blocks(part: _Part) -> _Part:
    """The same rounds, or a few more, in blocks if there are many."""
    blocks = math.ceil(part.times / _BLOCK)
    size = math.ceil(part.times / blocks)
    deviation = part.deviation * math.sqrt(size)
    if blocks == 1 or deviation > _LOUD:
        return part
    together = _composed([part._replace(times=size)], "upper")

    def factor(step: float) -> Factor:
        gammas = _gammas(deviation, math.inf, step)
        return _chords(gammas, np.array([together._delta(float(gamma), "forward")[1] for gamma in gammas]))

    return _upper_blocks(_Part(deviation, blocks, factor))


@lru_cache(maxsize=256)
def _below(classes: CrowdClasses, people: int, step: float) -> Factor:
    """One round as a factor on a lattice that it dominates."""
    return on_lattice(*counted_outcomes(classes, people), step)


def _lower_blocks(part: _Part) -> _Part:
    """The same rounds, or a few less, in blocks if there are many."""
    blocks = math.ceil(part.times / _BLOCK)
    size = part.times // blocks
    deviation = part.deviation * math.sqrt(size)
    if blocks == 1 or deviation > _LOUD:
        return part
    table = _composed([part._replace(times=size)], "exact")._table
    masses = np.maximum(0.0, table.p * (1 - table.mass_error) - table.lost_mass)
    factor = partial(on_lattice, masses, table.loss - table.loss_error)
    return _lower_blocks(_Part(deviation, blocks, factor))
