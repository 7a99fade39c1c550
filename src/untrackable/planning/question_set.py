"""Several questions with one budget for all of them together: how to divide it, and the campaigns made of it.

One client accepts all of these campaigns. So what each of them may spend is found with the sums by which a client's
ledger adds them up, and how often people answer follows from all of them.
"""

import contextlib
import dataclasses
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.accounting import client_check
from untrackable.accounting.joint_account import JointAccount
from untrackable.brackets import at_most
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.errors import NoPlan
from untrackable.mechanisms.demands import Unsuitable
from untrackable.notebook_view import NotebookTable
from untrackable.planning.forecast import errors, people_needed, pooling_needed
from untrackable.planning.goals import LARGE_EPS, USABLE_ERROR, Goals
from untrackable.planning.participation import with_participation
from untrackable.planning.planned_campaign import chosen_encoding, draft
from untrackable.planning.planned_work import ATTENDANCE, BEST, NEEDED, PROMISES, RECORD, PlannedWork, set_work
from untrackable.planning.plans import Option, option
from untrackable.planning.question_record import AsRecord, as_record
from untrackable.planning.rounding import counted, shown_up
from untrackable.planning.shared_attendance import answered_together
from untrackable.planning.shared_budget import Asked, SharedBudget, even_part, joint_account, largest_parts
from untrackable.planning.solved_goals import Solved
from untrackable.planning.suitability import checked, meeting
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign_draft import CampaignDraft

OWN = ("encoding", "values", "bits", "strings", "want", "error", "participation")
"""Demands of one question."""
EITHER = ("people", "rounds", "beta", "pooled", "changes", "simultaneous")
"""Demands of one question, or of all that do not say otherwise."""
FOR_ALL = ("places", "persistence", "one_network", "margin")
"""Demands that all questions have in common, beside the budget."""
_BUDGET = ("eps", "delta", "crowd_eps", "crowd_delta", "recognition")

_LARGEST_EPS = 3.9
"""At most e^3.9, about fifty times as often as by a guess, answers pick a person out of a crowd."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One question's part: `option` is its mechanism with its promises, whose goals have its eps and delta.

    `wanted` is the error that was asked for, if any, and `needed_eps` the smallest eps that reaches it. `alone` is
    the error that the question would have with the whole budget for itself (upper); None if no such plan is known.
    """

    name: str
    option: Option
    wanted: float | None
    needed_eps: float | None
    alone: float | None
    salt: bytes = dataclasses.field(repr=False)

    @property
    def goals(self) -> Goals:
        """The goals of the question, with its part of eps and delta and its participation."""
        return self.option.goals

    @property
    def error(self) -> float:
        """The error of a published figure (upper)."""
        return self.option.error_upper

    def campaign(self) -> CampaignDraft:
        """The beginning of its campaign."""
        return draft(self.goals, self.option.mechanism, self.salt)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QuestionSet(NotebookTable):
    """Several questions that one client may answer within one budget and one `recognition`.

    `spent_eps` is what all of them together spend at the budget's delta if somebody knows whose reports are whose,
    `spent_crowd_eps` the same in a crowd, and `recognised` how often people are recognised among 1,000 by all of
    them together. They are computed as in a client's ledger (upper). `record` is the same questions in one
    campaign, if they fit into one. It has the smaller errors if there are few rounds.
    """

    parts: tuple[Part, ...]
    budget: SharedBudget
    recognition: float
    spent_eps: float
    spent_crowd_eps: float
    recognised: float
    record: AsRecord | None

    def policy(self) -> dict[str, float]:
        """The limits that a client's policy must have at least, to accept all of the campaigns."""
        budget, crowded = self.budget, self.budget.crowd_eps is not None
        return {
            "eps": min(budget.eps, shown_up(self.spent_eps)) if crowded else budget.eps,
            "delta": budget.delta,
            "recognition": self.recognition,
            "crowd_eps": budget.whole,
            "crowd_delta": budget.crowd_delta if crowded else budget.delta,
        }


