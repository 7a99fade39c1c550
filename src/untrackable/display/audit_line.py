"""One row of the table of an audit."""

from typing import NamedTuple

from untrackable.auditing.confidence import Matched
from untrackable.brackets import Bracket
from untrackable.display.numbers import known_ends, lower, number, shown, upper


class Line(NamedTuple):
    """One row of the table: its heading, what it is, the number, its certainty, and what it means.

    `estimate` is a sampled number. `lower` and `upper` are the ends that are known, or those of its interval.
    """

    heading: str
    what: str
    number: str
    certainty: str
    meaning: str
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None

    @staticmethod
    def of(heading: str, what: str, bracket: Bracket, meaning: str) -> "Line":
        """A number that is known as a bracket."""
        return Line(heading, what, *shown(bracket), meaning, None, *known_ends(bracket))

    @staticmethod
    def at_most(heading: str, what: str, bound: float, meaning: str) -> "Line":
        """An upper bound."""
        return Line(heading, what, upper(bound), "upper", meaning, upper=bound)

    @staticmethod
    def exactly(heading: str, what: str, value: float, meaning: str) -> "Line":
        """A number that is known exactly."""
        return Line(heading, what, number(value), "exact", meaning, lower=value, upper=value)

    @staticmethod
    def measured(heading: str, what: str, matched: Matched, meaning: str) -> "Line":
        """A number that was sampled, with its interval."""
        ends = matched.sampled, matched.lower, matched.upper
        return Line(heading, what, sampled(matched), "sampled", meaning, *ends)


def sampled(matched: Matched) -> str:
    """A sampled share with its interval."""
    return f"{number(matched.sampled)} ({lower(matched.lower)} to {upper(matched.upper)})"
