"""Parameters for mechanisms with a kept part, which spends the budget. Reports get the eps that tracking allows."""

import math
from collections.abc import Callable

from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.lgrr import Lgrr
from untrackable.mechanisms.kept.unary import Preset, Unary
from untrackable.mechanisms.tolerance import Tolerance
from untrackable.theory.monotone_search import smallest_real
from untrackable.theory.root_finding import falling_root

_LOUDEST = 36.0
"""The largest eps of one report. With a larger one, randomised response is no longer random."""
_NOISIEST = 1e9
"""One over the smallest eps that is tried."""
ENGINE_REPORTS = 16
"""Reports up to which the engine is asked how loud they may be: a tenth of a second for each question."""
_CLOSE = 1e-3
"""Relative width at which the search with the engine ends."""
_SHOWS = "What a client keeps shows through its reports, however much noise is added."


def bitwise(budget: Budget) -> Bitwise:
    """The kept bit spends the budget. Without a tolerance, each report has the same eps."""
    eps, tolerance = budget.eps, budget.tolerance
    if tolerance is None:
        return Bitwise(eps_state=eps, eps_report=eps)

    def advantage(eps_report: float) -> float:
        return Bitwise(eps_state=eps, eps_report=eps_report).tracking_advantage_upper(tolerance.reports)

    return Bitwise(eps_state=eps, eps_report=_loudest(advantage, tolerance))


def unary(name: Preset, budget: Budget) -> Unary:
    """The first step spends the budget. Without a tolerance, one report has a quarter of its eps."""
    eps, tolerance = budget.eps, budget.tolerance
    if tolerance is None:
        return Unary.for_budget(name, values=budget.values, eps=eps, eps_report=eps / 4)

    def with_second(eps_second: float) -> Unary:
        return Unary.of_steps(name, values=budget.values, eps=eps, eps_second=eps_second)

    def advantage(eps_second: float) -> float:
        return with_second(eps_second).tracking_advantage_upper(tolerance.reports)

    return with_second(_sharper(with_second, _loudest(advantage, tolerance, close=1e-4), budget))


def lgrr(budget: Budget) -> Lgrr:
    """The first step spends the budget. Without a tolerance, one report has a quarter of its eps."""
    eps, values, tolerance = budget.eps, budget.values, budget.tolerance
    if tolerance is None:
        return Lgrr.for_budget(values=values, eps=eps, eps_report=eps / 4, step="exact")
    keep = _truth(values, eps)

    def with_second(eps_second: float) -> Lgrr:
        return Lgrr(values=values, keep=keep, tell=_truth(values, eps_second))

    def advantage(eps_second: float) -> float:
        return with_second(eps_second).tracking_advantage_upper(tolerance.reports)

    return with_second(_sharper(with_second, _loudest(advantage, tolerance, close=1e-4), budget))


def _sharper(made: Callable[[float], Mechanism], bound: float, budget: Budget) -> float:
    """The largest eps of the second step that the engine tolerates, from the one that the bound does.

    The bound is kept where the engine takes too long, or knows no more.
    """
    tolerance = budget.tolerance
    if not budget.by_engine or tolerance is None or tolerance.reports is None:
        return bound
    reports, limit = tolerance.reports, tolerance.limit
    if not 2 <= reports <= ENGINE_REPORTS or not 0 < limit < 1 or bound >= _LOUDEST:
        return bound

    def followed(eps_second: float, first: range | None) -> float:
        """The tracking by this split of the reports; by the worst one, if none is given."""
        return tolerance.of(made(eps_second).tracking(rounds=range(1, reports + 1), first=first)).upper

    def loudest(start: float, first: range | None) -> float:
        def height(eps_second: float) -> float:
            try:
                most = followed(eps_second, first)
            except ValueError:  # The engine does not take noise this faint, so it counts as too faint.
                most = 1.0
            return math.log(limit / max(most, 1e-300))

        return falling_root(height, start, low=bound, high=_LOUDEST, tolerance=_CLOSE, keep="below").x

    try:
        # Halves are mostly the worst split. If they are not for the noise that they allow, all splits are asked.
        found = loudest(bound, range(1, reports // 2 + 1))
        return found if followed(found, None) <= limit else loudest(found, None)
    except ValueError:  # The engine is no sharper here, or takes no such question.
        return bound


def _truth(values: int, eps: float) -> float:
    """The probability that generalised randomised response of this eps tells the truth."""
    return 1 / (1 + (values - 1) * math.exp(-eps))


def _loudest(advantage: Callable[[float], float], tolerance: Tolerance, close: float = 1e-7) -> float:
    """The largest eps of one report for which tracking is tolerable, by the advantage or by the largest ratio."""
    if not tolerance.comparable:
        return _LOUDEST
    by_ratio, limit = 0.0, tolerance.advantage_limit
    if tolerance.reports is not None and tolerance.advantage is None:
        by_ratio = min(_LOUDEST, tolerance.ratio_limit / (tolerance.reports // 2))
    if limit == 0:
        if by_ratio == 0:
            raise Unsuitable("tracking", _SHOWS)
        return by_ratio

    def excess(inverse: float) -> float:
        return math.log(max(advantage(1 / inverse), 1e-300) / limit)

    try:
        found = 1 / smallest_real(excess, 10.0, low=1 / _LOUDEST, high=_NOISIEST, close=close, slope=2.0)
    except ValueError:
        raise Unsuitable("tracking", _SHOWS) from None
    return max(found, by_ratio)
