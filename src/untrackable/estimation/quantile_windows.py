"""Quantiles over the rounds, of windows of rounds, and their changes.

The q-quantile is the smallest value up to which at least a share of q lies. It is v exactly if the share F(v) up to
v is at least q, and F(v-1), up to the value before it, is not. Each value is tested for that: it is ruled out if
F(v) is certainly below q, or F(v-1) certainly not. Only the tests at the true quantile matter for the error, so no
bound over all values is needed, and each of the two gets half of the error probability.

The shares of a window of rounds are weighted means with one weight for each round. So they are the shares of a
population, mixed from those of the rounds, and its quantile lies between the smallest and the largest one of the
rounds. If the quantile is the same in all rounds, it is the same in all windows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.change_points import (
    Change,
    Comparisons,
    adjacent_windows,
    all_windows,
    located_changes,
    round_comparisons,
    window_lengths,
)
from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.round_numbers import Errors

Places = NDArray[np.int64]
"""Places of values in their order."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundQuantiles:
    """Shares of the people up to each value but the last, estimated in each round, for one quantile.

    `shares` and the arrays of `errors` have a row for each round. `low` and `high` are the numbers that a value
    stands for, such as the edges of a bucket.
    """

    rounds: tuple[int, ...]
    quantile: float
    shares: FloatArray
    errors: Errors
    low: FloatArray
    high: FloatArray
    independent: bool

    def places(self) -> Places:
        """The place of the quantile in each round: the first value whose estimated share is large enough."""
        return _first_reached(self.shares, self.quantile)

    def estimates(self) -> FloatArray:
        """The quantile in each round: the middle of the value at its place."""
        return self._middle(self.places())

    def band(self, beta: float, *, together: int = 1) -> tuple[Places, Places]:
        """The first and the last place where the quantile can be, in all rounds at once; upper."""
        beta = checks.open_probability("beta", beta)
        return _possible(self.shares, self.errors.radius(beta, together * len(self.rounds)), self.quantile)

    def changes(self, beta: float, *, together: int = 1) -> tuple[Change, ...]:
        """Where the quantile rose or fell. All statements about `together` quantiles hold at once; upper."""
        beta, count = checks.open_probability("beta", beta), len(self.rounds)
        if count < 2:
            return ()
        if not self.independent:
            first, last = self.band(beta, together=together)
            compared = round_comparisons(self.estimates(), self.low[first], self.high[last])
            earlier, later = compared.start, compared.resume
            return located_changes(self.rounds, _certain(compared, first, last, earlier, later))
        before, after = adjacent_windows(count)
        windows = all_windows(count)
        parts = [self._quantiles(*window, beta, together * windows.start.size) for window in self._windows()]
        found, first, last = (np.concatenate(part) for part in zip(*parts, strict=True))
        middle = self._middle(found)
        compared = Comparisons(
            windows.start[before],
            windows.end[before],
            windows.start[after],
            windows.end[after],
            middle[after] - middle[before],
            self.low[first[after]] - self.high[last[before]],
            self.high[last[after]] - self.low[first[before]],
            np.empty(0, dtype=np.bool_),
            np.empty(0, dtype=np.bool_),
        )
        return located_changes(self.rounds, _certain(compared, first, last, before, after))

    def _quantiles(
        self, shares: FloatArray, errors: Errors, beta: float, together: int
    ) -> tuple[Places, Places, Places]:
        return (
            _first_reached(shares, self.quantile),
            *_possible(shares, errors.radius(beta, together), self.quantile),
        )

    def _middle(self, places: Places) -> FloatArray:
        """The middle of the numbers that a value stands for; of one without a bound, its other end."""
        low, high = self.low[places], self.high[places]
        finite = np.isfinite(low) & np.isfinite(high)
        return np.where(finite, (low + high) / 2, np.where(np.isfinite(low), low, high))

    def _windows(self) -> Iterator[tuple[FloatArray, Errors]]:
        """The shares of all windows, those of each length at once; each length is put together from its half."""
        weight = 1 / self.errors.squares.mean(axis=1, keepdims=True)
        sums = [weight, weight * self.shares, weight**2 * self.errors.squares, weight**2 * self.errors.variances]
        pull = weight * self.errors.pulls
        for length in window_lengths(len(self.rounds)):
            if length > 1:
                half = length // 2
                sums = [part[:-half] + part[half:] for part in sums]
                pull = np.maximum(pull[:-half], pull[half:])
            total, shares, squares, variances = sums
            yield shares / total, Errors(squares / total**2, variances / total**2, pull / total)


def _certain(compared: Comparisons, first: Places, last: Places, before: Places, after: Places) -> Comparisons:
    """The comparisons of which the places do not overlap are certain: buckets that touch have other numbers."""
    return compared._replace(rises=first[after] > last[before], falls=last[after] < first[before])


def _first_reached(shares: FloatArray, quantile: float) -> Places:
    reached = np.concatenate((shares >= quantile, np.ones((*shares.shape[:-1], 1), dtype=np.bool_)), axis=-1)
    return np.asarray(reached.argmax(axis=-1), dtype=np.int64)


def _possible(shares: FloatArray, radius: FloatArray, quantile: float) -> tuple[Places, Places]:
    """The first and the last place of the last axis that is not ruled out; all places if every one is."""
    ends = np.ones((*shares.shape[:-1], 1), dtype=np.bool_)
    enough = np.concatenate((shares + radius >= quantile, ends), axis=-1)
    not_before = np.concatenate((ends, shares - radius <= quantile), axis=-1)
    possible = enough & not_before
    possible |= ~possible.any(axis=-1, keepdims=True)
    last = possible.shape[-1] - 1 - possible[..., ::-1].argmax(axis=-1)
    return possible.argmax(axis=-1), last
