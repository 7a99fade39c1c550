"""An attack on attendance: match people at one place with people at another by the rounds that they answer.

A client answers a round once, so nobody is seen at two places in one round. The reports themselves are not needed.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.auditing.confidence import Matched
from untrackable.auditing.link_attack import FloatArray, ranks_of_own, share
from untrackable.brackets import Bracket
from untrackable.kernels.engine import Engine, arrays, in_main_memory, on_gpu, running_on
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress, no_progress
from untrackable.theory.attendance import AMONG, Attendance, answering_once

Seen = NDArray[np.bool_]
"""Whether each person (row) was seen in each round (column) at one place."""

_SCORES, _SCORES_ON_GPU = 1 << 22, 1 << 29
"""This many scores are kept at a time."""


@dataclass(frozen=True, slots=True)
class AttendanceMatched:
    """How well people were recognised by their attendance (sampled), and the engine's bound.

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
    attendance: Attendance,
    *,
    rounds: int,
    people: int = AMONG,
    mechanism: Mechanism | None = None,
    value: Any = 0,
    seed: int = 1,
    level: float = 0.95,
    engine: Engine = "local",
    progress: Progress = no_progress,
) -> AttendanceMatched:
    """Simulate people who answer some rounds from two places, and match them by the rounds they answered.

    Of several places, the two with the largest shares are looked at. With a mechanism, all people hold `value`, and
    the observer reads their reports as well; `ValueError` if its scores depend on which rounds were seen. With the
    engine `cuda`, people are matched on a GPU.
    """
    rounds, people = checks.integer("rounds", rounds, low=1), checks.integer("people", people, low=2)
    seed, level = checks.integer("seed", seed, low=0), checks.open_probability("level", level)
    attendance = replace(attendance, places=tuple(sorted(attendance.places, reverse=True)[:2]))
    rng = np.random.default_rng([seed, 2, people])
    first, second = attend(attendance, rounds, people, rng)
    read = None if mechanism is None else _ReportScores(mechanism, first, second, value, seed)
    alone, together = [], []
    with running_on(engine):
        size = max(1, (_SCORES_ON_GPU if on_gpu() else _SCORES) // people)
        for start in range(0, people, size):
            some = np.arange(start, min(people, start + size))
            scores = attendance_scores(first[some], second, attendance)
            alone.append(first_choices(scores, some))
            if read is not None:
                together.append(first_choices(in_main_memory(scores) + read.of(some), some))
            progress("matching by attendance", min(1.0, (start + size) / people))
    return AttendanceMatched(
        people,
        rounds,
        share(np.concatenate(alone), level),
        attendance.recognition(rounds, people),
        share(np.concatenate(together), level) if together else None,
    )


def attend(attendance: Attendance, rounds: int, people: int, rng: np.random.Generator) -> tuple[Seen, Seen]:
    """Simulate which rounds each person is seen to answer, at the first place and at the second."""
    answers = rng.random((people, rounds)) < float(attendance.participation)
    stays = -(-rounds // attendance.persistence)
    where = np.repeat(rng.random((people, stays)), attendance.persistence, axis=1)[:, :rounds]
    here, there = (float(part) for part in attendance.places[:2])
    at_second = (where >= here) & (where < here + there) & (not attendance.one_network)
    return answers & (where < here), answers & at_second


def attendance_scores(first: Seen, second: Seen, attendance: Attendance) -> FloatArray:
    """ln(one person/two people) for every pair of a row of `first` and a row of `second`, by attendance alone.

    A person who was seen at both places during one stay is two people. So is, if everybody is always seen, a person
    who was not seen at all. For all others, the score depends on how many stays each was seen in.
    """
    on = arrays()
    impossible = on.zeros((len(first), len(second)), dtype=np.bool_)
    left, right = on.zeros(len(first)), on.zeros(len(second))
    if attendance.one_network:
        unseen: FloatArray = left[:, None] + right
        return unseen
    for chance, stays in _stays(attendance, first.shape[1]):
        one, two = (on.asarray(_in_stays(seen[:, stays], attendance.persistence)) for seen in (first, second))
        impossible |= one.astype(np.float32) @ two.astype(np.float32).T > 0
        here, there, nowhere = _losses(chance, attendance.places)
        numbers = one.sum(axis=1), two.sum(axis=1)
        if math.isinf(nowhere):
            impossible |= numbers[0][:, None] + numbers[1] < one.shape[1]
            nowhere = 0.0
        left += numbers[0] * (here - nowhere) + one.shape[1] * nowhere
        right += numbers[1] * (there - nowhere)
    scores: FloatArray = on.where(impossible, -np.inf, left[:, None] + right)
    return scores


def _stays(attendance: Attendance, rounds: int) -> Iterator[tuple[Fraction, slice]]:
    """The rounds of whole stays, and those of a shorter last one, with the probability of an answer in a stay."""
    length = attendance.persistence
    whole = rounds - rounds % length
    if whole:
        yield answering_once(attendance.participation, length), slice(0, whole)
    if whole < rounds:
        yield answering_once(attendance.participation, rounds - whole), slice(whole, rounds)


def _in_stays(seen: Seen, length: int) -> Seen:
    """Whether each person was seen at least once during each stay."""
    found: Seen = np.logical_or.reduceat(seen, np.arange(0, seen.shape[1], length), axis=1)
    return found


def _losses(chance: Fraction, places: tuple[Fraction, ...]) -> tuple[float, float, float]:
    """ln(one person/two people) of a stay seen at the first place only, at the second only, and at none.

    What never happens has loss 0.
    """
    here, there = (chance * part for part in places)
    nowhere = (1 - here - there, (1 - here) * (1 - there))
    return (
        -math.log1p(-float(there)) if there < 1 else 0.0,
        -math.log1p(-float(here)) if here < 1 else 0.0,
        math.log1p(float(nowhere[0] / nowhere[1] - 1)) if all(nowhere) else -math.inf,
    )


class _ReportScores:
    """What the mechanism itself says about pairs, given how many of a person's reports were seen at each place."""

    def __init__(self, mechanism: Mechanism, first: Seen, second: Seen, value: Any, seed: int) -> None:
        if not mechanism.independent and not mechanism.exchangeable:
            raise ValueError(
                "scores of reports depend on which rounds were seen, and not only on how many: "
                "reports and attendance are not combined"
            )
        self._mechanism, self._value, self._seen = mechanism, value, (first, second)
        people, rounds = first.shape
        self._reports: NDArray[Any] = np.zeros((people, rounds))
        if not mechanism.independent:
            sent = mechanism.simulate(np.full(people, value), rounds=rounds, seed=seed)
            self._reports = np.concatenate([batch.reports for batch in sent])

    def of(self, people: NDArray[np.int64]) -> FloatArray:
        """The scores of some people at the first place against everybody at the second."""
        first, second = self._seen
        scores = np.zeros((people.size, len(second)))
        if self._mechanism.independent:
            return scores
        everybody = list(self._by_count(second, np.arange(len(second))))
        for rows, left in self._by_count(first, people):
            for columns, right in everybody:
                scores[np.ix_(rows, columns)] = in_main_memory(
                    self._mechanism.link_scores(left, right, self._value)
                )
        return scores

    def _by_count(self, seen: Seen, who: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Those with the same number of reports at one place: their positions in `who`, and their reports."""
        counts = seen[who].sum(axis=1)
        for count in np.unique(counts[counts > 0]):
            same = np.flatnonzero(counts == count)
            sent = self._reports[who[same]][seen[who[same]]]
            yield same, sent.reshape(same.size, count, *self._reports.shape[2:])


def first_choices(scores: FloatArray, own: NDArray[np.int64]) -> FloatArray:
    """For each row, the probability that its own column is chosen: the one that scores highest, or one of those."""
    above, ties = ranks_of_own(scores, own)
    return np.asarray(np.clip((1 - above) / ties, 0, 1))
