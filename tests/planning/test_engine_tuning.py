"""Kept bits and symbols are as loud as the engine allows, not only as a bound does."""

import pytest

from untrackable import Goals, plan
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.planning.forecast import people_needed
from untrackable.planning.suitability import meeting

GOALS = Goals(values=16, rounds=30, eps=3.0, advantage=0.3, reports=12, error=0.01, recognition=1.0)


def test_an_exactly_tuned_encoding_needs_fewer_people() -> None:
    entry = CATALOGUE["l-osue"]
    bound, _ = meeting(entry, GOALS, by_engine=False)
    exact, tracked = meeting(entry, GOALS)
    assert people_needed(bound, GOALS) > 1.4 * people_needed(exact, GOALS)
    assert 0.299 < tracked.upper <= 0.3
    afresh = exact.tracking(rounds=range(1, 13)).delta(0.0)
    assert afresh.upper <= 0.3
    found = plan(goals=GOALS)
    option = next(option for option in found.options if option.name == "l-osue")
    assert option.goals.people == people_needed(exact, GOALS)


@pytest.mark.parametrize("name", ["l-sue", "l-oue", "l-soue", "l-grr"])
@pytest.mark.parametrize("measure", [{"advantage": 0.1}, {"matched": 0.05}], ids=str)
def test_what_the_engine_allows_is_tolerable(name: str, measure: dict[str, float]) -> None:
    goals = GOALS.replace(reports=5, matched_by_answer=1.0, **{"advantage": None, **measure})
    mechanism, tracked = meeting(CATALOGUE[name], goals)
    afresh = goals.tolerance.of(mechanism.tracking(rounds=range(1, 6)))
    assert max(afresh.lower, tracked.lower) <= goals.tolerance.limit
    assert tracked.upper <= goals.tolerance.limit


def test_beyond_the_reach_of_the_engine_the_bound_is_kept() -> None:
    goals = GOALS.replace(reports=30)
    quick, told = (meeting(CATALOGUE["l-osue"], goals, by_engine=by) for by in (False, True))
    assert quick[0] == told[0]
    assert told[1].certainty == "upper"
