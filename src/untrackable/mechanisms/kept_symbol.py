"""A symbol that a client keeps with noise for ever and reports with more noise: memoization of L-GRR and LOLOHA.

`KeptSymbol` is the common part. `Lgrr` is randomised response over all values, kept and then repeated with noise.

Arcolezi, Couchot, Al Bouna, Xiao, "Improving the utility of locally differentially private protocols for
longitudinal and multidimensional frequency estimates" (Digital Communications and Networks, 2022).
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.errors import StateError
from untrackable.estimation.aggregators import Aggregator, Reports, Scope
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.intervals import Spreads, SymmetricSpreads, one_symbol_spread
from untrackable.mechanisms.interface import After, Mechanism, ObservedRounds, Values, everything_revealed
from untrackable.mechanisms.local_interface import Kind, Truthfulness
from untrackable.mechanisms.randomness import simulate_noisy_symbols
from untrackable.randomizers.interface import pack_integers, unpack_integers
from untrackable.randomizers.randomness import WHOLE, Chance, Entropy, chance_toward, flip_eps, noisy_symbol
from untrackable.theory.accuracy import Accuracy, count_interval, mean_radius
from untrackable.theory.experiment import Certainty, Experiment, Mixture
from untrackable.theory.factor import Factor
from untrackable.theory.kept_bit import kept_symbol_advantage_upper
from untrackable.theory.symbols import (
    Response,
    can_enumerate,
    can_enumerate_one_symbol_known,
    detection_both_symbols_known,
    detection_factor,
    detection_one_symbol_known,
    log_power_minus_one,
    symbol_log_likelihood,
    symbol_privacy_factor,
    tracking_both_symbols_known,
    tracking_factor,
    tracking_one_symbol_known,
)

Step = Literal["published", "exact"]
"""The noise of the second step: as in the publications' formula, or exactly as much as is needed."""


