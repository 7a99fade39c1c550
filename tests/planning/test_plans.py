"""Plans over random goals: all promises hold when the engine is asked afresh."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.planning.random_goals import SHARED, UNKNOWNS, followed, private, random_plan, recognised
from untrackable import Bit, Goals, plan
from untrackable.accounting.verification import verify
from untrackable.display.plan_words import verdict
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.forecast import errors
from untrackable.planning.goals import FOREVER
from untrackable.planning.planned_campaign import draft
from untrackable.planning.suitability import meeting
from untrackable.planning.tracking_check import tracking
from untrackable.planning.unknown_goal import solve

CASES = [(seed, unknown) for unknown in UNKNOWNS for seed in range(4)]


@SHARED
@pytest.mark.parametrize(("seed", "unknown"), CASES)
def test_every_option_meets_the_goals(seed: int, unknown: str) -> None:
    found = random_plan(seed, unknown)
    assert {o.name for o in found.options} | {r.name for r in found.refusals} == set(CATALOGUE)
    for option in found.options:
        goals = option.goals
        assert goals.unknown is None
        assert private(option.mechanism, goals), option.name
        assert followed(option.mechanism, goals) <= goals.tolerance.limit + 1e-9, option.name
        assert option.tracked.upper <= goals.tolerance.limit + 1e-9
        if goals.recognition < 1:
            assert recognised(option.mechanism, goals) <= goals.recognition * (1 + 1e-6), option.name
            assert option.recognised.recognition.upper <= goals.recognition * (1 + 1e-6)
        else:
            assert goals.participation == 1
        assert errors(option.mechanism, goals, goals.people or 1).figure <= (goals.error or 0.0) * (1 + 1e-12)
        for name in set(UNKNOWNS) - {unknown}:
            assert getattr(goals, name) == getattr(found.goals, name)
    for refusal in found.refusals:
        assert refusal.why


@SHARED
@pytest.mark.parametrize(("seed", "unknown"), CASES)
def test_options_are_ranked(seed: int, unknown: str) -> None:
    found = random_plan(seed, unknown)
    answers = [getattr(o.goals, unknown) for o in found.options]
    if unknown == "rounds":
        answers = [-math.inf if a == FOREVER else -a for a in answers]
    assert answers == sorted(answers)


@pytest.mark.parametrize("seed", range(6))
def test_nearest_changes_make_it_feasible(seed: int) -> None:
    """Goals that are too much to ask; each change that a refusal names is carried out."""
    rng = np.random.default_rng(seed)
    goals = Goals(
        people=int(10 ** rng.uniform(3, 5)),
        values=int(rng.choice([2, 16])),
        rounds=int(rng.integers(20, 60)),
        eps=1.0,
        error=0.02,
        advantage=0.01,
    )
    found = plan(goals=goals)
    assert found.recommended is None
    done = 0
    for refusal in found.refusals:
        entry = CATALOGUE[refusal.name]
        for change in refusal.nearest:
            if change.goal in ("people", "eps", "rounds", "pooled", "recognition"):
                solve(entry, goals.replace(**{change.goal: change.value}))
            elif change.goal == "one_network":
                solve(entry, goals.replace(one_network=True))
            elif change.goal == "advantage":
                solve(entry, goals.replace(advantage=min(1.0, float(change.value) * (1 + 1e-9))))
            else:
                assert change.goal == "reports"
                mechanism = entry.for_budget(goals.budget)
                held = goals.replace(reports=change.value).tolerance
                assert tracking(entry, mechanism, held).upper <= held.limit
            done += 1
    assert done > 5


def test_no_horizon_needs_fading_or_a_limited_observer() -> None:
    found = plan(people=10**8, values=16, rounds=FOREVER, eps=2.0, one_network=True)
    assert [o.name for o in found.options] == ["fading"]
    refused = {r.name: r for r in found.refusals}
    assert refused["deck"].binding == "horizon"
    assert refused["rnip"].binding == "tracking"
    limited = plan(people=10**8, values=16, rounds=FOREVER, eps=2.0, reports=5, recognition=1.0)
    assert {"fading", "rnip", "l-osue"} <= {o.name for o in limited.options}


def test_values_that_change_leave_only_what_pays_nothing_for_it() -> None:
    found = plan(people=10**7, values=2, rounds=30, eps=2.0, changes=True, advantage=1.0)
    assert {o.name for o in found.options} == {"deck", "fading"}
    refused = {r.name: r.binding for r in found.refusals}
    assert refused["memoized"] == refused["bitwise"] == refused["one-change"] == "changes"


def test_tracking_does_not_matter() -> None:
    found = plan(people=10**8, values=16, rounds=20, eps=2.0, advantage=1.0, recognition=1.0)
    best = found.recommended
    assert best is not None
    assert best.error_upper < 0.1 * next(o for o in found.options if o.name == "deck").error_upper


def test_strong_demands_on_tracking_leave_what_cannot_be_followed() -> None:
    found = plan(people=10**7, values=2, rounds=20, eps=2.0, advantage=0.0)
    assert {o.name for o in found.options} == {"deck", "fading"}
    assert all(o.tracked.upper == 0 for o in found.options)


@pytest.mark.parametrize("name", ["deck", "rnip", "fading", "bitwise", "l-osue", "l-grr", "memoized", "dbitflip"])
def test_bytes_are_those_of_a_client(name: str) -> None:
    advantage = 1.0 if name in ("memoized", "dbitflip") else 0.05
    found = plan(people=10**9, values=2, rounds=11, eps=2.0, advantage=advantage, recognition=1.0)
    option = next(o for o in found.options if o.name == name)
    client = option.mechanism.client(1)
    assert option.state_bytes == option.mechanism.state_bytes() == len(client.to_bytes())
    assert option.report_bytes == -(-option.mechanism.report_bits // 8)


def test_what_cannot_tell_so_many_answers_apart_is_refused() -> None:
    found = plan(people=50_000_000, values=4096, rounds=1, eps=0.7)
    refused = {refusal.name: refusal.why for refusal in found.refusals}
    assert refused["rappor"] == "Its reports cannot tell so many answers apart."


def test_strings_to_be_discovered() -> None:
    """As private and as hard to follow as any deck; what is found is predicted from one level's reports."""
    found = plan(people=5 * 10**7, strings=20, rounds=12, eps=4.0, changes=True)
    best = found.recommended
    assert best is not None
    assert [o.name for o in found.options] == ["deck"]
    assert best.mechanism.privacy(values="any", participation="1/6").delta(4.0).upper <= 1e-6
    assert best.tracked.upper == 0
    assert found.published is None
    base = best.mechanism.base.base  # type: ignore[attr-defined]
    assert best.goals.participation == Fraction(1, 6)
    level = base.accuracy(5 * 10**7 // 66, 0.05 / 2**20)
    assert best.error_upper == pytest.approx(level.radius + 3 * level.standard_error)
    assert best.state_bytes == len(best.mechanism.client(3).to_bytes())
    # four times the people find strings half as frequent; with a limited observer executions may be stored as well
    more = plan(people=2 * 10**8, strings=20, rounds=12, eps=4.0, changes=True).recommended
    assert more is not None
    assert more.error_upper == pytest.approx(best.error_upper / 2, rel=1e-3)
    stored = plan(people=10**12, strings=20, rounds="forever", eps=4.0, reports=3, recognition=1.0)
    assert [o.name for o in stored.options] == ["rnip"]
    with pytest.raises(ValueError, match="strings must be between 1 and 30"):
        Goals(people=10, strings=33, rounds=2, eps=1)


def test_discovered_strings_are_found_where_it_is_predicted() -> None:
    """Carried out: a string at the predicted frequency is found, and nothing that nobody holds."""
    from untrackable import DiscoveredStrings, discover

    encoding = DiscoveredStrings(longest=4, prefixes=[2, 4], salt=bytes(16), alphabet="abcdefgh", bucket_bits=18)
    asked = Goals(people=40_000, encoding=encoding, rounds=2, eps=6.0, beta=1e-6, matched_by_answer=1.0, error=0.9)
    asked = asked.replace(recognition=1.0)
    option = plan(goals=asked).recommended
    assert option is not None
    held = round(option.error_upper * 40_000)
    rng = np.random.default_rng(3)
    others = ["".join(rng.choice(list("abcdefgh"), size=4)) for _ in range(40_000 - held)]
    values = encoding.encode_many(["hgfe"] * held + others)
    sums: Any = option.mechanism.aggregator(1)
    for batch in option.mechanism.simulate(values, rounds=1, seed=8):
        sums.add(batch.reports)
    strings = {found.string for found in discover(encoding, sums).strings}
    assert "hgfe" in strings
    assert strings <= {"hgfe", *others}


def test_the_nearest_is_the_smallest_change() -> None:
    found = plan(people=10**6, values=2, rounds=365, eps=1.0, error=0.11, recognition=1.0)
    assert found.recommended is None
    first = found.refusals[0]
    assert first.name == "bitwise"
    changes = [change for refusal in found.refusals for change in refusal.nearest]
    assert first.times == min(change.times for change in changes) < 1.3
    assert [change.goal for change in first.nearest] == ["rounds", "people", "eps"]
    assert verdict(found)[0].startswith("Not usable: the error would be ±0.14")
    assert verdict(found)[1].startswith("The nearest is bitwise. It needs at most ")
    assert verdict(found)[1].endswith(", or eps 1.27.")
    for refusal in found.refusals[:2]:
        for change in refusal.nearest:
            value = change.value if change.goal != "eps" else float(change.value) * (1 + 1e-9)
            assert any(
                o.name == refusal.name for o in plan(goals=found.goals.replace(**{change.goal: value})).options
            )


def test_what_would_not_help_is_not_said() -> None:
    found = plan(people=1000, values=16, rounds=300, eps=0.5, error=0.01)
    assert found.refusals[0].name == "deck"
    refused = {refusal.name: refusal for refusal in found.refusals}
    assert refused["memoized"].binding == "tracking"
    assert refused["memoized"].nearest == ()  # a thousand people would be too few without the limit as well


def test_a_salt_is_drawn_once() -> None:
    found = plan(people=10**8, strings=4, rounds=4, eps=4.0)
    assert found.campaign() == found.campaign()
    again = plan(people=10**8, strings=4, rounds=4, eps=4.0)
    assert found.campaign().encoding != again.campaign().encoding


@pytest.mark.parametrize("rounds", [60, 730, "forever"])
def test_a_campaign_declares_what_its_plan_promises(rounds: int | str) -> None:
    """Also of more reports than the engine searches for their worst split."""
    found = plan(people=10**9, values=2, rounds=rounds, eps=0.1, advantage=0.499, recognition=1.0)
    (chosen,) = (one for one in found.options if one.name == "bitwise")
    drafted = draft(found.goals, chosen.mechanism, b"")
    assert drafted.guarantee.tracking_delta < 0.5
    assert drafted.rounds == (None if rounds == FOREVER else int(rounds))
    campaign = drafted.campaign(question="Is it?", first_round=0, round_seconds=86400)
    assert (campaign.encoding, campaign.mechanism, campaign.guarantee) == (
        Bit(),
        chosen.mechanism,
        drafted.guarantee,
    )
    assert verify(campaign).problems == ()


@pytest.mark.parametrize(
    ("name", "demands"),
    [
        ("bitwise", {"rounds": 4, "eps": 10.0, "advantage": 5e-5}),
        ("bitwise", {"rounds": 4, "eps": 16.0, "advantage": 2e-7}),
        ("l-osue", {"rounds": 8, "eps": 30.0, "delta": 0.1, "advantage": 0.3}),
    ],
)
def test_what_is_kept_for_each_value_may_tell_more_than_for_one(name: str, demands: dict[str, Any]) -> None:
    """Set to the limit for a fixed value, it is beyond it for values that change."""
    entry = CATALOGUE[name]
    fixed, changing = (
        Goals(people=10**5, values=2, changes=changes, matched_by_answer=1.0, recognition=1.0, **demands)
        for changes in (False, True)
    )
    mechanism, _ = meeting(entry, fixed)
    assert mechanism.tracking_upper(fixed.rounds, values=2).delta(0.0).upper > fixed.tolerance.limit  # type: ignore[arg-type]
    with pytest.raises(Unsuitable, match="no bound keeps advantage within"):
        meeting(entry, changing)


@pytest.mark.parametrize("demands", [{"values": 2}, {"values": 14, "want": "quantiles"}])
def test_a_question_that_is_asked_once_is_planned_without_reports_that_could_be_linked(demands: Any) -> None:
    """Stored inner products are as good for one round, but the campaign would declare that reports are linked."""
    found = plan(people=10**6, rounds=1, eps=1.0, **demands)
    errors = {option.name: option.error_upper for option in found.options}
    assert errors["rnip"] == errors["deck"]
    names = [option.name for option in found.options]
    assert names.index("deck") < names.index("rnip")
    assert found.campaign().guarantee.tracking_delta == 0
