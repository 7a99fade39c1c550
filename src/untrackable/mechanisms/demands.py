"""What a mechanism is set for: a budget of privacy, and tolerable tracking; and what it says if it cannot be."""

import math
from dataclasses import dataclass
from typing import Literal

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.errors import UntrackableError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.tolerance import Tolerance

Demand = Literal["accuracy", "tracking", "privacy", "horizon", "changes", "values", "answers"]


class Unsuitable(UntrackableError):
    """A mechanism does not meet the demands: `binding` is the one that it misses, the message says why.

    Where it could be set all the same, `mechanism` is the result, with its `error` or its tracking (`tracked`).
    `needed` is the eps that it would need, where that is larger than a plan goes by itself.
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
class Budget:
    """The demands that set a mechanism's parameters: a question of so many values, asked so often, and its privacy.

    With `reports` None there is no last round. Left out, `tolerance` and `beta` leave tracking and the width of
    answers as published; otherwise tracking is kept within the tolerance, and answers get the width of the smallest
    radius at beta. `levels` is among how many prefixes reports are divided where strings are discovered. `changes`:
    values may change. `for_ever`: privacy must not end. `every_round`: every round must tell the frequencies.
    `by_engine`: the engine, and not only a bound, says how loud reports may be, where that takes little time.
    """

    values: int = 16
    eps: float = 2.0
    delta: float = 1e-6
    reports: int | None = 20
    people: int = 100_000
    tolerance: Tolerance | None = None
    beta: float | None = None
    levels: int | None = None
    changes: bool = False
    for_ever: bool = False
    every_round: bool = False
    by_engine: bool = False

    def __post_init__(self) -> None:
        checks.settle(
            self,
            values=checks.integer("values", self.values, low=2),
            delta=checks.open_probability("delta", self.delta),
            people=checks.integer("people", self.people, low=1),
        )
        if self.eps != math.inf:  # while it is not known yet
            checks.settle(self, eps=checks.epsilon("eps", self.eps))
        if self.reports is not None:
            checks.settle(self, reports=checks.integer("reports", self.reports, low=1))

    @property
    def bits(self) -> int:
        """Width of an encoded value, d."""
        return (self.values - 1).bit_length()

    def last_round(self, why: str) -> int:
        """How many rounds there are; a mechanism that needs a last one says why."""
        if self.reports is None:
            raise Unsuitable("horizon", why)
        return self.reports
