"""The demands on a mechanism for every round: a privacy budget. `Unsuitable` says which one it misses."""

from dataclasses import dataclass
from typing import Literal

from untrackable import checks
from untrackable.errors import UntrackableError

Demand = Literal["accuracy", "privacy", "horizon", "changes", "values"]


class Unsuitable(UntrackableError):
    """A mechanism does not meet the demands: it misses `binding`, and the message says why."""

    def __init__(self, binding: Demand, why: str) -> None:
        super().__init__(why)
        self.binding: Demand = binding
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The demands that set a mechanism's parameters: the number of values, the number of rounds, and privacy.

    `reports` is the number of rounds, in each of which everybody answers; None means that there is no last round.
    """

    values: int = 16
    eps: float = 2.0
    delta: float = 1e-6
    reports: int | None = 20
    people: int = 100_000

    def __post_init__(self) -> None:
        checks.settle(
            self,
            values=checks.integer("values", self.values, low=2),
            eps=checks.epsilon("eps", self.eps),
            delta=checks.open_probability("delta", self.delta),
            people=checks.integer("people", self.people, low=1),
        )
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
