"""Rows of public hash functions: the common part of sketches, from the hash to the estimate.

Estimates correct for noise and, on average over hash functions, for collisions. Errors hold if hash values are
uniform and independent.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Aggregator, Estimate, FloatArray
from untrackable.estimation.spread import Spread
from untrackable.mechanisms.local.row_spread import RowSpreads, RowSums
from untrackable.mechanisms.probabilities import Chance
from untrackable.mechanisms.splitmix import STEP, WORD, mixed, mixed_words
from untrackable.theory.accuracy import Accuracy, mean_radius
from untrackable.theory.experiment import Certainty

LARGEST_HASHES = 1 << 16
LARGEST_WIDTH = 1 << 16
LARGEST_DENSE = 1 << 16
"""Up to this many values can be estimated without a list of candidates."""
LARGEST_SUMS = 1 << 26
"""The most entries that sums may have, hashes times width. They take 512 MiB."""
_LARGEST_LOOKUP = 1 << 31
_CHUNK = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch(ABC):
    """A local mechanism that reports a hash of the value. Each report draws one of the hash functions anew.

    There are `hashes` (k) hash functions, called rows, into `width` (m) positions.
    """

    hashes: int
    width: int
    eps: float
    values: int = 1 << 32
    flip: Chance = field(init=False, repr=False)

    published: ClassVar[str] = "Apple Differential Privacy Team, Learning with Privacy at Scale (2017)"
    persists: ClassVar[str] = "nothing while reports are fresh; memoised, the whole report, word for word"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @property
    def certainty(self) -> Certainty:
        """Upper: the factor is that of two values that collide in no row, and there may be no such values."""
        return "upper"

    def __post_init__(self) -> None:
        checks.settle(
            self,
            hashes=checks.integer("hashes", self.hashes, low=1, high=LARGEST_HASHES),
            width=checks.integer("width", self.width, low=2, high=LARGEST_WIDTH),
            eps=checks.epsilon("eps", self.eps),
            values=checks.integer("values", self.values, low=2, high=1 << 64),
        )
        checks.settle(self, flip=self._flip())
        if 2 * self.flip.threshold > WORD:
            raise ValueError(f"eps is too small to be drawn from 64 bits, got {self.eps}")

    @classmethod
    def preset(cls, name: str) -> Self:
        """The mechanism with published parameters."""
        return cls(**cls.presets[checks.choice("preset", name, cls.presets)])

    @abstractmethod
    def _flip(self) -> Chance:
        """The chance that one reported bit is flipped."""

    @property
    def row_bits(self) -> int:
        """Width of the row number."""
        return (self.hashes - 1).bit_length()

    def position(self, row: int, value: int) -> int:
        """The position that a row hashes a value to: the high half of a mixed word, scaled to the width."""
        word = mixed(mixed(value + STEP & WORD) + (row + 1) * STEP & WORD)
        return (word >> 32) * self.width >> 32

    def positions(self, rows: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """`position` for arrays."""
        words = mixed_words(values + np.uint64(STEP)) + (rows + np.uint64(1)) * np.uint64(STEP)
        scaled: NDArray[np.uint64] = (mixed_words(words) >> np.uint64(32)) * np.uint64(self.width) >> np.uint64(32)
        return scaled

    @property
    def gap(self) -> float:
        """The bias of a reported bit, 1-2η."""
        return ((1 << 64) - 2 * self.flip.threshold) / (1 << 64)

    @property
    def correction(self) -> float:
        """The factor m/(m-1), which corrects for collisions."""
        return self.width / (self.width - 1)

    @abstractmethod
    def _span(self) -> float:
        """The span of one report's contribution to the estimate of a value."""

    @abstractmethod
    def _variances(self) -> tuple[float, float]:
        """The variance of a report's contribution to the estimate of its sender's value, and of any other."""

    @abstractmethod
    def row_spread(self, sums: RowSums, bias: float) -> Spread:
        """The spread of a weighted sum of frequencies, from the sums of its weights by row and position."""

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error of a frequency, from one report per person, if hash values are uniform and independent.

        The radius holds for every population: half of `beta` is for the clients' randomness, given the hash
        functions, and half for collisions. The standard error is exact for a value that nobody holds, if all people
        hold different values. A value that a share f of people hold adds f²/((m-1)·k) to the variance of every
        other value, because all its holders collide together.
        """
        error = math.sqrt(self._variances()[1] / people)
        given = "of a value that nobody holds, hash values being uniform"
        return Accuracy(people, beta, self._radius(people, beta), error, given)

    def _radius(self, people: int, beta: float, statistics: int = 1) -> float:
        """Hoeffding's inequality for the clients, and Bernstein's for the mean collision over the rows.

        Given the hash functions, the bias of a value's estimate is m/(m-1)·Σ_u f_u·(c_u - 1/m), where c_u is the
        share of rows in which u collides with the value. This is a mean of k independent terms within ±1, of
        variance at most Σ f_u²/(m-1) ≤ 1/(m-1).
        """
        noise = mean_radius(people, beta / 2, span=self._span(), statistics=statistics)
        log = math.log(4 / beta) + math.log(statistics)
        collisions = (log / 3 + math.sqrt(log**2 / 9 + 2 * self.hashes * log / (self.width - 1))) / self.hashes
        return noise + min(1.0, collisions)


class SketchSums(Aggregator):
    """Sums by row and position. The frequency of any value follows from them."""

    sketch: Sketch
    rows: NDArray[np.int64]
    """The number of reports of each row."""

    @staticmethod
    def room(sketch: Sketch) -> tuple[int, int]:
        """The shape of the sums. Too large sums are refused."""
        if sketch.hashes * sketch.width > LARGEST_SUMS:
            raise ValueError(
                f"hashes times width must be at most {LARGEST_SUMS} to add reports up, "
                f"got {sketch.hashes} times {sketch.width}"
            )
        return sketch.hashes, sketch.width

    @abstractmethod
    def _table(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums of these rows, by position."""

    @abstractmethod
    def _frequency(self, share: FloatArray) -> FloatArray:
        """A reported share, corrected for noise."""

    takes_candidates = True

    @property
    def why_candidates(self) -> str:
        """Why candidates are needed, if there are too many values to estimate all."""
        few = self.sketch.values <= LARGEST_DENSE
        return "" if few else f"there are {self.sketch.values} values, more than {LARGEST_DENSE} to estimate"

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        return self._estimate_values(n, beta, np.arange(self.sketch.values, dtype=np.uint64), None)

    def _estimate_listed(self, n: int, beta: float, candidates: Sequence[int]) -> Estimate:
        largest = self.sketch.values - 1
        numbers = [checks.integer("candidate", value, low=0, high=largest) for value in candidates]
        return self._estimate_values(n, beta, np.array(numbers, dtype=np.uint64), list(candidates))

    def _estimate_values(
        self, n: int, beta: float, held_by: NDArray[np.uint64], candidates: list[int] | None
    ) -> Estimate:
        """m/(m-1)·(mean, over reports, of the entry at the value's position in its row - 1/m), as published.

        Estimates are unbiased over hash functions, and radii are those of `accuracy`. The standard error counts
        collisions with the values that are estimated.
        """
        m = self.sketch
        frequencies = m.correction * (self._frequency(self._lookup(held_by) / n) - 1 / m.width)
        held = np.clip(frequencies, 0, 1)
        mine, others = m._variances()
        together = min(1.0, float(held @ held)) / ((m.width - 1) * m.hashes)
        return Estimate(
            frequencies,
            n,
            beta,
            np.sqrt((held * mine + (1 - held) * others) / n + together),
            span=np.full(held.size, m._span()),
            reach=lambda beta: m._radius(n, beta),
            values=candidates,
            complete=candidates is None,
            spread=RowSpreads(m, held_by),
        )

    def _lookup(self, values: NDArray[np.uint64]) -> FloatArray:
        """For each value, the sum over rows of the entries at its position."""
        present = np.flatnonzero(self.rows)
        if present.size * values.size > _LARGEST_LOOKUP:
            raise ValueError(
                f"candidates times rows must be at most {_LARGEST_LOOKUP}, got {values.size} times {present.size}; "
                "give fewer candidates"
            )
        total = np.zeros(values.size, dtype=np.int64)
        size = max(1, _CHUNK // max(self.sketch.width, values.size))
        for start in range(0, present.size, size):
            rows = present[start : start + size]
            position = self.sketch.positions(rows.astype(np.uint64)[:, None], values).astype(np.int64)
            total += np.take_along_axis(self._table(rows), position, axis=1).sum(axis=0)
        return total.astype(np.float64)