class KeptSymbol(Mechanism):
    """A client keeps one of g symbols for ever, the true one with probability `keep`.

    Each report names the kept symbol with probability `tell`. Otherwise, in both steps, it is any other symbol with
    the same probability. The kept symbol stays the same for as long as the client lives. So does the clear part,
    which some mechanisms send with every report without noise.
    """

    __slots__ = ()
    persists = "the kept symbol, seen through the noise of every report"

    keep: float
    tell: float
    keep_lie: Chance
    tell_lie: Chance

    @abstractmethod
    def _alphabet(self) -> int:
        """The number of symbols, g."""

    @abstractmethod
    def _shares(self) -> tuple[float, float]:
        """The probabilities that a report counts for its sender's value, and for any other value."""

    def _persistent(self) -> list[Factor]:
        """How well the clear part tells one person from two, if both sides have reports."""
        return []

    _symbols_are: ClassVar[Kind] = "answer"
    """The meaning of a symbol: an answer, or the answer to a question that is drawn, such as a hash."""
    _apart: ClassVar[Certainty] = "exact"
    """Exact if two values always have two different symbols. If they may share one, results are upper bounds."""

    def _settle_steps(self, name: str) -> None:
        """Check and round both steps. `name` is the parameter that holds the number of symbols."""
        symbols = self._alphabet()
        for step in ("keep", "tell"):
            given = checks.probability(step, getattr(self, step))
            lie = chance_toward(given, 0.0).opposite()
            if given * symbols <= 1 or (WHOLE - lie.threshold) * (symbols - 1) <= lie.threshold:
                raise ValueError(f"{step} must be above 1/{name}, {1 / symbols:.6g}, got {given}")
            checks.settle(self, **{step: given, f"{step}_lie": lie})

    @property
    def _kept(self) -> Response:
        """The step from the true symbol to the kept one."""
        return _response(self.keep_lie, self._alphabet())

    @property
    def _reported(self) -> Response:
        """The step from the kept symbol to the reported one."""
        return _response(self.tell_lie, self._alphabet())

    def _accuracy(self, people: int, beta: float, round: int, candidates: Sequence[Any] | None) -> Accuracy:
        """The error follows from the share of reports that count for a value."""
        there, elsewhere = self._shares()
        return Accuracy.of_shares(people, beta, there=there, elsewhere=elsewhere)

    def truthfulness(self) -> Truthfulness:
        """By the share of reports that show the symbol of the sender's value; symbols of values are answers."""
        kept, told = self._kept, self._reported
        others = self._alphabet() - 1
        own = (1 - kept.lie) * (1 - told.lie) + kept.lie * told.lie / others
        return Truthfulness(self._symbols_are, own, 1 / (others + 1))

    def _privacy(self, reports: int | None, values: Values) -> Experiment:
        """Fixed value: the observer sees the kept symbol, or `reports` reports of it.

        If there are too many outcomes to enumerate, the kept symbol is an upper bound.

        Any sequence of values: a client keeps a symbol for each value. Given all earlier reports, the law of the
        next one is a mixture of reports of kept symbols in both worlds. Such mixtures are no further apart than
        reports of two different symbols (upper).
        """
        if values == "any":
            if reports is None or self._reported.lie == 0:
                return everything_revealed("upper")
            return Experiment([(symbol_privacy_factor(self._reported), reports)], certainty="upper")
        if reports is None or self._reported.lie == 0:
            return Experiment([symbol_privacy_factor(self._kept)], certainty=self._apart)
        if not can_enumerate(self._alphabet(), 2, [(0, reports)]):
            return Experiment([symbol_privacy_factor(self._kept)], certainty="upper")
        return Experiment([detection_factor(self._kept, self._reported, reports, 0)], certainty=self._apart)

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """The clear part and the kept symbol link the reports of one person (exact for few reports, else upper)."""
        return self._same_value(observed, "exact")

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """Two values have different symbols at worst. A client keeps a symbol for each of its values."""
        return self._other_value(observed, clear=True)

    def _same_value(self, observed: ObservedRounds, certainty: Certainty) -> list[Experiment | Mixture]:
        """One person against two people with the same value.

        If there are too many outcomes to enumerate, the observer is granted the kept symbol of the side with more
        reports; the worst split then has the most reports on the other side. If there are still too many, the
        observer is granted both kept symbols.
        """
        kept, reported, clear, k = self._kept, self._reported, self._persistent(), observed.reports
        shorter = k // 2 if observed.first is None else min(len(observed.first), k - len(observed.first))
        if shorter == 0:
            return [Experiment()]
        if not reported.lie:
            return [Experiment([*clear, tracking_both_symbols_known(kept)], certainty=certainty)]
        splits = observed.tracking_splits()
        if can_enumerate(kept.symbols, 1, ((j, k - j) for j in splits)):
            factors = (tracking_factor(kept, reported, k, j) for j in splits)
            return [Experiment([*clear, factor], certainty=certainty) for factor in factors]
        if can_enumerate_one_symbol_known(kept.symbols, shorter):
            return [Experiment([*clear, tracking_one_symbol_known(kept, reported, shorter)], certainty="upper")]
        return [Experiment([*clear, tracking_both_symbols_known(kept)], certainty="upper")]

    def _other_value(self, observed: ObservedRounds, *, clear: bool) -> list[Experiment | Mixture]:
        """A constant value against a change to a value with another symbol.

        `clear` says that the clear part changes as well. If there are too many outcomes, the observer is granted
        the symbol before the change first.
        """
        kept, reported, k = self._kept, self._reported, observed.reports
        beside = self._persistent() if clear else []
        before = None if observed.first is None else len(observed.first)
        if before == k:
            return [Experiment()]
        if before == 0 or k == 1:
            return [self._privacy(k, "fixed")]
        if not reported.lie:
            return [Experiment([*beside, detection_both_symbols_known(kept)], certainty=self._apart)]
        splits = observed.detection_splits()
        if can_enumerate(kept.symbols, 2, ((j, k - j) for j in splits)):
            factors = ((beside if j else [], detection_factor(kept, reported, k, j)) for j in splits)
            return [Experiment([*tags, factor], certainty=self._apart) for tags, factor in factors]
        later = k - (before or 1)
        if can_enumerate_one_symbol_known(kept.symbols, later):
            known = Experiment([*beside, detection_one_symbol_known(kept, reported, later)], certainty="upper")
            return [known] if before else [known, self._privacy(k, "fixed")]
        return [Experiment([*beside, detection_both_symbols_known(kept)], certainty="upper")]


