"""Bits that a client keeps with noise for ever and reports with more noise: memoization, as in RAPPOR.

`Permanent` is the common part of mechanisms that keep a pattern of bits. `Bitwise` keeps one bit: Bitwise
Everlasting Privacy [NV]. `Unary` keeps a bit for each value.

Arcolezi, Couchot, Al Bouna, Xiao, "Improving the utility of locally differentially private protocols for
longitudinal and multidimensional frequency estimates" (2022): L-SUE, L-OSUE, L-OUE and L-SOUE, after Wang, Blocki,
Li, Jha (2017) for one report. L-SUE is the basic one-hot RAPPOR of Erlingsson, Pihur, Korolova (2014).
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray, Words
from untrackable.estimation.aggregators import Aggregator, BitAggregator, Reports, Scope, row_words
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import Spread, SymmetricSpreads, independent_bits_spread
from untrackable.kernels.engine import arrays, compiled, read_only
from untrackable.mechanisms.interface import (
    After,
    Mechanism,
    ObservedRounds,
    Pair,
    Values,
    everything_revealed,
    worst,
)
from untrackable.mechanisms.local_interface import Truthfulness, integer_population
from untrackable.mechanisms.randomness import coin, noise, random_words
from untrackable.randomizers.interface import pack_integers, unpack_integers
from untrackable.randomizers.randomness import WHOLE, Chance, Entropy, chance_toward, flip_chance, flip_eps
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, response_factor
from untrackable.theory.kept_bit import (
    Coin,
    Noise,
    bit_log_likelihood,
    detection_factor,
    flipped_distances,
    kept_bits_advantage_upper,
    privacy_factor,
    remembered_flip_factor,
    tracking_factor,
    tracking_losses,
)

_CHUNK = 1 << 13
"""The number of words that are drawn together, so that they stay in the second-level cache.

