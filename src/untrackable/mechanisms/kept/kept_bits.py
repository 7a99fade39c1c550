"""Patterns of bits that a client keeps with noise for ever and reports with more noise, as in RAPPOR."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.framing import pack_integers, unpack_integers
from untrackable.kernels.engine import arrays
from untrackable.kernels.events import draw_events
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.interface import After, Mechanism, Pair, Values, worst
from untrackable.mechanisms.observed_rounds import ObservedRounds
from untrackable.mechanisms.probabilities import Chance, coin, noise
from untrackable.mechanisms.wrappers.fresh import everything_revealed
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, response_factor
from untrackable.theory.kept_bit import (
    Coin,
    Noise,
    bit_log_likelihood,
    detection_factor,
    privacy_factor,
    tracking_factor,
    tracking_losses,
)

FloatArray = NDArray[np.float64]
Counts = NDArray[np.int64]
Moved = tuple[int, int, int]
"""The numbers of positions that two values both set, that only the first sets, and that only the second sets."""


_MOST_OVERLAPS = 400
_ROWS = 1 << 14
"""The number of reports that are unpacked at a time."""
_BYTE = 255
"""The largest number of bits whose sum fits into a byte."""


class Permanent(Mechanism):
    """A value sets some positions of a pattern. A client keeps a noisy pattern for ever and adds noise to reports.

    The kept pattern stays the same for as long as the client lives. So does the clear part, which some mechanisms
    send with every report without noise, above the positions: a cohort, or a set of buckets. Positions are
    independent, so every experiment is a product of coordinates.
    """

    __slots__ = ()
    persists = "the kept pattern, seen through the noise of every report"

    @property
    def clear_bits(self) -> int:
        """Width of the clear part, which a client draws once and sends with every report."""
        return 0

    def _clear(self, source: Entropy) -> int:
        """The clear part of a new client."""
        return 0

    def _simulate_clear(self, people: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """The clear parts of many clients, as bits, the lowest first."""
        return np.zeros((people, 0), dtype=np.uint8)

    def _persistent(self) -> list[Factor]:
        """How well the clear part tells one person from two, if both sides have reports."""
        return []

    @property
    @abstractmethod
    def positions(self) -> int:
        """The number of positions."""

    @property
    @abstractmethod
    def _flips(self) -> tuple[Chance, Chance]:
        """The chances that a set position is kept as 0, and that a position that is not set is kept as 1."""

    @property
    @abstractmethod
    def _reported(self) -> tuple[Chance, Chance]:
        """The chances that a kept 1 is reported as 1, and that a kept 0 is."""

    @abstractmethod
    def _pattern(self, value: Any, clear: int) -> int:
        """The positions that a value sets, given the clear part. Bit i of the integer is position i."""

    @abstractmethod
    def _moved(self) -> list[Moved]:
        """Every way in which the patterns of two different values can overlap."""

    @abstractmethod
    def _ones(self) -> int:
        """The number of positions that a value sets, for tracking."""

    @property
    def report_bits(self) -> int:
        """One bit per position, and the clear part above them."""
        return self.positions + self.clear_bits

    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """Fixed value: how well the two most different values can be told apart (exact).

        These share no position and set as many as they can. The observer sees the kept pattern, or `reports`
        reports of it.

        Any sequence of values: a client keeps one state per value, and each position of each of `reports` reports
        is no further apart than between two different states (upper).
        """
        if values == "any":
            if reports is None:
                return everything_revealed("upper")
            position = max(abs(self._noise.ones), abs(self._noise.zeros))
            return Experiment([(response_factor(position), self.positions * reports)], certainty="upper")
        one, zero = self._kept
        if reports is None:
            lost = Factor([one.one, one.zero], [zero.one, zero.zero])
        else:
            lost = privacy_factor(one, zero, self._noise, reports)
        moved = {(a, b) for _, a, b in self._moved()}
        widest = [(a, b) for a, b in moved if not {(a + 1, b), (a, b + 1)} & moved]
        return worst([Experiment([(lost, a), (lost.reversed(), b)]) for a, b in sorted(widest)] or [Experiment()])

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """The kept pattern links the reports of one person. Positions are independent (exact)."""
        return [self._tracking(observed.reports, j, self._ones()) for j in observed.tracking_splits(2)]

    def _tracking(self, reports: int, split: int, ones: int) -> Experiment:
        set_position, clear_position = (tracking_factor(kept, self._noise, reports, split) for kept in self._kept)
        clear_part = self._persistent() if 0 < split < reports else []
        return Experiment([*clear_part, (set_position, ones), (clear_position, self.positions - ones)])

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """The worst over every overlap of two patterns; each is exact.

        The same client keeps its clear part, and a pattern for each value.
        """
        if len(self._moved()) > _MOST_OVERLAPS:
            raise ValueError(
                f"detection looks at every overlap of two patterns and allows at most {_MOST_OVERLAPS}; "
                f"with up to {self._ones()} positions set there are {len(self._moved())}"
            )
        experiments = [
            e
            for j in observed.detection_splits(4 * len(self._moved()))
            for e in self._detection(observed.reports, j, after)
        ]
        return [*experiments] or [Experiment()]

    def _detection(self, reports: int, split: int, after: After) -> list[Experiment]:
        clear_part = self._persistent() if 0 < split < reports and after == "fresh" else []
        one, zero = self._kept
        stays = tracking_factor(one, self._noise, reports, split)
        goes = detection_factor(one, zero, self._noise, reports, split)
        comes = detection_factor(zero, one, self._noise, reports, split)
        never = tracking_factor(zero, self._noise, reports, split)
        return [
            Experiment([*clear_part, (stays, a), (goes, b), (comes, c), (never, self.positions - a - b - c)])
            for a, b, c in self._moved()
        ]

    def log_likelihood(self, reports: Reports, value: Any, rounds: Sequence[int]) -> FloatArray:
        """The sum over independent positions. All clear parts are equally likely, and no client changes its own."""
        ones, clear, steady = self._counted(reports)
        is_set = self._patterns(np.array([value] * len(clear)), clear)
        sides = [bit_log_likelihood(kept, self._noise, ones, reports.shape[1]) for kept in self._kept]
        total: FloatArray = np.where(is_set, *sides).sum(axis=1) - self._possibilities()
        return np.where(steady, total, -np.inf)

    def link_scores(self, first: Reports, second: Reports, value: Any) -> FloatArray:
        """The sum over independent positions. Different clear parts show that there are two people."""
        (left, tags, steady), (right, other, calm) = self._counted(first), self._counted(second)
        scores: FloatArray = arrays().full((len(tags), len(other)), -np.inf)
        for group in np.unique(tags[steady], axis=0):
            rows = np.flatnonzero(steady & (tags == group).all(axis=1))
            columns = np.flatnonzero(calm & (other == group).all(axis=1))
            if columns.size:
                is_set = self._patterns(np.array([value]), group[None, :])[0]
                splits = first.shape[1], second.shape[1]
                found = self._scores(left[rows], right[columns], splits, is_set)
                if found.shape == scores.shape:
                    scores = found
                else:
                    scores[arrays().ix_(rows, columns)] = found
        scores += self._possibilities()
        return scores

    def _possibilities(self) -> float:
        """The logarithm of the number of possible clear parts."""
        return sum(float(factor.loss.max()) for factor in self._persistent())

    def _scores(
        self, left: Counts, right: Counts, splits: tuple[int, int], is_set: NDArray[np.bool_]
    ) -> FloatArray:
        """Scores from the numbers of ones at each position on both sides: one matrix product for each number."""
        on = arrays()
        scores: FloatArray = on.zeros((left.shape[0], right.shape[0]))
        for positions, kept in zip((is_set, ~is_set), self._kept, strict=True):
            table = on.asarray(tracking_losses(kept, self._noise, *splits))
            # Without noise, a position is either always reported as 1 or never.
            possible = on.isfinite(table)
            losses, gives_away = on.where(possible, table, 0.0), not possible.all()
            here, theirs = on.asarray(left[:, positions]), on.asarray(right[:, positions])
            for ones in range(splits[0] + 1):
                mine = (here == ones).astype(np.float64)
                scores += mine @ losses[ones][theirs].T
                if gives_away:
                    scores[mine @ (~possible[ones][theirs]).T.astype(np.float64) > 0] = -np.inf
        return scores

    def _counted(self, reports: Reports) -> tuple[Counts, NDArray[np.uint8], NDArray[np.bool_]]:
        """For each row: the ones by position, the clear part, and whether all its reports have the same one."""
        ones = np.zeros((reports.shape[0], self.positions), dtype=np.int64)
        clear = np.zeros((reports.shape[0], self.clear_bits), dtype=np.uint8)
        steady = np.ones(reports.shape[0], dtype=np.bool_)
        size = max(1, _ROWS // max(1, reports.shape[1]))
        for start in range(0, reports.shape[0], size):
            rows = slice(start, start + size)
            bits = unpacked(reports[rows], self.report_bits)
            ones[rows] = bits[..., : self.positions].sum(axis=1, dtype=np.int64)
            clear[rows] = bits[:, 0, self.positions :]
            steady[rows] = (bits[..., self.positions :] == bits[:, :1, self.positions :]).all(axis=(1, 2))
        return ones, clear, steady

    def _patterns(self, values: NDArray[Any], clear: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """The positions that each value sets, given its clear part."""
        held, which = np.unique(values, return_inverse=True)
        tags, tag = np.unique(clear, axis=0, return_inverse=True) if self.clear_bits else (clear[:1], 0 * which)
        pairs, pair = np.unique(which * max(1, len(tags)) + tag.reshape(-1), return_inverse=True)
        shown, names = [number_of(row) for row in tags], held.tolist()
        patterns = [self._pattern(names[i // len(tags)], shown[i % len(tags)]) for i in pairs.tolist()]
        known = np.array([bits_of(pattern, self.positions) for pattern in patterns], dtype=np.bool_)
        result: NDArray[np.bool_] = known.reshape(-1, self.positions)[pair.reshape(-1)]
        return result

    @property
    def _kept(self) -> tuple[Coin, Coin]:
        """The law of the kept bit at a position that the value sets, and at one that it does not set."""
        lost, gained = self._flips
        return coin(lost).mirrored(), coin(gained)

    @property
    def _noise(self) -> Noise:
        return noise(*self._reported)

    def new_state(self, value: Any, source: Entropy) -> int:
        """The kept pattern, and the clear part above it."""
        clear = self._clear(source)
        pattern = self._pattern(value, clear)
        kept = clear << self.positions
        for position in range(self.positions):
            is_set = pattern >> position & 1
            kept |= (is_set ^ self._flips[1 - is_set].happens(source)) << position
        return kept

    def make_report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        """The kept pattern with new noise, and the clear part."""
        report = state >> self.positions << self.positions
        for position in range(self.positions):
            report |= self._reported[1 - (state >> position & 1)].happens(source) << position
        return report, state

    def pack_state(self, state: int) -> bytes:
        """The state's integer as bytes."""
        return pack_integers([state], self.report_bits)

    def unpack_state(self, payload: bytes) -> int:
        """The state's integer."""
        return unpack_integers(payload, self.report_bits, 1)[0]

    def _words(self) -> int:
        return self.positions

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Reports of a batch of clients. Here positions are the bits of words, the lowest first."""
        people = values.shape[0]
        clear = self._simulate_clear(people, rng)
        is_set = _as_words(self._patterns(values, clear))
        among = _as_words(np.ones((1, self.positions), dtype=np.bool_))
        lost, gained = (flip.threshold for flip in self._flips)
        kept = is_set ^ draw_events(is_set, lost, gained, rng, among=among)
        repeated = np.repeat(kept[:, None, :], len(rounds), axis=1)
        one, zero = (chance.threshold for chance in self._reported)
        noisy = draw_events(repeated, one, zero, rng, among=among).astype("<u8", copy=False).view(np.uint8)
        if self.clear_bits:
            beside = np.broadcast_to(clear[:, None, :], (people, len(rounds), self.clear_bits))
            bits = np.concatenate((unpacked(noisy, self.positions), beside), -1)
            return np.packbits(bits, -1, bitorder="little")
        return np.ascontiguousarray(noisy[..., : (self.positions + 7) // 8])


def ordered(one: str, other: str, first: Chance, second: Chance, *, above: bool) -> None:
    """Refuse two probabilities that become equal or change their order when rounded to 64 bits."""
    if first.threshold == second.threshold or (first.threshold > second.threshold) != above:
        raise ValueError(f"{one} and {other} must differ by more than 2^-63 to be drawn apart")


class PositionCounts(Aggregator):
    """Counts of the reports that had each position set. Subclasses with a clear part override `_tally`."""

    _axes = 2
    _sums: ClassVar[tuple[str, ...]] = ("counts",)

    def __init__(self, scope: Scope, width: int, shape: tuple[int, ...]) -> None:
        super().__init__(scope)
        self._width = width
        self.counts = np.zeros(shape, dtype=np.int64)

    def _tally(self, bits: NDArray[np.uint8]) -> None:
        """Add reports, given as bits, to the counts."""
        for start in range(0, bits.shape[0], _BYTE):
            self.counts += bits[start : start + _BYTE].sum(axis=0, dtype=np.uint8)

    def _array(self, reports: list[int]) -> Reports:
        size, width = (self._width + 7) // 8, self._width
        if any(not 0 <= report < 1 << width for report in reports):
            raise ValueError(f"a report must have {width} bits and no more")
        data = b"".join(report.to_bytes(size, "little") for report in reports)
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, size)

    def _checked(self, reports: Reports) -> Reports:
        size, width = (self._width + 7) // 8, self._width
        if reports.dtype != np.uint8 or reports.shape[-1:] != (size,):
            raise ValueError(f"reports must be arrays of {size} bytes each, got {reports.dtype} {reports.shape}")
        rows = reports.reshape(-1, size)
        if width % 8 and np.any(rows[:, -1] >> (width % 8)):
            raise ValueError(f"a report must have {width} bits and no more")
        return rows

    def _add(self, reports: Reports) -> None:
        for start in range(0, reports.shape[0], _ROWS):
            self._tally(unpacked(reports[start : start + _ROWS], self._width))
        self.n += reports.shape[0]


def bits_of(number: int, width: int) -> NDArray[np.uint8]:
    """The bits of an integer, the lowest first."""
    data = np.frombuffer(number.to_bytes((width + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(data, count=width, bitorder="little")


def number_of(bits: NDArray[np.uint8]) -> int:
    """The integer with these bits, the lowest first."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def unpacked(reports: Reports, width: int) -> NDArray[np.uint8]:
    """The reports as bits, position 0 first."""
    return np.unpackbits(reports.astype(np.uint8, copy=False), axis=-1, count=width, bitorder="little")


def _as_words(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of bits as rows of words, the lowest bit first, filled up with 0."""
    packed = np.packbits(bits, axis=-1, bitorder="little")
    filled = np.zeros((*packed.shape[:-1], -(-packed.shape[-1] // 8) * 8), dtype=np.uint8)
    filled[..., : packed.shape[-1]] = packed
    return filled.view("<u8").astype(np.uint64, copy=False)
