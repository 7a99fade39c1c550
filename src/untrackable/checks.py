"""Argument checks: TypeError for the wrong kind, ValueError for the wrong range, both naming the parameter."""

import math
import operator
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

Chance = Fraction | float | str
"""A probability as people write it: a fraction, a number, or a text such as "1/20"."""

MOST_ROUNDS = 100_000
"""The most rounds of a campaign that ends: one each hour for eleven years. Work and memory grow with them."""
SMALLEST_EPSILON = 2.2e-19
"""With a smaller epsilon, randomised response with 64-bit probabilities would round to a fair coin."""
_LARGEST_DENOMINATOR = 10**18
_LONG_NUMBER = re.compile(r"[eE][+-]?0*[0-9]{4}")
"""An exponent with more than three digits. Reading such a number would take for ever."""


def integer(name: str, given: SupportsIndex, *, low: int, high: int | None = None) -> int:
    """Return `given` as an integer in [low, high]."""
    if isinstance(given, bool):
        raise TypeError(f"{name} must be an integer, not bool")
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(given).__name__}") from None
    if number < low or (high is not None and number > high):
        allowed = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {allowed}, got {number}")
    return number


def rounds(given: SupportsIndex) -> int:
    """Return the number of rounds of a campaign that ends."""
    return integer("rounds", given, low=1, high=MOST_ROUNDS)


def settle(instance: object, **fields: object) -> None:
    """Replace fields of a frozen instance by their checked values, so that equal parameters are equal objects."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def real(name: str, given: SupportsFloat) -> float:
    """Return `given` as a float. A number beyond the largest float becomes infinity."""
    if isinstance(given, (str, bytes, bool)):
        raise TypeError(f"{name} must be a number, not {type(given).__name__}")
    try:
        number = float(given)
    except TypeError:
        raise TypeError(f"{name} must be a number, not {type(given).__name__}") from None
    except OverflowError:
        return math.inf
    return number


def positive(name: str, given: SupportsFloat) -> float:
    """Return `given` as a finite number above zero."""
    number = real(name, given)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {number}")
    return number


def epsilon(name: str, given: SupportsFloat) -> float:
    """Return a privacy parameter: positive, finite, and large enough to change a 64-bit probability."""
    number = positive(name, given)
    if number < SMALLEST_EPSILON:
        raise ValueError(f"{name} must be at least {SMALLEST_EPSILON}; a smaller one has no effect, got {number}")
    return number


def non_negative(name: str, given: SupportsFloat) -> float:
    """Return `given` as a number of zero or more. Infinity is allowed."""
    number = real(name, given)
    if not number >= 0:
        raise ValueError(f"{name} must be at least 0, got {number}")
    return number


def probability(name: str, given: SupportsFloat) -> float:
    """Return `given` as a number in [0, 1]."""
    number = real(name, given)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {number}")
    return number


def open_probability(name: str, given: SupportsFloat) -> float:
    """Return `given` as a number strictly between 0 and 1."""
    number = real(name, given)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be strictly between 0 and 1, got {number}")
    return number


def chance(name: str, given: Chance) -> Fraction:
    """Return a probability as an exact fraction. It may be given as a fraction, a text such as "1/20", or 0.05.

    Its denominator is at most 10^18, because arithmetic with longer fractions takes long.
    """
    if isinstance(given, bool) or not isinstance(given, (str, SupportsFloat)):
        raise TypeError(f"{name} must be a fraction, not {type(given).__name__}")
    try:
        text = given if isinstance(given, (int, str, Fraction)) else repr(float(given))
        if isinstance(text, str) and _LONG_NUMBER.search(text):
            raise ValueError
        exact = Fraction(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ValueError(f"{name} must be a fraction such as 1/20, got {given}") from None
    if not 0 <= exact <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {given}")
    if exact.denominator > _LARGEST_DENOMINATOR:
        raise ValueError(f"{name} must have a denominator of at most 10^18, got {given}")
    return exact


def choice(name: str, given: str, allowed: Iterable[str]) -> str:
    """Return `given` if it is one of the allowed words."""
    options = tuple(allowed)
    if given not in options:
        raise ValueError(f"{name} must be one of {', '.join(options)}, got {given!r}")
    return given


def private_integer(name: str, given: SupportsIndex, *, below: int) -> int:
    """Return a private integer in [0, below). The error names the range and never shows the value."""
    if isinstance(given, bool):
        given = int(given)
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be an integer between 0 and {below - 1}") from None
    if not 0 <= number < below:
        raise ValueError(f"{name} must be between 0 and {below - 1}; the given one (not shown) is not")
    return number
