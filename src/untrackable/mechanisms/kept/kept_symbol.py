"""A symbol that a client keeps with noise for ever and reports with more noise: L-GRR and LOLOHA."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import Aggregator, Estimate, FloatArray, Reports, Scope
from untrackable.estimation.spread import Spreads
from untrackable.estimation.symmetric_spread import SymmetricSpreads, one_symbol_spread
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.interface import After, Mechanism, Values
from untrackable.mechanisms.observed_rounds import ObservedRounds
from untrackable.mechanisms.probabilities import (
    Chance,
    chance_toward,
    flip_eps,
    noisy_symbol,
    simulate_noisy_symbols,
)
from untrackable.mechanisms.truthfulness import Kind, Truthfulness
from untrackable.mechanisms.wrappers.fresh import everything_revealed
from untrackable.theory.accuracy import Accuracy, count_interval, mean_radius
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor
from untrackable.theory.symbol_factors import (
    Response,
    detection_both_symbols_known,
    detection_factor,
    detection_one_symbol_known,
    symbol_privacy_factor,
    tracking_both_symbols_known,
    tracking_factor,
    tracking_one_symbol_known,
)
from untrackable.theory.symbol_outcomes import can_enumerate, can_enumerate_one_symbol_known

Certainty = Literal["exact", "upper"]
Step = Literal["published", "exact"]
"""The noise of the second step: as in the publications' formula, or exactly as much as is needed."""

_WHOLE = 1 << 64


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
    """What a symbol is: an answer, or the answer to a question that is drawn, such as a hash."""
    _apart: ClassVar[Certainty] = "exact"
    """Exact if two values always have two different symbols. If they may share one, results are upper bounds."""

    def _settle_steps(self, name: str) -> None:
        """Check and round both steps. `name` is the parameter that holds the number of symbols."""
        symbols = self._alphabet()
        for step in ("keep", "tell"):
            given = checks.probability(step, getattr(self, step))
            lie = chance_toward(given, 0.0).opposite()
            if given * symbols <= 1 or (_WHOLE - lie.threshold) * (symbols - 1) <= lie.threshold:
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

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
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
            found = ((beside if j else [], detection_factor(kept, reported, k, j)) for j in splits)
            return [Experiment([*tags, factor], certainty=self._apart) for tags, factor in found]
        later = k - (before or 1)
        if can_enumerate_one_symbol_known(kept.symbols, later):
            known = Experiment([*beside, detection_one_symbol_known(kept, reported, later)], certainty="upper")
            return [known] if before else [known, self._privacy(k, "fixed")]
        return [Experiment([*beside, detection_both_symbols_known(kept)], certainty="upper")]

    def _noisy(self, symbol: int, lie: Chance, source: Entropy) -> int:
        """The symbol, or any other one."""
        return noisy_symbol(symbol, self._alphabet(), lie, source)

    def _simulate_noisy(
        self, symbols: NDArray[np.uint64], lie: Chance, rng: np.random.Generator
    ) -> NDArray[np.uint64]:
        return simulate_noisy_symbols(symbols, self._alphabet(), lie, rng)


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
        self._shares, self._largest, self._bias = shares, largest, bias
        self.counts = np.zeros(values, dtype=np.int64)

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """(share of reports that count - elsewhere)/(there - elsewhere)."""
        there, elsewhere = self._shares
        values, span = self.counts.size, 1 / (there - elsewhere)
        frequencies = (self.counts / n - elsewhere) * span
        held = np.clip(frequencies, 0, 1)
        variance = held * there * (1 - there) + (1 - held) * elsewhere * (1 - elsewhere)
        return Estimate(
            frequencies,
            n,
            beta,
            span * np.sqrt(variance / n),
            span=np.full(values, span),
            chance=None if self._bias else elsewhere,
            reach=self._reach(n) if self._bias else None,
            radii=self._radii(n) if self._bias else None,
            spread=self._spreads(n, beta),
        )

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
            found: FloatArray = np.maximum(shares - lower, upper - shares) + self._hashing(beta / 2, number)
            return found

        return radii

    def _hashing(self, beta: float, number: int) -> float:
        return 0.0 if self._bias is None else self._bias(beta, number * self.counts.size)

    @abstractmethod
    def _tally(self, reports: NDArray[np.uint64]) -> None:
        """Add reports to the counts."""

    def _array(self, reports: list[int]) -> Reports:
        if any(not 0 <= report <= self._largest for report in reports):
            raise ValueError(f"a report must be between 0 and {self._largest}")
        return np.array(reports, dtype=np.uint64)

    def _checked(self, reports: Reports) -> Reports:
        if reports.size and (int(reports.min()) < 0 or int(reports.max()) > self._largest):
            raise ValueError(f"a report must be between 0 and {self._largest}")
        return reports

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
    same: NDArray[np.bool_] = (rows == rows[:, :1]).all(axis=1)
    return same


def _response(lie: Chance, symbols: int) -> Response:
    """The step that lies with this probability. Its eps is computed from the integers."""
    if lie.threshold == 0:
        return Response(symbols, 1.0, 0.0, math.inf)
    return Response(symbols, lie.opposite().probability, lie.probability, flip_eps(lie, symbols))
