"""The parameters that [NV] itself selects for the same goals, as printed, and how many people that needs."""

import math
from dataclasses import dataclass

from untrackable.mechanisms.inner_product.budget_solver import largest_eps_report
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.planning.forecast import people_needed
from untrackable.planning.goals import Goals
from untrackable.theory.accuracy import inner_product_selection
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.monotone_search import smallest_integer

_MOST_PEOPLE = 10**30


@dataclass(frozen=True, slots=True)
class Published:
    """[NV, "Parameter Selection"] for the solved goals: ε′ from accuracy, then L, then k²/L.

    `eps_report`, `slots` and `delta_upper` are the printed formulas for the people of the plan. `people_upper` is
    how many people keep k²/L tolerable with the printed radius, and `people_same_radius_upper` with the radius that
    the plan uses; the ratios compare that with the people of the plan. The further term L²/2^d is left out
    everywhere: with it the printed bound would mostly exceed 1.
    """

    reports: int
    eps_report: float
    slots: int
    delta_upper: float
    people_upper: int
    people_same_radius_upper: int
    ratio_upper: float
    ratio_same_radius_upper: float


def published(goals: Goals) -> Published | None:
    """For goals without an unknown; None if no tracking is tolerable, or reports without limit are held."""
    reports, edge = goals.observed, goals.tolerance.advantage_limit
    if reports is None or edge <= 0 or goals.people is None or goals.eps is None or goals.error is None:
        return None
    if reports < 2 or goals.discovered is not None:
        return None
    eps, error, delta = goals.eps, goals.error, goals.delta

    def selected(people: int) -> tuple[float, int, float]:
        return inner_product_selection(goals.width, eps, delta, error, people, goals.beta, reports, printed=True)

    def excess(people: int) -> float:
        return math.log(selected(people)[2] / edge)

    slots = math.ceil(reports**2 / edge)
    printed = largest_eps_report(bits=goals.width, slots=slots, eps=eps, delta=delta, accounting="paper")
    same = _people(InnerProduct(bits=goals.width, slots=slots, eps_report=printed), goals)
    needed = smallest_integer(excess, 4 * same, low=1, high=_MOST_PEOPLE)
    eps_report, kept, spent = selected(goals.people)
    return Published(reports, eps_report, kept, spent, needed, same, needed / goals.people, same / goals.people)


def _people(mechanism: InnerProduct, goals: Goals) -> int:
    """The people that it takes if they answer every round, as in the paper."""
    return people_needed(mechanism, goals.replace(participation=EVERY_ROUND), most=_MOST_PEOPLE)
