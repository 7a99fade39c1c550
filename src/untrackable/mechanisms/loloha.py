"""LOLOHA, longitudinal local hashing: a client hashes its value, keeps a noisy hash, and adds noise to reports.

Arcolezi, Pinzón, Palamidessi, Gambs, "Frequency Estimation of Evolving Data Under Local Differential Privacy" (EDBT
2023): a client draws one hash function, keeps a noisy symbol for each symbol that a value may be hashed to, and
sends the hash function with every report.

A report counts for value v with probability a if its sender holds v. If the sender holds another value u, it counts
with b + (a-b)·c(u, v), where b = (1-a)/(g-1) and c(u, v) is the share of seeds that hash u and v to one symbol. For
hash values that are uniform and independent, c is 1/g on average, and the usual estimate takes it to be 1/g. Over
few seeds it is not: the estimate of v is off by (c(u, v) - 1/g)·g/(g-1) for each share of people who hold u.

Where seeds are few enough to try every one, all c are known. The expected shares are M·f, with M = b + (a-b)·c and
c(v, v) = 1. So M⁻¹ times the shares is unbiased, if the seeds tell all values apart.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray, Words
from untrackable.errors import StateError
from untrackable.estimation.aggregators import Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import (
    LinearSpreads,
    Spread,
    Spreads,
    SymmetricSpreads,
    WeightCounts,
    independent_bits_spread,
)
from untrackable.mechanisms.interface import After, ObservedRounds
from untrackable.mechanisms.kept_symbol import KeptSymbol, ShareAggregator, Step, constant_rows, steps_for
from untrackable.mechanisms.local_interface import first_equal
from untrackable.mechanisms.randomness import mixed_words, simulate_noisy_symbols
from untrackable.randomizers.interface import pack_integers, unpack_integers
from untrackable.randomizers.randomness import STEP, Chance, Entropy, below, noisy_symbol
from untrackable.theory.accuracy import Accuracy, mean_radius
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor, persistent_factor
from untrackable.theory.symbols import symbol_log_likelihood

Hashes = Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.uint64]]

_MOST_WORK = 1 << 29
"""The largest product of seeds, symbols and squared values for which every seed is tried."""
_MOST_CELLS = 1 << 23
_WIDEST = 3.0
"""A correction that makes a report's influence more than this times larger is not worth it."""
Preset = Literal["BiLOLOHA", "OLOLOHA"]
State = tuple[int, int, tuple[int, ...]]
"""The seed, the symbol that the value is hashed to, and the kept symbol for each symbol."""

LARGEST, LARGEST_SYMBOLS, WIDEST_SEED = 4096, 4096, 48
_CELLS = 1 << 18
"""The number of hashes that are computed at a time."""


@dataclass(frozen=True)
class SeedCollisions:
    """The exact correction for a set of seeds, or how far the uncorrected estimate may be off.

    `weights` is M⁻¹, None if the seeds cannot tell the values apart well. `span` is by how much one report moves
    each estimate, `second` the mean square of what a report of each value (column) adds to each estimate (row), and
    `bias` the largest error of an uncorrected estimate that collisions can cause (exact).
    """

    weights: FloatArray | None
    span: FloatArray
    second: FloatArray
    bias: float

    @property
    def others(self) -> FloatArray:
        """The variance of what a report adds to the estimate of a value that its sender does not hold."""
        return np.asarray(self.second[~np.eye(len(self.second), dtype=bool)])


