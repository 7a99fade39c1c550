"""A plan as JSON: the verdict in words, the goals, all options and refusals, and the beginning of a campaign."""

import dataclasses
from typing import Any

from untrackable.display.numbers import as_dict
from untrackable.display.observer_words import trust_words
from untrackable.display.plan_words import attendance, verdict
from untrackable.planning.goals import Goals
from untrackable.planning.plans import Option, Plan


def as_json(plan: Plan) -> dict[str, Any]:
    """The whole plan as JSON."""
    return {
        "verdict": verdict(plan),
        "goals": _goals(plan.goals),
        "unknown": plan.unknown,
        "options": [_option(option) for option in plan.options],
        "refusals": [
            {
                "name": r.name,
                "binding": r.binding,
                "why": r.why,
                "error_upper": r.error_upper,
                "nearest": [c._asdict() for c in r.nearest],
            }
            for r in plan.refusals
        ],
        "published": as_dict(plan.published),
        "ways": None if plan.compared is None else [way._asdict() for way in plan.compared.ways],
        "campaign": plan.campaign().to_json() if plan.options else None,
        "campaigns": _campaigns(plan),
    }


def _campaigns(plan: Plan) -> dict[str, Any] | None:
    """The campaign of each table, where several campaigns are recommended."""
    if not plan.separately:
        return None
    return {name: draft.to_json() for name, draft in plan.campaigns().items()}


def _option(option: Option) -> dict[str, Any]:
    found = {f.name: getattr(option, f.name) for f in dataclasses.fields(option)}
    goals: Goals = found.pop("goals")
    mechanism = found.pop("mechanism")
    return {
        "name": found.pop("name"),
        "mechanism": mechanism.to_json(),
        **{name: getattr(goals, name) for name in ("people", "rounds", "eps", "delta")},
        "participation": str(goals.answered),
        "attendance": goals.attendance.to_json(),
        "attendance_words": attendance(option),
        "in_crowd": as_dict(option.in_crowd),
        "shift": option.shift,
        "standard_error": option.standard_error,
        "trust_words": trust_words(option),
        **as_dict(found),
    }


def _goals(goals: Goals) -> dict[str, Any]:
    found = {f.name: getattr(goals, f.name) for f in dataclasses.fields(goals)}
    found["encoding"] = None if goals.encoding is None else goals.encoding.to_json()
    found["matched_by_answer"] = goals.answer_limit
    found["places"] = [str(share) for share in goals.places]
    found["margin"] = str(goals.margin)
    found["participation"] = None if goals.participation is None else str(goals.participation)
    return found
