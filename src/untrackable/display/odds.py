"""Factors of odds for people. A running collector needs no more than this of the numbers."""

import math

from untrackable.brackets import at_most


def odds_factor(exponent: float) -> str:
    """e^exponent for people, rounded up; as a power if it is very large."""
    if exponent >= 50:
        return f"e^{at_most(exponent)}"
    return at_most(math.nextafter(math.exp(exponent), math.inf), 4) if exponent else "1"
