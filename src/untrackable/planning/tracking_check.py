"""How well an observer can follow a person, as a tolerance measures it: by a closed form, or else by the engine."""

from functools import lru_cache

from untrackable.brackets import Bracket
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.kept_settings import ENGINE_REPORTS
from untrackable.mechanisms.tolerance import Tolerance, measured

_FEW = (2, 8, 20)
"""Numbers of reports at which a mechanism that is too easy to follow mostly shows it."""
_SEARCHED = 40
"""Reports up to which the engine is asked where anything is tolerable anyway."""


def tracking(entry: Entry, mechanism: Mechanism, tolerance: Tolerance) -> Bracket:
    """One person against two of the same value, for the worst split of the observer's reports."""
    if entry.tuned and mechanism.enough_reports is None:
        held = tolerance.reports
        advantage = Bracket(mechanism.tracking_advantage_lower(held), mechanism.tracking_advantage_upper(held))
        bound = tolerance.of_bounds(advantage, mechanism.tracking_ratio_upper(held))
        if bound.upper <= tolerance.limit or held is None or not 2 <= held <= ENGINE_REPORTS:
            return bound
        try:
            found = _worst_split(mechanism, held, *tolerance.query)
        except ValueError:  # The engine takes no such question.
            return bound
        return found if found.upper < bound.upper else bound
    if not tolerance.comparable:
        return tolerance.of(mechanism.tracking(reports=1))
    lower = tracking_lower(mechanism, tolerance)
    reports = _compared(mechanism, tolerance)
    if lower > tolerance.limit or reports is None or (reports > _SEARCHED and tolerance.limit >= 1):
        return Bracket(lower, 1.0)
    try:
        return _worst_split(mechanism, reports, *tolerance.query)
    except ValueError:  # The engine searches no further for the worst split.
        return Bracket(lower, 1.0)


def tracking_lower(mechanism: Mechanism, tolerance: Tolerance) -> float:
    """A lower bound from few reports and one split: fewer reports never show more. It stops above the limit."""
    reports, lower = _compared(mechanism, tolerance), 0.0
    for few in (*(few for few in _FEW if reports is None or few < reports), *([reports] if reports else [])):
        try:
            lower = max(lower, _halves(mechanism, few, *tolerance.query))
        except ValueError:  # The engine takes no more reports.
            break
        if lower > tolerance.limit:
            break
    return lower


def _compared(mechanism: Mechanism, tolerance: Tolerance) -> int | None:
    """The number of reports to compare: the observer's, or fewer if those already show all there is to see."""
    enough = mechanism.enough_reports
    return tolerance.reports if enough is None else enough


@lru_cache(maxsize=256)
def _halves(mechanism: Mechanism, reports: int, crowd: int | None, gamma: float) -> float:
    """A lower bound from one split, half of the reports: the worst one may show more."""
    half = range(1, reports // 2 + 1)
    return measured(mechanism.tracking(rounds=range(1, reports + 1), first=half), crowd, gamma).lower


@lru_cache(maxsize=256)
def _worst_split(mechanism: Mechanism, reports: int, crowd: int | None, gamma: float) -> Bracket:
    return measured(mechanism.tracking(rounds=range(1, reports + 1)), crowd, gamma)
