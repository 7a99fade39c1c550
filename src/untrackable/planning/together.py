"""One campaign for several questions, with one turn for all of them: a person is charged and seen once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from untrackable.encodings.encoding import AskedTables, Encoding
from untrackable.encodings.record import Record
from untrackable.notebook_view import NotebookTable
from untrackable.planning.forecast import Promise, table_law
from untrackable.planning.goals import Goals
from untrackable.planning.plan import Plan, chosen_encoding, plan
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign_draft import CampaignDraft

_ANSWERS = ("encoding", "values", "bits")
"""What one question says. All else is for all questions together."""


class Part(NamedTuple):
    """One question: its answers, and how far its figures will be off, all its answers at once."""

    name: str
    encoding: Encoding
    figure: Promise
    one_round: Promise
    quarter: Promise
    all_rounds: Promise


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QuestionSet(NotebookTable):
    """The plan of one campaign for all questions, and what it promises for each of them."""

    plan: Plan
    parts: tuple[Part, ...]

    @property
    def met(self) -> bool:
        """Whether the goals are met."""
        return self.plan.met

    def campaign(self) -> CampaignDraft:
        """The beginning of the one campaign."""
        return self.plan.campaign()


def plan_together(
    questions: Mapping[str, Mapping[str, Any]], *, progress: Progress = no_progress, **shared: Any
) -> QuestionSet:
    """Plan one campaign for several questions, each a name with `encoding`, `values` or `bits`.

    `shared` are the other fields of `Goals`, for all questions together.

    Example: plan_together({"smokes": {"values": 2}, "age": {"values": 8}}, people=100_000, rounds=12, eps=2)
    """
    if len(questions) < 2:
        raise ValueError(f"give two questions or more, got {len(questions)}; for one, call plan")
    attributes = {name: _answers(name, asked, shared) for name, asked in questions.items()}
    record = Record(attributes=attributes, tables=[(name,) for name in attributes])
    together = plan(goals=Goals(encoding=record, **shared), progress=progress)
    return QuestionSet(together, tuple(_part(name, encoding, together) for name, encoding in attributes.items()))


def _answers(name: str, asked: Mapping[str, Any], shared: Mapping[str, Any]) -> Encoding:
    """The encoding of one question; an error names it."""
    if unknown := [key for key in asked if key not in _ANSWERS]:
        raise ValueError(
            f"question {name}: {unknown[0]} is not its own; give {', '.join(_ANSWERS)}, and all else once"
        )
    if twice := [key for key in _ANSWERS if key in shared]:
        raise ValueError(f"{twice[0]} is for one question, not for all together")
    try:
        goals = Goals(people=1, rounds=1, eps=1.0, **asked)
        encoding = chosen_encoding(goals, b"")
        if encoding is None or goals.asked is not None or goals.discovered is not None:
            raise ValueError("a set has questions with one answer each, out of a known list")
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"question {name}: {error}") from None
    return encoding


def _part(name: str, encoding: Encoding, together: Plan) -> Part:
    asked = together.solved.asked
    if asked is None:
        raise TypeError("the goals must ask for tables")
    law = table_law(together.mechanism, together.solved, AskedTables(asked.views, (asked.named(name),)))
    promises = (together.figure, together.one_round, together.quarter, together.all_rounds)
    return Part(name, encoding, *(law.promise(together.solved, promise.rounds) for promise in promises))
