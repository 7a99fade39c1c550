"""Parameters for mechanisms with a kept part, which spends the budget."""

from untrackable.mechanisms.demands import Budget
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.lgrr import Lgrr
from untrackable.mechanisms.kept.unary import Preset, Unary


def bitwise(budget: Budget) -> Bitwise:
    """The kept bit spends the budget, and each report has the same eps."""
    return Bitwise(eps_state=budget.eps, eps_report=budget.eps)


def unary(name: Preset, budget: Budget) -> Unary:
    """The first step spends the budget, and one report has a quarter of its eps."""
    return Unary.for_budget(name, values=budget.values, eps=budget.eps, eps_report=budget.eps / 4)


def lgrr(budget: Budget) -> Lgrr:
    """The first step spends the budget, and one report has a quarter of its eps."""
    return Lgrr.for_budget(values=budget.values, eps=budget.eps, eps_report=budget.eps / 4, step="exact")
