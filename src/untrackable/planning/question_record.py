"""Several questions as one: a record of all answers, of which each report is about one or some, drawn anew.

Such a campaign is attended once, and has the whole budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from untrackable.encodings.asked_tables import AskedTables
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.record import Record
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.tables_catalogue import TABLES
from untrackable.planning.forecast import errors, table_errors
from untrackable.planning.goals import Goals
from untrackable.planning.participation import with_participation
from untrackable.planning.planned_campaign import chosen_encoding, draft
from untrackable.planning.shared_budget import SharedBudget
from untrackable.planning.suitability import meeting
from untrackable.protocol.campaign_draft import CampaignDraft

_ALIKE = ("people", "rounds", "beta", "pooled", "changes", "simultaneous")
"""The demands that one campaign has once, for all its tables."""


@dataclass(frozen=True, slots=True, eq=False)
class AsRecord:
    """One campaign for all questions: its goals, its mechanism, and the error of each question's figure (upper)."""

    name: str
    goals: Goals
    mechanism: Mechanism
    errors: Mapping[str, float]

    @property
    def reports(self) -> str:
        """What one report is about, in words."""
        about = {"groups": "some of them together", "whole": "all of them together"}.get(self.name, "one of them")
        return f"of which each report is about {about}{'' if self.name == 'whole' else ', drawn anew'}"

    def campaign(self) -> CampaignDraft:
        """The beginning of the campaign."""
        return draft(self.goals.replace(error=max(self.errors.values())), self.mechanism, b"")


def as_record(questions: Mapping[str, Goals], budget: SharedBudget) -> AsRecord | None:
    """The questions as one record with the whole budget; None if they do not fit into one, or no mechanism does."""
    record = _record(questions)
    if record is None:
        return None
    first = next(iter(questions.values()))
    asked = first.replace(
        encoding=record,
        values=None,
        bits=None,
        error=None,
        participation=None,
        delta=budget.delta,
        crowd_delta=budget.crowd_delta,
        **budget.demands(budget.whole),
    )
    found: list[tuple[float, AsRecord]] = []
    for entry in TABLES.values():
        try:
            goals = with_participation(entry, asked)
            mechanism, _ = meeting(entry, goals)
        except Unsuitable:
            continue
        each = {name: _error(name, mechanism, goals) for name in questions}
        found.append(
            (errors(mechanism, goals, goals.people or 1).figure, AsRecord(entry.name, goals, mechanism, each))
        )
    return min(found, key=lambda one: one[0])[1] if found else None


def _record(questions: Mapping[str, Goals]) -> Record | None:
    """The record of all answers; None if the questions differ in what a campaign has once."""
    first = next(iter(questions.values()))
    attributes: dict[str, Encoding] = {}
    for name, goals in questions.items():
        encoding = chosen_encoding(goals, bytes(SHORTEST_SALT))
        alike = all(getattr(goals, demand) == getattr(first, demand) for demand in _ALIKE)
        plain = goals.want == "frequencies" and goals.discovered is None and goals.asked is None
        if encoding is None or not alike or not plain or goals.participation is not None:
            return None
        attributes[name] = encoding
    try:
        return Record(attributes=attributes, tables=[(name,) for name in attributes])
    except (TypeError, ValueError):  # The record is too large, or a name does not fit.
        return None


def _error(name: str, mechanism: Mechanism, goals: Goals) -> float:
    """The error of the table of one attribute, all its cells at once if the goals say so."""
    asked = goals.asked
    if asked is None:
        raise TypeError("the goals must ask for tables")
    table = AskedTables(asked.views, (asked.named(name),))
    return table_errors(mechanism, goals, table, goals.people or 1).figure
