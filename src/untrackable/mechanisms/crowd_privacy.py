"""Privacy in a crowd: the observer sees the reports of all people in every round, but not who sent which."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from untrackable import checks
from untrackable.mechanisms.local.local_interface import ClassifiedLocal, Local
from untrackable.theory.bracketed_experiment import BracketedExperiment
from untrackable.theory.crowd_classes import CrowdClasses
from untrackable.theory.crowd_counts import LARGEST_CROWD, CrowdParts
from untrackable.theory.crowd_rounds import crowd_lower, crowd_upper
from untrackable.theory.experiment import Experiment

LINKED = "its reports can be linked, so a crowd does not hide them"
"""Why a crowd hides nobody: reports of one person in several rounds would be found, and taken together."""

_ROUNDING = 1e-14
"""Numbers that are computed from a base's law are rounded up by this share."""

SentRounds = Sequence[tuple[Local, int]]
"""The local mechanism that rounds send a fresh report of, and the number of such rounds, in their order."""


class CrowdQuestions:
    """What an observer of a whole crowd learns, and what one report can do to its estimate.

    Every mechanism is asked this. The answers are made here, from what a mechanism says about its rounds.
    """

    __slots__ = ()

    def crowd(self, *, people: int | Sequence[int], reports: int | None = None) -> Experiment:
        """Privacy against an observer who sees everybody's reports, but not who sent which (bracket).

        It is for `reports` rounds, by default all that there are. In each round this many `people` send a report
        each, or one number for each round. If reports of one person can be linked over these rounds, a crowd does
        not hide them: `ValueError`.
        """
        rounds = self._unlinked_rounds(None if reports is None else checks.integer("reports", reports, low=1))
        if rounds is None:
            raise ValueError(LINKED)
        return crowd_privacy(rounds, people=people)

    def _unlinked_rounds(self, reports: int | None) -> SentRounds | None:
        """What the first `reports` rounds send, or all; None if reports of one person can be linked over them."""
        return None

    def held_error(self, people: int, *, share: float, round: int = 1) -> float | None:
        """The standard error of a value that this share of the people who report holds, given who does (exact).

        It is of one round, with a report by each of these people; None if the mechanism cannot say. With a share of
        0 it is that of a value that nobody holds, as in `accuracy`. Reports of those who hold a value are noisy
        too, so a value that many hold has a larger error if answers are wide.
        """
        return None

    def shift(self, *, round: int = 1) -> float | None:
        """The number of people who hold a value that one dishonest report can feign in a round (exact).

        It is the most that a report adds to n times a frequency. None where that is not known.
        """
        return None


def crowd_privacy(rounds: SentRounds, *, people: int | Sequence[int]) -> BracketedExperiment:
    """Two values of one person, by rounds in which this many people answer (bracket).

    Every round has a fresh report of its base by each. So rounds are independent given everybody's values, and the
    reports of one person cannot be linked. The upper end holds for all values of the others. The lower end is that
    of others who all hold a third value. It is 0 if two values that reveal as much as the upper end may not exist.
    """
    sized = _sized(rounds, people)
    parts: Counter[tuple[CrowdParts, int]] = Counter()
    for base, number, count in sized:
        parts[crowd_parts(base), number] += count
    pure = math.fsum(count * _largest_loss(base) for base, _, count in sized)
    known = all(base.certainty == "exact" and isinstance(base, ClassifiedLocal) for base, _ in rounds)

    def lower() -> Experiment:
        classes: Counter[tuple[CrowdClasses, int]] = Counter()
        for base, number, count in sized:
            if isinstance(base, ClassifiedLocal):
                classes[base.crowd_classes(), number] += count
        return crowd_lower(classes)

    return BracketedExperiment(crowd_upper(parts), lower if known else None, pure=pure)


def _sized(rounds: SentRounds, people: int | Sequence[int]) -> list[tuple[Local, int, int]]:
    """The base of rounds, the number of people, and the number of such rounds."""
    if not isinstance(people, Sequence):
        number = crowd_size(people)
        return [(base, number, count) for base, count in rounds]
    sizes = [crowd_size(number) for number in people]
    total = sum(count for _, count in rounds)
    if len(sizes) != total:
        raise ValueError(f"people must be one number, or one for each of {total} rounds, got {len(sizes)}")
    one_by_one = (base for base, count in rounds for _ in range(count))
    return [(base, number, 1) for base, number in zip(one_by_one, sizes, strict=True)]


def crowd_size(people: int) -> int:
    """The number of people in a crowd, after checks."""
    return checks.integer("people", people, low=2, high=LARGEST_CROWD)


def crowd_parts(base: Local) -> CrowdParts:
    """How the reports of two values differ, for the two values that are easiest to tell apart.

    The base's privacy factor dominates every pair of values. So no ratio and no distance is larger than its own,
    and everybody's law is within the same ratio of both. Delta grows with all three, so they are rounded up.
    """
    factor = base.privacy_factor()
    ratio = math.exp(_largest_loss(base)) * (1 + _ROUNDING)
    distance = float(np.maximum(0.0, factor.p - factor.q).sum()) * (1 + _ROUNDING)
    return CrowdParts(ratio, min(distance, (ratio - 1) / (ratio + 1)), ratio)


def _largest_loss(base: Local) -> float:
    return float(np.abs(base.privacy_factor().loss).max())
