"""A number known only to lie between a lower and an upper end, and how certain that makes it."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Literal

Certainty = Literal["exact", "bracket", "upper", "lower", "unresolved"]
Side = Literal["up", "down", "nearest"]

_EXACT = 1e-9
"""A bracket is called exact if its two ends differ by at most twice this share of the upper end."""
ROUNDINGS = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN}
"""How the decimal module calls the three ways to round."""


def rounded(number: float, digits: int, side: Side) -> float:
    """A number with this many significant decimal digits: no smaller, no larger, or the nearest one."""
    return float(Context(prec=digits, rounding=ROUNDINGS[side]).plus(shortest_decimal(number)))


def shortest_decimal(number: float) -> Decimal:
    """The decimal number with the fewest digits that reads back as this one, so that 0.1 stays 0.1."""
    return Decimal(repr(float(number)))


def at_most(number: float, digits: int = 6) -> str:
    """The text of an upper bound, rounded up so that what is printed is still a bound."""
    return f"{rounded(number, digits, 'up'):.{digits}g}"


def at_least(number: float, digits: int = 6) -> str:
    """The text of a lower bound, rounded down so that what is printed is still a bound."""
    return f"{rounded(number, digits, 'down'):.{digits}g}"


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

    @property
    def known_ends(self) -> tuple[float | None, float | None]:
        """The lower and the upper end. None stands for one that is not known."""
        lower = None if self.certainty in ("upper", "unresolved") else self.lower
        return lower, None if self.certainty == "lower" else self.upper

    def __repr__(self) -> str:
        return f"Bracket({self.lower!r}, {self.upper!r}; {self.certainty})"

    def __contains__(self, number: float) -> bool:
        return self.lower <= number <= self.upper

    def __str__(self) -> str:
        match self.certainty:
            case "exact":
                return f"{self.upper:.6g} (exact)"
            case "upper":
                return f"{at_most(self.upper)} (upper)"
            case "lower":
                return f"{at_least(self.lower)} (lower)"
            case "unresolved":
                return f"below {at_most(self.upper, 1)} (not resolved)"
            case "bracket":
                return f"{at_least(self.lower)} … {at_most(self.upper)} (bracket)"

    @staticmethod
    def point(number: float) -> "Bracket":
        """Make a bracket for a number that is known exactly."""
        return Bracket(number, number)
