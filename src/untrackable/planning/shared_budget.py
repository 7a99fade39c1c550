"""Divides one privacy budget among several questions, by the sums with which a client's ledger adds them up."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from untrackable.accounting.charged_rounds import ChargedRounds
from untrackable.accounting.joint_account import JointAccount
from untrackable.brackets import rounded
from untrackable.errors import NoPlan
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.forecast import errors
from untrackable.planning.goals import Goals
from untrackable.planning.offered_mechanisms import offered_for
from untrackable.planning.planned_campaign import draft
from untrackable.planning.planned_work import CROWD_STEP, STEP, PlannedWork
from untrackable.planning.suitability import meeting
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.crowd_declaration import Gateway, GatewayKey
from untrackable.theory.monotone_search import smallest_real

_DIGITS = 4
"""The significant digits of a declared eps."""
_SMALLEST = 2.0**-10
"""The smallest part of the whole eps that a question gets."""
_CLOSE = 1e-3
_DAY = 86_400
_GATEWAY = Gateway((GatewayKey(bytes.fromhex(f"010020{'00' * 31}09000400010001"), 1),))
"""Stands for the keys of a campaign that relies on a crowd, while they do not matter."""


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """What all questions together may reveal, to somebody who knows whose reports are whose.

    With `crowd_eps`, the budget is for a collector that does not know it, and `eps` is a limit for the case that
    relay and collector work together.
    """

    eps: float
    delta: float
    crowd_eps: float | None = None
    crowd_delta: float = 1e-6

    @property
    def whole(self) -> float:
        """The eps that is divided."""
        return self.eps if self.crowd_eps is None else self.crowd_eps

    def demands(self, part: float) -> dict[str, float]:
        """The privacy of a question that gets this part of the eps; of a limit, it gets the same share."""
        if self.crowd_eps is None:
            return {"eps": part}
        return {"crowd_eps": part, "eps": rounded(self.eps * part / self.crowd_eps, _DIGITS, "down")}

    def limits(self) -> list["Limit"]:
        """The limits that there are: alone, and in a crowd. What is quicker to compute comes first."""
        found = [Limit(STEP, lambda joint: _log_ratio(joint.delta(self.eps), self.delta))]
        if (hidden := self.crowd_eps) is not None:
            found.append(Limit(CROWD_STEP, lambda joint: _log_ratio(joint.crowd_delta(hidden), self.crowd_delta)))
        return found

    def allows(self, joint: JointAccount) -> bool:
        """Whether all campaigns together fit."""
        return all(limit.excess(joint) <= 0 for limit in self.limits())


class Limit(NamedTuple):
    """How far all campaigns together are above a limit, as a client's ledger adds them up; at most 0 if they fit.

    ln(delta) is about -c/eps². So on this scale, a part that is 1 % larger is about 0.01 higher. `work` is what
    that takes for one question.
    """

    work: float
    excess: Callable[[JointAccount], float]


def _log_ratio(delta: float, limit: float) -> float:
    return math.log(delta / limit) / (2 * math.log(1 / limit)) if delta else -math.inf


@dataclass(frozen=True, slots=True)
class Setting:
    """One question's mechanism at its part of the budget. `error` is of a published figure (upper)."""

    goals: Goals
    mechanism: Mechanism
    error: float

    def campaign(self, question: str, salt: bytes) -> Campaign:
        """A campaign of it, to compute what it reveals. Its times and keys play no part in that."""
        made = draft(self.goals, self.mechanism, salt)
        gateway = None if self.goals.crowd_eps is None else _GATEWAY
        return made.campaign(question=question, first_round=0, round_seconds=_DAY, gateway=gateway)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and the mechanism that suits it best. `goals` lack nothing but their part of the budget."""

    name: str
    entry: Entry
    goals: Goals
    budget: SharedBudget
    salt: bytes

    @staticmethod
    def best(name: str, goals: Goals, budget: SharedBudget, part: float, salt: bytes) -> "Asked":
        """With the mechanism whose error is smallest at this part, of those whose reports cannot be linked."""
        goals = goals.replace(**budget.demands(part))
        found: list[tuple[float, int, Asked]] = []
        reasons: list[str] = []
        for entry in offered_for(goals).values():
            try:
                mechanism, _ = meeting(entry, goals, by_engine=False)
            except Unsuitable as reason:
                reasons.append(reason.why)
                continue
            # One report cannot be linked to another. But a campaign declares what two would reveal.
            if draft(goals, mechanism, salt).guarantee.tracking_delta == 0:
                asked = Asked(name, entry, goals, budget, salt)
                found.append((asked.at(part).error, len(found), asked))
        if not found:
            raise NoPlan(f"question {name}: no mechanism meets the goals. {' '.join(dict.fromkeys(reasons))}")
        return min(found)[2]

    def at(self, part: float) -> Setting:
        """The mechanism that spends this part of the eps."""
        return _setting(self.entry.name, self.goals.replace(**self.budget.demands(part)))

    def needed_eps(self, wanted: float) -> float | None:
        """The smallest eps at which the error is as small as wanted; None if the whole eps is not enough."""
        most = self.budget.whole

        def excess(eps: float) -> float:
            return math.log(self.at(eps).error / wanted)

        try:
            found = smallest_real(excess, most / 2, low=most * _SMALLEST, high=most, close=_CLOSE)
        except ValueError:
            return None
        return min(most, rounded(found, _DIGITS, "up"))


@lru_cache(maxsize=256)
def _setting(name: str, goals: Goals) -> Setting:
    """Kept, because a search comes back to the same eps."""
    mechanism = offered_for(goals)[name].for_budget(goals.budget)
    return Setting(goals, mechanism, errors(mechanism, goals, goals.people or 1).figure)


def joint_account(asked: Sequence[Asked], parts: Sequence[float]) -> JointAccount:
    """What all questions reveal together if each spends its part."""
    return JointAccount(
        tuple(
            ChargedRounds.of_all(question.at(part).campaign(question.name, question.salt))
            for question, part in zip(asked, parts, strict=True)
        )
    )


def even_part(whole: float, many: int) -> float:
    """About what each of so many questions gets: losses of independent reports add up in squares."""
    return rounded(whole / math.sqrt(many), _DIGITS, "down")


def largest_parts(
    asked: Sequence[Asked],
    weights: Sequence[float],
    fixed: Sequence[float | None],
    budget: SharedBudget,
    work: PlannedWork,
) -> list[float] | None:
    """The eps of each question: fixed, or else its weight times the largest factor that the budget allows.

    None if the budget does not even allow a tiny factor. Each step of the search is told to `work`.
    """
    most = min(budget.whole / weight for weight, kept in zip(weights, fixed, strict=True) if kept is None)

    def parts(factor: float) -> list[float]:
        return [
            rounded(weight * factor, _DIGITS, "down") if kept is None else kept
            for weight, kept in zip(weights, fixed, strict=True)
        ]

    found = 1.0
    for limit in budget.limits():

        def above(smaller: float, limit: Limit = limit) -> float:
            excess = limit.excess(joint_account(asked, parts(most / smaller)))
            work.did("budget", limit.work * len(asked))
            return excess

        if found > 1 and above(found) <= 0:
            continue
        start = max(found, math.sqrt(len(asked)))  # As in `even_part`.
        try:
            found = smallest_real(above, start, low=found, high=1 / _SMALLEST, close=_CLOSE / 2)
        except ValueError:
            return None
    return parts(most / found)
