"""Numbers as people type them: 1e6, 1,000,000 and 100000 are all numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import click

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")


def exact_number(text: str) -> Fraction:
    """The number that a text is, with or without commas between thousands; ValueError if it is none."""
    plain = text.strip().replace("_", "")
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    if not _NUMBER.fullmatch(plain):
        raise ValueError(f"{text!r} is not a number such as 100000, 1e6 or 1,000,000")
    return Fraction(plain)


class Count(click.ParamType):  # type: ignore[type-arg]
    """A whole number, at least `low` if that is given."""

    name = "NUMBER"

    def __init__(self, low: int | None = None) -> None:
        self._low = low

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Check it."""
        try:
            found = Fraction(value) if isinstance(value, int) else exact_number(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if found.denominator != 1:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if self._low is not None and found < self._low:
            self.fail(f"{int(found):,} is too small: at least {self._low:,}", param, ctx)
        return int(found)


class Amount(click.ParamType):  # type: ignore[type-arg]
    """Any number."""

    name = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Check it."""
        try:
            return float(value) if isinstance(value, (int, float)) else float(exact_number(str(value)))
        except (ValueError, OverflowError) as error:
            self.fail(str(error), param, ctx)
