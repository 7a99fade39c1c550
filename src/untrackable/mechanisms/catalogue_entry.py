"""One mechanism of the catalogue: how to make it, how to set it for a budget, and facts that a plan needs."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH

Setter = Callable[[Budget], Mechanism]
SetterOfReport = Callable[[Budget, float, int], Mechanism]

_MOST_VALUES = 4096
_LINKED = "Its reports can be linked, so a crowd does not hide them."
_WHOLE = "It asks about whole values, and strings are discovered by their prefixes."


@dataclass(frozen=True, slots=True)
class Entry:
    """One mechanism: `make` takes its parameters, `presets` are published ones, and `set_for` takes a budget.

    `cost` says how an audit's time and memory grow with the number of reports k. Call `for_budget` rather than
    `set_for`, which raises `Unsuitable` or `ValueError` with the reason if no parameters meet the budget.
    """

    name: str
    make: Callable[..., Mechanism]
    set_for: Setter
    cost: str
    presets: Mapping[str, Callable[[], Mechanism]] = field(default_factory=dict)
    set_for_report: SetterOfReport | None = None
    """Sets the mechanism by the eps of its first report and the width of its answers.

    What all reports spend together is not looked at.
    """
    set_for_crowd: Setter | None = None
    """Sets the mechanism for a budget with a crowd; None if that is not planned, and `no_crowd` says why."""
    no_crowd: str = _LINKED
    widest: int = LARGEST_WIDTH
    """The widest answer that `set_for_report` takes."""
    lasts: bool = True
    """Whether privacy holds for ever, and not only for the budget's reports."""
    yes_no: bool = False
    """Whether only yes/no questions fit."""
    most_values: int | None = _MOST_VALUES
    """The largest number of values that the mechanism is set for; None if any number will do."""
    takes_levels: bool = False
    """Whether the mechanism can ask about the prefixes of strings."""
    every_round: bool = True
    """Whether frequencies can be estimated in every round."""
    tuned: bool = False
    """Whether a closed form keeps the parameters within a tolerance. If not, tracking has to be checked."""
    quick: bool = False
    """Whether a search for the eps or for the number of rounds takes next to no time."""
    work: float = 1.0
    """How long it takes to set the mechanism, relative to a deck."""
    reference: bool = False
    """Whether plans always compare other mechanisms with this one."""
    seconds_per_report: float = 0.0005
    """About how long a comparison takes for each report, on one core."""

    def for_budget(self, budget: Budget) -> Mechanism:
        """The mechanism that spends this budget within its tolerance. `Unsuitable` says why there is none."""
        if (refused := self.refusal(budget)) is not None:
            raise refused
        set_for = self.set_for if budget.crowd is None else self.set_for_crowd or self.set_for
        try:
            return set_for(budget)
        except ValueError as error:
            why = str(error)
            raise Unsuitable("values", f"{why[:1].upper()}{why[1:]}.") from None

    def refusal(self, budget: Budget) -> Unsuitable | None:
        """Why no parameters meet the budget, if that is known without looking for them."""
        if budget.levels is not None and not self.takes_levels:
            return Unsuitable("values", _WHOLE)
        if self.yes_no and budget.values != 2:
            return Unsuitable(
                "values", f"It answers yes/no questions only, and this question has {budget.values:,} answers."
            )
        if budget.for_ever and not self.lasts:
            return Unsuitable(
                "privacy",
                "Fresh noise spends privacy with every report, without end. "
                "`Deck` does the same for a fixed number of rounds.",
            )
        if budget.every_round and not self.every_round:
            return Unsuitable("accuracy", "It estimates frequencies at its updates only, not at every round.")
        if self.most_values is not None and budget.values > self.most_values:
            return Unsuitable(
                "values", f"It takes at most {self.most_values:,} answers, and this question has {budget.values:,}."
            )
        if budget.crowd is not None and self.set_for_crowd is None:
            return Unsuitable("crowd", self.no_crowd)
        return None

    def for_report(self, budget: Budget, eps_report: float, width: int) -> Mechanism:
        """The mechanism whose first report has this eps and width, within the budget's tolerance."""
        if self.set_for_report is None:
            raise TypeError(f"{self.name} is not set by the eps of one report")
        if budget.levels is not None and not self.takes_levels:
            raise Unsuitable("values", _WHOLE)
        return self.set_for_report(budget, eps_report, width)

    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters that `make` takes."""
        return dict(inspect.signature(self.make).parameters)
