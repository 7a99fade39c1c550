"""Divides one privacy budget among several questions, by the sums with which a client's ledger adds them up."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from untrackable.accounting.charged_rounds import ChargedRounds
from untrackable.accounting.joint_account import JointAccount
from untrackable.brackets import Bracket, rounded
from untrackable.errors import NoPlan
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.ordered_catalogue import offered
from untrackable.mechanisms.tables_catalogue import TABLES
from untrackable.planning.forecast import errors
from untrackable.planning.goals import Goals
from untrackable.planning.planned_campaign import draft
from untrackable.planning.suitability import meeting
from untrackable.protocol.campaign import Campaign
from untrackable.theory.monotone_search import smallest_real

_DIGITS = 4
"""The significant digits of a declared eps."""
_STEPS = 11
"""How often the interval of the common factor is halved."""
_SMALLEST = 2.0**-10
"""The smallest part of the whole eps that a question gets."""
_CLOSE = 1e-3
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Setting:
    """One question's mechanism at its part of the budget. `error` is of a published figure (upper)."""

    goals: Goals
    mechanism: Mechanism
    tracked: Bracket
    error: float

    def campaign(self, question: str, salt: bytes) -> Campaign:
        """A campaign of it, to compute what it reveals. Its times play no part in that."""
        made = draft(self.goals, self.mechanism, salt)
        return made.campaign(question=question, first_round=0, round_seconds=_DAY)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and the mechanism that suits it best. `goals` lack nothing but their part of eps."""

    name: str
    entry: Entry
    goals: Goals
    salt: bytes

    @staticmethod
    def best(name: str, goals: Goals, salt: bytes) -> "Asked":
        """With the mechanism whose error is smallest at the eps of the goals, of those that nobody can follow."""
        found: list[tuple[float, int, Asked]] = []
        reasons: list[str] = []
        for entry in _entries(goals).values():
            try:
                mechanism, _ = _meeting(entry.name, goals)
            except Unsuitable as reason:
                reasons.append(reason.why)
                continue
            # One report cannot be linked to another. But a campaign declares what two would reveal.
            if draft(goals, mechanism, salt).guarantee.tracking_delta == 0:
                asked = Asked(name, entry, goals, salt)
                found.append((asked.at(goals.eps or 1.0).error, len(found), asked))
        if not found:
            raise NoPlan(f"question {name}: no mechanism meets the goals. {' '.join(dict.fromkeys(reasons))}")
        return min(found)[2]

    def at(self, eps: float) -> Setting:
        """The mechanism that spends this eps."""
        return _setting(self.entry.name, self.goals.replace(eps=eps))

    def needed_eps(self, wanted: float, most: float) -> float | None:
        """The smallest eps at which the error is as small as wanted; None if `most` is not enough."""

        def excess(eps: float) -> float:
            return math.log(self.at(eps).error / wanted)

        try:
            found = smallest_real(excess, most / 2, low=most * _SMALLEST, high=most, close=_CLOSE)
        except ValueError:
            return None
        return min(most, rounded(found, _DIGITS, "up"))


def _entries(goals: Goals) -> Mapping[str, Entry]:
    return offered(goals.want) if goals.asked is None else TABLES


@lru_cache(maxsize=256)
def _meeting(name: str, goals: Goals) -> tuple[Mechanism, Bracket]:
    """Kept, because a search comes back to the same eps."""
    return meeting(_entries(goals)[name], goals)


def _setting(name: str, goals: Goals) -> Setting:
    mechanism, tracked = _meeting(name, goals)
    return Setting(goals, mechanism, tracked, errors(mechanism, goals, goals.people or 1).figure)


def joint_account(asked: Sequence[Asked], parts: Sequence[float]) -> JointAccount:
    """What all questions reveal together if each spends its part."""
    return JointAccount(
        tuple(
            ChargedRounds.of_all(question.at(part).campaign(question.name, question.salt))
            for question, part in zip(asked, parts, strict=True)
        )
    )


def largest_parts(
    asked: Sequence[Asked], weights: Sequence[float], fixed: Sequence[float | None], *, eps: float, delta: float
) -> list[float] | None:
    """The eps of each question: fixed, or else its weight times the largest factor that the budget allows.

    None if the budget does not even allow a tiny factor.
    """
    most = min(eps / weight for weight, kept in zip(weights, fixed, strict=True) if kept is None)

    def parts(factor: float) -> list[float]:
        return [
            rounded(weight * factor, _DIGITS, "down") if kept is None else kept
            for weight, kept in zip(weights, fixed, strict=True)
        ]

    def fits(factor: float) -> bool:
        return joint_account(asked, parts(factor)).delta(eps) <= delta

    if fits(most):
        return parts(most)
    # Losses add up at most, so an even share mostly fits.
    low, high = next((low for low in (most / len(asked), most * _SMALLEST) if fits(low)), None), most
    if low is None:
        return None
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return parts(low)
