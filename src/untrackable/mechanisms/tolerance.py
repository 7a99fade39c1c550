"""How much tracking is tolerable, and the measure that it is stated in."""

import math
from dataclasses import dataclass

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.mechanisms.interface import Pair

MEASURES = ("advantage", "matched", "untrackable")
_SMALLEST_SHARE = 1e-16
_LARGEST_RATIO = 50.0
"""Larger log-likelihood ratios make no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How well an observer may follow a person, in one of three measures.

    `advantage` is the observer's largest advantage over guessing, `matched` the largest probability of picking a
    person out of a `crowd`, `untrackable` a pair (gamma, delta). The observer holds `reports` reports of a person;
    None stands for any number.
    """

    advantage: float | None = None
    matched: float | None = None
    crowd: int = 1000
    untrackable: tuple[float, float] | None = None
    reports: int | None = None

    def __post_init__(self) -> None:
        given = [name for name in MEASURES if getattr(self, name) is not None]
        if len(given) != 1:
            wrong = f"{' and '.join(given)} contradict each other" if given else "the tolerable tracking is missing"
            raise ValueError(f"{wrong}: give one of {', '.join(MEASURES)}")
        checks.settle(self, crowd=checks.integer("crowd", self.crowd, low=2))
        if self.reports is not None:
            checks.settle(self, reports=checks.integer("reports", self.reports, low=1))
        if self.advantage is not None:
            checks.settle(self, advantage=checks.probability("advantage", self.advantage))
        if self.matched is not None:
            matched = checks.probability("matched", self.matched)
            if matched < 1 / self.crowd:
                raise ValueError(
                    f"matched must be at least 1/crowd, {1 / self.crowd:g}, which guessing reaches, got {matched}"
                )
            checks.settle(self, matched=matched)
        if self.untrackable is not None:
            if not isinstance(self.untrackable, tuple) or len(self.untrackable) != 2:
                raise TypeError("untrackable must be a pair (gamma, delta)")
            gamma, delta = self.untrackable
            gamma = checks.non_negative("gamma of untrackable", gamma)
            checks.settle(self, untrackable=(gamma, checks.probability("delta of untrackable", delta)))

    @property
    def comparable(self) -> bool:
        """Whether the observer may hold two reports, and so has something to compare."""
        return self.reports is None or self.reports >= 2

    @property
    def limit(self) -> float:
        """The largest tolerable number in this measure."""
        return self.advantage_limit if self.matched is None else self.matched

    @property
    def advantage_limit(self) -> float:
        """An advantage that is tolerable for certain."""
        if self.advantage is not None:
            return self.advantage
        if self.matched is not None:
            return max(0.0, self.matched - 1 / self.crowd)
        return self.untrackable[1] if self.untrackable else 0.0

    @property
    def ratio_limit(self) -> float:
        """A largest log-likelihood ratio that is tolerable for certain."""
        if self.advantage is not None:
            return 2 * math.atanh(min(self.advantage, 1 - _SMALLEST_SHARE))
        if self.matched is not None:
            return math.log(self.matched * self.crowd)
        return self.untrackable[0] if self.untrackable else 0.0

    @property
    def query(self) -> tuple[int | None, float]:
        """The crowd and the gamma that an experiment is asked about. Without a crowd, it is asked about gamma."""
        return None if self.matched is None else self.crowd, self.untrackable[0] if self.untrackable else 0.0

    @property
    def measure(self) -> str:
        """The name of the measure, for display."""
        if self.matched is not None:
            return f"matched among {self.crowd:,}"
        return "advantage" if self.untrackable is None else f"delta at gamma = {self.untrackable[0]:g}"

    def of(self, pair: Pair) -> Bracket:
        """The tracking of an experiment of one person against two, in this measure."""
        return measured(pair, *self.query)

    def of_bounds(self, advantage: Bracket, ratio: float) -> Bracket:
        """The tracking in this measure, from bounds on the advantage and on the largest log-likelihood ratio."""
        if self.advantage is not None:
            return Bracket(advantage.lower, min(1.0, advantage.upper))
        if self.matched is not None:
            by_ratio = math.exp(min(ratio, _LARGEST_RATIO)) / self.crowd
            return Bracket(0.0, min(1.0, advantage.upper + 1 / self.crowd, by_ratio))
        hidden = self.untrackable is not None and ratio <= self.untrackable[0]
        return Bracket(0.0, 0.0 if hidden else min(1.0, advantage.upper))


def measured(pair: Pair, crowd: int | None, gamma: float) -> Bracket:
    """The probability of being picked out of a crowd, or delta at gamma; at gamma 0, delta is the advantage."""
    return pair.delta(gamma) if crowd is None else pair.power(1 / crowd)
