"""People with different answers: what a plan says of them, what it refuses, and which eps it goes up to."""

import math
from typing import Any

import pytest

from untrackable import Goals, plan
from untrackable.display import plan_json, plan_words
from untrackable.display.numbers import cell
from untrackable.display.truth_words import truth_words
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.other_answers import told_apart
from untrackable.planning.suitability import meeting
from untrackable.planning.tracking_check import tracking
from untrackable.planning.unknown_goal import solve

KEPT = ["l-grr", "l-sue", "l-osue", "rnip", "memoized", "biloloha", "dbitflip"]


def test_nearly_the_plain_truth_is_not_recommended() -> None:
    """L-GRR with eps 8.66 met these goals, and 99.5 % would have sent the plain truth in every report."""
    found = plan(people=200_000, values=30, rounds=365, error=0.02, recognition=1.0)
    assert found.recommended is None
    refused = {refusal.name: refusal for refusal in found.refusals}
    assert refused["l-grr"].why == "It would need eps = 8.66, and a plan goes up to 4 by itself."
    assert found.refusals[0].name == "deck"
    assert [change.goal for change in found.refusals[0].nearest] == ["pooled", "rounds", "people"]


def test_a_large_eps_needs_both_words() -> None:
    entry = CATALOGUE["l-grr"]
    goals = Goals(people=200_000, values=30, rounds=365, error=0.02, largest_eps=10.0, recognition=1.0)
    with pytest.raises(Unsuitable, match="People with different answers can be told apart"):
        solve(entry, goals)
    found = solve(entry, goals.replace(matched_by_answer=1.0))
    assert found.goals.eps == pytest.approx(8.66, abs=0.01)
    truth = found.mechanism.truthfulness()
    assert truth is not None
    assert truth.own > 0.9


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("measure", [{"advantage": 1.0}, {"matched": 1.0}, {"untrackable": (1.0, 1.0)}], ids=str)
def test_the_bound_is_above_the_engine(name: str, measure: dict[str, Any]) -> None:
    """For the worst split, asked of the engine afresh; the bound is from privacy and tracking alone."""
    goals = Goals(people=10**6, values=4, rounds=4, eps=2.0, error=0.9, **measure)
    entry = CATALOGUE[name]
    mechanism = entry.for_budget(goals.budget)
    tracked = tracking(entry, mechanism, goals.tolerance)
    exact = told_apart(mechanism, mechanism.privacy(), goals.tolerance, tracked)
    pair = mechanism.detection(rounds=range(1, 5), after="fresh")
    assert pair.delta(0.0).lower <= exact.advantage.upper + 1e-9
    assert pair.power(1e-3).lower <= exact.matched.upper + 1e-9
    many = goals.replace(rounds=40)  # so many that only the bound is left
    bound = told_apart(mechanism, mechanism.privacy(), many.tolerance, tracking(entry, mechanism, many.tolerance))
    assert bound.advantage.upper >= pair.delta(0.0).lower
    assert bound.matched.upper >= pair.power(1e-3).lower


def test_independent_reports_are_exact() -> None:
    goals = Goals(people=10**6, values=4, rounds=5, eps=2.0, error=0.9, recognition=1.0)
    mechanism, tracked = meeting(CATALOGUE["deck"], goals)
    found = told_apart(mechanism, mechanism.privacy(), goals.tolerance, tracked)
    pair = mechanism.detection(rounds=range(1, 6), after="fresh")
    assert found.advantage.upper == pytest.approx(pair.delta(0.0).upper, rel=1e-6)
    assert found.matched.upper == pytest.approx(pair.power(1e-3).upper, rel=1e-6)
    assert found.matched.upper <= math.exp(2.0) / 1000 + 1e-6


def test_every_option_says_it() -> None:
    found = plan(people=10**8, values=4, rounds=10, eps=2.0)
    shown = plan_json.as_json(found)
    assert found.options
    for option, written in zip(found.options, shown["options"], strict=True):
        assert option.other_answers.matched.upper <= found.goals.answer_limit == 0.05
        assert written["other_answers"]["advantage"]["certainty"] in ("exact", "upper", "bracket")
    column = plan_words.COLUMNS.index("other answers")
    for option in found.options:
        assert plan_words.cells(option)[column] == cell(option.other_answers.advantage)
    words = " ".join(plan_words.verdict(found))
    assert "People with other answers are told apart with advantage " in words
    best = found.recommended
    assert best is not None
    assert best.truthfulness is not None
    assert truth_words(*best.truthfulness) in words


def test_goals_of_answers() -> None:
    assert Goals(people=9, values=2, rounds=2, eps=1.0, advantage=0.3).answer_limit == pytest.approx(0.34)
    assert Goals(people=9, values=2, rounds=2, eps=1.0, advantage=1.0).answer_limit == 1.0
    with pytest.raises(ValueError, match="matched_by_answer must be at least 1/crowd"):
        Goals(people=9, values=2, rounds=2, eps=1.0, matched_by_answer=1e-4)
    with pytest.raises(ValueError, match="largest_eps must be at most 64"):
        Goals(people=9, values=2, rounds=2, eps=1.0, largest_eps=65.0)


def test_a_useless_answer_is_not_a_plan() -> None:
    found = plan(people=10**6, values=2, rounds=365, eps=1.0, recognition=1.0)
    assert found.recommended is None
    first, nearest, *_ = plan_words.verdict(found)
    assert first.startswith("Not usable: the error would be ±0.14")
    assert nearest.startswith("The nearest is ")
    deck = next(refusal for refusal in found.refusals if refusal.name == "deck")
    assert [change.goal for change in deck.nearest][:3] == ["pooled", "rounds", "people"]
    pooled = plan(people=10**6, values=2, rounds=365, eps=1.0, pooled=int(deck.nearest[0].value), recognition=1.0)
    assert pooled.recommended is not None
    assert pooled.recommended.name == "deck"
    asked = plan(people=10**6, values=2, rounds=365, eps=1.0, error=0.3, recognition=1.0)
    assert asked.recommended is not None
