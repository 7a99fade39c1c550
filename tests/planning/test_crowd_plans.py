"""Plans for the crowd: both observers' limits are kept, more people help, and promised errors are kept."""

import math
from fractions import Fraction

import numpy as np
import pytest

from untrackable.display import plan_json, plan_words
from untrackable.planning.goals import Goals
from untrackable.planning.plans import Plan, plan
from untrackable.theory.crowd_counts import MARGIN, counted_crowd, fewest_likely_reports

ASKED = {"people": 20_000, "values": 4, "rounds": 12, "participation": Fraction(1, 4), "recognition": 1.0}
COUNTED = counted_crowd(20_000, Fraction(1, 4), MARGIN)
LOUD = {"crowd_eps": 1.0, "eps": 64.0}
"""Nothing but the crowd limits reports."""


@pytest.fixture(scope="module")
def crowd_plan() -> Plan:
    return plan(**ASKED, **LOUD)  # type: ignore[arg-type]


def test_the_crowd_keeps_its_eps(crowd_plan: Plan) -> None:
    best = crowd_plan.recommended
    assert best is not None
    assert best.name == "deck"
    pair = best.mechanism.crowd(people=COUNTED, participation=Fraction(1, 4))
    assert pair.delta(1.0).upper <= 1e-6
    assert best.in_crowd.eps is not None
    assert 0.95 < best.in_crowd.eps.upper <= 1.0
    assert best.everlasting.lower > 8  # Loud reports are worth little against somebody who knows whose they are.


def test_both_limits_are_kept(crowd_plan: Plan) -> None:
    best = plan(**ASKED, crowd_eps=1.0, eps=8.0).recommended  # type: ignore[arg-type]
    assert best is not None
    assert best.everlasting.upper <= 8.0 * (1 + 1e-9)
    assert best.in_crowd.eps is not None
    assert best.in_crowd.eps.upper <= 1.0
    assert crowd_plan.recommended is not None
    assert best.error_upper > crowd_plan.recommended.error_upper


def test_a_plan_does_not_choose_loud_reports_itself() -> None:
    """If relay and collector work together, eps is at most 4 unless somebody asks for more."""
    best = plan(people=200_000, values=2, rounds=12, crowd_eps=1.0, recognition=1.0).recommended
    assert best is not None
    assert best.everlasting.upper <= 4.0 * (1 + 1e-9)
    assert best.goals.eps == 4.0


def test_a_limit_that_the_crowd_does_not_reach_is_not_declared() -> None:
    found = plan(people=300, values=2, rounds=40, crowd_eps=0.5, eps=64.0, error=0.9, recognition=1.0)
    best = found.recommended
    assert best is not None
    assert best.everlasting.upper <= found.campaign().guarantee.eps < 1.1 * best.everlasting.upper < 32


def test_louder_reports_break_the_crowd(crowd_plan: Plan) -> None:
    """What is kept back for clients is all that is left."""
    best = crowd_plan.recommended
    assert best is not None
    deck = best.mechanism
    louder = type(deck)(bits=2, slots=12, eps_report=1.03 * deck.base.eps, width=deck.base.width)  # type: ignore
    assert louder.crowd(people=COUNTED, participation=Fraction(1, 4)).delta(1.0).upper > 1e-6


def test_the_fewest_people(crowd_plan: Plan) -> None:
    best = crowd_plan.recommended
    assert best is not None
    asked = {**ASKED, "people": None, "error": best.error_upper}
    found = plan(**asked, **LOUD).recommended  # type: ignore[arg-type]
    assert found is not None
    assert found.goals.people is not None
    assert 0.97 * 20_000 <= found.goals.people <= 1.03 * 20_000
    assert found.error_upper <= best.error_upper


def test_the_most_rounds(crowd_plan: Plan) -> None:
    best = crowd_plan.recommended
    assert best is not None
    asked = {**ASKED, "rounds": None, "error": best.error_upper * 1.0001}
    found = plan(**asked, **LOUD).recommended  # type: ignore[arg-type]
    assert found is not None
    assert found.goals.rounds in (12, 13)


def test_reports_that_can_be_linked_are_refused_with_the_reason(crowd_plan: Plan) -> None:
    why = {refusal.name: refusal.why for refusal in crowd_plan.refusals}
    assert why["memoized"] == "Its reports can be linked, so a crowd does not hide them."
    assert "linked" not in why["fading"]