def best_symbols(eps: float, eps_report: float, step: Step = "published") -> int:
    """The number of symbols g with the least variance, which OLOLOHA uses.

    With a = e^ε and b = e^ε₁ it is 1 + max(1, ⌊(1 - a² + √(a⁴ - 14a² + 12ab(1-ab) + 12a³b + 1))/(6(a-b))⌉) for the
    published second step. With the exact step, a report as a whole is ε₁-randomised response. Then it is ⌊b + 1⌉,
    as in optimal local hashing.
    """
    eps, eps_report = checks.epsilon("eps", eps), checks.epsilon("eps_report", eps_report)
    checks.choice("step", step, ("published", "exact"))
    if eps_report >= eps:
        raise ValueError(f"eps_report must be below eps, {eps}, got {eps_report}")
    if step == "exact":
        return max(2, round(min(math.exp(min(eps_report, 40.0)), 1e15) + 1))
    # Terms below the root are divided by a⁴ and those outside by a², so that nothing overflows. The root is
    # √(1 + excess), and `root` is the root less 1, written so that it does not cancel.
    c, r = math.exp(-eps), math.exp(eps_report - eps)
    excess = -14 * c**2 + 12 * r * c**2 - 12 * r**2 + 12 * r + c**4
    root = excess / (1 + math.sqrt(1 + excess))
    return 1 + max(1, round(min((root + c**2) / (6 * (1 - r)) * math.exp(min(eps, 700.0)), 1e15)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Loloha(KeptSymbol):
    """A client hashes its value to one of `symbols`, keeps a noisy symbol for each of them, and adds noise again.

    A symbol is kept as it is with probability `keep`, and the kept symbol is reported with probability `tell`. The
    hash of value v under seed z is mix(mix((z+1)·G) ⊕ (v+1)·G) modulo `symbols`, all modulo 2^64; mix is the
    finaliser of SplitMix64 and G its increment. A report is the seed, and below it the symbol. The seed stays the
    same in all reports and is not hidden. The kept symbols stay the same too.
    """

    values: int
    symbols: int
    keep: float
    tell: float
    seed_bits: int = 32
    keep_lie: Chance = field(init=False, repr=False)
    tell_lie: Chance = field(init=False, repr=False)

    published = "Arcolezi, Pinzón, Palamidessi, Gambs, LOLOHA (EDBT 2023)"
    persists = (
        "the seed of the hash function, in the clear; the kept symbols, seen through the noise of every report"
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # The publication's experiments on its synthetic data: 360 values, eps up to 5, eps_report = 0.4·eps.
        name: dict(
            zip(("values", "symbols", "keep", "tell"), (360, g, *steps_for(g, 5.0, 2.0, "published")), strict=True)
        )
        for name, g in (("BiLOLOHA", 2), ("OLOLOHA", best_symbols(5.0, 2.0)))
    }
    _apart = "upper"

    def __post_init__(self) -> None:
        checks.settle(
            self,
            values=checks.integer("values", self.values, low=2, high=LARGEST),
            symbols=checks.integer("symbols", self.symbols, low=2, high=LARGEST_SYMBOLS),
            seed_bits=checks.integer("seed_bits", self.seed_bits, low=1, high=WIDEST_SEED),
        )
        self._settle_steps("symbols")

    @classmethod
    def for_budget(
        cls,
        name: Preset,
        *,
        values: int,
        eps: float,
        eps_report: float,
        step: Step = "published",
        seed_bits: int = 32,
    ) -> Self:
        """BiLOLOHA, with two symbols, or OLOLOHA, with the best number: `eps`-private while the value is the same.

        A single report is at least `eps_report`-private. With the published second step and more than two symbols,
        it is more private than that.
        """
        checks.choice("name", name, ("BiLOLOHA", "OLOLOHA"))
        symbols = 2 if name == "BiLOLOHA" else best_symbols(eps, eps_report, step)
        if symbols > LARGEST_SYMBOLS:
            raise ValueError(
                f"eps_report must be smaller: at most {LARGEST_SYMBOLS} symbols are possible, and {symbols:,} are "
                f"best for {eps_report}"
            )
        keep, tell = steps_for(symbols, eps, eps_report, step)
        return cls(values=values, symbols=symbols, keep=keep, tell=tell, seed_bits=seed_bits)

    @property
    def symbol_bits(self) -> int:
        """Width of a symbol."""
        return (self.symbols - 1).bit_length()

    @property
    def report_bits(self) -> int:
        return self.seed_bits + self.symbol_bits

    @property
    def capacity(self) -> int:
        return self.values

    def hashed(self, seed: int, value: int) -> int:
        """The symbol that a seed hashes a value to."""
        (symbol,) = self._hashes(np.array([seed], dtype=np.uint64), np.array([value], dtype=np.uint64)).tolist()
        return int(symbol)

    def _hashes(self, seeds: Words, values: Words) -> Words:
        """`hashed` for arrays, which are broadcast."""
        return mixed_words(_keys(seeds) ^ (values + np.uint64(1)) * np.uint64(STEP)) % np.uint64(self.symbols)

    def _alphabet(self) -> int:
        return self.symbols

    _symbols_are = "question"

    def _shares(self) -> tuple[float, float]:
        return self._kept.then(self._reported), 1 / self.symbols

    def _tried(self) -> SeedCollisions | None:
        """The effect of all seeds on an estimate, if they are few enough to try every one."""
        return _tried_seeds(self) if seeds_can_be_tried(self.values, self.symbols, self.seed_bits) else None

    def _collisions(self, beta: float, pairs: int) -> float:
        """By how much collisions may bias an estimate: exact for few seeds, else for uniform, independent hashes.

        A share c of the 2^b seeds, about 1/g, makes two values collide. That moves the frequency of one by
        (c - 1/g)·g/(g-1) of the other's. Hoeffding's inequality over the seeds bounds this for all pairs of values.
        """
        if (tried := self._tried()) is not None:
            return tried.bias
        return self.symbols / (self.symbols - 1) * mean_radius(1 << self.seed_bits, beta, statistics=pairs)

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """By the share of reports that count for a value, and how unevenly values may collide.

        Where every seed can be tried and they tell the values apart, collisions are corrected for exactly.
        """
        if (tried := self._tried()) is not None and tried.weights is not None:
            people, worst = checks.integer("people", people, low=1), float(tried.others.max())
            return Accuracy.of(people, beta, span=float(tried.span.max()), variance=worst)
        error = KeptSymbol._accuracy(self, people, beta / 2, round, candidates)
        return error._replace(beta=beta, radius=error.radius + self._collisions(beta / 2, self.values))

    def _tracked_states(self, values: int) -> int:
        """One state for each symbol that values are hashed to. All share the seed, and each state counts it."""
        return min(values, self.symbols)

    def _persistent(self) -> list[Factor]:
        return [persistent_factor(2.0**self.seed_bits)]

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """The worst over seeds, which the observer sees: the two values' symbols differ or are the same.

        A fresh client has another seed and other symbols. The same client keeps its seed. If the symbol is the
        same, nothing changes.
        """
        differ = self._other_value(observed, clear=after == "fresh")
        return differ if after == "same" else differ + self._same_value(observed, "upper")

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The log probability, from the count of each symbol. Seeds are equally likely; a client has only one."""
        seeds, symbols = self._parts(reports)
        total = self._likelihood(seeds[:, 0], symbols, value)
        return np.where(constant_rows(seeds), total - self.seed_bits * math.log(2), -np.inf)

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """The scores, from the count of each symbol on both sides. Different seeds mean two people."""
        (seeds, left), (others, right) = self._parts(first), self._parts(second)
        scores = np.full((first.shape[0], second.shape[0]), -np.inf)
        steady, calm = np.flatnonzero(constant_rows(seeds)), np.flatnonzero(constant_rows(others))
        order = calm[np.argsort(others[calm, 0], kind="stable")]
        ordered = others[order, 0]
        low, high = (np.searchsorted(ordered, seeds[steady, 0], side) for side in ("left", "right"))
        count = high - low
        rows = np.repeat(steady, count)
        columns = order[np.arange(rows.size) - np.repeat(np.cumsum(count) - count - low, count)]
        both = self._likelihood(seeds[rows, 0], np.concatenate((left[rows], right[columns]), axis=1), value)
        alone = [self._likelihood(tags[:, 0], side, value) for tags, side in ((seeds, left), (others, right))]
        scores[rows, columns] = both - alone[0][rows] - alone[1][columns] + self.seed_bits * math.log(2)
        return scores

    def _parts(self, reports: Reports) -> tuple[Words, Words]:
        """The seeds and the symbols of reports."""
        wide = reports.astype(np.uint64, copy=False)
        return wide >> np.uint64(self.symbol_bits), wide & np.uint64((1 << self.symbol_bits) - 1)

    def _likelihood(self, seeds: Words, symbols: Words, value: int) -> FloatArray:
        own = self._hashes(seeds, np.array([value], dtype=np.uint64))
        return symbol_log_likelihood(self._kept, self._reported, symbols, own)

    def aggregator(self, round: int = 1) -> "LolohaAggregator":
        return LolohaAggregator(self._one_round(round), self)

    def new_state(self, value: int, source: Entropy) -> State:
        value = checks.private_integer("value", value, below=self.values)
        seed = below(1 << self.seed_bits, source)
        # All symbols are drawn at once, so that the state does not reveal which have been used.
        kept = tuple(noisy_symbol(symbol, self.symbols, self.keep_lie, source) for symbol in range(self.symbols))
        return seed, self.hashed(seed, value), kept

    def make_report(self, state: State, round: int, source: Entropy) -> tuple[int, State]:
        """The seed, and the symbol kept for the value's symbol, with new noise."""
        seed, symbol, kept = state
        return seed << self.symbol_bits | noisy_symbol(kept[symbol], self.symbols, self.tell_lie, source), state

    def change_value(self, state: State, value: int, source: Entropy) -> State:
        """The state with the new value's symbol. The seed and the kept symbols stay."""
        seed, _, kept = state
        return seed, self.hashed(seed, checks.private_integer("value", value, below=self.values)), kept

    @property
    def _widths(self) -> list[int]:
        return [self.seed_bits, *[self.symbol_bits] * (self.symbols + 1)]

    def pack_state(self, state: State) -> bytes:
        seed, symbol, kept = state
        return pack_integers([seed, symbol, *kept], self._widths)

    def unpack_state(self, payload: bytes) -> State:
        seed, symbol, *kept = unpack_integers(payload, self._widths)
        if max(symbol, *kept) >= self.symbols:
            raise StateError("this state has a symbol that its mechanism does not have")
        return seed, symbol, tuple(kept)

    def _words(self) -> int:
        return 8

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        people, count = values.shape[0], len(rounds)
        seeds = rng.integers(0, 1 << self.seed_bits, size=(people, 1), dtype=np.uint64)
        held = values.astype(np.uint64, copy=False)
        symbols = self._hashes(seeds, held[:, None] if held.ndim == 1 else held)
        kept = simulate_noisy_symbols(symbols, self.symbols, self.keep_lie, rng)
        if held.ndim > 1:
            kept = np.take_along_axis(kept, first_equal(symbols), axis=1)
        reported = simulate_noisy_symbols(np.broadcast_to(kept, (people, count)), self.symbols, self.tell_lie, rng)
        return seeds << np.uint64(self.symbol_bits) | reported


class LolohaAggregator(ShareAggregator):
    """For each value, the number of reports whose seed hashes it to the report's symbol."""

    def __init__(self, scope: Scope, mechanism: Loloha) -> None:
        largest = (1 << mechanism.report_bits) - 1
        super().__init__(scope, mechanism.values, mechanism._shares(), largest, mechanism._collisions)
        self._mechanism = mechanism

    def _checked(self, reports: Reports) -> Reports:
        reports = super()._checked(reports)
        if np.any(self._mechanism._parts(reports)[1] >= self._mechanism.symbols):
            raise ValueError(f"a report must have a symbol below {self._mechanism.symbols}")
        return reports

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """Corrected for the collisions of all seeds, where these are few and tell the values apart."""
        tried = self._mechanism._tried()
        if tried is None or tried.weights is None:
            return super()._estimate_all(n, beta)
        frequencies: FloatArray = tried.weights @ (self.counts / n)
        held = np.clip(frequencies, 0, 1)
        variance = np.maximum(tried.second @ held - held, 0.0)
        return Estimate(
            frequencies,
            n,
            beta,
            np.sqrt(variance / n),
            span=np.full(frequencies.size, tried.span.max()),
            spread=self._spreads(n, beta),
        )

    def _spreads(self, n: int, beta: float) -> Spreads:
        m, (there, elsewhere) = self._mechanism, self._shares
        if (tried := m._tried()) is not None:
            table = SeedTable(m._hashes, m.values, m.symbols, m.seed_bits, there, tried.weights)
            return LinearSpreads(table.spread)
        bits = partial(independent_bits_spread, there=there, elsewhere=elsewhere)
        return SymmetricSpreads(m.values, shared_hashes(bits, n, m.seed_bits, beta / 2))

    def _tally(self, reports: Words) -> None:
        m = self._mechanism
        values = np.arange(m.values, dtype=np.uint64)[:, None]
        size = max(1, _CELLS // m.values)
        for start in range(0, reports.size, size):
            seeds, symbols = m._parts(reports[start : start + size])
            self.counts += np.count_nonzero(m._hashes(seeds[None, :], values) == symbols, axis=1)


@lru_cache(maxsize=16)
def _tried_seeds(mechanism: Loloha) -> SeedCollisions:
    there, _ = mechanism._shares()
    return seed_collisions(mechanism._hashes, mechanism.values, mechanism.symbols, mechanism.seed_bits, there)


def _keys(seeds: Words) -> Words:
    return mixed_words((seeds + np.uint64(1)) * np.uint64(STEP))


def seeds_can_be_tried(values: int, symbols: int, seed_bits: int) -> bool:
    """Whether there are few enough seeds to try every one."""
    cells = values * symbols << seed_bits
    return seed_bits <= 20 and cells <= _MOST_CELLS and cells * values <= _MOST_WORK


def seed_collisions(hashes: Hashes, values: int, symbols: int, seed_bits: int, there: float) -> SeedCollisions:
    """Try every seed. `there` is the probability that a report counts for the value that its sender holds."""
    seeds = np.arange(1 << seed_bits, dtype=np.uint64)[:, None]
    table = hashes(seeds, np.arange(values, dtype=np.uint64)[None, :])
    # A column for every pair of a seed and a symbol: the values for which such a report counts.
    counted = (table.T[:, :, None] == np.arange(symbols, dtype=np.uint64)).reshape(values, -1).astype(np.float64)
    together = counted @ counted.T / len(seeds)
    other = (1 - there) / (symbols - 1)
    expected = other + (there - other) * together
    apart = ~np.eye(values, dtype=bool)
    bias = float(np.abs(together - 1 / symbols)[apart].max()) * symbols / (symbols - 1)
    usual = 1 / (there - 1 / symbols)
    if np.linalg.cond(expected) < 1e6:
        weights = np.linalg.inv(expected)
        moves = weights @ counted
        span = np.ptp(moves, axis=1)
        if span.max() <= _WIDEST * usual:
            # A report of u has each seed equally often, and a symbol with probability a if it is u's, else b.
            squares = moves**2
            second = (squares.sum(axis=1)[:, None] * other + (there - other) * (squares @ counted.T)) / len(seeds)
            return SeedCollisions(weights, span, second, bias)
    return SeedCollisions(None, np.full(values, usual), np.zeros((values, values)), bias)


class SeedTable:
    """The symbol of every value for every seed, and so the law of one report."""

    def __init__(
        self, hashes: Hashes, values: int, symbols: int, seed_bits: int, there: float, weights: FloatArray | None
    ) -> None:
        """`weights` corrects counts for collisions, as in `SeedCollisions`."""
        seeds = np.arange(1 << seed_bits, dtype=np.uint64)[:, None]
        self._symbol = hashes(seeds, np.arange(values, dtype=np.uint64)[None, :]).astype(np.int64)
        self._there, self._symbols, self._weights = there, symbols, weights

    def spread(self, weights: FloatArray) -> Spread:
        """A report adds the sum of the weights of the values that its seed hashes to its symbol, up to a constant.

        All seeds are equally likely, so mean, variance and span are exact. Without a correction for collisions, the
        largest difference between the mean and the weight of the value held is the bias.
        """
        given = np.zeros(self._symbol.shape[1])
        given[: weights.size] = weights
        constant = 0.0
        if self._weights is None:
            gap = self._there - 1 / self._symbols
            moves, constant = given / gap, given.sum() / self._symbols / gap
        else:
            moves = given @ self._weights
        cell = self._symbol + self._symbols * np.arange(len(self._symbol))[:, None]
        size = len(self._symbol) * self._symbols
        counted = np.bincount(cell.reshape(-1), np.broadcast_to(moves, cell.shape).reshape(-1), minlength=size)
        added = counted.astype(np.float64) - constant
        mean, square = self._means(added, cell), self._means(added**2, cell)
        bias = 0.0 if self._weights is not None else float(np.abs(mean - given).max())
        span = float(np.ptp(added))
        return Spread(float((square - mean**2).max()), span, span, bias)

    def _means(self, added: FloatArray, cell: NDArray[np.int64]) -> FloatArray:
        """The mean of something that depends on seed and symbol, if the sender holds each of the values."""
        other = (1 - self._there) / (self._symbols - 1)
        return np.asarray(other * added.sum() / len(cell) + (self._there - other) * added[cell].mean(axis=0))


def shared_hashes(
    alone: Callable[[WeightCounts], Spread], n: int, seed_bits: int, failure: float
) -> Callable[[WeightCounts], Spread]:
    """The spread of n clients who each draw one of 2^b uniform hash functions, from that of clients with their own.

    Clients who share a function depend on each other. By Hölder's inequality, c of them have moments as if each
    counted c times. Σ c² over functions is n + 2·(pairs who share one). There are n(n-1)/2^(b+1) pairs on average,
    so by Markov's inequality at most 2/`failure` times as many, except with probability failure/2. And except with
    failure/2, no function is shared by more than `most` clients, by the union bound over all sets of clients.
    """
    functions = 2.0**seed_bits
    more = 1 + (n - 1) / functions / (failure / 2)
    most = 1
    while most < n and _log_choose(n, most + 1) - most * math.log(functions) > math.log(failure / 2):
        most += 1

    def spread(given: WeightCounts) -> Spread:
        single = alone(given)
        return Spread(more * single.variance, math.sqrt(more) * single.span, most * single.part, failure=failure)

    return spread


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
