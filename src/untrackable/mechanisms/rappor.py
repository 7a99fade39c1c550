"""RAPPOR (Erlingsson, Pihur, Korolova 2014): a Bloom filter, noisy once for ever and again in each report."""

import hashlib
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.mechanisms.base import Mechanism, Pair, Values, worst
from untrackable.mechanisms.chances import Chance, chance_toward, coin, noise
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.estimates import Aggregator, Estimate, Reports, Source
from untrackable.mechanisms.fresh import everything_told
from untrackable.mechanisms.observed import Observed, round_number
from untrackable.mechanisms.states import pack_integers, unpack_integers
from untrackable.theory.accuracy import mean_radius
from untrackable.theory.coordinate import (
    Coin,
    Noise,
    detection_factor,
    privacy_factor,
    tracking_factor,
    tracking_losses,
)
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, response_factor

Value = str | SupportsIndex
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rappor(Mechanism):
    """A Bloom filter, each bit replaced once for ever by a coin with probability f, and reported through noise.

    A report's bit is 1 with probability q or p as the kept bit is 1 or 0. Hashes as the published clients do:
    hash i of a value is byte i of MD5(cohort 0 ‖ UTF-8) modulo `bloom_bits`.
    """

    bloom_bits: int
    hashes: int
    f: float
    p: float
    q: float
    state_flip: Chance = field(init=False, repr=False)
    zero_chance: Chance = field(init=False, repr=False)
    one_chance: Chance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checks.settle(
            self,
            bloom_bits=checks.integer("bloom_bits", self.bloom_bits, low=1, high=256),
            hashes=checks.integer("hashes", self.hashes, low=1, high=16),
        )
        for name in ("f", "p", "q"):
            checks.settle(self, **{name: checks.probability(name, getattr(self, name))})
        if self.p == self.q:
            raise ValueError(f"p and q must differ, or reports say nothing; got {self.p} for both")
        checks.settle(
            self,
            state_flip=chance_toward(self.f / 2, 0.5),
            zero_chance=chance_toward(self.p, self.q),
            one_chance=chance_toward(self.q, self.p),
        )

    @property
    def report_bits(self) -> int:
        """One bit per place of the Bloom filter."""
        return self.bloom_bits

    def bloom(self, value: Value) -> int:
        """The Bloom filter of a value as an integer, bit i being place i."""
        digest = hashlib.md5(bytes(4) + _utf8(value), usedforsecurity=False).digest()
        filled = 0
        for i in range(self.hashes):
            filled |= 1 << digest[i] % self.bloom_bits
        return filled

    def aggregator(self, round: int = 1) -> "RapporAggregator":
        """Empty sums for one round; a client's rounds share its state, so they do not merge."""
        return RapporAggregator(Source(self, round_number(round), pools=False), self)

    def privacy(self, *, reports: int | None = None, values: Values = "fixed") -> Pair:
        """Fixed value: the two values that are easiest to tell apart; the state, or k reports (exact).

        Those share no bit of their Bloom filters and set as many as they can: `hashes` each, if there is room.

        Any sequence of values, a client keeping one state per value: `reports` reports, each bit of each no
        further apart than between two different states (upper).
        """
        checks.choice("values", values, ("fixed", "any"))
        count = None if reports is None else checks.integer("reports", reports, low=1)
        if values == "any":
            if count is None:
                return everything_told("upper")
            return Experiment([(response_factor(self._bit_eps()), self.bloom_bits * count)], certainty="upper")
        kept = self._kept
        if count is None:
            factor = Factor([kept.one, kept.zero], [kept.zero, kept.one])
        else:
            factor = privacy_factor(kept, kept.mirrored(), self._noise, count)
        moved = {(lost, gained) for _, lost, gained in self._filter_pairs()}
        widest = [(a, b) for a, b in moved if not {(a + 1, b), (a, b + 1)} & moved]
        return worst(
            [Experiment([(factor, a), (factor.reversed(), b)]) for a, b in sorted(widest)] or [Experiment()]
        )

    def tracking(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
        ones: int | Literal["worst"] | None = None,
    ) -> Pair:
        """Independent coordinates, exact.

        `ones` is how many bits the value's Bloom filter has set: `hashes` by default, as [NV] has it; fewer when
        hashes collide, which may be more trackable; "worst" for the worst of 1 … hashes.
        """
        seen, most = Observed.of(rounds, first, reports, split), self._most
        if ones == "worst":
            filled = list(range(1, most + 1))
        else:
            filled = [most if ones is None else checks.integer("ones", ones, low=0, high=most)]
        return worst([self._tracking(seen.reports, j, n) for j in seen.tracking_splits() for n in filled])

    def _trackings(self, seen: Observed) -> list[Experiment | Mixture]:
        return [self._tracking(seen.reports, j, self._most) for j in seen.tracking_splits()]

    def _tracking(self, reports: int, split: int, ones: int) -> Experiment:
        set_bit = tracking_factor(self._kept, self._noise, reports, split)
        clear_bit = tracking_factor(self._kept.mirrored(), self._noise, reports, split)
        return Experiment([(set_bit, ones), (clear_bit, self.bloom_bits - ones)])

    def _detections(self, seen: Observed) -> list[Experiment | Mixture]:
        """The worst over every pair of Bloom filters of 1 … `hashes` bits, shared or not; exact for each."""
        pairs = self._filter_pairs()
        return [e for j in seen.detection_splits() for e in self._detection(seen.reports, j, pairs)] or [
            Experiment()
        ]

    def _filter_pairs(self) -> list[tuple[int, int, int]]:
        """Bits that two different filters share, that only the first has, and that only the second has."""
        most = self._most
        return [
            (kept, lost, gained)
            for kept in range(most + 1)
            for lost in range(most - kept + 1)
            for gained in range(most - kept + 1)
            if min(lost + gained, kept + lost, kept + gained) > 0 and kept + lost + gained <= self.bloom_bits
        ]

    def _detection(self, reports: int, split: int, pairs: list[tuple[int, int, int]]) -> list[Experiment]:
        one, zero = self._kept, self._kept.mirrored()
        stays = tracking_factor(one, self._noise, reports, split)
        goes = detection_factor(one, zero, self._noise, reports, split)
        comes = detection_factor(zero, one, self._noise, reports, split)
        never = tracking_factor(zero, self._noise, reports, split)
        return [
            Experiment([(stays, kept), (goes, lost), (comes, gained), (never, self.bloom_bits - sum(pair))])
            for pair in pairs
            for kept, lost, gained in [pair]
        ]

    @property
    def _most(self) -> int:
        """The most bits that a value can set."""
        return min(self.hashes, self.bloom_bits)

    def link_scores(self, first: Reports, second: Reports, value: Value) -> FloatArray:
        """ln(one user/two users) for every pair of a row of `first` and a row of `second`.

        Each row holds the reports of one pseudonym (rows × reports × bytes, as simulation yields them), all of
        people holding `value`.
        """
        left, right = (_unpacked(reports, self.bloom_bits).sum(axis=1) for reports in (first, second))
        splits = first.shape[1], second.shape[1]
        filled = _bits(self.bloom(value), self.bloom_bits).astype(bool)
        scores = np.zeros((left.shape[0], right.shape[0]))
        for places, kept in ((filled, self._kept), (~filled, self._kept.mirrored())):
            table = tracking_losses(kept, self._noise, *splits)
            for ones in range(splits[0] + 1):
                scores += (left[:, places] == ones).astype(np.float64) @ table[ones][right[:, places]].T
        return scores

    @property
    def _kept(self) -> Coin:
        """The kept bit of a place that the value's Bloom filter sets."""
        return coin(self.state_flip).mirrored()

    @property
    def _noise(self) -> Noise:
        return noise(self.one_chance, self.zero_chance)

    def _bit_eps(self) -> float:
        """Privacy of one reported bit in the kept bit."""
        return max(abs(self._noise.ones), abs(self._noise.zeros))

    def _new_state(self, value: Value, source: Entropy) -> int:
        kept = self.bloom(value)
        for place in range(self.bloom_bits):
            kept ^= self.state_flip.happens(source) << place
        return kept

    def _report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        report = 0
        for place in range(self.bloom_bits):
            chance = self.one_chance if state >> place & 1 else self.zero_chance
            report |= chance.happens(source) << place
        return report, state

    def _pack(self, state: int) -> bytes:
        return pack_integers([state], self.bloom_bits)

    def _unpack(self, payload: bytes) -> int:
        return unpack_integers(payload, self.bloom_bits, 1)[0]

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(f"values must have one entry per client, got shape {array.shape}")
        if array.dtype.kind not in "iuU" and array.size:
            raise TypeError(f"values must be integers or strings, not {array.dtype}")
        return array

    def _words(self) -> int:
        return self.bloom_bits

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        distinct, index = np.unique(values, return_inverse=True)
        blooms = np.array([_bits(self.bloom(v), self.bloom_bits) for v in distinct.tolist()], dtype=np.bool_)
        blooms = blooms.reshape(-1, self.bloom_bits)
        shape = (values.shape[0], self.bloom_bits)
        kept = (blooms[index] ^ self.state_flip.simulate(rng, shape))[:, None, :]
        wide = (values.shape[0], len(rounds), self.bloom_bits)
        # One word decides both: the larger of the two thresholds is met whenever the smaller one is.
        words = rng.integers(0, (1 << 64) - 1, size=wide, dtype=np.uint64, endpoint=True)
        reports = np.where(kept, _under(words, self.one_chance), _under(words, self.zero_chance))
        return np.packbits(reports, axis=-1, bitorder="little")


