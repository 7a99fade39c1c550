"""Numbers rounded up, so that the number that is told suffices."""

import math


def rounded_up(number: float, digits: int = 4, *, forgiven: float = 0.0) -> float:
    """To so many significant digits, and no smaller but for the share that is forgiven to floating point."""
    if number <= 0:
        return number
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(number)))
    return math.ceil(number * scale * (1 - forgiven)) / scale


def counted(number: float) -> str:
    """A count in words, rounded up: 4.1 million."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{shown_up(number / size):.3g} {word}" if number < 999 * size else f"{number:.2e}"
    return f"{math.ceil(number):,}"


def shown_up(number: float, digits: int = 3) -> float:
    """Rounded up for people; a number that has so few digits but for floating point stays what it is."""
    return rounded_up(number, digits, forgiven=1e-12)