class ShareAggregator(Aggregator):
    """Counts of the reports that count for each value."""

    _sums = ("counts",)

    def __init__(
        self,
        scope: Scope,
        values: int,
        shares: tuple[float, float],
        largest: int,
        bias: Callable[[float, int], float] | None = None,
    ) -> None:
        """`bias` bounds the error from hashing, given a failure probability and a number of pairs of values."""
        super().__init__(scope)
        self._shares, self._limits, self._bias = shares, (0, largest), bias
        self.counts = np.zeros(values, dtype=np.int64)

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """The estimate from the share of reports that count for a value. Hashing makes errors larger."""
        estimate = Estimate.of_counts(self.counts, n, beta, *self._shares, self._spreads(n, beta))
        if self._bias is None:
            return estimate
        return replace(estimate, chance=None, reach=self._reach(n), radii=self._radii(n))

    def _spreads(self, n: int, beta: float) -> Spreads:
        """A report counts for one value, unless a subclass says otherwise."""
        there, elsewhere = self._shares
        return SymmetricSpreads(self.counts.size, partial(one_symbol_spread, there=there, elsewhere=elsewhere))

    def _reach(self, n: int) -> Callable[[float], float]:
        """The radius of one value, hashing included, for any failure probability."""
        there, elsewhere = self._shares
        span = 1 / (there - elsewhere)
        return lambda beta: mean_radius(n, beta / 2, span=span) + self._hashing(beta / 2, 1)

    def _radii(self, n: int) -> Callable[[float, int], FloatArray]:
        """Half of beta is for the counts, which invert the law of sums of any indicators, and half for hashing."""
        there, elsewhere = self._shares
        span = 1 / (there - elsewhere)
        shares = (self.counts / n - elsewhere) * span

        def radii(beta: float, number: int) -> FloatArray:
            level = beta / 2 / number
            lower, upper = count_interval(
                self.counts.astype(np.float64), n, level, elsewhere=elsewhere, span=span, sampled=True
            )
            return np.asarray(np.maximum(shares - lower, upper - shares) + self._hashing(beta / 2, number))

        return radii

    def _hashing(self, beta: float, number: int) -> float:
        return 0.0 if self._bias is None else self._bias(beta, number * self.counts.size)

    @abstractmethod
    def _tally(self, reports: NDArray[np.uint64]) -> None:
        """Add reports to the counts."""

    def _add(self, reports: Reports) -> None:
        self._tally(reports.reshape(-1).astype(np.uint64, copy=False))
        self.n += reports.size


def steps_for(symbols: int, eps: float, eps_report: float, step: Step) -> tuple[float, float]:
    """`keep` and `tell`, given the eps of all reports for ever (ε) and the eps of a single report (ε₁).

    keep = e^ε/(e^ε+g-1), tell = r/(r+g-1). The publications have r = (e^(ε+ε₁)-1)/(e^ε-e^ε₁). For more than two
    symbols this adds more noise than is needed, because it leaves out that a report may come from a third symbol.
    The exact step counts that: r = (e^(ε+ε₁) + (g-2)·e^ε₁ - (g-1))/(e^ε-e^ε₁). Both probabilities are rounded in
    the safe direction.
    """
    eps, eps_report = checks.epsilon("eps", eps), checks.epsilon("eps_report", eps_report)
    checks.choice("step", step, ("published", "exact"))
    if eps_report >= eps:
        raise ValueError(f"eps_report must be below eps, {eps}, got {eps_report}")
    # Everything is divided by e^ε, and numerators are sums of positive terms, so that nothing overflows or cancels.
    left, one = math.exp(-eps), math.expm1(eps_report)
    odds = (one - math.expm1(-eps)) / -math.expm1(eps_report - eps)
    if step == "exact":
        odds += (symbols - 2) * left * one / -math.expm1(eps_report - eps)
    keep, tell = 1 / (1 + (symbols - 1) * left), odds / (odds + symbols - 1)
    return keep * (1 - 2.0**-51), tell - 1e-12 * (tell - 1 / symbols)


