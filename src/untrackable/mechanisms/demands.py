"""The demands on a mechanism: a privacy budget and tolerable tracking. `Unsuitable` says which one it misses."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.errors import UntrackableError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.tolerance import Tolerance
from untrackable.theory.chance_of_answering import EVERY_ROUND

Demand = Literal[
    "accuracy", "tracking", "privacy", "horizon", "changes", "values", "answers", "attendance", "crowd"
]


class Unsuitable(UntrackableError):
    """A mechanism does not meet the demands: it misses `binding`, and the message says why.

    If it could be made all the same, `mechanism` is the result, with its `error` or its tracking (`tracked`).
    `needed` is the eps that it would need, if that is larger than a plan goes by itself.
    """

    def __init__(
        self,
        binding: Demand,
        why: str,
        *,
        mechanism: Mechanism | None = None,
        error: float | None = None,
        tracked: Bracket | None = None,
        needed: float | None = None,
    ) -> None:
        super().__init__(why)
        self.binding: Demand = binding
        self.why, self.mechanism, self.error, self.tracked = why, mechanism, error, tracked
        self.needed = needed


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdBudget:
    """The privacy of all reports in a crowd of this many enrolled people, whose reports nobody can assign.

    If it is set `roughly`, a normal approximation stands in for the engine. That says where to search, no more.
    """

    eps: float
    delta: float
    people: int
    roughly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The demands that set a mechanism's parameters: the number of values, the number of rounds, and privacy.

    `reports` is the number of rounds; None means that there is no last round. Clients answer each round with the
    probability `participation`. A `tolerance` limits tracking, and `beta` asks for the answer width with the
    smallest error radius of what is wanted, at that failure probability; without them, both are as published.
    `levels` is the number of prefixes that reports are divided among when strings are discovered. `changes` means
    that values may change, `for_ever` that privacy must not end, and `every_round` that every round needs an
    estimate. `by_engine` means that the engine, and not only a bound, says how loud reports may be, where that
    takes little time. With a `crowd`, reports must be private in it as well, and eps may be infinite. `want` is
    what is to be estimated: frequencies, quantiles or a mean. If tables of parts of a
    value are asked for, `views` are the bits of those that reports are about, and `shown` those of all tables that
    are estimated.
    """

    values: int = 16
    eps: float = 2.0
    delta: float = 1e-6
    reports: int | None = 20
    participation: Fraction = EVERY_ROUND
    people: int = 100_000
    tolerance: Tolerance | None = None
    beta: float | None = None
    levels: int | None = None
    changes: bool = False
    for_ever: bool = False
    every_round: bool = False
    by_engine: bool = False
    crowd: CrowdBudget | None = None
    want: str = "frequencies"
    views: tuple[tuple[int, ...], ...] = ()
    shown: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        checks.settle(
            self,
            values=checks.integer("values", self.values, low=2),
            delta=checks.open_probability("delta", self.delta),
            people=checks.integer("people", self.people, low=1),
            participation=checks.chance("participation", self.participation),
        )
        if self.participation == 0:
            raise ValueError("participation must be above 0: nobody would answer")
        # A plan sets eps to infinity while it does not know it yet.
        if self.eps != math.inf:
            checks.settle(self, eps=checks.epsilon("eps", self.eps))
        if self.reports is not None:
            checks.settle(self, reports=checks.integer("reports", self.reports, low=1))

    @property
    def bits(self) -> int:
        """Width of an encoded value, d."""
        return (self.values - 1).bit_length()

    def last_round(self, why: str) -> int:
        """The number of rounds. If there is no last one, `why` says why the mechanism needs it."""
        if self.reports is None:
            raise Unsuitable("horizon", why)
        return self.reports