It determines the order of the draws, so changing it changes the results of a seed."""
_HEAD = 4
"""The number of highest bits that are drawn for all events."""
_PIECE = 16
"""The number of bits that are drawn at a time for undecided events."""
Counts = NDArray[np.int64]
Moved = tuple[int, int, int]
"""The numbers of positions that two values both set, that only the first sets, and that only the second sets."""
Preset = Literal["L-SUE", "L-OSUE", "L-OUE", "L-SOUE"]


_MOST_OVERLAPS = 400
_ROWS = 1 << 14
"""The number of reports that are unpacked at a time."""
_BYTE = 255
"""The largest number of bits whose sum fits into a byte."""
_COUNTED = 10**6
"""Up to this many reports, the advantage is computed for every split."""
_SEARCHED = {"one": 500, "many": 128}
"""Up to this many reports, all outcomes of all splits are searched, for one gamma or for many."""
_ROUNDED = 1e-8
"""The relative error of floating-point numbers is at most this, for up to a million reports."""
LARGEST = 4096
LARGEST_EPS = 64.0
_STEPS: dict[str, tuple[str, str]] = {
    "L-SUE": ("symmetric", "symmetric"),
    "L-OSUE": ("optimised", "symmetric"),
    "L-OUE": ("optimised", "optimised"),
    "L-SOUE": ("symmetric", "optimised"),
}


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
            for e in self._detection(observed.reports, j, after, self._moved())
        ]
        return [*experiments] or [Experiment()]

    def _detection(self, reports: int, split: int, after: After, moved: Iterable[Moved]) -> list[Experiment]:
        """An experiment for each of these overlaps."""
        clear_part = self._persistent() if 0 < split < reports and after == "fresh" else []
        one, zero = self._kept
        stays = tracking_factor(one, self._noise, reports, split)
        goes = detection_factor(one, zero, self._noise, reports, split)
        comes = detection_factor(zero, one, self._noise, reports, split)
        never = tracking_factor(zero, self._noise, reports, split)
        return [
            Experiment([*clear_part, (stays, a), (goes, b), (comes, c), (never, self.positions - a - b - c)])
            for a, b, c in moved
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
                own = self._scores(left[rows], right[columns], splits, is_set)
                if own.shape == scores.shape:
                    scores = own
                else:
                    scores[arrays().ix_(rows, columns)] = own
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
        shown, names = (
            [int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in tags],
            held.tolist(),
        )
        patterns = [self._pattern(names[i // len(tags)], shown[i % len(tags)]) for i in pairs.tolist()]
        known = np.array([bits_of(pattern, self.positions) for pattern in patterns], dtype=np.bool_)
        return np.asarray(known.reshape(-1, self.positions)[pair.reshape(-1)])

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
        return pack_integers([state], [self.report_bits])

    def unpack_state(self, payload: bytes) -> int:
        return unpack_integers(payload, [self.report_bits])[0]

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


# --- independent random events of simulated clients, 64 at a time: one per bit of a word -------------------


def draw_events(which: Words, first: int, second: int, rng: np.random.Generator, *, among: Words) -> Words:
    """Draw bits that are 1 with probability first/2^64 where `which` has a 1, and second/2^64 where it has a 0.

    Only bits that are set in `among` are drawn; all others are 0. Both arrays hold rows of words, and `among`
    applies to every row. An event happens if a random 64-bit number is below its threshold. The numbers are drawn
    from their highest bits down. Four words give the highest four bits of 64 numbers, and these already decide all
    but four events on average. Each undecided event gets 16 more bits, until all 64 bits are drawn. This takes
    about five words for 64 events.
    """
    if not (0 <= first <= WHOLE and 0 <= second <= WHOLE):
        raise ValueError("first and second must be between 0 and 2^64")
    flat = np.ascontiguousarray(which).reshape(-1)
    undecided = np.array(np.broadcast_to(among, which.shape), order="C").reshape(-1)
    happened = np.zeros(flat.size, dtype=np.uint64)
    for start in range(0, flat.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        _settle_events(read_only(flat[chunk]), first, second, rng, undecided[chunk], happened[chunk])
    return happened.reshape(which.shape)


def _settle_events(
    which: Words, first: int, second: int, rng: np.random.Generator, undecided: Words, happened: Words
) -> None:
    """Draw all undecided events and set the bits of those that happen. Overwrites `undecided`."""
    for threshold, mine in ((first, which), (second, ~which)):
        if threshold == WHOLE:
            happened |= mine & undecided
        if threshold in (0, WHOLE):
            undecided &= ~mine
    kernels = compiled(0)  # Simulation alone rarely pays for loading the kernels, so they are used only if loaded.
    head, pieces = (_event_heads, _event_pieces) if kernels is None else (kernels.event_heads, kernels.event_pieces)
    both = (first % WHOLE, second % WHOLE)
    bits = 64 - _HEAD
    words = read_only(random_words(rng, _HEAD * which.size))
    one, other = (np.uint64(t >> bits) for t in both)
    left = head(words, which, one, other, undecided, happened)
    # Once the remaining bits of both thresholds are 0, no further number can be below its threshold.
    while left and bits > 0 and any(t % (1 << bits) for t in both):
        bits -= _PIECE
        one, other = (np.uint64((t << _PIECE >> bits + _PIECE) % (1 << _PIECE)) for t in both)
        left = pieces(read_only(random_words(rng, -(-left * _PIECE // 64))), which, one, other, undecided, happened)


def _event_heads(
    words: Words, which: Words, ones: np.uint64, others: np.uint64, undecided: Words, happened: Words
) -> int:
    """`event_heads` with NumPy alone: compare the highest bits; returns the number of events still undecided."""
    for i, drawn in enumerate(words.reshape(-1, _HEAD).T):
        own, rest = (-(int(t) >> (_HEAD - 1 - i) & 1) % WHOLE for t in (ones, others))
        threshold = (which & np.uint64(own)) | (~which & np.uint64(rest))
        happened |= undecided & ~drawn & threshold
        undecided &= ~(drawn ^ threshold)
    return int(np.bitwise_count(undecided).sum(dtype=np.int64))


def _event_pieces(
    words: Words, which: Words, ones: np.uint64, others: np.uint64, undecided: Words, happened: Words
) -> int:
    """`event_pieces` with NumPy alone: compare the next 16 bits; returns the number of events still undecided."""
    place, lane = np.nonzero(undecided[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1))
    bit = np.uint64(1) << lane.astype(np.uint64)
    drawn = (words[:, None] >> np.arange(0, 64, _PIECE, dtype=np.uint64)).reshape(-1)[: place.size]
    drawn = drawn & np.uint64((1 << _PIECE) - 1)
    threshold = np.where(which[place] & bit, ones, others)
    undecided[:] = 0
    for array, chosen in ((happened, drawn < threshold), (undecided, drawn == threshold)):
        np.bitwise_or.at(array, place[chosen], bit[chosen])
    return int(np.count_nonzero(drawn == threshold))


# --- sums of patterns -------------------------------------------------------------------------------------


class PositionCounts(Aggregator):
    """Counts of the reports that had each position set. Subclasses with a clear part override `_tally`."""

    _sums: ClassVar[tuple[str, ...]] = ("counts",)

    def __init__(self, scope: Scope, width: int, shape: tuple[int, ...]) -> None:
        super().__init__(scope)
        self._width, self._bytes, self._limits = width, (width + 7) // 8, (0, (1 << width) - 1)
        self.counts = np.zeros(shape, dtype=np.int64)

    def _from_shares(
        self, n: int, beta: float, there: float, elsewhere: float, spread: Callable[..., Spread]
    ) -> Estimate:
        """The estimate from the share of reports that have a position."""
        spreads = SymmetricSpreads(self.counts.size, partial(spread, there=there, elsewhere=elsewhere))
        return Estimate.of_counts(self.counts, n, beta, there, elsewhere, spreads)

    def _tally(self, bits: NDArray[np.uint8]) -> None:
        """Add reports, given as bits, to the counts."""
        for start in range(0, bits.shape[0], _BYTE):
            self.counts += bits[start : start + _BYTE].sum(axis=0, dtype=np.uint8)

    def _outside(self) -> ValueError:
        return ValueError(f"a report must have {self._width} bits and no more")

    def _add(self, reports: Reports) -> None:
        for start in range(0, reports.shape[0], _ROWS):
            self._tally(unpacked(reports[start : start + _ROWS], self._width))
        self.n += reports.shape[0]


def bits_of(number: int, width: int) -> NDArray[np.uint8]:
    """The bits of an integer, the lowest first."""
    data = np.frombuffer(number.to_bytes((width + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(data, count=width, bitorder="little")


def unpacked(reports: Reports, width: int) -> NDArray[np.uint8]:
    """The reports as bits, position 0 first."""
    return np.unpackbits(reports.astype(np.uint8, copy=False), axis=-1, count=width, bitorder="little")


def _as_words(bits: NDArray[np.bool_]) -> Words:
    """Rows of bits as rows of words, the lowest bit first, filled up with 0."""
    return row_words(np.packbits(bits, axis=-1, bitorder="little"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitwise(Mechanism):
    """For yes/no questions: a client keeps a noisy copy of its bit for ever and adds new noise to every report.

    The kept bit is flipped once, with probability 1/(e^eps_state + 1). Each report flips the kept bit again, with
    probability 1/(e^eps_report + 1). The kept bit protects the value for ever, but it also links the reports.
    """

    eps_state: float
    eps_report: float
    state_flip: Chance = field(init=False, repr=False)
    report_flip: Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("eps_state", "eps_report"):
            checks.settle(self, **{name: checks.epsilon(name, getattr(self, name))})
        checks.settle(self, state_flip=flip_chance(self.eps_state), report_flip=flip_chance(self.eps_report))

    report_bits = 1
    published = "[NV], Bitwise Everlasting Privacy"
    persists = "the kept bit, seen through the noise of every report"
    capacity = 2

    def independent_errors(self, values: int) -> int:
        """One error, because the errors of 0 and of 1 are the same."""
        return 1

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        lie = self._lie
        return Accuracy.of_shares(people, beta, there=1 - lie, elsewhere=lie)

    def truthfulness(self) -> Truthfulness:
        """A report is the bit itself unless one of the two flips happens."""
        return Truthfulness("answer", 1 - self._lie, 0.5)

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The log probability of the reports, all of which come from one kept bit."""
        kept = self._kept if value else self._kept.mirrored()
        return bit_log_likelihood(kept, self._noise, reports.sum(axis=1, dtype=np.int64), reports.shape[1])

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        kept = self._kept if value else self._kept.mirrored()
        table = tracking_losses(kept, self._noise, first.shape[1], second.shape[1])
        ones = first.sum(axis=1, dtype=np.int64), second.sum(axis=1, dtype=np.int64)
        return np.asarray(table[ones[0][:, None], ones[1][None, :]])

    @property
    def _lie(self) -> float:
        """The probability that a report differs from the person's bit."""
        state, report = self.state_flip.probability, self.report_flip.probability
        return state + report - 2 * state * report

    def aggregator(self, round: int = 1) -> BitAggregator:
        return BitAggregator(self._one_round(round), truth=1 - self._lie, lie=self._lie)

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """Fixed value: the observer sees the kept bit, or `reports` reports of it (exact).

        Any sequence of values: a client keeps one state per value. No two mixtures of reports are further apart
        than two reports of different states, so `reports` randomised responses dominate (upper).
        """
        if values == "any":
            if reports is None:
                return everything_revealed("upper")
            return Experiment([(response_factor(flip_eps(self.report_flip)), reports)], certainty="upper")
        kept = self._kept
        if reports is None:
            eps = flip_eps(self.state_flip)
            return Experiment([Factor([kept.one, kept.zero], [kept.zero, kept.one], [eps, -eps])])
        return Experiment([privacy_factor(kept, kept.mirrored(), self._noise, reports)])

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """The kept bit links the reports of one person (exact). The two values are mirror images."""
        return [
            Experiment([tracking_factor(self._kept, self._noise, observed.reports, j)])
            for j in observed.tracking_splits(1)
        ]

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """The advantage for the worst split, exact but for rounding up to 10^6 reports; beyond that its limit."""
        kept, flip = self.state_flip.probability, self.report_flip
        limit = 2 * kept * (1 - kept) * (1 + _ROUNDED)
        if reports is None or reports > _COUNTED:
            return limit
        gap = 1 - Fraction(2 * flip.threshold, 1 << 64)
        apart = flipped_distances(reports, flip.probability, float(gap))
        return limit * float((apart * apart[::-1]).max())

    def worst_tracking(self, reports: int, *, gammas: Literal["one", "many"] = "one") -> Pair:
        """All splits are searched if there are few reports. Else the advantage bounds delta at every gamma."""
        if reports <= _SEARCHED[gammas]:
            return self.tracking(reports=reports)
        advantage = self.tracking_advantage_upper(reports)
        p, q = [advantage, 1 - advantage, 0.0], [0.0, 1 - advantage, advantage]
        return Experiment([Factor(p, q, [math.inf, 0.0, -math.inf])], certainty="upper")

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """A fresh client keeps a new bit of the other value; the same client applies its flip to it (exact)."""
        kept = self._kept
        if after == "same":
            factors = [
                remembered_flip_factor(kept, self._noise, observed.reports, j) for j in observed.detection_splits(1)
            ]
        else:
            other = kept.mirrored()
            factors = [
                detection_factor(kept, other, self._noise, observed.reports, j)
                for j in observed.detection_splits(1)
            ]
        return [Experiment([factor]) for factor in factors]

    @property
    def _kept(self) -> Coin:
        """The law of the kept bit of a person who holds a 1."""
        return coin(self.state_flip).mirrored()

    @property
    def _noise(self) -> Noise:
        return noise(self.report_flip.opposite(), self.report_flip)

    def new_state(self, value: int, source: Entropy) -> int:
        return checks.private_integer("value", value, below=2) ^ self.state_flip.happens(source)

    def make_report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        return state ^ self.report_flip.happens(source), state

    def pack_state(self, state: int) -> bytes:
        return pack_integers([state], [1])

    def unpack_state(self, payload: bytes) -> int:
        return unpack_integers(payload, [1])[0]

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        states = values.astype(np.uint64, copy=False) ^ self.state_flip.simulate(rng, values.shape)
        flips = self.report_flip.simulate(rng, (states.size, len(rounds)))
        return (states[:, None] ^ flips).astype(np.uint64, copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Permanent):
    """A client keeps a noisy vector with one position for each value, and adds noise to every report.

    The kept vector has a 1 at the value's position with probability `keep`, and a 1 at any other with probability
    `add`. A kept 1 is reported as 1 with probability `q`, a kept 0 with probability `p`. The kept vector stays the
    same, so it links the reports.
    """

    values: int
    keep: float
    add: float
    q: float
    p: float
    lost_chance: Chance = field(init=False, repr=False)
    added_chance: Chance = field(init=False, repr=False)
    one_chance: Chance = field(init=False, repr=False)
    zero_chance: Chance = field(init=False, repr=False)

    published = "Arcolezi, Couchot, Al Bouna, Xiao (2022); L-SUE: Erlingsson, Pihur, Korolova (CCS 2014)"
    persists = "the kept vector, one position for each value, seen through the noise of every report"

    def __post_init__(self) -> None:
        checks.settle(self, values=checks.integer("values", self.values, low=2, high=LARGEST))
        for name in ("keep", "add", "q", "p"):
            checks.settle(self, **{name: checks.probability(name, getattr(self, name))})
        for more, less in (("keep", "add"), ("q", "p")):
            if getattr(self, more) <= getattr(self, less):
                raise ValueError(
                    f"{more} must be above {less}, got {getattr(self, more)} and {getattr(self, less)}"
                )
        checks.settle(
            self,
            lost_chance=chance_toward(1 - self.keep, 1.0),
            added_chance=chance_toward(self.add, 1.0),
            one_chance=chance_toward(self.q, self.p),
            zero_chance=chance_toward(self.p, self.q),
        )
        ordered("keep", "add", self.lost_chance.opposite(), self.added_chance, above=True)
        ordered("q", "p", self.one_chance, self.zero_chance, above=True)

    @classmethod
    def for_budget(cls, name: Preset, *, values: int, eps: float, eps_report: float) -> Self:
        """A published encoding that is `eps`-private for ever and `eps_report`-private for a single report.

        The first step is symmetric (keep = e^(ε/2)/(e^(ε/2)+1), add = 1 - keep) or optimised (keep = ½,
        add = 1/(e^ε+1)). The second step is one of the two, with the noise that gives `eps_report`.
        """
        from scipy.optimize import brentq

        checks.choice("name", name, _STEPS)
        eps, eps_report = checks.epsilon("eps", eps), checks.epsilon("eps_report", eps_report)
        if eps > LARGEST_EPS:
            raise ValueError(f"eps must be at most {LARGEST_EPS:g}, beyond which nothing is hidden, got {eps}")
        if eps_report >= eps:
            raise ValueError(f"eps_report must be below eps, {eps}, got {eps_report}")
        first, second = _STEPS[name]
        keep, add = _step(first, eps)
        # A second step with less noise makes one report less private. An optimised step always keeps some noise.
        most = _one_report(keep, add, *_step(second, 700.0))
        if eps_report >= most:
            raise ValueError(f"eps_report must be below {most:.6g}, all that {name} can tell, got {eps_report}")
        scale = brentq(lambda e: _one_report(keep, add, *_step(second, e)) - eps_report, 1e-12, 700.0, xtol=1e-13)
        # The factor makes up for the root's rounding, on the safe side.
        return cls.of_steps(name, values=values, eps=eps, eps_second=float(scale) * (1 - 1e-9))

    @classmethod
    def of_steps(cls, name: Preset, *, values: int, eps: float, eps_second: float) -> Self:
        """A published encoding, given the eps of its first step, which lasts for ever, and of its second alone."""
        checks.choice("name", name, _STEPS)
        eps, eps_second = checks.epsilon("eps", eps), checks.epsilon("eps_second", eps_second)
        first, second = _STEPS[name]
        keep, add = _step(first, eps)
        q, p = _step(second, eps_second)
        return cls(values=values, keep=keep, add=add, q=q, p=p)

    @property
    def capacity(self) -> int:
        return self.values

    @property
    def positions(self) -> int:
        return self.values

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """The error follows from the value's position alone."""
        there, elsewhere = self._shares()
        return Accuracy.of_shares(people, beta, there=there, elsewhere=elsewhere)

    def truthfulness(self) -> Truthfulness:
        """By the value's position, which is marked, and any other one, which is marked as well."""
        return Truthfulness("marks", *self._shares())

    def _shares(self) -> tuple[float, float]:
        """The probabilities of a reported 1 at the value's position and elsewhere."""
        chances = (self.lost_chance, self.added_chance, self.one_chance, self.zero_chance)
        lost, added, q, p = (chance.probability for chance in chances)
        return (1 - lost) * q + lost * p, added * q + (1 - added) * p

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """A bound on the advantage from several kept bits, of which the value sets one."""
        lost, added = self.lost_chance.probability, self.added_chance.probability
        kept = [(1 - lost, 1), (added, self.values - 1)]
        if reports is None:
            return min(1.0, sum(2 * a * (1 - a) * count for a, count in kept))
        return kept_bits_advantage_upper(kept, self.one_chance.probability, self.zero_chance.probability, reports)

    def aggregator(self, round: int = 1) -> "UnaryAggregator":
        return UnaryAggregator(self._one_round(round), self)

    def _ones(self) -> int:
        return 1

    def _moved(self) -> list[Moved]:
        return [(0, 1, 1)]

    @property
    def _flips(self) -> tuple[Chance, Chance]:
        return self.lost_chance, self.added_chance

    @property
    def _reported(self) -> tuple[Chance, Chance]:
        return self.one_chance, self.zero_chance

    def _pattern(self, value: int, clear: int) -> int:
        return 1 << checks.private_integer("value", value, below=self.values)

    def _patterns(self, values: NDArray[Any], clear: NDArray[np.uint8]) -> NDArray[np.bool_]:
        positions = integer_population(values, self.values, 1, may_change=False)
        is_set = np.zeros((positions.size, self.positions), dtype=np.bool_)
        is_set[np.arange(positions.size), positions] = True
        return is_set


class UnaryAggregator(PositionCounts):
    """Counts of the reports that had each value's position set."""

    def __init__(self, scope: Scope, mechanism: Unary) -> None:
        super().__init__(scope, mechanism.values, (mechanism.values,))
        self._mechanism = mechanism

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        return self._from_shares(n, beta, *self._mechanism._shares(), spread=independent_bits_spread)


def _step(kind: str, eps: float) -> tuple[float, float]:
    """The probabilities of a 1 at the value's position and elsewhere, for a unary encoding of one report."""
    if kind == "symmetric":
        return 1 / (1 + math.exp(-eps / 2)), 1 / (1 + math.exp(eps / 2))
    return 0.5, math.exp(-eps) / (1 + math.exp(-eps))


def _one_report(keep: float, add: float, q: float, p: float) -> float:
    """The privacy of a single report: ln of the odds ratio of a reported 1 there and elsewhere."""
    there, elsewhere = keep * q + (1 - keep) * p, add * q + (1 - add) * p
    return math.log(there / elsewhere) + math.log((1 - elsewhere) / (1 - there))
