"""How many outcomes the counts of reported symbols have, which decides whether they can be enumerated."""

import itertools
import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

MOST_OUTCOMES = 2_000_000
"""The largest number of outcomes that is enumerated for one question, over all of its splits."""


def can_enumerate(symbols: int, special: int, sides: Iterable[tuple[int, int]]) -> bool:
    """Whether all these splits together have at most `MOST_OUTCOMES` outcomes."""
    numbers = (count_outcomes(symbols, special, *sorted(side)) for side in sides)
    return all(total <= MOST_OUTCOMES for total in itertools.accumulate(numbers))


def can_enumerate_one_symbol_known(symbols: int, reports: int) -> bool:
    """Whether the outcomes can be enumerated if one side's kept symbol is known and the other has these reports."""
    return count_outcomes(symbols, 1, 0, reports) + count_outcomes(symbols, 2, 0, reports) <= MOST_OUTCOMES


@lru_cache(maxsize=4096)
def count_outcomes(symbols: int, special: int, first: int, second: int) -> int:
    """The number of different counts on two sides, or `MOST_OUTCOMES` + 1 if there are more than that.

    All but `special` symbols are exchangeable.
    """
    many = MOST_OUTCOMES + 1
    if symbols == 2:
        return min(many, (first + 1) * (second + 1))
    others, reports = symbols - special, first + second
    most = min(others, reports)
    # A multiset of n counts has at most n! orders, so ordered counts divided by n! are a lower bound for every n.
    for n in range(min(most, 40) + 1):
        size = special + n - 1
        if math.comb(first + size, size) * math.comb(second + size, size) > MOST_OUTCOMES * math.factorial(n):
            return many
    ways = np.zeros((most + 1, first + 1, second + 1))  # This counts multisets of n counts with given sums.
    ways[0, 0, 0] = 1
    for x in range(first + 1):
        for y in range(0 if x else 1, second + 1):
            for n in range(1, most + 1):
                ways[n, x:, y:] += ways[n - 1, : first + 1 - x, : second + 1 - y]
        if ways.sum() > MOST_OUTCOMES:
            return many
    left, right = np.arange(first + 1, 0, -1.0), np.arange(second + 1, 0, -1.0)
    chosen = np.multiply.outer(left, right) if special == 2 else np.ones((first + 1, second + 1))
    return int(min(many, (ways.sum(axis=0) * chosen).sum()))
