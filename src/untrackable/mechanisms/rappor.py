"""RAPPOR (Erlingsson, Pihur, Korolova 2014): a client keeps a noisy Bloom filter and adds noise to every report.

It was the first deployment of local differential privacy. The kept filter is memoization, "permanent randomised
response"; the noise of a report is the instantaneous one.
"""

import hashlib
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.errors import NotEstimable, StateError
from untrackable.estimation.aggregators import Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import LinearSpreads, Spread
from untrackable.mechanisms.interface import ObservedRounds, Pair, worst
from untrackable.mechanisms.kept_bits import Moved, Permanent, PositionCounts, ordered, unpacked
from untrackable.randomizers.randomness import Chance, Entropy, below, chance_toward
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.experiment import Mixture
from untrackable.theory.factor import Factor, persistent_factor

Value = str | SupportsIndex
"""A string, or an integer, whose decimal digits are the string."""


_OTHERS = "the bits of values that are not listed count for those that are: list all values that people may hold"
_REMEMBERED = 1 << 21
"""A design with at most this many entries is cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rappor(Permanent):
    """A client hashes its value into a Bloom filter, keeps a noisy copy for ever, and adds noise to every report.

    Each bit of the filter is replaced once by a fair coin with probability f. A report's bit is 1 with probability
    q if the kept bit is 1, and p if it is 0. Values are hashed as in the published clients: hash i of a value is
    byte i of MD5(cohort as 4 bytes ‖ UTF-8) modulo `bloom_bits`. The kept filter stays the same in all reports. So
    does the cohort number, which is not hidden; with several cohorts, it is above the filter's bits.
    """

    bloom_bits: int
    hashes: int
    f: float
    p: float
    q: float
    cohorts: int = 1
    state_flip: Chance = field(init=False, repr=False)
    zero_chance: Chance = field(init=False, repr=False)
    one_chance: Chance = field(init=False, repr=False)

    published = "Erlingsson, Pihur, Korolova, RAPPOR (CCS 2014)"
    persists = (
        "the kept Bloom filter, seen through the noise of every report; with several cohorts, the cohort number"
    )
    capacity = None
    takes_strings = True
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # These are the parameters of the publication's section 5, for Windows process names of people who use
        # Chrome. The cohorts are those of its section 5.1.
        "chrome": {"bloom_bits": 128, "hashes": 2, "f": 0.5, "p": 0.5, "q": 0.75, "cohorts": 8},
        # The same without cohorts, as [NV] analyses it.
        "paper": {"bloom_bits": 128, "hashes": 2, "f": 0.5, "p": 0.5, "q": 0.75},
    }

    def __post_init__(self) -> None:
        checks.settle(
            self,
            bloom_bits=checks.integer("bloom_bits", self.bloom_bits, low=1, high=256),
            hashes=checks.integer("hashes", self.hashes, low=1, high=16),
            cohorts=checks.integer("cohorts", self.cohorts, low=1, high=1 << 16),
        )
        for name in ("f", "p", "q"):
            checks.settle(self, **{name: checks.probability(name, getattr(self, name))})
        if self.p == self.q:
            raise ValueError(f"p and q must differ, or reports reveal nothing; got {self.p} for both")
        checks.settle(
            self,
            state_flip=chance_toward(self.f / 2, 0.5),
            zero_chance=chance_toward(self.p, self.q),
            one_chance=chance_toward(self.q, self.p),
        )
        ordered("q", "p", self.one_chance, self.zero_chance, above=self.q > self.p)

    @property
    def positions(self) -> int:
        return self.bloom_bits

    @property
    def values_alike(self) -> bool:
        """False if hashes may collide: such values set fewer bits, and may be easier to track."""
        return self.hashes == 1

    @property
    def clear_bits(self) -> int:
        return (self.cohorts - 1).bit_length()

    def _clear(self, source: Entropy) -> int:
        return below(self.cohorts, source) if self.cohorts > 1 else 0

    def _simulate_clear(self, people: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        cohorts = (
            rng.integers(0, self.cohorts, size=people) if self.cohorts > 1 else np.zeros(people, dtype=np.int64)
        )
        return (cohorts[:, None] >> np.arange(self.clear_bits) & 1).astype(np.uint8)

    def _persistent(self) -> list[Factor]:
        return [persistent_factor(self.cohorts)] if self.cohorts > 1 else []

    def unpack_state(self, payload: bytes) -> int:
        state = Permanent.unpack_state(self, payload)
        if state >> self.positions >= self.cohorts:
            raise StateError("this state has a cohort that its mechanism does not have")
        return state

    def bloom(self, value: Value, cohort: int = 0) -> int:
        """The Bloom filter of a value as an integer. Bit i is position i."""
        filled = 0
        for position in self.hashed(value, cohort):
            filled |= 1 << position
        return filled

    def hashed(self, value: Value, cohort: int = 0) -> list[int]:
        """The position that each hash of a value sets. Two hashes may set the same one."""
        return bloom_positions(utf8_text(value), cohort, self.bloom_bits, self.hashes)

    @property
    def bit_rates(self) -> tuple[float, float]:
        """The probabilities that a bit is reported as 1 if the filter sets it, and if it does not."""
        flip, q, p = (chance.probability for chance in (self.state_flip, self.one_chance, self.zero_chance))
        return (1 - flip) * q + flip * p, flip * q + (1 - flip) * p

    def aggregator(self, round: int = 1) -> "RapporAggregator":
        return RapporAggregator(self._one_round(round), self)

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """The accuracy of the candidate with the largest error. By default the candidates are sixteen numbers.

        The standard error is exact if all candidates are equally frequent.
        """
        candidates = range(16) if candidates is None else candidates
        span, variance = _worst(self, tuple(utf8_text(value).decode() for value in candidates))
        accuracy = Accuracy.of(people, beta, span=span, variance=variance)
        return accuracy._replace(given=f"of {len(candidates)} candidates that are equally frequent, the worst")

    def tracking(
        self,
        *,
        rounds: Iterable[int] | None = None,
        first: Iterable[int] | None = None,
        reports: int | None = None,
        split: int | None = None,
        ones: int | Literal["worst"] | None = None,
    ) -> Pair:
        """The kept filter and the cohort link the reports of one person. Positions are independent (exact).

        `ones` is the number of bits that the value's Bloom filter sets: by default `hashes`, as in [NV]. When
        hashes collide it is smaller, and the person may be easier to track. "worst" is the worst of 1 … hashes.
        """
        observed, most = ObservedRounds.of(rounds, first, reports, split), self._ones()
        if ones == "worst":
            filled = list(range(1, most + 1))
        else:
            filled = [most if ones is None else checks.integer("ones", ones, low=0, high=most)]
        return worst(
            [
                self._tracking(observed.reports, j, n)
                for j in observed.tracking_splits(2 * len(filled))
                for n in filled
            ]
        )

    def tracking_of(self, value: Any, *, rounds: Iterable[int], first: Iterable[int]) -> Pair:
        """Tracking of people who hold this value, given its filter in each cohort."""
        observed = ObservedRounds.of(rounds, first, None, None)
        (split,) = observed.tracking_splits()
        ones = [self.bloom(value, cohort).bit_count() for cohort in range(self.cohorts)]
        shares = [(n, ones.count(n) / self.cohorts) for n in sorted(set(ones))]
        return Mixture([(share, share, self._tracking(observed.reports, split, n)) for n, share in shares])

    def worst_tracking(self, reports: int, *, gammas: Literal["one", "many"] = "one") -> Pair:
        """The worst split, also over filters that set fewer bits than there are hashes."""
        return self.tracking(reports=reports, ones="worst")

    def _ones(self) -> int:
        """One position for each hash, as in [NV]."""
        return min(self.hashes, self.bloom_bits)

    def _moved(self) -> list[Moved]:
        """Overlaps of filters that set 1 … `hashes` bits. Hashes may collide; two values may share a filter."""
        most = self._ones()
        return [
            (kept, lost, gained)
            for kept in range(most + 1)
            for lost in range(most - kept + 1)
            for gained in range(most - kept + 1)
            if min(kept + lost, kept + gained) > 0 and kept + lost + gained <= self.bloom_bits
        ]

    @property
    def _flips(self) -> tuple[Chance, Chance]:
        return self.state_flip, self.state_flip

    @property
    def _reported(self) -> tuple[Chance, Chance]:
        return self.one_chance, self.zero_chance

    def _pattern(self, value: Value, clear: int) -> int:
        return self.bloom(value, clear)

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(f"values must have one entry per client, got shape {array.shape}")
        if array.dtype.kind not in "iuU" and array.size:
            raise TypeError(f"values must be integers or strings, not {array.dtype}")
        return array


def bloom_positions(text: bytes, cohort: int, bloom_bits: int, hashes: int) -> list[int]:
    """The position that each hash sets: byte i of MD5(cohort as four bytes, then the text), modulo the bits.

    The published clients have the same.
    """
    digest = hashlib.md5(cohort.to_bytes(4, "big") + text, usedforsecurity=False).digest()
    return [byte % bloom_bits for byte in digest[:hashes]]


def utf8_text(value: Value) -> bytes:
    """The text of a value in UTF-8. The text of an integer is its decimal digits."""
    if isinstance(value, bool) or not isinstance(value, (str, SupportsIndex)):
        raise TypeError("value must be a string or an integer")
    try:
        return (value if isinstance(value, str) else str(operator.index(value))).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "value must be text that UTF-8 can encode; the one given is not (it is not shown)"
        ) from None


class RapporAggregator(PositionCounts):
    """Counts of the reports of each cohort that had each bit set."""

    _sums = ("counts", "cohorts")

    def __init__(self, scope: Scope, mechanism: Rappor) -> None:
        super().__init__(scope, mechanism.report_bits, (mechanism.cohorts, mechanism.bloom_bits))
        self._mechanism = mechanism
        self.cohorts = np.zeros(mechanism.cohorts, dtype=np.int64)

    def _tally(self, bits: NDArray[np.uint8]) -> None:
        m = self._mechanism
        cohort = bits[:, m.positions :] @ (1 << np.arange(m.clear_bits))
        self.cohorts += np.bincount(cohort, minlength=m.cohorts)
        for number in np.unique(cohort):
            self.counts[number] += bits[cohort == number, : m.positions].sum(axis=0, dtype=np.int64)

    def _checked(self, reports: Reports) -> Reports:
        rows = super()._checked(reports)
        m = self._mechanism
        if m.cohorts != 1 << m.clear_bits:
            cohort = unpacked(rows, self._width)[:, m.positions :] @ (1 << np.arange(m.clear_bits))
            if np.any(cohort >= m.cohorts):
                raise ValueError(f"a report must be of a cohort below {m.cohorts}")
        return rows

    takes_candidates = True
    why_candidates = "this mechanism's reports tell nothing without a list"

    def _estimate_listed(self, n: int, beta: float, candidates: Sequence[Value]) -> Estimate:
        """Frequencies of known candidates, by least squares on the noise-corrected bit counts of all cohorts.

        They are unbiased if everyone holds one of the candidates. Else the bits of other values are attributed to
        the candidates.
        """
        fit = _Fit(self._mechanism, candidates)
        excess = self.counts - fit.zero * self.cohorts[:, None]
        frequencies = fit.weights @ excess.reshape(-1) / n
        error = np.sqrt(fit.variances(np.clip(frequencies, 0, 1)) / n)
        return Estimate(
            frequencies,
            n,
            beta,
            error,
            span=fit.spans,
            values=list(candidates),
            complete=False,
            spread=LinearSpreads(fit.spread, only_if_complete=_OTHERS),
        )


class _Fit:
    """Least squares over all cohorts, as weights of the bits of a single report.

    A client of cohort c adds Σ_i w[c, i]·(bit_i - zero), whose mean over cohorts and noise is 1 for the value held
    and 0 for every other candidate. Clients are independent, so Hoeffding's inequality holds.
    """

    def __init__(self, mechanism: Rappor, candidates: Sequence[Value]) -> None:
        m = mechanism
        if m.state_flip.probability == 0.5:
            raise ValueError(
                "f must be below 1 to estimate anything: with f = 1 reports do not depend on the value"
            )
        self.one, self.zero = m.bit_rates
        shape = (m.bloom_bits, m.hashes, m.cohorts)
        small = len(candidates) * m.cohorts * m.bloom_bits <= _REMEMBERED
        design = (_design if small else _design.__wrapped__)(shape, tuple(map(utf8_text, candidates)))
        self.blooms = design.blooms
        self.weights = m.cohorts * design.inverse / (self.one - self.zero)
        self._by_cohort = self.weights.reshape(len(candidates), m.cohorts, m.bloom_bits)
        clear, filled = -self.zero * self._by_cohort, (1 - self.zero) * self._by_cohort
        most, least = np.maximum(clear, filled).sum(axis=2), np.minimum(clear, filled).sum(axis=2)
        self.spans = most.max(axis=1) - least.min(axis=1)

    def spread(self, weights: FloatArray) -> Spread:
        """The cohort is one part of what a client adds, and each of its bits is another.

        The noise is that of the worst cohort. The weights are of the first candidates; all others have weight 0.
        """
        w = np.tensordot(weights, self._by_cohort[: weights.size], axes=1)
        expected = (self.one - self.zero) * (self.blooms * w).sum(axis=2)
        rate = self.zero + (self.one - self.zero) * self.blooms
        variance = expected.var(axis=1) + (rate * (1 - rate) * w**2).sum(axis=2).max(axis=1)
        cohort = float(np.ptp(expected, axis=1).max())
        bits = float((w**2).sum(axis=1).max())
        return Spread(float(variance.max()), math.sqrt(cohort**2 + bits), max(cohort, float(np.abs(w).max())))

    def variances(self, held: FloatArray) -> FloatArray:
        """The variance of one client's contribution to each candidate, averaged over people's values."""
        w, blooms = self._by_cohort, self.blooms
        noise_one, noise_zero = self.one * (1 - self.one), self.zero * (1 - self.zero)
        # `sets` is the share of people for whom each bit of each cohort is set.
        sets = np.tensordot(held, blooms, axes=1)
        noise = noise_zero + (noise_one - noise_zero) * np.clip(sets, 0, 1)
        within = np.einsum("kcb,cb->k", w**2, noise) / w.shape[1]
        # Σ_v held_v·(Σ_b w·bloom_v)² is a quadratic form in w. Its matrix says how often two bits are set together.
        set_together = np.einsum("v,vcb,vca->cba", held, blooms, blooms, optimize=True)
        squares = np.einsum("kcb,cba,kca->k", w, set_together, w, optimize=True)
        between = squares * (self.one - self.zero) ** 2 / w.shape[1] - held
        return np.asarray(within + np.maximum(0.0, between))


class _Design(NamedTuple):
    """The part of least squares that does not depend on the noise."""

    blooms: FloatArray
    inverse: FloatArray


@lru_cache(maxsize=1)
def _design(shape: tuple[int, int, int], candidates: tuple[bytes, ...]) -> _Design:
    """The design for (bloom_bits, hashes, cohorts). It is cached, because a search for the noise needs it often."""
    bloom_bits, hashes, cohorts = shape
    positions = np.array([[bloom_positions(v, c, bloom_bits, hashes) for c in range(cohorts)] for v in candidates])
    blooms = np.zeros((len(candidates), cohorts, bloom_bits))
    np.put_along_axis(blooms, positions, 1.0, axis=2)
    return _Design(blooms, _left_inverse(blooms.reshape(len(candidates), -1).T))


@lru_cache(maxsize=64)
def _worst(mechanism: Rappor, candidates: tuple[str, ...]) -> tuple[float, float]:
    """Span and variance of one client's contribution, the largest of all candidates, all equally frequent."""
    fit = _Fit(mechanism, candidates)
    variances = fit.variances(np.full(len(candidates), 1 / len(candidates)))
    return float(fit.spans.max()), float(variances.max())


def _left_inverse(matrix: FloatArray) -> FloatArray:
    """The pseudo-inverse of a matrix with independent columns, from the triangle of its QR decomposition."""
    from scipy.linalg import qr, solve_triangular

    rows, columns = matrix.shape
    dependent = NotEstimable("these candidates cannot be estimated: their Bloom filters are linearly dependent")
    if columns > rows:
        raise dependent
    orthogonal, triangle = qr(matrix, mode="economic", check_finite=False)
    size = float(np.abs(np.diagonal(triangle)).max())
    if not np.all(np.abs(np.diagonal(triangle)) > size * rows * np.finfo(np.float64).eps):
        raise dependent
    inverse: FloatArray = solve_triangular(triangle, orthogonal.T, check_finite=False)
    # A column may be nearly a sum of others although no diagonal entry is small. The inverse is large then.
    if np.linalg.norm(inverse) * size * rows * np.finfo(np.float64).eps >= 1:
        raise dependent
    return inverse
