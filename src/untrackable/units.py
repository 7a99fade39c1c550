"""Numbers and their units: how people write them, such as 1,000,000, 5 % or 1.5 s, and how they are read."""

import re
from fractions import Fraction

_SCALES: tuple[dict[str, int], ...] = (
    {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000},
    {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000},
    {"%": 1},
    {"": 1},
)
"""Units that can be turned into each other, from the smallest to the largest, each in terms of the smallest."""
UNITS = tuple(unit for scale in _SCALES for unit in scale)
"""All units; the empty one is that of plain numbers."""
_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?)\s*([A-Za-z%]*)\s*")
_DIGITS, _LONGEST = 12, 40
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(%?)")
_ROUNDS = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")
_BETWEEN = re.compile(r"(?<=\d)[,_ \u202f\u00a0](?=\d{3}(?!\d))")
"""What may stand between thousands."""


def read_number(text: str) -> Fraction:
    """The number that a text is. 1,000,000 and 1e6 are the same, and 5 % is 0.05. ValueError if it is none."""
    match = _NUMBER.fullmatch(_BETWEEN.sub("", text.strip()))
    if match is None:
        raise ValueError(f"{text!r} is not a number such as 100000, 1e6 or 1,000,000")
    return Fraction(match[1]) / (100 if match[2] else 1)


def read_rounds(text: str, *, most: int, last: int) -> list[int]:
    """The rounds that a text such as 1-7,9 names, in order."""
    rounds: set[int] = set()
    for part in text.split(","):
        match = _ROUNDS.fullmatch(part)
        first, end = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        if not 1 <= first <= end <= last or len(rounds) + end - first >= most:
            raise ValueError(f"rounds must be written 1-7,9, with at most {most:,} numbers from 1 to {last}")
        rounds.update(range(first, end + 1))
    return sorted(rounds)


def scale_of(unit: str) -> dict[str, int]:
    """The units that this one can be turned into."""
    return next(scale for scale in _SCALES if unit in scale)


def read_quantity(text: str) -> tuple[Fraction, str]:
    """The number and the unit of a text such as `50ms`, `1.5 s` or `20`. The error does not contain the text."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or match[2] not in UNITS:
        raise ValueError(f"a number must be written like 50ms, 1.5s or 20; the units are {', '.join(UNITS[:-1])}")
    return Fraction(match[1]), match[2]


def converted(number: Fraction, unit: str, to: str) -> Fraction:
    """The number in another unit of the same scale."""
    scale = scale_of(to)
    if unit not in scale:
        raise ValueError(f"{unit or 'a plain number'} cannot be turned into {to or 'a plain number'}")
    return number * scale[unit] / scale[to]


def readable_unit(number: Fraction, unit: str) -> str:
    """The largest unit in which the number is at least 1, or the smallest unit."""
    scale = scale_of(unit)
    fitting = [each for each in scale if abs(converted(number, unit, each)) >= 1]
    return fitting[-1] if fitting else unit if number == 0 else next(iter(scale))


def in_words(number: float, unit: str) -> str:
    """A number for people, in the unit that suits it: 1534 ms is 1.534 s. All its digits are shown, up to 12."""
    exact = Fraction(number)
    suited = readable_unit(exact, unit)
    return f"{float(converted(exact, unit, suited)):.{_DIGITS}g} {suited}".rstrip()
