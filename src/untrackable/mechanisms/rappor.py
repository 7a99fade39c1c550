"""RAPPOR (Erlingsson, Pihur, Korolova 2014): a Bloom filter, noisy once for ever and again in each report."""

import hashlib
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.mechanisms.base import Pair, worst
from untrackable.mechanisms.chances import Chance, chance_toward
from untrackable.mechanisms.estimates import Estimate, Source
from untrackable.mechanisms.observed import Observed, round_number
from untrackable.mechanisms.permanent import Moved, Permanent, PlaceCounts, bits_of, ordered
from untrackable.theory.accuracy import mean_radius

Value = str | SupportsIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Rappor(Permanent):
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
        ordered("q", "p", self.one_chance, self.zero_chance, above=self.q > self.p)

    @property
    def places(self) -> int:
        """One place per bit of the Bloom filter."""
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
        seen, most = Observed.of(rounds, first, reports, split), self._ones()
        if ones == "worst":
            filled = list(range(1, most + 1))
        else:
            filled = [most if ones is None else checks.integer("ones", ones, low=0, high=most)]
        return worst([self._tracking(seen.reports, j, n) for j in seen.tracking_splits() for n in filled])

    def _ones(self) -> int:
        """As many as there are hashes, as [NV] has it."""
        return min(self.hashes, self.bloom_bits)

    def _moved(self) -> list[Moved]:
        """Bloom filters of 1 … `hashes` bits: fewer when hashes collide."""
        most = self._ones()
        return [
            (kept, lost, gained)
            for kept in range(most + 1)
            for lost in range(most - kept + 1)
            for gained in range(most - kept + 1)
            if min(lost + gained, kept + lost, kept + gained) > 0 and kept + lost + gained <= self.bloom_bits
        ]

    @property
    def _flips(self) -> tuple[Chance, Chance]:
        return self.state_flip, self.state_flip

    @property
    def _told(self) -> tuple[Chance, Chance]:
        return self.one_chance, self.zero_chance

    def _pattern(self, value: Value) -> int:
        return self.bloom(value)

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(f"values must have one entry per client, got shape {array.shape}")
        if array.dtype.kind not in "iuU" and array.size:
            raise TypeError(f"values must be integers or strings, not {array.dtype}")
        return array


class RapporAggregator(PlaceCounts):
    """How many reports had each bit set."""

    def __init__(self, source: Source, mechanism: Rappor) -> None:
        super().__init__(source, mechanism.bloom_bits)
        self._mechanism = mechanism

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
        blooms = np.array([bits_of(m.bloom(v), m.bloom_bits) for v in candidates], dtype=np.float64)
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
