"""Following people in recorded reports by attendance: the rounds in which they were seen in each of two windows."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.auditing.attendance_attack import first_choices
from untrackable.auditing.confidence import Matched
from untrackable.auditing.evidence.attack_bounds import Advantage, held_out_advantage, held_out_parts
from untrackable.auditing.evidence.similarities import FloatArray, Index
from untrackable.auditing.link_attack import share

MOST_ROUNDS = 4096
"""The largest number of different rounds of a file in which attendance is looked at."""

_BLOCK = 1 << 22
"""This many scores are kept at a time."""
_SECONDS = 86_400
_MILLISECONDS_FROM = 1e11
"""Larger numbers in a column of times are milliseconds since 1970, smaller ones seconds."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\d\d:.*")
_TIME_COLUMNS = ("time", "timestamp")


def round_label(cell: Any, column: str) -> str:
    """The round of a cell: what it says, or the day of a time."""
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    text = str(cell)
    if found := _TIME.fullmatch(text):
        return found[1]
    if column in _TIME_COLUMNS and re.fullmatch(r"\d{1,15}(\.\d*)?", text):
        seconds = float(text) / (1000 if float(text) >= _MILLISECONDS_FROM else 1)
        return str(int(seconds // _SECONDS))
    return text


@dataclass(frozen=True, slots=True, eq=False)
class SeenRounds:
    """In which rounds (columns) each person (row) was seen, in one window."""

    seen: NDArray[np.bool_]

    @staticmethod
    def of(people: Sequence[int], rounds: int) -> "SeenRounds":
        """From one number for each person, whose bits are the rounds."""
        size = (rounds + 7) // 8
        raw = np.frombuffer(b"".join(person.to_bytes(size, "little") for person in people), dtype=np.uint8)
        bits = np.unpackbits(raw.reshape(len(people), size), axis=1, count=rounds, bitorder="little")
        return SeenRounds(bits.astype(np.bool_))

    @property
    def counts(self) -> NDArray[np.int64]:
        """In how many rounds each person was seen."""
        return np.asarray(self.seen.sum(axis=1), dtype=np.int64)

    def take(self, people: Index) -> "SeenRounds":
        """Some of the people."""
        return SeenRounds(self.seen[people])


class AttendanceScore:
    """ln(one person/two people), from how often a round was seen in both windows, in one of them, and in none.

    The rates are estimated from people of whom both windows are known. Two people are expected to be seen as often
    as each round's own rates say, so that what everybody does alike tells nothing.
    """

    def __init__(self, first: SeenRounds, second: SeenRounds) -> None:
        people = len(first.seen)
        here, there = first.seen.mean(axis=0), second.seen.mean(axis=0)
        both = (first.seen & second.seen).sum()
        seen = np.array([both, first.seen.sum() - both, second.seen.sum() - both, 0.0])
        expected = people * np.array([here @ there, here @ (1 - there), (1 - here) @ there, 0.0])
        seen[3], expected[3] = (people * here.size - counts.sum() for counts in (seen, expected))
        # Half a sighting more on each side: what was not seen yet is improbable, and not impossible.
        self._both, self._first, self._second, self._none = np.log((seen + 0.5) / (expected + 0.5))

    def __call__(self, first: SeenRounds, second: SeenRounds) -> FloatArray:
        """The scores of person i in the first window and person i in the second."""
        return self._score((first.seen & second.seen).sum(axis=1), first.counts, second.counts, first.seen.shape[1])

    def pairs(self, first: SeenRounds, second: SeenRounds) -> FloatArray:
        """The scores of all pairs of a row of the first window and a row of the second."""
        both = first.seen.astype(np.float32) @ second.seen.astype(np.float32).T
        return self._score(both.astype(np.float64), first.counts[:, None], second.counts, first.seen.shape[1])

    def _score(self, both: Any, first: Any, second: Any, rounds: int) -> FloatArray:
        none = rounds - first - second + both
        one = self._first * (first - both) + self._second * (second - both)
        return np.asarray(self._both * both + one + self._none * none)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAttendance:
    """What attendance alone says about the people of a file, without reading their reports.

    `tracking` is as for reports. `matched` is the share of held-out people for whom the right match came first,
    among all who were held out (sampled).
    """

    rounds: int
    tracking: Advantage
    matched: Matched

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "rounds": self.rounds,
            "advantage_lower": self.tracking.lower,
            "advantage_sampled": self.tracking.sampled,
            "tracking": self.tracking.as_dict(),
            "matched_sampled": asdict(self.matched),
        }


def follow_by_attendance(first: SeenRounds, second: SeenRounds, *, level: float, seed: int) -> RecordedAttendance:
    """Tell one person from two by attendance, and match people. Rates are learned from others than are tested."""

    def fitted(one: SeenRounds, two: SeenRounds) -> dict[str, AttendanceScore]:
        return {"attendance": AttendanceScore(one, two)}

    tracking = held_out_advantage(first, second, fitted, level=level, seed=seed)
    fit, _, test = held_out_parts(len(first.seen), seed)
    score = AttendanceScore(first.take(fit), second.take(fit))
    left, right = first.take(test), second.take(test)
    size = max(1, _BLOCK // test.size)
    hits = []
    for start in range(0, test.size, size):
        rows = np.arange(start, min(test.size, start + size))
        hits.append(first_choices(score.pairs(left.take(rows), right), rows))
    return RecordedAttendance(
        rounds=first.seen.shape[1], tracking=tracking, matched=share(np.concatenate(hits), level)
    )
