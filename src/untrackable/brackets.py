"""A number together with how much of it is known."""

import math
from dataclasses import dataclass
from typing import Literal

Certainty = Literal["exact", "bracket", "upper", "lower", "unresolved"]

_EXACT = 1e-9
"""Relative width up to which a bracket is called exact."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number known to lie in [lower, upper].

    `resolved` is False where floating point leaves nothing but "at most `upper`".
    """

    lower: float
    upper: float
    resolved: bool = True

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"lower must not exceed upper, got {self.lower} and {self.upper}")

    @property
    def certainty(self) -> Certainty:
        """Which kind of statement this is."""
        if not self.resolved:
            return "unresolved"
        if self.lower == self.upper or self.upper - self.lower <= 2 * _EXACT * abs(self.upper):
            return "exact"
        if self.upper == math.inf:
            return "lower"
        return "upper" if self.lower == 0 else "bracket"

    @property
    def width(self) -> float:
        """How far apart the two ends are."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __contains__(self, number: float) -> bool:
        return self.lower <= number <= self.upper

    def __str__(self) -> str:
        match self.certainty:
            case "exact":
                return f"{self.upper:.6g} (exact)"
            case "upper":
                return f"{self.upper:.6g} (upper)"
            case "lower":
                return f"{self.lower:.6g} (lower)"
            case "unresolved":
                return f"below {self.upper:.1g} (not resolved)"
            case "bracket":
                return f"{self.lower:.6g} … {self.upper:.6g} (bracket)"

    @staticmethod
    def point(number: float) -> "Bracket":
        """A number known outright."""
        return Bracket(number, number)

    @staticmethod
    def largest(*brackets: "Bracket") -> "Bracket":
        """The bracket of the largest of several numbers."""
        upper = max(brackets, key=lambda b: b.upper)
        lower = max(b.lower for b in brackets)
        return Bracket(lower, upper.upper, resolved=upper.resolved or lower > 0)
