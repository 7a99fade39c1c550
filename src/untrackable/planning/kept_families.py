"""Mechanisms that keep something and tell it through noise, as loudly as the tolerable tracking allows."""

import math
from collections.abc import Callable
from typing import Any

from untrackable.brackets import Bracket
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.lgrr import Lgrr
from untrackable.mechanisms.kept.unary import Unary
from untrackable.planning.goals import Goals
from untrackable.planning.monotone_search import smallest_real
from untrackable.planning.refusal import Cannot, has_two, whole_values, yes_no
from untrackable.theory.kept_advantage import kept_bits_advantage_upper, kept_symbol_advantage_upper
from untrackable.theory.tracking_bounds import permanent_state_upper

_SURE_EPS = 36.0
"""Beyond, a randomised response is no longer random."""


def bitwise(goals: Goals) -> Bitwise:
    """The state as private as all reports may be."""
    whole_values(goals)
    yes_no(goals)
    eps = goals.eps or 0.0

    def advantage(eps_report: float) -> float:
        return Bitwise(eps_state=eps, eps_report=eps_report).tracking_advantage_upper(goals.observed)

    return Bitwise(eps_state=eps, eps_report=_loudest(advantage, goals))


def track_bitwise(mechanism: Bitwise, goals: Goals) -> Bracket:
    """Exact as an advantage; otherwise a bound."""
    edge = mechanism.tracking_advantage_upper(goals.observed)
    if goals.advantage is not None:
        return Bracket(edge * (1 - 3e-8), edge)
    return Bracket(0.0, _smaller(edge, mechanism.eps_report, goals))


def _smaller(edge: float, eps_report: float, goals: Goals) -> float:
    """The goal's measure from the advantage, or from the largest log-likelihood ratio if that is tolerable."""
    ratio = math.inf if goals.observed is None else permanent_state_upper(max(1, goals.observed), eps_report)
    if goals.matched is not None:
        return min(goals.bounded(edge), math.exp(min(ratio, 50.0)) / goals.crowd)
    return 0.0 if goals.untrackable is not None and ratio <= goals.untrackable[0] else goals.bounded(edge)


def unary(name: Any, goals: Goals) -> Unary:
    """The first step as private as all reports may be, the second by a bound on tracking."""
    whole_values(goals)
    eps = goals.eps or 0.0
    if goals.size > 4096:
        raise Cannot("values", f"it has a place for each value, 4,096 at most, not {goals.size:.4g}")

    def made(eps_second: float) -> Unary:
        return Unary.of_steps(name, values=goals.size, eps=eps, eps_second=eps_second)

    def advantage(share: float) -> float:
        return _unary_advantage(made(share), goals.observed)

    return made(_loudest(advantage, goals, close=1e-4))


def _unary_advantage(mechanism: Unary, reports: int | None) -> float:
    lost, added = mechanism.lost_chance.probability, mechanism.added_chance.probability
    kept = [(1 - lost, 1), (added, mechanism.values - 1)]
    if reports is None:
        return min(1.0, sum(2 * a * (1 - a) * count for a, count in kept))
    one, zero = mechanism.one_chance.probability, mechanism.zero_chance.probability
    return kept_bits_advantage_upper(kept, one, zero, reports)


def track_unary(mechanism: Unary, goals: Goals) -> Bracket:
    """By the bound on several kept bits."""
    return Bracket(0.0, goals.bounded(_unary_advantage(mechanism, goals.observed)))


def lgrr(goals: Goals) -> Lgrr:
    """The first step as private as all reports may be, the second by a bound on tracking."""
    whole_values(goals)
    if goals.size > 4096:
        raise Cannot("values", f"it keeps one of the values, 4,096 at most, not {goals.size:.4g}")
    keep = _told(goals.size, goals.eps or 0.0)

    def advantage(eps_second: float) -> float:
        return _lgrr_advantage(keep, _told(goals.size, eps_second), goals)

    tell = _told(goals.size, _loudest(advantage, goals, close=1e-4))
    return Lgrr(values=goals.size, keep=keep, tell=tell)


def _told(values: int, eps: float) -> float:
    """How often generalised randomised response of this eps tells the truth."""
    return 1 / (1 + (values - 1) * math.exp(-eps))


def _lgrr_advantage(keep: float, tell: float, goals: Goals) -> float:
    if goals.observed is None:
        return 1 - keep**2 - (1 - keep) ** 2 / (goals.size - 1)
    return kept_symbol_advantage_upper(keep, tell, goals.size, goals.observed)


def track_lgrr(mechanism: Lgrr, goals: Goals) -> Bracket:
    """By the bound on a kept symbol."""
    edge = _lgrr_advantage(mechanism.keep, mechanism.tell, goals)
    odds = mechanism.tell * (mechanism.values - 1) / (1 - mechanism.tell)
    return Bracket(0.0, _smaller(edge, math.log(odds), goals))


def _loudest(advantage: Callable[[float], float], goals: Goals, close: float = 1e-7) -> float:
    """The largest eps of one report that keeps tracking tolerable: by the advantage, or by the largest ratio."""
    if not has_two(goals):
        return _SURE_EPS
    by_ratio = 0.0
    if goals.observed is not None and goals.advantage is None:
        by_ratio = min(_SURE_EPS, goals.ratio / (goals.observed // 2))
    if goals.edge == 0:
        if by_ratio == 0:
            raise Cannot("tracking", "what it keeps shows through every report, however faintly")
        return by_ratio

    def excess(inverse: float) -> float:
        return math.log(max(advantage(1 / inverse), 1e-300) / goals.edge)

    try:
        found = 1 / smallest_real(excess, 10.0, low=1 / _SURE_EPS, high=1e9, close=close, slope=2.0)
    except ValueError:
        raise Cannot("tracking", "what it keeps shows through every report, however faintly") from None
    return max(found, by_ratio)