def plan_together(
    questions: Mapping[str, Mapping[str, Any]],
    *,
    eps: float | None = None,
    delta: float = 1e-6,
    crowd_eps: float | None = None,
    crowd_delta: float = 1e-6,
    recognition: float = 0.002,
    progress: Progress = no_progress,
    **shared: Any,
) -> QuestionSet:
    """Divide one budget among several questions; `NoPlan` says why that is not possible.

    Each question has its own demands, which are fields of `Goals`. Demands in common are given once. A question
    with an `error` gets what that takes, and the rest is divided so that all others lose the same share of their
    accuracy. If all have an error, the rest makes all of them more accurate. Reports can never be linked.

    The budget is `eps`, 1 unless it is given. With `crowd_eps`, that is divided, and all questions rely on a relay;
    `eps` is then a limit for all of them together if relay and collector work together, 4 unless it is given.

    Example: plan_together({"smoking": {"values": 2}, "colour": {"values": 8}}, people=10**8, rounds=52)
    """
    budget = _budget(eps, delta, crowd_eps, crowd_delta)
    many = len(_checked(questions))
    common = {
        **budget.demands(budget.whole),
        "delta": budget.delta / many,
        "crowd_delta": budget.crowd_delta / many,
        "recognition": recognition,
        **shared,
    }
    goals = {name: _goals(name, demands, shared, common) for name, demands in questions.items()}
    work = PlannedWork(progress, set_work(list(goals.values())))
    work.begin("attendance")
    together = answered_together(list(goals.values()))
    work.did("attendance", ATTENDANCE)
    salt = secrets.token_bytes(SHORTEST_SALT)
    asked: list[Asked] = []
    for name, answered in zip(goals, together, strict=True):
        asked.append(Asked.best(name, answered, budget, even_part(budget.whole, many), salt))
        work.did(name, BEST)
    record = as_record(goals, budget)
    work.did("budget", RECORD)
    try:
        needed = []
        for question in asked:
            needed.append(_needed_eps(question))
            work.did(question.name, NEEDED if question.goals.error else 0.0)
        parts = _divided(asked, needed, budget, work)
    except NoPlan as reason:
        raise NoPlan(f"{reason}{_record_helps(record, goals)}") from None
    joint = joint_account(asked, parts)
    _check_accepted(joint, budget, recognition)
    spent = _spent(joint, budget)
    made: list[Part] = []
    for question, part, need in zip(asked, parts, needed, strict=True):
        work.begin(question.name)
        made.append(_part(question, part, need, _alone(question, goals[question.name])))
        work.did(question.name, PROMISES)
    return QuestionSet(tuple(made), budget, recognition, *spent, joint.recognition(), record)


def _spent(joint: JointAccount, budget: SharedBudget) -> tuple[float, float]:
    """What all campaigns together spend, alone and in a crowd."""
    alone = joint.spent_eps(budget.eps, budget.delta)
    if budget.crowd_eps is None:
        return alone, alone
    return alone, joint.spent_crowd_eps(budget.crowd_eps, budget.crowd_delta)


def _budget(eps: float | None, delta: float, crowd_eps: float | None, crowd_delta: float) -> SharedBudget:
    delta, crowd_delta = (
        checks.open_probability("delta", delta),
        checks.open_probability("crowd_delta", crowd_delta),
    )
    if crowd_eps is None:
        return SharedBudget(_checked_eps("eps", 1.0 if eps is None else eps), delta, None, crowd_delta)
    limit = LARGE_EPS if eps is None else checks.epsilon("eps", eps)
    return SharedBudget(limit, delta, _checked_eps("crowd_eps", crowd_eps), crowd_delta)


def _checked_eps(name: str, eps: float) -> float:
    eps = checks.epsilon(name, eps)
    if eps > _LARGEST_EPS:
        raise ValueError(
            f"{name} must be at most {_LARGEST_EPS:g}, got {eps}: people would stand out by their answers"
        )
    return eps


