"""A plan as JSON: the verdict in words, the goals, all promises, and the beginning of a campaign."""

import dataclasses
from typing import Any

from untrackable.display.numbers import as_dict
from untrackable.display.plan_words import verdict
from untrackable.planning.goals import Goals
from untrackable.planning.plans import Plan
from untrackable.planning.question_set import QuestionSet


def as_json(plan: Plan) -> dict[str, Any]:
    """The whole plan as JSON."""
    return {
        "verdict": verdict(plan),
        "met": plan.met,
        "why": plan.why,
        "changes": as_dict(plan.changes),
        "goals": _goals(plan.goals),
        "solved": _goals(plan.solved),
        "unknown": plan.unknown,
        "promises": {
            name: as_dict(getattr(plan, name)) for name in ("figure", "one_round", "quarter", "all_rounds")
        },
        "ranks": plan.ranks,
        "gap_upper": plan.gap_upper,
        "eps_alone_upper": plan.eps_alone,
        "crowd": as_dict(plan.crowd),
        "recognition_upper": plan.recognition_upper,
        "exclusion_exact": plan.exclusion,
        "wiped_every_round": as_dict(plan.wiped),
        "ways": as_dict(plan.ways),
        "campaign": plan.campaign().to_json() if plan.met else None,
    }


def set_json(found: QuestionSet) -> dict[str, Any]:
    """The plan of several questions as JSON."""
    parts = {
        part.name: {
            "encoding": part.encoding.to_json(),
            **{name: as_dict(getattr(part, name)) for name in ("figure", "one_round", "quarter", "all_rounds")},
        }
        for part in found.parts
    }
    return {**as_json(found.plan), "questions": parts}


def _goals(goals: Goals) -> dict[str, Any]:
    found = {f.name: as_dict(getattr(goals, f.name)) for f in dataclasses.fields(goals) if f.name != "encoding"}
    return {**found, "encoding": None if goals.encoding is None else goals.encoding.to_json()}
