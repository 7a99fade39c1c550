"""An attack on attendance: match people at one place with people at another by the rounds that they answer.

A client answers a round once, so nobody is seen at two places in one round. The reports themselves are not needed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.auditing.confidence import Matched
from untrackable.auditing.link_attack import FloatArray, ranks_of_own, share
from untrackable.brackets import Bracket
from untrackable.kernels.engine import in_main_memory
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.attendance import AMONG, recognition

Seen = NDArray[np.bool_]
"""Whether each person (row) was seen in each round (column) at one place."""


@dataclass(frozen=True, slots=True)
class AttendanceMatched:
    """How well people were recognised by their attendance (sampled), and the bound.

    `alone` is the share of people for whom the right match came first by attendance alone, and `alone_bound` its
    bound. `together` uses what the reports say, too; None if no mechanism was given. Each person is matched alone,
    and ties are broken at random.
    """

    people: int
    rounds: int
    alone: Matched
    alone_bound: Bracket
    together: Matched | None


def match_by_attendance(
    *,
    rounds: int,
    people: int = AMONG,
    mechanism: Mechanism | None = None,
    value: Any = 0,
    seed: int = 1,
    level: float = 0.95,
) -> AttendanceMatched:
    """Simulate people who answer every round, each time from one of two places, and match them by these rounds.

    With a mechanism, all people hold `value`, and the observer reads their reports as well.
    """
    rounds, people = checks.integer("rounds", rounds, low=1), checks.integer("people", people, low=2)
    seed, level = checks.integer("seed", seed, low=0), checks.open_probability("level", level)
    first, _ = attend(rounds, people, np.random.default_rng([seed, 2, people]))
    # A view of the second place fits one of the first if it has just the other rounds: so do those of all people
    # with the same rounds, and nobody else's.
    _, kinds, counts = np.unique(np.packbits(first, axis=1), axis=0, return_inverse=True, return_counts=True)
    alone = 1 / counts[kinds]
    together = None if mechanism is None else _with_reports(mechanism, first, kinds, value, seed)
    return AttendanceMatched(
        people,
        rounds,
        share(alone, level),
        recognition(rounds, people),
        None if together is None else share(together, level),
    )


def attend(rounds: int, people: int, rng: np.random.Generator) -> tuple[Seen, Seen]:
    """Simulate which rounds each person is seen to answer, at the first place and at the second."""
    first: Seen = rng.random((people, rounds)) < 0.5
    return first, ~first


def _with_reports(mechanism: Mechanism, first: Seen, kinds: NDArray[np.int64], value: Any, seed: int) -> FloatArray:
    """For each person, the probability that the right one is chosen by its reports among all whose rounds fit."""
    people, rounds = first.shape
    sent = mechanism.simulate(np.full(people, value), rounds=rounds, seed=seed)
    reports: NDArray[Any] = np.concatenate([batch.reports for batch in sent])
    found = np.empty(people)
    for kind in range(kinds.max() + 1):
        same = np.flatnonzero(kinds == kind)
        here = first[same[0]]
        scores: FloatArray = np.zeros((same.size, same.size))
        if here.any() and not here.all():
            left, right = reports[same][:, here], reports[same][:, ~here]
            # Scores that differ by rounding alone are equal.
            scores = np.round(in_main_memory(mechanism.link_scores(left, right, value)), 9)
        found[same] = first_choices(scores, np.arange(same.size))
    return found


def first_choices(scores: FloatArray, own: NDArray[np.int64]) -> FloatArray:
    """For each row, the probability that its own column is chosen: the one that scores highest, or one of those."""
    above, ties = ranks_of_own(scores, own)
    return np.asarray(np.clip((1 - above) / ties, 0, 1))
