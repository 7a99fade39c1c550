"""Memoised unary encodings: a client keeps a noisy vector, one position per value, and adds noise to every report.

Arcolezi, Couchot, Al Bouna, Xiao, "Improving the utility of locally differentially private protocols for
longitudinal and multidimensional frequency estimates" (2022): L-SUE, L-OSUE, L-OUE and L-SOUE, after Wang, Blocki,
Li, Jha (2017) for one report. L-SUE is the basic one-hot RAPPOR of Erlingsson, Pihur, Korolova (2014).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from untrackable import checks
from untrackable.estimation.aggregators import Estimate, Scope
from untrackable.estimation.symmetric_spread import SymmetricSpreads, independent_bits_spread
from untrackable.mechanisms.checked_values import integer_population
from untrackable.mechanisms.kept.kept_bits import Moved, Permanent, PositionCounts, ordered
from untrackable.mechanisms.observed_rounds import round_number
from untrackable.mechanisms.probabilities import Chance, chance_toward
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.kept_advantage import kept_bits_advantage_upper, kept_bits_chi_square_upper

Preset = Literal["L-SUE", "L-OSUE", "L-OUE", "L-SOUE"]

LARGEST = 4096
LARGEST_EPS = 64.0
_STEPS: dict[str, tuple[str, str]] = {
    "L-SUE": ("symmetric", "symmetric"),
    "L-OSUE": ("optimised", "symmetric"),
    "L-OUE": ("optimised", "optimised"),
    "L-SOUE": ("symmetric", "optimised"),
}


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
        """The number of values."""
        return self.values

    @property
    def positions(self) -> int:
        """One position for each value."""
        return self.values

    def accuracy(
        self, people: int, *, beta: float = 0.05, round: int = 1, candidates: Sequence[Any] | None = None
    ) -> Accuracy:
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
        kept = self._kept_ones()
        if reports is None:
            return min(1.0, sum(2 * a * (1 - a) * count for a, count in kept))
        return kept_bits_advantage_upper(kept, self.one_chance.probability, self.zero_chance.probability, reports)

    def tracking_chi_square_upper(self, reports: int) -> float:
        """A bound from the same bits."""
        one, zero = self.one_chance.probability, self.zero_chance.probability
        return kept_bits_chi_square_upper(self._kept_ones(), one, zero, reports)

    def _kept_ones(self) -> list[tuple[float, int]]:
        """The probability that a kept bit is 1, and the number of such bits."""
        lost, added = self.lost_chance.probability, self.added_chance.probability
        return [(1 - lost, 1), (added, self.values - 1)]

    def aggregator(self, round: int = 1) -> "UnaryAggregator":
        """Empty sums for one round; a client's rounds share its state, so they do not merge."""
        return UnaryAggregator(Scope(self, round_number(round), pools=False), self)

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

    def _population(self, values: ArrayLike, rounds: int) -> NDArray[Any]:
        return integer_population(values, self.values, rounds, may_change=False)


class UnaryAggregator(PositionCounts):
    """Counts of the reports that had each value's position set."""

    def __init__(self, scope: Scope, mechanism: Unary) -> None:
        super().__init__(scope, mechanism.values, (mechanism.values,))
        self._mechanism = mechanism

    def _estimate_all(self, n: int, beta: float) -> Estimate:
        """(share of ones at the value's position - elsewhere)/(there - elsewhere), which corrects for noise."""
        m = self._mechanism
        there, elsewhere = m._shares()
        frequencies = (self.counts / n - elsewhere) / (there - elsewhere)
        held = np.clip(frequencies, 0, 1)
        variance = held * there * (1 - there) + (1 - held) * elsewhere * (1 - elsewhere)
        span = 1 / (there - elsewhere)
        error = span * np.sqrt(variance / n)
        rule = partial(independent_bits_spread, there=there, elsewhere=elsewhere)
        spread = SymmetricSpreads(m.values, rule)
        return Estimate(frequencies, n, beta, error, span=np.full(m.values, span), chance=elsewhere, spread=spread)


def _step(kind: str, eps: float) -> tuple[float, float]:
    """The probabilities of a 1 at the value's position and elsewhere, for a unary encoding of one report."""
    if kind == "symmetric":
        return 1 / (1 + math.exp(-eps / 2)), 1 / (1 + math.exp(eps / 2))
    return 0.5, math.exp(-eps) / (1 + math.exp(-eps))


def _one_report(keep: float, add: float, q: float, p: float) -> float:
    """The privacy of a single report: ln of the odds ratio of a reported 1 there and elsewhere."""
    there, elsewhere = keep * q + (1 - keep) * p, add * q + (1 - add) * p
    return math.log(there / elsewhere) + math.log((1 - elsewhere) / (1 - there))
