"""Random goals, and what the engine says about a mechanism when it is asked afresh."""

import functools
from typing import Any

import numpy as np
import pytest

from untrackable import Deck, Fading, Goals, Memoized, plan
from untrackable.mechanisms import Lgrr
from untrackable.mechanisms.attended_tracking import recognition
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.goals import FOREVER
from untrackable.planning.plans import Plan

NEVER = {name for name, entry in CATALOGUE.items() if not entry.lasts} | {"votes", "fixed-vector-fresh"}
"""What no plan lists: privacy that ends, or nothing that is estimated at every round."""
LISTED = set(CATALOGUE) - NEVER
"""What some plan lists."""
SHARED = pytest.mark.xdist_group("random plans")
"""Of tests that share plans, which one process then makes for all of them."""
UNKNOWNS = ("people", "rounds", "eps", "error")


def random_goals(seed: int, unknown: str) -> Goals:
    """Goals that most mechanisms can meet, one of the four left open."""
    rng = np.random.default_rng([seed, UNKNOWNS.index(unknown)])
    rounds: Any = int(rng.integers(1, 25))
    demands: dict[str, Any] = {
        "people": int(10 ** rng.uniform(3, 9)),
        "values": int(rng.choice([2, 2, 2, 3, 16, 16, 1000])),
        "rounds": rounds,
        "eps": float(10 ** rng.uniform(-0.5, 0.9)),
        "error": float(10 ** rng.uniform(-2.5, -0.2)),
        "delta": float(10 ** rng.uniform(-10, -7)),
        "beta": float(rng.choice([0.01, 0.05, 0.3])),
        "simultaneous": bool(rng.integers(2)),
        "changes": bool(rng.random() < 0.3),
        "pooled": int(rng.integers(1, rounds + 1)),
        "matched_by_answer": 1.0,
        "largest_eps": 64.0,
    }
    kind = int(rng.choice([0, 0, 1, 2]))
    tolerances: list[dict[str, Any]] = [
        {"advantage": float(rng.choice([0.0, 0.001, 0.05, 0.5, 1.0, 1.0]))},
        {"matched": float(rng.choice([0.02, 0.2])), "crowd": 100},
        {"untrackable": (float(rng.choice([0.0, 0.3])), 0.02)},
    ]
    demands |= tolerances[kind]
    if rng.random() < 0.25 and unknown != "rounds":
        demands |= {"rounds": FOREVER, "reports": int(rng.integers(1, 12))}
    if unknown == "rounds":
        demands["people"] = int(10 ** rng.uniform(3, 5))  # few, so that rounds are few
    if seed % 4 == 3:  # what any mechanism can do
        demands |= dict.fromkeys(("advantage", "matched", "untrackable"))
        demands |= {"people": 10**7, "values": 2, "advantage": 1.0, "error": 0.2, "changes": False}
        demands |= {"rounds": rounds, "reports": None, "eps": max(2.0, demands["eps"])}
    recognition = float(rng.choice([1.0, 1.0, 0.002, 0.05]))
    attended = unknown != "rounds" and demands["rounds"] != FOREVER and seed % 4 != 3
    demands["recognition"] = recognition if attended else 1.0
    demands[unknown] = None
    return Goals(**demands)


@functools.cache
def random_plan(seed: int, unknown: str) -> Plan:
    """A plan for such goals, once for all tests of one process."""
    return plan(goals=random_goals(seed, unknown))


def followed(mechanism: Mechanism, goals: Goals) -> float:
    """By the engine alone, the worst split of all reports that an observer may hold."""
    reports = goals.observed
    if reports is None or reports > 24:
        reports = 2 if isinstance(mechanism, (Deck, Fading, Memoized)) else 24
    if isinstance(mechanism, Lgrr):
        reports = min(reports, 4)  # beyond, the engine has a bound that is wider than the planner's
    return goals.tolerance.of(mechanism.tracking(rounds=range(1, reports + 1))).upper


def private(mechanism: Mechanism, goals: Goals) -> bool:
    reports = goals.rounds if goals.changes and isinstance(goals.rounds, int) else None
    pair = mechanism.privacy(reports=reports, values=goals.secret, participation=goals.answered)
    return pair.delta(goals.eps or 0.0).upper <= goals.delta


def recognised(mechanism: Mechanism, goals: Goals) -> float:
    """By the engine alone, reports and attendance together (upper)."""
    rounds = goals.rounds if isinstance(goals.rounds, int) else None
    values = goals.size if goals.changes else 1
    return recognition(mechanism, goals.attendance, rounds, values=values).upper