def constant_rows(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether all entries of a row are equal."""
    return np.asarray((rows == rows[:, :1]).all(axis=1))


def _response(lie: Chance, symbols: int) -> Response:
    """The step that lies with this probability. Its eps is computed from the integers."""
    if lie.threshold == 0:
        return Response(symbols, 1.0, 0.0, math.inf)
    return Response(symbols, lie.opposite().probability, lie.probability, flip_eps(lie, symbols))


LARGEST = 1 << 20
_DEEPEST = 600.0
"""With larger exponents of ρ, products of its powers would underflow."""
_PAIRS = 1 << 16
"""The number of pairs of rows that are compared at a time, if each pair is computed by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lgrr(KeptSymbol):
    """A client keeps its value, or another one with probability 1-`keep`, for ever. Each report adds new noise.

    A report names the kept value, or with probability 1-`tell` any other value, drawn for each report. The
    kept value stays the same, so it links the reports.
    """

    values: int
    keep: float
    tell: float
    keep_lie: Chance = field(init=False, repr=False)
    tell_lie: Chance = field(init=False, repr=False)

    published = "Arcolezi, Couchot, Al Bouna, Xiao, L-GRR (DCN 2022)"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # The usage example of the authors' package multi-freq-ldpy: 10 values, eps 2 for ever, 0.5 for one report.
        "example": dict(zip(("values", "keep", "tell"), (10, *steps_for(10, 2.0, 0.5, "published")), strict=True)),
    }

    def __post_init__(self) -> None:
        checks.settle(self, values=checks.integer("values", self.values, low=2, high=LARGEST))
        self._settle_steps("values")

    @classmethod
    def for_budget(cls, *, values: int, eps: float, eps_report: float, step: Step = "published") -> Self:
        """The mechanism that is `eps`-private for ever and at least `eps_report`-private for a single report.

        With the published second step and more than two values, a single report is more private than that. The
        exact step spends all of `eps_report`.
        """
        values = checks.integer("values", values, low=2, high=LARGEST)
        keep, tell = steps_for(values, eps, eps_report, step)
        return cls(values=values, keep=keep, tell=tell)

    @property
    def report_bits(self) -> int:
        return (self.values - 1).bit_length()

    @property
    def capacity(self) -> int:
        return self.values

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """A bound on the advantage from one kept symbol."""
        if reports is None:
            return 1 - self.keep**2 - (1 - self.keep) ** 2 / (self.values - 1)
        return kept_symbol_advantage_upper(self.keep, self.tell, self.values, reports)

    def _alphabet(self) -> int:
        return self.values

    def _shares(self) -> tuple[float, float]:
        there = self._kept.then(self._reported)
        return there, (1 - there) / (self.values - 1)

    def aggregator(self, round: int = 1) -> "LgrrAggregator":
        return LgrrAggregator(self._one_round(round), self.values, self._shares(), self.values - 1)

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        return self._likelihood(reports, value)

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        alone = self._likelihood(first, value)[:, None] + self._likelihood(second, value)[None, :]
        step, shorter = self._reported.eps, min(first.shape[1], second.shape[1])
        if step * shorter > _DEEPEST:
            return self._together_by_pair(first, second, value) - alone
        return self._together(first, second, value) - alone

    def _likelihood(self, reports: Reports, value: int) -> FloatArray:
        return symbol_log_likelihood(self._kept, self._reported, reports, np.full(reports.shape[0], value))

    def _together(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """Log probability of all pairs; Σπρ^(x+y) is 1 + Σπe + Σπe' + Σπee', the last a product of two matrices.

        The powers of ρ are divided by the largest of each row, so that only negligible terms underflow.
        """
        kept, step = self._kept, self._reported.eps
        reported = np.unique(np.concatenate((first.reshape(-1), second.reshape(-1))))
        prior = np.where(reported == value, kept.truth, kept.other)
        scaled, tops, means = [], [], []
        for side in (first, second):
            positions = np.searchsorted(reported, side) + reported.size * np.arange(side.shape[0])[:, None]
            counts = np.bincount(positions.reshape(-1), minlength=reported.size * side.shape[0])
            counts = counts.reshape(-1, reported.size)
            top = step * counts.max(axis=1)
            scaled.append(np.exp(log_power_minus_one(step, side.shape[1])[counts] - top[:, None]))
            tops.append(top)
            with np.errstate(divide="ignore"):
                means.append(np.log(scaled[-1] @ prior) + top)
        with np.errstate(divide="ignore"):
            both = np.log((scaled[0] * prior) @ scaled[1].T) + tops[0][:, None] + tops[1][None, :]
        one_side = np.logaddexp(np.logaddexp(0.0, means[0])[:, None], means[1][None, :])
        total: FloatArray = np.logaddexp(one_side, both)
        total += (first.shape[1] + second.shape[1]) * math.log(self._reported.other)
        return total

    def _together_by_pair(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """Log probability of all pairs, computed pair by pair. This works for any ρ."""
        scores = np.empty((first.shape[0], second.shape[0]))
        size = max(1, _PAIRS // max(1, second.shape[0]))
        for start in range(0, first.shape[0], size):
            some = first[start : start + size]
            pairs = np.concatenate(
                (np.repeat(some, second.shape[0], axis=0), np.tile(second, (some.shape[0], 1))), axis=1
            )
            scores[start : start + size] = self._likelihood(pairs, value).reshape(some.shape[0], -1)
        return scores

    def new_state(self, value: int, source: Entropy) -> int:
        return noisy_symbol(
            checks.private_integer("value", value, below=self.values), self.values, self.keep_lie, source
        )

    def make_report(self, state: int, round: int, source: Entropy) -> tuple[int, int]:
        return noisy_symbol(state, self.values, self.tell_lie, source), state

    def pack_state(self, state: int) -> bytes:
        return pack_integers([state], [self.report_bits])

    def unpack_state(self, payload: bytes) -> int:
        (state,) = unpack_integers(payload, [self.report_bits])
        if state >= self.values:
            raise StateError("this state has a value that its mechanism does not have")
        return state

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        kept = simulate_noisy_symbols(values.astype(np.uint64, copy=False), self.values, self.keep_lie, rng)
        return simulate_noisy_symbols(
            np.repeat(kept[:, None], len(rounds), axis=1), self.values, self.tell_lie, rng
        )


class LgrrAggregator(ShareAggregator):
    """Counts of the reports that name each value."""

    def _tally(self, reports: NDArray[np.uint64]) -> None:
        self.counts += np.bincount(reports.astype(np.int64), minlength=self.counts.size)
