"""Every option of a plan, made into a campaign, keeps what the campaign declares."""

from typing import Any

import pytest

from untrackable import Goals, plan
from untrackable.accounting import client_check
from untrackable.accounting.verification import verify
from untrackable.planning.planned_campaign import draft

SALT = bytes(16)
GOALS: list[dict[str, Any]] = [
    {"people": 10**9, "values": 2, "rounds": "forever", "eps": 1.0, "advantage": 1.0},
    {"people": 10**9, "values": 16, "rounds": "forever", "eps": 2.0, "advantage": 1.0},
    {"people": 10**7, "values": 16, "rounds": "forever", "eps": 2.0, "advantage": 0.3, "reports": 12},
    {"people": 10**8, "values": 16, "rounds": 1000, "eps": 2.0, "advantage": 0.5, "reports": 12},
    {"people": 10**7, "values": 3, "rounds": 8, "eps": 2.0},
    {"people": 10**6, "values": 2, "rounds": 5, "eps": 1.0, "untrackable": (0.5, 0.01)},
    {"people": 10**6, "values": 4, "rounds": 8, "eps": 2.0, "matched": 0.02, "changes": True},
]
ATTENDED: list[dict[str, Any]] = [
    {"people": 10**6, "values": 2, "rounds": 1, "eps": 1.0},
    {"people": 10**9, "values": 2, "rounds": 6, "eps": 1.0, "error": 0.9},
    {"people": 10**9, "values": 16, "rounds": 365, "eps": 1.0, "error": 0.9, "advantage": 0.0},
    {
        "people": 10**9,
        "values": 3,
        "rounds": 30,
        "eps": 2.0,
        "advantage": 0.0,
        "places": ("0.8", "0.1", "0.1"),
        "persistence": 7,
    },
    {"people": 10**9, "values": 4, "rounds": "forever", "eps": 2.0, "one_network": True},
    {"people": 10**8, "values": 4, "rounds": 8, "eps": 2.0, "changes": True, "participation": "1/7"},
]


@pytest.mark.parametrize("demands", GOALS, ids=range(len(GOALS)))
def test_every_option_verifies_as_a_campaign(demands: dict[str, Any]) -> None:
    found = plan(goals=Goals(recognition=1.0, **demands))
    assert found.options
    for option in found.options:
        made = draft(option.goals, option.mechanism, SALT).campaign(
            question="Which?", first_round=1_893_456_000, round_seconds=86_400
        )
        verdict = verify(made)
        assert verdict.holds, (option.name, verdict.problems)


@pytest.mark.parametrize("demands", ATTENDED, ids=range(len(ATTENDED)))
def test_every_option_declares_a_recognition_that_holds(demands: dict[str, Any]) -> None:
    """It is within the goals, and confirmed by the engine and by a client without it, where it cannot be linked."""
    found = plan(goals=Goals(**demands))
    assert found.options
    for option in found.options:
        made = draft(option.goals, option.mechanism, SALT).campaign(
            question="Which?", first_round=1_893_456_000, round_seconds=86_400
        )
        assert made.attendance == option.goals.attendance
        declared = made.guarantee.recognition
        assert declared is not None
        assert option.recognised.recognition.upper <= declared <= 1.03 * found.goals.recognition
        assert verify(made).problems == ()
        assert client_check.recompute(made).problems == ()
        if option.mechanism.independent:
            assert client_check.recognition(made) <= declared


def test_a_bound_beyond_the_engine_is_declared_and_verified() -> None:
    """1,000 rounds are too many for the engine, and the closed form still says more than nothing."""
    found = plan(people=10**9, values=16, rounds=1000, eps=2.0, recognition=1.0)
    kept = next(option for option in found.options if option.name == "l-sue")
    declared = draft(kept.goals, kept.mechanism, SALT).guarantee.tracking_delta
    assert declared == pytest.approx(0.01, rel=1e-3)
