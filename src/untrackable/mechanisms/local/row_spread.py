"""The spread of a sketch's reports, for its actual hash functions, which are public."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread, Spreads

if TYPE_CHECKING:
    from untrackable.mechanisms.local.hash_rows import Sketch

_CHUNK = 1 << 21
_MOST_WORK = 1 << 31
"""The largest number of hashes that are computed for the spreads of one estimate."""


class RowSums(NamedTuple):
    """The weights w of all values that a row hashes to one position, added up, and what follows for a report.

    `square` and `most_square` are the mean and the largest of Σ w² over rows, `size` is the largest |w| and `total`
    the largest Σ |w| of a row. For each value, `mean` and `second` are the mean and the mean square, over rows, of
    the w at its position; `reach` is how much that differs between rows, at most.
    """

    square: float
    most_square: float
    size: float
    total: float
    mean: FloatArray
    second: FloatArray
    reach: float


class RowSpreads(Spreads):
    """The spreads for the values that are estimated. Everybody must hold one of them, as others would collide."""

    only_if_complete = (
        "values that are not listed collide with those that are: list all values that people may hold"
    )

    def __init__(self, sketch: "Sketch", values: NDArray[np.uint64]) -> None:
        self._sketch, self._values = sketch, values

    def of(self, weights: FloatArray) -> Spread:
        """The spread, from all rows."""
        self._check(1)
        sums = self._sums(weights)
        given = np.zeros(self._values.size)
        given[: weights.size] = weights
        expected = self._sketch.correction * (sums.mean - given.sum() / self._sketch.width)
        return self._sketch.row_spread(sums, float(np.abs(expected - given).max()))

    def of_first(self, count: int) -> Spread:
        """The spreads of all shares, unless there are too many rows and values."""
        self._check(count)
        return super().of_first(count)

    def _check(self, times: int) -> None:
        if self._sketch.hashes * self._values.size * times > _MOST_WORK:
            raise ValueError("there are too many values and hash functions to bound the error of this sum")

    def _sums(self, weights: FloatArray) -> RowSums:
        m, used = self._sketch, self._values
        squares, sizes, totals = [], [], []
        mean, second = np.zeros(used.size), np.zeros(used.size)
        least, most = np.full(used.size, np.inf), np.full(used.size, -np.inf)
        chunk = max(1, _CHUNK // max(m.width, used.size))
        for start in range(0, m.hashes, chunk):
            rows = np.arange(start, min(m.hashes, start + chunk), dtype=np.uint64)[:, None]
            position = m.positions(rows, used).astype(np.int64)
            cell = position + m.width * np.arange(len(rows))[:, None]
            added = np.bincount(
                cell[:, : weights.size].reshape(-1),
                np.broadcast_to(weights, (len(rows), weights.size)).reshape(-1),
                minlength=len(rows) * m.width,
            ).reshape(len(rows), m.width)
            squares.append((added**2).sum(axis=1))
            sizes.append(np.abs(added).max())
            totals.append(np.abs(added).sum(axis=1).max())
            own = np.take_along_axis(added, position, axis=1)
            mean, second = mean + own.sum(axis=0), second + (own**2).sum(axis=0)
            least, most = np.minimum(least, own.min(axis=0)), np.maximum(most, own.max(axis=0))
        square = np.concatenate(squares)
        return RowSums(
            float(square.mean()),
            float(square.max()),
            float(max(sizes)),
            float(max(totals)),
            mean / m.hashes,
            second / m.hashes,
            float((most - least).max()),
        )
