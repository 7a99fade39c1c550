"""Published answers in plain words: which rounds, how certain, and why there is nothing to show."""

from collections.abc import Mapping, Sequence
from typing import Any

from untrackable.display.numbers import all_of
from untrackable.display.percentages import NOT_TOLD, order_notes, percent

BUCKET_WORDS = (
    "The collector knows strings by their hash only, so these are buckets, each for many strings. Name the strings "
    "that you look for, and their shares are shown."
)
"""What the rows are if strings are hashed and none was named."""


def rounds_words(rounds: Sequence[int]) -> str:
    """Which rounds an estimate is of."""
    if len(rounds) == 1:
        return f"round {rounds[0]:,}"
    return f"{len(rounds):,} rounds pooled, {rounds[0]:,} to {rounds[-1]:,}"


def range_words(lower: float, upper: float) -> str:
    """An interval, rounded outwards."""
    return f"{percent(lower, 'down').removesuffix(' %')} to {percent(upper, 'up')}"


def interval_words(
    beta: float, rows: Sequence[Mapping[str, Any]], *, discovered: bool, others: bool = False
) -> list[str]:
    """How to read the shares, intervals and bars of these rows, and how certain their order is.

    The interval alone says which answers stand out. There are `others` if answers that are not listed may be as
    frequent.
    """
    chance = f"{100 * beta:g} %"
    sentences = [
        f"All intervals hold at once, except with probability {chance} (upper).",
        "An answer stands out if its interval excludes zero: its bar is filled. Pale bars may be noise.",
    ]
    notes = [NOT_TOLD] * any(row["frequency"] is None for row in rows)
    notes += order_notes([(row["lower"], row["upper"]) for row in rows], others=others, listed=not discovered)
    sentences += [f"{note[:1].upper()}{note[1:]}." for note in notes]
    if discovered:
        sentences.append(
            f"Nobody listed these strings: each of them is held by somebody, except with probability {chance} "
            "(upper). Rare strings are not found, and other strings may add a little to a share by chance."
        )
    return sentences


def number_band_words(beta: float, rounds: int) -> str:
    """How to read the trend of mean and quantiles."""
    return (
        f"Each dot is the estimate of one round. The bands hold for {all_of(rounds, 'rounds')} and all of these "
        f"numbers at once, except with probability {100 * beta:g} % (upper)."
    )


def band_words(beta: float, rounds: int) -> str:
    """How to read the trend."""
    return (
        f"Each dot is the estimate of one round. The band holds for {all_of(rounds, 'rounds')} and all answers at "
        f"once, except with probability {100 * beta:g} % (upper), which the rounds share equally (union bound)."
    )
