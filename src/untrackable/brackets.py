"""A number known only to lie between a lower and an upper end, and how certain that makes it."""

import math
from dataclasses import dataclass
from typing import Literal

Certainty = Literal["exact", "bracket", "upper", "lower", "unresolved"]

_EXACT = 1e-9
"""A bracket is called exact if its two ends differ by at most twice this share of the upper end."""


@dataclass(frozen=True, slots=True, repr=False)
class Bracket:
    """A number known to lie in [lower, upper].

    `resolved` is False if floating point cannot tell the number from 0; then only `upper` is meaningful.
    """

    lower: float
    upper: float
    resolved: bool = True

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"lower must not exceed upper, got {self.lower} and {self.upper}")

    @property
    def certainty(self) -> Certainty:
        """How certain the number is: exact, a bracket, an upper bound, a lower bound, or unresolved."""
        if not self.resolved:
            return "unresolved"
        if self.lower == self.upper:
            return "exact"
        if self.upper == math.inf and self.lower > 0:
            return "lower"
        if self.lower == 0 or self.upper == math.inf:
            return "upper"
        return "exact" if self.upper - self.lower <= 2 * _EXACT * abs(self.upper) else "bracket"

    @property
    def width(self) -> float:
        """The distance between the two ends."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __repr__(self) -> str:
        return f"Bracket({self.lower!r}, {self.upper!r}; {self.certainty})"

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
        """Make a bracket for a number that is known exactly."""
        return Bracket(number, number)
