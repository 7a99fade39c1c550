"""The rounds whose reports an observer holds, and those of them that are the first person's."""

import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import SupportsIndex, TypeGuard

from untrackable import checks

LARGEST_ROUND = 1 << 53
"""The largest integer that every language counts to exactly."""

LARGEST_SEARCH = 20_000_000
"""The most outcomes that a search over all splits may have. Each takes a few dozen bytes."""


@dataclass(frozen=True, slots=True)
class ObservedRounds:
    """Distinct rounds in order, and the first person's rounds among them.

    With `first` None, the worst choice is searched for. `counted` says that only numbers of reports were given,
    which is enough where all rounds are alike.
    """

    rounds: Sequence[int]
    first: Collection[int] | None
    counted: bool

    @staticmethod
    def of(
        rounds: Iterable[int] | None, first: Iterable[int] | None, reports: int | None, split: int | None
    ) -> "ObservedRounds":
        """From rounds and those of the first person, or from the number of reports and of the first person's."""
        if reports is None and rounds is not None:
            if split is not None:
                raise ValueError("split goes with reports; rounds go with first")
            numbers = distinct_rounds(rounds)
            return ObservedRounds(numbers, None if first is None else _subset(first, numbers), counted=False)
        if rounds is not None or reports is None:
            raise ValueError("give either rounds (with first) or reports (with split)")
        if first is not None:
            raise ValueError("first goes with rounds; reports go with split")
        count = checks.integer("reports", reports, low=1)
        mine = None if split is None else range(1, checks.integer("split", split, low=0, high=count) + 1)
        return ObservedRounds(range(1, count + 1), mine, counted=True)

    @property
    def reports(self) -> int:
        """How many reports there are in all, k."""
        return len(self.rounds)

    def tracking_splits(self, tables: int = 0) -> Iterable[int]:
        """The given split, or else the splits 1 … ⌊k/2⌋, because exchanging the two sides changes nothing.

        `tables` is the number of tables of outcomes that each split needs, with an entry for each pair of counts.
        """
        if self.first is not None:
            return [len(self.first)]
        self._afford(tables * self.reports**3 // 12)
        return range(min(1, self.reports // 2), self.reports // 2 + 1)

    def detection_splits(self, tables: int = 0) -> Iterable[int]:
        """The given split, or else the splits 0 … k-1: the number of reports before the change.

        `tables` is the number of tables of outcomes that each split needs.
        """
        if self.first is None:
            self._afford(tables * self.reports**3 // 6)
        return range(self.reports) if self.first is None else [len(self.first)]

    def tracking_by_sides(self) -> int:
        """The split, or 1: enough where all that matters is whether both sides have a report."""
        return min(1, self.reports // 2) if self.first is None else len(self.first)

    def detection_by_sides(self) -> Iterable[int]:
        """The split, or 0 and 1: enough where one report before the change reveals as much as many.

        More reports after the change reveal at least as much, so no later change is easier to notice.
        """
        return range(min(2, self.reports)) if self.first is None else [len(self.first)]

    def _afford(self, outcomes: int) -> None:
        if outcomes > LARGEST_SEARCH:
            raise ValueError(
                f"the worst split of {self.reports} reports would take {outcomes:,} outcomes, more than the "
                f"{LARGEST_SEARCH:,} that are searched; give the split, or fewer reports"
            )


def round_number(round: SupportsIndex) -> int:
    """The number of a round, after checks."""
    return checks.integer("round", round, low=1, high=LARGEST_ROUND)


def distinct_rounds(rounds: Iterable[SupportsIndex]) -> Sequence[int]:
    """The rounds in order. There must be at least one, and none twice. Of a range, only the ends are looked at."""
    if not isinstance(rounds, Iterable):
        raise TypeError(f"rounds must be a collection of integers, not {type(rounds).__name__}")
    if _in_a_row(rounds):
        return rounds
    numbers = sorted(round_number(number) for number in rounds)
    if not numbers or len(set(numbers)) != len(numbers):
        raise ValueError(f"rounds must be distinct and at least one, got {numbers}")
    return numbers


def _in_a_row(rounds: Iterable[SupportsIndex]) -> TypeGuard[range]:
    """Whether these are some rounds and all between them, after checks."""
    if not (isinstance(rounds, range) and rounds and rounds.step == 1):
        return False
    return round_number(rounds[0]) <= round_number(rounds[-1])


def _subset(first: Iterable[SupportsIndex], numbers: Sequence[int]) -> Collection[int]:
    if _in_a_row(first) and _in_a_row(numbers) and first[0] in numbers and first[-1] in numbers:
        return first
    mine = frozenset(round_number(number) for number in first)
    if not mine <= set(numbers):
        raise ValueError(f"first must be a subset of rounds, got {sorted(mine - set(numbers))} besides")
    return mine


def round_numbers(rounds: int | Sequence[int]) -> tuple[int, ...]:
    """The rounds 1 … rounds, or the listed ones, after checks."""
    if isinstance(rounds, (bool, SupportsIndex)):
        return tuple(range(1, checks.integer("rounds", rounds, low=1, high=LARGEST_ROUND) + 1))
    distinct_rounds(rounds)
    return tuple(operator.index(number) for number in rounds)
