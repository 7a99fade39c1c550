"""Apple's private sketches: Count Mean Sketch and Hadamard Count Mean Sketch.

Apple Differential Privacy Team, "Learning with Privacy at Scale" (2017). A report is about a hash of the value.
Each report draws one of `hashes` (k) hash functions, called rows, into `width` (m) positions. Both sketches are
local mechanisms. `Fresh` sends a new report each round, as deployed; `Memoized` and `Dealt` would keep a state.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from untrackable import checks
from untrackable.estimation.aggregators import FloatArray, Reports, Scope
from untrackable.estimation.spread import Spread
from untrackable.kernels.transform import walsh_hadamard
from untrackable.mechanisms.entropy import Entropy, below
from untrackable.mechanisms.kept.kept_bits import PositionCounts, unpacked
from untrackable.mechanisms.local.hash_rows import Sketch, SketchSums
from untrackable.mechanisms.local.row_spread import RowSums
from untrackable.mechanisms.probabilities import Chance, flip_chance, flip_eps, flip_eps_upper
from untrackable.theory.factor import Factor


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
        """Width of the vector and the row."""
        return self.width + self.row_bits

    @property
    def words(self) -> int:
        """The number of random words per simulated report."""
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
        """One independent report for every entry, as bytes, the lowest first."""
        rows = rng.integers(0, self.hashes, size=values.shape, dtype=np.uint64)
        bits = np.empty((*values.shape, self.report_bits), dtype=np.bool_)
        bits[..., : self.width] = self.flip.simulate(rng, (*values.shape, self.width))
        position = self.positions(rows, values).astype(np.int64)[..., None]
        np.put_along_axis(bits, position, ~np.take_along_axis(bits, position, axis=-1), axis=-1)
        bits[..., self.width :] = rows[..., None] >> np.arange(self.row_bits, dtype=np.uint64) & np.uint64(1)
        return np.packbits(bits, axis=-1, bitorder="little")

    def possible(self, report: int) -> bool:
        """Whether this can be a report: it is of a row that there is."""
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
        """That of two entries that differ, rounded up."""
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
        """The log probability, from the number of flipped entries."""
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
        """Empty sums by row and entry."""
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
    def coordinate_bits(self) -> int:
        """Width of the coordinate."""
        return self.width.bit_length() - 1

    @property
    def report_bits(self) -> int:
        """Width of the bit, the coordinate and the row."""
        return 1 + self.coordinate_bits + self.row_bits

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The row takes entropy first, then the coordinate, then 8 bytes for the noise."""
        value = checks.private_integer("value", value, below=self.values)
        row = below(self.hashes, entropy)
        coordinate = below(self.width, entropy)
        parity = (coordinate & self.position(row, value)).bit_count() & 1
        return (row * self.width + coordinate) << 1 | parity ^ self.flip.happens(entropy)

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.uint64]:
        """One independent report for every entry."""
        rows = rng.integers(0, self.hashes, size=values.shape, dtype=np.uint64)
        coordinates = rng.integers(0, self.width, size=values.shape, dtype=np.uint64)
        parity = np.bitwise_count(coordinates & self.positions(rows, values)) & np.uint8(1)
        bits = parity ^ self.flip.simulate(rng, values.shape)
        reports: NDArray[np.uint64] = (rows * np.uint64(self.width) + coordinates) << np.uint64(1) | bits
        return reports

    def possible(self, report: int) -> bool:
        """Whether this can be a report: it is of a row that there is."""
        return 0 <= report < 2 * self.hashes * self.width

    def privacy_factor(self) -> Factor:
        """The factor of two values that collide in no row: half of the coordinates differ, with loss ±ε.

        This is the worst over all hash functions.
        """
        lie, eps = self.flip.probability, flip_eps(self.flip)
        return Factor([(1 - lie) / 2, lie / 2, 0.5], [lie / 2, (1 - lie) / 2, 0.5], [eps, -eps, 0.0])

    def largest_loss(self) -> float:
        """That of a coordinate that differs, rounded up."""
        return flip_eps_upper(self.flip)

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports are equal by chance, row and coordinate too."""
        lie, chance = self.flip.probability, 1 / (self.hashes * self.width)
        equal = [(1 - lie) ** 2 * chance, lie**2 * chance]
        return Factor([1 - lie, lie, 0.0], [*equal, 1 - sum(equal)])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability, from whether the bit is the true one."""
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
        """Empty sums by row and coordinate."""
        return TransformSums(scope, self)


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

    def _array(self, reports: list[int]) -> Reports:
        if not all(self.sketch.possible(report) for report in reports):
            raise ValueError(self._range())
        return np.array(reports, dtype=np.uint64)

    def _checked(self, reports: Reports) -> Reports:
        if reports.size and (int(reports.min()) < 0 or not self.sketch.possible(int(reports.max()))):
            raise ValueError(self._range())
        return reports

    def _range(self) -> str:
        return f"a report must be between 0 and {2 * self.sketch.hashes * self.sketch.width - 1}"

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
