"""One mechanism of the catalogue: how to make it, and how to set it for a budget."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.interface import Mechanism

_MOST_VALUES = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """One mechanism: `make` takes its parameters, `presets` are published ones, and `set_for` takes a budget.

    `cost` says how an audit's time and memory grow with the number of reports k. Call `for_budget` rather than
    `set_for`, which raises `Unsuitable` or `ValueError` with the reason if no parameters meet the budget.
    """

    name: str
    make: Callable[..., Mechanism]
    set_for: Callable[[Budget], Mechanism]
    cost: str
    presets: Mapping[str, Callable[[], Mechanism]] = field(default_factory=dict)
    lasts: bool = True
    """Whether privacy holds for ever, and not only for the budget's reports."""
    yes_no: bool = False
    """Whether only yes/no questions fit."""
    most_values: int | None = _MOST_VALUES
    """The largest number of values that the mechanism is set for; None if any number will do."""
    seconds_per_report: float = 0.0005
    """About how long a comparison takes for each report, on one core."""

    def for_budget(self, budget: Budget) -> Mechanism:
        """The mechanism that spends this budget. `Unsuitable` says why there is none."""
        if self.yes_no and budget.values > 2:
            raise Unsuitable("values", "It takes yes/no questions only.")
        if self.most_values is not None and budget.values > self.most_values:
            raise Unsuitable(
                "values", f"It takes at most {self.most_values:,} answers, and this question has {budget.values:,}."
            )
        try:
            return self.set_for(budget)
        except ValueError as error:
            why = str(error)
            raise Unsuitable("values", f"{why[:1].upper()}{why[1:]}.") from None

    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters that `make` takes."""
        return dict(inspect.signature(self.make).parameters)