class RapporAggregator(Aggregator):
    """How many reports had each bit set."""

    _axes = 2

    def __init__(self, source: Source, mechanism: Rappor) -> None:
        super().__init__(source)
        self._mechanism = mechanism
        self.counts = np.zeros(mechanism.bloom_bits, dtype=np.int64)

    def estimate(self, candidates: Sequence[Value], beta: float = 0.05) -> Estimate:
        """Frequencies of known candidates, by least squares on the noise-corrected bit counts.

        Unbiased if everyone holds one of the candidates; the bits of other values are attributed to them otherwise.
        """
        n = self._counted()
        if isinstance(candidates, str) or not len(candidates):
            raise ValueError("candidates must be a sequence of values, at least one")
        beta = checks.open_probability("beta", beta)
        m = self._mechanism
        flip, q, p = (chance.probability for chance in (m.state_flip, m.one_chance, m.zero_chance))
        if flip == 0.5:
            raise ValueError(
                "f must be below 1 to estimate anything: with f = 1 reports do not depend on the value"
            )
        one = (1 - flip) * q + flip * p
        zero = flip * q + (1 - flip) * p
        blooms = np.array([_bits(m.bloom(v), m.bloom_bits) for v in candidates], dtype=np.float64)
        if np.linalg.matrix_rank(blooms) < len(candidates):
            raise ValueError("candidates cannot be told apart: their Bloom filters are linearly dependent")
        weights = np.linalg.pinv(blooms.T) / (one - zero)
        shares = self.counts / n
        held = np.clip((shares - zero) / (one - zero), 0, 1)
        variance = held * one * (1 - one) + (1 - held) * zero * (1 - zero)
        spans = np.abs(weights).sum(axis=1)
        radius = np.array([mean_radius(n, beta, span=span) for span in spans])
        together = np.array([mean_radius(n, beta, span=span, statistics=len(candidates)) for span in spans])
        error = np.sqrt(weights**2 @ variance / n)
        return Estimate(weights @ (shares - zero), n, beta, radius, together, error)

    def _array(self, reports: list[int]) -> Reports:
        size, width = self._size(), self._mechanism.bloom_bits
        if any(not 0 <= report < 1 << width for report in reports):
            raise ValueError(f"a report must have {width} bits and no more")
        data = b"".join(report.to_bytes(size, "little") for report in reports)
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, size)

    def _checked(self, reports: Reports) -> Reports:
        size, width = self._size(), self._mechanism.bloom_bits
        if reports.dtype != np.uint8 or reports.shape[-1:] != (size,):
            raise ValueError(f"reports must be arrays of {size} bytes each, got {reports.dtype} {reports.shape}")
        rows = reports.reshape(-1, size)
        if width % 8 and np.any(rows[:, -1] >> (width % 8)):
            raise ValueError(f"a report must have {width} bits and no more")
        return rows

    def _size(self) -> int:
        return (self._mechanism.bloom_bits + 7) // 8

    def _add(self, reports: Reports) -> None:
        for start in range(0, reports.shape[0], 1 << 16):
            bits = _unpacked(reports[start : start + (1 << 16)], self._mechanism.bloom_bits)
            self.counts += bits.sum(axis=0, dtype=np.int64)
        self.n += reports.shape[0]

    def _merge(self, other: Self) -> None:
        self.counts += other.counts


def _utf8(value: Value) -> bytes:
    """The text of a value; an integer's is its decimal digits."""
    if isinstance(value, bool) or not isinstance(value, (str, SupportsIndex)):
        raise TypeError("value must be a string or an integer")
    try:
        return (value if isinstance(value, str) else str(operator.index(value))).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "value must be text that UTF-8 can encode; the one given is not (it is not shown)"
        ) from None


def _bits(number: int, width: int) -> NDArray[np.uint8]:
    return np.array([number >> i & 1 for i in range(width)], dtype=np.uint8)


def _unpacked(reports: Reports, width: int) -> NDArray[np.uint8]:
    return np.unpackbits(reports.astype(np.uint8, copy=False), axis=-1, count=width, bitorder="little")


def _under(words: NDArray[np.uint64], chance: Chance) -> NDArray[np.bool_] | np.bool_:
    return np.True_ if chance.threshold >> 64 else words < np.uint64(chance.threshold)