def test_promised_errors_are_kept(crowd_plan: Plan) -> None:
    """Of 200 rounds that are carried out, no more exceed the promised error than beta allows."""
    best = crowd_plan.recommended
    assert best is not None
    rng, missed, tried = np.random.default_rng(7), 0, 200
    values = np.repeat(np.arange(4), [14_000, 4_000, 1_500, 500])
    truth = np.bincount(values, minlength=4) / values.size
    for seed in range(tried):
        present = values[rng.random(values.size) < 0.25]
        reports = np.concatenate([b.reports for b in best.mechanism.simulate(present, rounds=1, seed=seed)])
        shares = best.mechanism.aggregator().add(reports[:, 0]).estimate().frequencies
        missed += bool(np.abs(shares - truth).max() > best.error_upper)
    assert missed <= 0.05 * tried + 4 * math.sqrt(0.05 * tried)


def test_what_is_trusted_is_said(crowd_plan: Plan) -> None:
    first, trusted, together, *_ = plan_words.verdict(crowd_plan)
    assert first.startswith("deck: frequencies are off by at most")
    assert "relay" in trusted
    assert "eps at most " in trusted
    assert "work together" in together
    alone = plan_words.verdict(plan(people=10**7, values=2, rounds=4, eps=1.0, recognition=1.0))
    assert alone[1].startswith("Nobody has to be trusted")
    told = plan_json.as_json(crowd_plan)["options"][0]
    assert told["in_crowd"]["eps"]["certainty"] in ("bracket", "upper")
    assert told["shift"] > 1


def test_who_may_be_missing_is_said(crowd_plan: Plan) -> None:
    fewest = fewest_likely_reports(20_000, Fraction(19, 80))
    words = next(each for each in plan_words.verdict(crowd_plan) if "missing" in each)
    assert words.startswith("Up to 5 % of 20,000 people may be missing from a round. Even then, 99 of 100 rounds ")
    assert f"at least {fewest:,} reports (lower)" in words
    assert f"which {COUNTED:,} people send on average" in words
    draft = crowd_plan.campaign()
    assert draft.guarantee.crowd is not None
    assert math.ceil(draft.guarantee.crowd.people * Fraction(1, 4)) == fewest


def test_a_larger_margin_asks_for_quieter_reports(crowd_plan: Plan) -> None:
    wide = plan(**ASKED, **LOUD, margin=0.4).recommended  # type: ignore[arg-type]
    best = crowd_plan.recommended
    assert best is not None
    assert wide is not None
    assert wide.goals.enrolled < 0.6 * 20_000 < best.goals.enrolled
    assert wide.error_upper > best.error_upper
    with pytest.raises(ValueError, match="margin must be below 1"):
        Goals(people=1000, values=2, rounds=4, observer="crowd", margin=1)
    with pytest.raises(ValueError, match="margin must be between 0 and 1"):
        Goals(people=1000, values=2, rounds=4, observer="crowd", margin=-0.1)


def test_a_crowd_that_is_often_nobody_is_refused() -> None:
    found = plan(people=40, values=2, rounds=4, observer="crowd", participation=Fraction(1, 20), error=0.99)
    assert not found.options
    assert "There is nobody to hide among." in {refusal.why for refusal in found.refusals}


def test_the_campaign_declares_both(crowd_plan: Plan) -> None:
    declared = crowd_plan.campaign().guarantee
    assert declared.crowd is not None
    assert (declared.crowd.eps, declared.crowd.delta, declared.crowd.people) == (1.0, 1e-6, COUNTED)
    best = crowd_plan.recommended
    assert best is not None
    assert best.everlasting.upper <= declared.eps < 1.05 * best.everlasting.upper


def test_goals_of_the_crowd() -> None:
    goals = Goals(people=1000, values=2, rounds=4, observer="crowd")
    assert goals.crowd_eps == 1.0
    assert goals.unknown == "error"
    assert goals.eps == 4.0
    assert Goals(people=1000, values=2, rounds=4, crowd_eps=1.0, largest_eps=6.0).eps == 6.0
    assert Goals(people=1000, values=2, rounds=4, crowd_eps=0.5).observer == "crowd"
    with pytest.raises(ValueError, match="people and error are missing: one of people, rounds and error"):
        Goals(values=2, rounds=4, crowd_eps=1.0)
    with pytest.raises(ValueError, match="people must be between 2"):
        Goals(people=1, values=2, rounds=4, crowd_eps=1.0)
    with pytest.raises(ValueError, match="crowd_delta"):
        Goals(people=10, values=2, rounds=4, crowd_eps=1.0, crowd_delta=1e-13)
