"""A mechanism that does not meet the goals, and what all of them ask first."""

from typing import Any, Literal

from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.goals import Goals

Binding = Literal["accuracy", "tracking", "privacy", "horizon", "changes", "values"]


class Cannot(Exception):
    """A mechanism that does not meet the goals: which of them is binding, and why, in one sentence."""

    def __init__(self, binding: Binding, why: str, *, mechanism: Mechanism | None = None, **facts: Any) -> None:
        super().__init__(why)
        self.binding: Binding = binding
        self.why, self.mechanism, self.facts = why, mechanism, facts


def whole_values(goals: Goals) -> None:
    """Refuse strings that are to be discovered."""
    if goals.discovered is not None:
        raise Cannot("values", "it answers about whole values, not about the prefixes that strings are found by")


def has_two(goals: Goals) -> bool:
    """Whether an observer may hold two reports, and so has something to compare."""
    return goals.observed is None or goals.observed >= 2


def yes_no(goals: Goals) -> None:
    """Refuse all but yes/no questions."""
    if goals.size != 2:
        raise Cannot("values", f"it answers yes/no questions only, not one with {goals.size:,} answers")
