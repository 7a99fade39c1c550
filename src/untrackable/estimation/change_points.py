"""Where a number changed over the rounds, with a bound on the probability of any wrong statement.

The number is estimated in each round, and compared between windows of rounds. If a client's reports are independent
from round to round, windows next to each other are compared, each 1, 2, 4, 8, … rounds long: their means have far
smaller errors than single rounds, and there are only about T·log²T pairs of them among T rounds. Otherwise means
gain nothing, and every two rounds are compared.

All differences have intervals that hold at once, except with probability β. So statements may be picked from them
by looking at the data, and all are true at once, except with probability β. If nothing changed, a change is found
with probability at most β. Changes are picked as in Fryzlewicz's narrowest significance pursuit (2021): the
shortest stretch of rounds in which a change is certain, then the same before and after it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.intervals import FloatArray

IntArray = NDArray[np.int64]


class Change(NamedTuple):
    """A rise, or a fall if it is not one that `rose`.

    It is certain that the number rose (or fell) from some round to a later one, both between `first` and `last`.
    `at` is the round in which it most likely began to differ (estimated). The mean over the rounds `after` differs
    from that over the rounds `before` by at least `lower` and at most `upper`, and by `difference` as estimated; a
    round weighs more the smaller its error is. All of this holds for all changes at once, except with the stated
    probability (upper).
    """

    first: int
    last: int
    at: int
    before: tuple[int, int]
    after: tuple[int, int]
    difference: float
    lower: float
    upper: float
    rose: bool


class Comparisons(NamedTuple):
    """Pairs of windows of rounds, given by indices, and by how much the number differs between them.

    A window `before` has the indices from `start` to below `middle`, the one `after` from `resume` to below `end`.
    The true differences lie between `lower` and `upper`, all at once. `rises` and `falls` say which are certain.
    """

    start: IntArray
    middle: IntArray
    resume: IntArray
    end: IntArray
    difference: FloatArray
    lower: FloatArray
    upper: FloatArray
    rises: NDArray[np.bool_]
    falls: NDArray[np.bool_]


class Windows(NamedTuple):
    """Windows of rounds, given by indices: each from `start` to below `end`."""

    start: IntArray
    end: IntArray


def window_lengths(rounds: int) -> list[int]:
    """The lengths of windows: powers of two that leave room for a window of one round beside them."""
    return [1 << i for i in range(rounds.bit_length()) if 1 << i < rounds]


def all_windows(rounds: int) -> Windows:
    """All windows of these lengths, the shortest first."""
    starts = [np.arange(rounds - length + 1) for length in window_lengths(rounds)]
    ends = [start + length for start, length in zip(starts, window_lengths(rounds), strict=True)]
    return Windows(np.concatenate(starts), np.concatenate(ends))


def adjacent_windows(rounds: int) -> tuple[IntArray, IntArray]:
    """All pairs of windows of which the second begins where the first ends, as places in `all_windows`."""
    lengths = window_lengths(rounds)
    offset = dict(zip(lengths, np.cumsum([0, *(rounds - length + 1 for length in lengths)]), strict=False))
    first, second = [], []
    for before in lengths:
        for after in lengths:
            middle = np.arange(before, rounds - after + 1)
            first.append(offset[before] + middle - before)
            second.append(offset[after] + middle)
    return np.concatenate(first), np.concatenate(second)


def window_comparisons(rounds: int, difference: FloatArray, radius: FloatArray) -> Comparisons:
    """Windows next to each other, as `adjacent_windows` lists them, from the differences of their numbers."""
    start, end = all_windows(rounds)
    before, after = adjacent_windows(rounds)
    lower, upper = difference - radius, difference + radius
    return Comparisons(
        start[before], end[before], start[after], end[after], difference, lower, upper, lower > 0, upper < 0
    )


def round_comparisons(estimates: FloatArray, lower: FloatArray, upper: FloatArray) -> Comparisons:
    """Each round against each later one, from a band that holds for all rounds together."""
    earlier, later = (np.asarray(found, dtype=np.int64) for found in np.triu_indices(estimates.size, 1))
    least, most = lower[later] - upper[earlier], upper[later] - lower[earlier]
    difference = estimates[later] - estimates[earlier]
    return Comparisons(earlier, earlier + 1, later, later + 1, difference, least, most, least > 0, most < 0)


def located_changes(numbers: tuple[int, ...], compared: Comparisons) -> tuple[Change, ...]:
    """The changes that are certain, in order: each in its shortest stretch of rounds, none overlapping another."""
    found = _pursued(compared)
    stretches = [(int(compared.start[i]), int(compared.end[i]) - 1) for i in found]
    changes = []
    for place, i in enumerate(found):
        earliest = stretches[place - 1][1] if place else 0
        latest = stretches[place + 1][0] if place + 1 < len(found) else len(numbers) - 1
        best = _largest(compared, i, earliest, latest)
        first, last = stretches[place]
        changes.append(
            Change(
                first=numbers[first],
                last=numbers[last],
                at=numbers[compared.resume[best]],
                before=(numbers[compared.start[best]], numbers[compared.middle[best] - 1]),
                after=(numbers[compared.resume[best]], numbers[compared.end[best] - 1]),
                difference=float(compared.difference[best]),
                lower=float(compared.lower[best]),
                upper=float(compared.upper[best]),
                rose=bool(compared.rises[best]),
            )
        )
    return tuple(changes)


def _pursued(compared: Comparisons) -> list[int]:
    """Certain comparisons, the shortest first, without those that overlap one before; in the order of rounds."""
    certain = np.flatnonzero(compared.rises | compared.falls)
    length = compared.end[certain] - compared.start[certain]
    amount = np.maximum(compared.lower[certain], -compared.upper[certain])
    left = certain[np.lexsort((-amount, length))]
    found: list[int] = []
    while left.size:
        best = left[0]
        found.append(int(best))
        apart = (compared.end[left] - 1 <= compared.start[best]) | (compared.start[left] >= compared.end[best] - 1)
        left = left[apart]
    return sorted(found, key=lambda i: int(compared.start[i]))


def _largest(compared: Comparisons, found: int, earliest: int, latest: int) -> int:
    """The comparison that shows the largest certain change in the same direction, around the same stretch.

    Its windows meet within the stretch, and do not reach beyond the changes before and after it.
    """
    rose = compared.rises[found]
    alike = np.flatnonzero(
        (compared.rises if rose else compared.falls)
        & (compared.start >= earliest)
        & (compared.end - 1 <= latest)
        & (compared.middle - 1 >= compared.start[found])
        & (compared.resume <= compared.end[found] - 1)
    )
    amount = compared.lower[alike] if rose else -compared.upper[alike]
    length = compared.end[alike] - compared.start[alike]
    return int(alike[np.lexsort((length, np.abs(compared.difference[alike]), amount))[-1]])
