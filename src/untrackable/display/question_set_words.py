"""Several questions with one budget, in words: whether they fit, how the budget was divided, and why."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from untrackable.brackets import at_most
from untrackable.display.attendance_words import participation_words
from untrackable.display.numbers import all_of, as_dict, number, upper
from untrackable.display.observer_words import HARDLY_PRIVATE, margin_words
from untrackable.display.plan_words import answered, promise
from untrackable.planning.goals import AMONG, FOREVER
from untrackable.planning.question_record import AsRecord
from untrackable.planning.question_set import Part, QuestionSet
from untrackable.planning.rounding import counted

_CLOSE = 0.98
"""Errors of at least this ratio to each other count as equal."""

COLUMNS = ("question", "mechanism", "rounds", "answered", "eps", "error", "asked for", "error alone")


def cells(part: Part) -> tuple[str, ...]:
    """A row of the table under `COLUMNS`."""
    goals = part.goals
    about = "≤" if goals.discovered is None else "≈"
    return (
        part.name,
        part.option.name,
        "for ever" if goals.rounds == FOREVER else f"{goals.rounds:,}",
        answered(part.option),
        upper(question_eps(part)),
        f"{about} {upper(part.error)}",
        "smallest" if part.wanted is None else f"≤ {number(part.wanted)}",
        "unknown" if part.alone is None else f"{about} {upper(part.alone)}",
    )


def question_eps(part: Part) -> float:
    """The part of the divided eps that a question has."""
    return part.goals.crowd_eps or part.goals.eps or 0.0


class Errors(NamedTuple):
    """Errors of all questions in one plan, and what they are; None for a question that has none there."""

    kind: Literal["planned", "alone", "record", "wanted"]
    label: str
    errors: Sequence[float | None]


def errors(found: QuestionSet) -> list[Errors]:
    """The errors of this plan, beside those of other plans and what was asked for, as far as they are known."""
    strings = any(part.goals.discovered is not None for part in found.parts)
    known = f"(upper{'; predicted for strings' * strings})"
    record = {} if found.record is None else found.record.errors
    listed = (
        Errors("planned", f"in this plan {known}", [part.error for part in found.parts]),
        Errors("alone", f"if asked alone {known}", [part.alone for part in found.parts]),
        Errors("record", "in one campaign for all (upper)", [record.get(part.name) for part in found.parts]),
        Errors("wanted", "asked for, at most", [part.wanted for part in found.parts]),
    )
    return [each for each in listed if any(error is not None for error in each.errors)]


def caption(found: QuestionSet) -> str:
    """What the columns mean."""
    first = found.parts[0].goals
    delta, where = (first.delta, "") if first.crowd_eps is None else (first.crowd_delta, " in the crowd")
    return (
        f"eps: of this question's reports by themselves{where}, at delta {at_most(delta, 3)} (upper); error: of a "
        "published figure (upper); asked for: an error, or the smallest one; error alone: if the question had the "
        "whole budget and were the only one (upper)"
    )


def title(found: QuestionSet) -> str:
    """What was planned, in one line."""
    where, _, spent = spending(found)
    return (
        f"{len(found.parts)} questions in one budget of eps {number(found.budget.whole)}{where}; together they "
        f"spend {upper(spent)} (upper)"
    )


def spending(found: QuestionSet) -> tuple[str, float, float]:
    """Where the budget counts, its delta, and what all questions spend of its eps (upper)."""
    budget = found.budget
    if budget.crowd_eps is None:
        return "", budget.delta, found.spent_eps
    return " in a crowd", budget.crowd_delta, found.spent_crowd_eps


def sentences(found: QuestionSet) -> list[str]:
    """The answer first, then how the budget was divided, and what it is good for."""
    where, delta, spent = spending(found)
    every = all_of(len(found.parts), "questions").capitalize()
    return [
        f"{every} fit into one budget of eps {number(found.budget.whole)} and delta {delta:g}"
        f"{where}: a client that allows this accepts them together, in any order.",
        f"Together they spend eps {upper(spent)}{where} (upper), as a client's ledger adds them up. The parts may "
        "add up to more than the whole, because the noise in different reports is independent.",
        *_trust(found),
        *_fixed(found),
        _division(found),
        *_attendance(found),
        *_record(found),
    ]


def _fixed(found: QuestionSet) -> list[str]:
    """Which promises hold only as long as people give the same answer."""
    fixed = [part.name for part in found.parts if not part.goals.changes]
    if not fixed:
        return []
    return [
        f"This is for answers that stay the same ({', '.join(fixed)}). If they may change from round to round, "
        "give changes = true."
    ]


def _record(found: QuestionSet) -> list[str]:
    """Whether one campaign for all questions would be better."""
    if found.record is None:
        return []
    errors = found.record.errors
    smaller = [part.name for part in found.parts if errors[part.name] < part.error * _CLOSE]
    larger = [part.name for part in found.parts if errors[part.name] > part.error / _CLOSE]
    told = ", ".join(f"{name} ≤ {upper(error)}" for name, error in errors.items())
    as_one = (
        f"one campaign with a record of all answers, {found.record.reports}. People attend once. The errors would "
        f"be: {told} (upper)"
    )
    if smaller and not larger:
        return [f"Better, if people can give all answers at once: {as_one}."]
    if not smaller:
        return [f"No better: {as_one}."]
    return [f"Better for {', '.join(smaller)}, and worse for {', '.join(larger)}: {as_one}."]


def _trust(found: QuestionSet) -> list[str]:
    """What has to be trusted in a crowd, and what is left if it must not be."""
    budget = found.budget
    if budget.crowd_eps is None:
        return ["Nobody has to be trusted: this holds against a collector that knows which reports are whose."]
    limit = f"the limit is {number(budget.eps)}"
    hardly = ", which is hardly any protection" if found.spent_eps > HARDLY_PRIVATE else ""
    return [
        "One thing has to be trusted: that the relay, which knows who sends, does not work with the collector, "
        f"which reads the reports. If the two work together, all reports have eps {upper(found.spent_eps)} at "
        f"delta {budget.delta:g} (upper){hardly}; {limit}.",
        *dict.fromkeys(margin_words(part.goals) for part in found.parts),
    ]


def _division(found: QuestionSet) -> str:
    """How the budget was divided."""
    asked = [part for part in found.parts if part.wanted is not None]
    if not asked:
        return "No error was asked for, so every question has the same eps."
    if len(asked) == len(found.parts):
        return (
            "Every question has what its error needs, times the same factor: what was left makes all of them more "
            "accurate."
        )
    names = ", ".join(part.name for part in asked)
    return f"What was asked for has what it needs ({names}). The rest of the budget is divided evenly."


def _attendance(found: QuestionSet) -> list[str]:
    """How often people answer, and what that reveals in all campaigns together."""
    first = found.parts[0].goals
    if first.one_network:
        return [participation_words(first.answered, one_network=True)]
    told = (
        f"People are recognised among {AMONG:,} by all questions together with probability at most "
        f"{upper(found.recognised)} (upper if they run at the same times or one after the other; guessing: "
        f"{1 / AMONG:g})."
    )
    if all(part.goals.answered == 1 for part in found.parts):
        return [told]
    return [f"{told} So each question is answered in some rounds only, fewer than if it were the only one."]


def promised(found: QuestionSet) -> list[tuple[str, str]]:
    """Each question, and of which figures its error is."""
    return [(part.name, f"{counted(part.goals.people or 0)} people; {promise(part.goals)}") for part in found.parts]


def as_json(found: QuestionSet) -> dict[str, Any]:
    """The whole answer as JSON, as `untrackable campaign new --plan … --part NAME` takes it."""
    return {
        "verdict": sentences(found),
        "eps": found.budget.eps,
        "delta": found.budget.delta,
        "crowd_eps": found.budget.crowd_eps,
        "crowd_delta": found.budget.crowd_delta,
        "recognition": found.recognition,
        "policy": found.policy(),
        "spent_eps_upper": found.spent_eps,
        "spent_crowd_eps_upper": found.spent_crowd_eps,
        "recognised_upper": found.recognised,
        "questions": {part.name: _part(part) for part in found.parts},
        "campaigns": {part.name: part.campaign().to_json() for part in found.parts},
        "record": None if found.record is None else _as_record(found.record),
    }


def _part(part: Part) -> dict[str, Any]:
    goals = part.goals
    return {
        "mechanism": part.option.name,
        "people": goals.people,
        "rounds": goals.rounds,
        "eps": goals.eps,
        "delta": goals.delta,
        "crowd_eps": goals.crowd_eps,
        "crowd_delta": goals.crowd_delta,
        "participation": str(goals.answered),
        "error_upper": part.error,
        "error_words": promise(goals),
        "wanted_error": part.wanted,
        "needed_eps_upper": part.needed_eps,
        "alone_error_upper": part.alone,
        "everlasting": as_dict(part.option.everlasting),
    }


def _as_record(record: AsRecord) -> dict[str, Any]:
    return {
        "mechanism": record.name,
        "participation": str(record.goals.answered),
        "errors_upper": dict(record.errors),
        "campaign": record.campaign().to_json(),
    }