def _checked(questions: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    if not isinstance(questions, Mapping) or not all(isinstance(asked, Mapping) for asked in questions.values()):
        raise TypeError("questions must map a name to the demands of each question")
    if len(questions) < 2:
        raise ValueError("give at least two questions; `plan` is for one")
    return questions


def _goals(name: str, demands: Mapping[str, Any], shared: Mapping[str, Any], common: Mapping[str, Any]) -> Goals:
    """The goals of one question with the whole eps, or an error that names the question."""
    if wrong := [key for key in shared if key not in (*EITHER, *FOR_ALL)]:
        known = ", ".join((*_BUDGET, *EITHER, *FOR_ALL))
        raise ValueError(f"{wrong[0]} is not known for all questions together; known are {known}")
    if twice := [key for key in demands if key in (*_BUDGET, *FOR_ALL)]:
        raise ValueError(f"question {name}: {twice[0]} is for all questions together, so give it once for all")
    if wrong := [key for key in demands if key not in (*OWN, *EITHER)]:
        raise ValueError(f"question {name}: {wrong[0]} is not known; known are {', '.join((*OWN, *EITHER))}")
    both = {**common, **demands}
    if missing := [key for key in ("people", "rounds") if both.get(key) is None]:
        raise ValueError(f"question {name}: {missing[0]} is missing; give it for the question or for all")
    try:
        goals = Goals(untrackable=(0.0, 0.0), **both)
    except (TypeError, ValueError) as error:
        raise type(error)(f"question {name}: {error}") from None
    if chosen_encoding(goals, bytes(SHORTEST_SALT)) is None:
        raise ValueError(f"question {name}: a campaign must say what the answers are; give an encoding")
    return goals


def _needed_eps(question: Asked) -> float | None:
    """The smallest eps for the error that is wanted; None if none is. `NoPlan` if the whole eps is not enough."""
    wanted = question.goals.error
    if wanted is None:
        return None
    found = question.needed_eps(wanted)
    if found is None:
        raise _inaccurate(question, question.budget.whole, wanted, "even if it had all of eps, ")
    return found


def _inaccurate(question: Asked, part: float, wanted: float, when: str = "") -> NoPlan:
    """The error would be too large with this eps; with how many people it would not be."""
    setting = question.at(part)
    told = f"±{at_most(setting.error, 3)} (upper)" if setting.error < 1 else "more than ±1"
    asked = (
        f"at most ±{wanted:g} is asked for" if question.goals.error else f"above ±{wanted:g} a figure says little"
    )
    helped = "fewer questions" if question.goals.rounds == 1 else "fewer rounds or questions"
    goals = setting.goals.replace(error=wanted)
    if not when:
        with contextlib.suppress(ValueError):
            pooled = pooling_needed(setting.mechanism, goals)
            helped += f", or {pooled} rounds pooled for one figure (pooled = {pooled})"
    with contextlib.suppress(ValueError):
        enough = people_needed(setting.mechanism, goals)
        helped += f", or {'more than ' if when else ''}{counted(enough)} people"
    return NoPlan(f"question {question.name}: {when}the error would be {told}, and {asked}. What helps: {helped}.")


def _divided(
    asked: Sequence[Asked], needed: Sequence[float | None], budget: SharedBudget, work: PlannedWork
) -> list[float]:
    """The eps of each question. `NoPlan` if the budget is too small for them together."""
    demanding = [question for question, need in zip(asked, needed, strict=True) if need is not None]
    needs = [need for need in needed if need is not None]
    if len(needs) == len(asked):
        parts = largest_parts(asked, needs, [None] * len(asked), budget, work)
    else:
        parts = largest_parts(asked, [budget.whole] * len(asked), needed, budget, work)
    if parts is None or any(part < need for part, need in zip(parts, needed, strict=True) if need is not None):
        raise _too_much(demanding, needs, budget)
    found = zip(asked, parts, [question.goals.error or USABLE_ERROR for question in asked], strict=True)
    if wrong := [_inaccurate(*each) for each in found if each[0].at(each[1]).error > each[2]]:
        raise NoPlan(" ".join(map(str, wrong)))
    return parts


def _too_much(asked: Sequence[Asked], needs: Sequence[float], budget: SharedBudget) -> NoPlan:
    """The errors that are wanted need more than the whole budget; what would help."""
    alone, hidden = _spent(joint_account(asked, needs), budget)
    together, name = (alone, "eps") if budget.crowd_eps is None else (hidden, "crowd_eps")
    told = (
        f"the errors that are asked for need {name} {at_most(together, 3)} together (upper), and the budget is "
        f"{name} {budget.whole:g}."
    )
    none = [None] * len(asked)
    parts = largest_parts(asked, needs, none, budget, PlannedWork()) if len(asked) > 1 else None
    if parts is None:
        return NoPlan(f"{told} Ask for larger errors, more people, fewer rounds or fewer questions.")
    found = zip(asked, parts, strict=True)
    times = max(question.at(part).error / (question.goals.error or 1.0) for question, part in found)
    return NoPlan(
        f"{told} With {name} {budget.whole:g}, they would be {at_most(times, 3)} times as large as asked for. "
        f"About {at_most(times**2, 3)} times as many people would be enough."
    )


def _record_helps(record: AsRecord | None, questions: Mapping[str, Goals]) -> str:
    """That one campaign with a record of all answers would be accurate enough, if so."""
    if record is None or any(
        record.errors[name] > (goals.error or USABLE_ERROR) for name, goals in questions.items()
    ):
        return ""
    told = ", ".join(f"{name} ±{at_most(error, 3)}" for name, error in record.errors.items())
    return (
        f" One campaign would be accurate enough, with a record of all answers, {record.reports}: {told} (upper). "
        "Plan it with an encoding of the type record."
    )


def _check_accepted(joint: JointAccount, budget: SharedBudget, recognition: float) -> None:
    """Nothing is planned that a client would refuse: each campaign by itself, and all of them together."""
    problems = [
        f"{charged.campaign.question}: {problem}"
        for charged in joint.charges
        for problem in client_check.recompute(charged.campaign).problems
    ]
    if not budget.allows(joint):
        problems.append("all campaigns together would spend more than the budget")
    if joint.tracking_delta(0.0) > 0:
        problems.append("reports could be linked")
    if joint.recognition() > recognition:
        problems.append("people would be recognised more often than is tolerable")
    if problems:
        raise NoPlan(f"a client would not accept these campaigns: {'; '.join(problems)}")


def _alone(question: Asked, goals: Goals) -> float | None:
    """The error with the whole budget, and a participation for this question only (upper)."""
    budget = question.budget
    try:
        settled = with_participation(
            question.entry, goals.replace(delta=budget.delta, crowd_delta=budget.crowd_delta)
        )
        mechanism, _ = meeting(question.entry, settled)
    except Unsuitable:
        return None
    return errors(mechanism, settled, settled.people or 1).figure


def _part(question: Asked, part: float, need: float | None, alone: float | None) -> Part:
    setting, wanted = question.at(part), question.goals.error
    tracked = checked(question.entry, setting.mechanism, setting.goals)
    solved = Solved(setting.goals.replace(error=wanted or setting.error), setting.mechanism, tracked)
    return Part(question.name, option(question.entry.name, solved), wanted, need, alone, question.salt)
