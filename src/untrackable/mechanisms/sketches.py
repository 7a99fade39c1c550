"""Apple's private sketches: Count Mean Sketch and Hadamard Count Mean Sketch.

Apple Differential Privacy Team, "Learning with Privacy at Scale" (2017). A report is about a hash of the value.
Each report draws one of `hashes` (k) hash functions, called rows, into `width` (m) positions. Both sketches are
frequency oracles. `Fresh` sends a new report each round, as deployed; `Memoized` and `Dealt` would keep a state.

Estimates correct for noise and, on average over hash functions, for collisions. Errors hold if hash values are
uniform and independent; the spreads of sums over values are those of the actual hash functions, which are public.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import Spread, Spreads
from untrackable.kernels.counting import walsh_hadamard
from untrackable.mechanisms.kept_bits import PositionCounts, unpacked
from untrackable.mechanisms.randomness import mixed_words
from untrackable.randomizers.randomness import (
    STEP,
    WORD,
    Chance,
    Entropy,
    below,
    flip_chance,
    flip_eps,
    flip_eps_upper,
    mixed,
)
from untrackable.theory.accuracy import Accuracy, mean_radius
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor

LARGEST_HASHES = 1 << 16
LARGEST_WIDTH = 1 << 16
LARGEST_DENSE = 1 << 16
"""Up to this many values can be estimated without a list of candidates."""
LARGEST_SUMS = 1 << 26
"""The most entries that sums may have, hashes times width. They take 512 MiB."""
_LARGEST_LOOKUP = 1 << 31
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch(ABC):
    """A local mechanism that reports a hash of the value. Each report draws one of the hash functions.

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
    certainty: ClassVar[Certainty] = "upper"
    """The factor is that of two values that collide in no row, and there may be no such values."""

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
        return np.asarray((mixed_words(words) >> np.uint64(32)) * np.uint64(self.width) >> np.uint64(32))

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CountMeanSketch(Sketch):
    """A report is a vector of m bits with a 1 at the hashed value, and every bit is flipped with some probability.

    The probability is 1/(e^(ε/2)+1). Bit i of a report is entry i of the vector, and the row's number is above the
    vector.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # These are the parameters of "Discovering Popular Emojis": m = 1024, k = 65,536, ε = 4.
        "emoji": {"hashes": 65536, "width": 1024, "eps": 4.0},
    }

    def _flip(self) -> Chance:
        return flip_chance(self.eps / 2)

    @property
    def report_bits(self) -> int:
        return self.width + self.row_bits

    @property
    def words(self) -> int:
        return self.width + 2

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The row takes entropy first, then each entry takes 8 bytes, the lowest first."""
        value = checks.private_integer("value", value, below=self.values)
        row = below(self.hashes, entropy)
        vector = 1 << self.position(row, value)
        for entry in range(self.width):
            vector ^= self.flip.happens(entropy) << entry
        return row << self.width | vector

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        rows = rng.integers(0, self.hashes, size=values.shape, dtype=np.uint64)
        bits = np.empty((*values.shape, self.report_bits), dtype=np.bool_)
        bits[..., : self.width] = self.flip.simulate(rng, (*values.shape, self.width))
        position = self.positions(rows, values).astype(np.int64)[..., None]
        np.put_along_axis(bits, position, ~np.take_along_axis(bits, position, axis=-1), axis=-1)
        bits[..., self.width :] = rows[..., None] >> np.arange(self.row_bits, dtype=np.uint64) & np.uint64(1)
        return np.packbits(bits, axis=-1, bitorder="little")

    def possible(self, report: int) -> bool:
        return 0 <= report < self.hashes << self.width

    def privacy_factor(self) -> Factor:
        """The factor of two values that collide in no row: two entries differ, with losses ±ε/2 each.

        This is the worst over all hash functions. The row is visible, and a row in which the two collide reveals
        nothing.
        """
        lie, eps = self.flip.probability, 2 * flip_eps(self.flip)
        p = [(1 - lie) ** 2, lie**2, 2 * lie * (1 - lie)]
        return Factor(p, [p[1], p[0], p[2]], [eps, -eps, 0.0])

    def largest_loss(self) -> float:
        """The loss of two entries that differ, rounded up."""
        return 2 * flip_eps_upper(self.flip)

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports have the same row and flips by chance.

        There is one outcome for each number of flips.
        """
        flips = np.arange(self.width + 1.0)
        lie = self.flip.probability
        chance = flips * math.log(lie) + (self.width - flips) * math.log1p(-lie)
        orders = gammaln(self.width + 1) - gammaln(flips + 1) - gammaln(self.width - flips + 1)
        once, twice = np.exp(orders + chance), np.exp(orders + 2 * chance - math.log(self.hashes))
        once /= once.sum()
        unequal = max(0.0, 1 - float(twice.sum()))
        error = 8 * float(np.finfo(np.float64).eps) * math.lgamma(self.width + 1)
        loss = [*(math.log(self.hashes) - chance), -math.inf]
        return Factor([*once, 0.0], [*twice, unequal], loss, error=error)

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        rows = self._rows(reports)
        position = self.positions(rows, np.array([value], dtype=np.uint64)).astype(np.int64)
        byte = np.take_along_axis(reports, (position >> 3)[..., None], axis=-1)[..., 0].astype(np.int64)
        ones = np.bitwise_count(reports).sum(axis=-1, dtype=np.int64) - np.bitwise_count(rows)
        flips = ones + 1 - 2 * (byte >> (position & 7) & 1)
        lie = self.flip.probability
        each: FloatArray = flips * math.log(lie) + (self.width - flips) * math.log1p(-lie)
        return np.where(rows < self.hashes, each - math.log(self.hashes), -np.inf)

    def _rows(self, reports: Reports) -> NDArray[np.uint64]:
        """The row of every report, from its bytes."""
        above = unpacked(reports[..., self.width // 8 :], self.report_bits - self.width // 8 * 8)
        return above[..., self.width % 8 :] @ (np.uint64(1) << np.arange(self.row_bits, dtype=np.uint64))

    def largest_weight(self) -> float:
        """A report with the bit of the value set adds m/(m-1)·((1-η)/(1-2η) - 1/m)."""
        return self.correction * ((1 - self.flip.probability) / self.gap - 1 / self.width)

    def _span(self) -> float:
        return self.correction / self.gap

    def _variances(self) -> tuple[float, float]:
        lie = self.flip.probability
        other = lie + self.gap / self.width
        scale = (self.correction / self.gap) ** 2
        return scale * lie * (1 - lie), scale * other * (1 - other)

    def row_spread(self, sums: RowSums, bias: float) -> Spread:
        """In a row, a report adds m/(m-1)·Σ w·(bit - η)/(1-2η), up to a constant, and its bits are independent.

        So the row is one part of what a report adds and each bit is another. The noise is that of the worst row.
        """
        lie, scale = self.flip.probability, self.correction / self.gap
        drawn = self.correction**2 * float((sums.second - sums.mean**2).max())
        row, bits = self.correction * sums.reach, scale**2 * sums.most_square
        variance = drawn + lie * (1 - lie) * bits
        return Spread(variance, math.hypot(row, math.sqrt(bits)), max(row, scale * sums.size), bias)

    def aggregator(self, scope: Scope) -> "EntryCounts":
        return EntryCounts(scope, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardSketch(Sketch):
    """A report is one bit of the Hadamard transform of a hashed value, flipped with probability 1/(e^ε+1).

    If the value is hashed to position h, coordinate l of the transform is (-1)^⟨l,h⟩. Each report draws the row and
    l uniformly. A report is the bit, 1 for -1, with the coordinate above it and the row above that.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # Devices record these beside reports of com.apple.safari.DomainCausingEnergyDrain: m = 32,768, k = 1024.
        "safari": {"hashes": 1024, "width": 32768, "eps": 4.0},
    }

    def __post_init__(self) -> None:
        Sketch.__post_init__(self)
        if self.width & (self.width - 1):
            raise ValueError(f"width must be a power of two, got {self.width}")

    def _flip(self) -> Chance:
        return flip_chance(self.eps)

    @property
    def report_bits(self) -> int:
        return self.width.bit_length() + self.row_bits

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The row takes entropy first, then the coordinate, then 8 bytes for the noise."""
        value = checks.private_integer("value", value, below=self.values)
        row = below(self.hashes, entropy)
        coordinate = below(self.width, entropy)
        parity = (coordinate & self.position(row, value)).bit_count() & 1
        return (row * self.width + coordinate) << 1 | parity ^ self.flip.happens(entropy)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        rows = rng.integers(0, self.hashes, size=values.shape, dtype=np.uint64)
        coordinates = rng.integers(0, self.width, size=values.shape, dtype=np.uint64)
        parity = np.bitwise_count(coordinates & self.positions(rows, values)) & np.uint8(1)
        bits = parity ^ self.flip.simulate(rng, values.shape)
        return np.asarray((rows * np.uint64(self.width) + coordinates) << np.uint64(1) | bits)

    def possible(self, report: int) -> bool:
        return 0 <= report < 2 * self.hashes * self.width

    def privacy_factor(self) -> Factor:
        """The factor of two values that collide in no row: half of the coordinates differ, with loss ±ε.

        This is the worst over all hash functions.
        """
        lie, eps = self.flip.probability, flip_eps(self.flip)
        return Factor([(1 - lie) / 2, lie / 2, 0.5], [lie / 2, (1 - lie) / 2, 0.5], [eps, -eps, 0.0])

    def largest_loss(self) -> float:
        """The loss of a coordinate that differs, rounded up."""
        return flip_eps_upper(self.flip)

    def repeat_factor(self) -> Factor:
        lie, chance = self.flip.probability, 1 / (self.hashes * self.width)
        equal = [(1 - lie) ** 2 * chance, lie**2 * chance]
        return Factor([1 - lie, lie, 0.0], [*equal, 1 - sum(equal)])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        where = reports.astype(np.uint64, copy=False) >> np.uint64(1)
        rows, coordinates = where // np.uint64(self.width), where % np.uint64(self.width)
        own = self.positions(rows, np.array([value], dtype=np.uint64))
        parity = np.bitwise_count(coordinates & own) & np.uint8(1)
        lie = self.flip.probability
        each = np.log(np.where(np.equal(parity, reports & np.uint64(1)), 1 - lie, lie))
        return np.where(rows < self.hashes, each - math.log(self.hashes * self.width), -np.inf)

    def largest_weight(self) -> float:
        """A report with the true bit of the value adds m/(m-1)·(1/(1-2η) - 1/m)."""
        return self.correction * (1 / self.gap - 1 / self.width)

    def _span(self) -> float:
        return 2 * self.correction / self.gap

    def _variances(self) -> tuple[float, float]:
        square = self.gap**-2
        return self.correction**2 * (square - 1), self.correction**2 * (square - self.width**-2)

    def row_spread(self, sums: RowSums, bias: float) -> Spread:
        """A report adds ±m/(m-1)·W/(1-2η), up to a constant; W is a coordinate of the transform of its row's w.

        By Parseval's identity W² has mean Σ w² over the coordinates, and |W| is at most Σ |w|. The mean of what is
        added is that of w at the position of the value held, so the variance is exact.
        """
        square = sums.square / self.gap**2 - float((sums.mean**2).min())
        span = 2 * self.correction / self.gap * sums.total
        return Spread(self.correction**2 * square, span, span, bias)

    def aggregator(self, scope: Scope) -> "TransformSums":
        return TransformSums(scope, self)


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


class EntryCounts(PositionCounts, SketchSums):
    """Counts of the reports of each row that had each entry set."""

    _sums = ("counts", "rows")

    def __init__(self, scope: Scope, sketch: CountMeanSketch) -> None:
        super().__init__(scope, sketch.report_bits, self.room(sketch))
        self.sketch: CountMeanSketch = sketch
        self.rows = np.zeros(sketch.hashes, dtype=np.int64)

    def _checked(self, reports: Reports) -> Reports:
        rows = super()._checked(reports)
        if np.any(self.sketch._rows(rows) >= self.sketch.hashes):
            raise ValueError(f"a report must be of a row below {self.sketch.hashes}")
        return rows

    def _tally(self, bits: NDArray[np.uint8]) -> None:
        m = self.sketch
        row = bits[:, m.width :] @ (1 << np.arange(m.row_bits))
        order = np.argsort(row, kind="stable")
        present, first, count = np.unique(row[order], return_index=True, return_counts=True)
        self.counts[present] += np.add.reduceat(bits[order, : m.width], first, axis=0, dtype=np.int64)
        self.rows[present] += count

    def _table(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.counts[rows]

    def _frequency(self, share: FloatArray) -> FloatArray:
        return (share - self.sketch.flip.probability) / self.sketch.gap


class TransformSums(SketchSums):
    """Σ (-1)^b over the reports of each row and coordinate. The transform of a row gives the sums by position."""

    _sums = ("sums", "rows")

    def __init__(self, scope: Scope, sketch: HadamardSketch) -> None:
        super().__init__(scope)
        self.sketch: HadamardSketch = sketch
        self.rows = np.zeros(sketch.hashes, dtype=np.int64)
        self.sums = np.zeros(self.room(sketch), dtype=np.int64)
        self._limits = (0, 2 * self.sums.size - 1)

    def _add(self, reports: Reports) -> None:
        flat = reports.reshape(-1).astype(np.int64)
        where, sign = flat >> 1, 1 - 2 * (flat & 1)
        np.add.at(self.sums.reshape(-1), where, sign)
        np.add.at(self.rows, where // self.sketch.width, 1)
        self.n += flat.size

    def _table(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return walsh_hadamard(self.sums[rows], in_place=True)

    def _frequency(self, share: FloatArray) -> FloatArray:
        return share / self.sketch.gap


class RowSpreads(Spreads):
    """The spreads for the values that are estimated. Everybody must hold one of them, as others would collide."""

    only_if_complete = (
        "values that are not listed collide with those that are: list all values that people may hold"
    )

    def __init__(self, sketch: "Sketch", values: NDArray[np.uint64]) -> None:
        self._sketch, self._values = sketch, values

    def of(self, weights: FloatArray) -> Spread:
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
