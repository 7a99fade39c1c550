"""Plans over random goals go as far as the goals allow: a little more, of a parameter or an answer, breaks them."""

import dataclasses
import math
from collections import Counter
from typing import Any

import pytest

from tests.planning.random_goals import LISTED, SHARED, UNKNOWNS, followed, private, random_plan
from untrackable import Fading, Goals
from untrackable.brackets import Bracket
from untrackable.checks import MOST_ROUNDS
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.goals import FOREVER
from untrackable.planning.plans import Option
from untrackable.planning.tracking_check import tracking
from untrackable.planning.unknown_goal import solve

MORE = 1e-3
SEEDS = range(8)
UNSEEN = {"deck", "fading"}
"""Set for privacy alone: there is nothing to follow."""
SET_FOR_TRACKING = {entry.name for entry in CATALOGUE.values() if entry.tuned} - UNSEEN

pytestmark = SHARED


@pytest.fixture(scope="module")
def options() -> dict[str, list[Option]]:
    """By what was unknown."""
    return {
        unknown: [option for seed in SEEDS for option in random_plan(seed, unknown).options] for unknown in UNKNOWNS
    }


def better(goals: Goals, unknown: str) -> Any:
    """A slightly better answer, or None where there is none."""
    value = getattr(goals, unknown)
    match unknown:
        case "people":
            return min(value - 1, math.floor(value * (1 - MORE))) or None
        case "rounds":
            return None if value in (FOREVER, MOST_ROUNDS) else math.ceil(value * (1 + MORE))
    return value * (1 - MORE)


@pytest.mark.parametrize("unknown", UNKNOWNS)
def test_the_answer_is_the_best_there_is(options: dict[str, list[Option]], unknown: str) -> None:
    """With a slightly better answer in its place, the same mechanism can no longer do it; for every mechanism."""
    tried: Counter[str] = Counter()
    for option in options[unknown]:
        answer = better(option.goals, unknown)
        if answer is not None:
            with pytest.raises(Unsuitable):
                solve(CATALOGUE[option.name], option.goals.replace(**{unknown: answer}))
        tried[option.name] += 1
    assert set(tried) == LISTED, LISTED - set(tried)


def test_a_slightly_larger_eps_is_not_private(options: dict[str, list[Option]]) -> None:
    """Every mechanism, set for a slightly larger eps, breaks the one that was asked for."""
    tried: Counter[str] = Counter()
    for option in options["error"]:
        goals = option.goals
        assert private(option.mechanism, goals)
        louder = CATALOGUE[option.name].for_budget(goals.replace(eps=(goals.eps or 0.0) * (1 + MORE)).budget)
        assert not private(louder, goals), (option.name, goals)
        tried[option.name] += 1
    assert set(tried) == LISTED, LISTED - set(tried)


def tolerating(goals: Goals, more: float) -> Goals | None:
    """The same, but for slightly more tracking; None where that is all there is."""
    if goals.tolerance.limit * more >= 1:
        return None
    if goals.matched is not None:
        return goals.replace(matched=1 / goals.crowd + (goals.matched - 1 / goals.crowd) * more)
    if goals.untrackable is not None:
        return goals.replace(untrackable=(goals.untrackable[0], goals.untrackable[1] * more))
    return goals.replace(advantage=goals.tolerance.advantage_limit * more)


def test_a_parameter_for_slightly_more_tracking_is_too_much(options: dict[str, list[Option]]) -> None:
    """Every mechanism that is set for a tolerance; by its bound, and by the engine where that is the bound."""
    tried: Counter[str] = Counter()
    # Few plans for an unknown error have slots enough that slightly fewer of them make a difference.
    rare = ("rnip", "l-grr")
    others = [option for unknown in UNKNOWNS for option in options[unknown] if option.name in rare]
    for option in [option for option in options["error"] if option.name not in rare] + others:
        entry, goals = CATALOGUE[option.name], option.goals
        assert followed(option.mechanism, goals) <= goals.tolerance.limit + 1e-9
        more = tolerating(goals, 1 + 4 * MORE)
        if entry.name not in SET_FOR_TRACKING or more is None or goals.tolerance.advantage_limit == 0:
            continue
        louder = entry.for_budget(dataclasses.replace(more.budget, by_engine=not goals.changes))
        if louder == option.mechanism:  # a whole number of slots, or as loud as can be
            continue
        assert louder.accuracy(1000).radius < option.mechanism.accuracy(1000).radius
        # The engine may know better than the bounds that a mechanism was set by.
        advantage = Bracket(0.0, louder.tracking_advantage_upper(goals.observed))
        by_bounds = goals.tolerance.of_bounds(advantage, louder.tracking_ratio_upper(goals.observed))
        by_engine = tracking(entry, louder, goals.tolerance)
        assert max(by_bounds.upper, by_engine.upper) > goals.tolerance.limit, (option.name, goals)
        if entry.name == "bitwise" and goals.advantage is not None and goals.observed is not None:
            assert followed(louder, goals) > goals.tolerance.limit
        tried[option.name] += 1
    assert set(tried) == SET_FOR_TRACKING, SET_FOR_TRACKING - set(tried)


def test_what_is_not_set_for_tracking_needs_not_be(options: dict[str, list[Option]]) -> None:
    for option in options["error"]:
        if option.name in UNSEEN:
            assert option.tracked.upper == (1 / option.goals.crowd if option.goals.matched is not None else 0)


def test_the_scale_of_fading_is_the_largest(options: dict[str, list[Option]]) -> None:
    for option in options["error"]:
        made = option.mechanism
        if isinstance(made, Fading):
            with pytest.raises(ValueError, match="scale must keep"):
                Fading(bits=made.bits, eps=made.eps, delta=made.delta, scale=made.scale * (1 + MORE))
