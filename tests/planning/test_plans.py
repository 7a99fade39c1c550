"""Plans: the numbers that must hold, what is solved for, what would help, and the campaigns made of plans."""

import math
from typing import Any

import pytest

from untrackable import Goals, plan
from untrackable.encodings import Choices
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.planning.forecast import law_of
from untrackable.planning.unknown_goal import error_of
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.theory.crowd_counts import fewest_likely_reports

MILLION = 10**6


def test_the_report_is_that_for_all_rounds_if_one_round_tells_nothing() -> None:
    """With eps 2, an answer of three bits gives ±8.0 points; the best one for a single round gives ±8.6 or more."""
    for rounds in (52, 365):
        found = plan(people=1000, values=16, rounds=rounds, eps=2)
        assert found.one_round.radius_upper > 0.45
        every = []
        for width in (1, 2, 3, 4):
            law = law_of(Fresh(NoisyInnerProduct(bits=4, eps=2, width=width)), found.solved)
            every.append(law.promise(found.solved, rounds).radius_upper)
        assert found.all_rounds.radius_upper == min(every) < 0.081
        assert max(every) > 0.115


def test_sixteen_answers_weekly_for_a_year() -> None:
    """0.0067 for a share of 5 % with nobody trusted; about 1 in a round's crowd, 0.1 in that of all rounds."""
    alone = plan(people=100_000, values=16, rounds=52, eps=4)
    assert alone.met
    assert alone.one_round.standard_error <= 0.0067
    assert (alone.eps_alone, alone.recognition_upper, alone.exclusion) == (4.0, 2e-5, 0.5)
    half = alone.turns.exclusion(0.5, 0.5).advantage()
    assert half.lower <= alone.exclusion <= half.upper
    hidden = plan(people=100_000, values=16, rounds=52, eps=4, relay=True)
    assert hidden.one_round == alone.one_round
    assert hidden.crowd is not None
    assert hidden.crowd.reports == fewest_likely_reports(100_000, hidden.turns.chance * 19 / 20)
    assert hidden.crowd.everybody.upper == pytest.approx(1, abs=0.1)
    assert hidden.crowd.throughout is not None
    assert hidden.crowd.throughout.upper == pytest.approx(0.1, abs=0.02)
    wiped = plan(people=100_000, values=16, rounds=52, eps=4, relay=True, wipes=1)
    assert wiped.crowd is not None
    assert wiped.crowd.throughout is None


def test_yes_no_for_twelve_rounds() -> None:
    found = plan(people=10_000, values=2, rounds=12, eps=1)
    assert found.all_rounds.standard_error <= 0.011
    assert found.all_rounds.fewest == 10_000


@pytest.mark.parametrize(
    ("eps", "values", "rounds", "people", "error"),
    [
        (1, 2, 12, 10**5, 0.0117),
        (1, 16, 52, 10**5, 0.0409),
        (1, 1024, 365, 10**6, 0.0372),
        (2, 16, 52, 10**5, 0.0179),
        (4, 2, 12, 10**5, 0.0055),
        (4, 16, 52, 10**5, 0.0066),
    ],
)
def test_errors_of_one_turn(eps: float, values: int, rounds: int, people: int, error: float) -> None:
    """The measured table of the idea, to its last digit. Plans look at joint radii, so they may give up 1 %."""
    found = plan(people=people, values=values, rounds=rounds, eps=eps, looks=1)
    assert found.one_round.standard_error == pytest.approx(error, rel=0.012)


def test_small_rounds_of_many() -> None:
    found = plan(people=10_000, values=2, rounds=12, eps=4, looks=1)
    assert found.one_round.radius_upper == pytest.approx(0.035, abs=0.005)


@pytest.mark.parametrize("wipes", [0, 1, 2])
@pytest.mark.parametrize("eps", [0.1, 1.0, 1.7, 4.0, 5.3, 11.0])
def test_clients_confirm_the_declared_eps(eps: float, wipes: int) -> None:
    for asked in ({"values": 2}, {"values": 100}, {"encoding": Choices(names=["a", "b", "c"])}):
        found = plan(people=10**9, rounds=5, eps=eps, wipes=wipes, **asked)
        draft = found.campaign()
        loss = draft.mechanism.loss_of_one_report
        assert loss is not None
        assert (wipes + 1) * loss <= draft.guarantee.eps == eps
        assert (wipes + 1) * loss == pytest.approx(eps, rel=1e-6)


def test_wipes_cost_accuracy() -> None:
    """Noise alone at eps 4, 16 answers, 52 rounds and 100,000 people."""
    for wipes, noise in ((0, 0.0035), (1, 0.0164), (2, 0.0291)):
        found = plan(people=100_000, values=16, rounds=52, eps=4, wipes=wipes)
        base: Any = found.mechanism.base
        assert base.held_error(round(100_000 / 52), 0.0) == pytest.approx(noise, rel=0.03)


@pytest.mark.parametrize(("eps", "wiped"), [(1, 5.4), (2, 13), (4, 30)])
def test_storage_wiped_in_every_round(eps: float, wiped: float) -> None:
    """The number is that of the report that is chosen. Others of the same eps may reveal a little more."""
    assert 0.9 * wiped < plan(people=MILLION, values=16, rounds=52, eps=eps).wiped.upper < 1.01 * wiped


def test_campaigns() -> None:
    found = plan(people=100_000, values=16, rounds=52, eps=4, share="1/2", wipes=1, relay=True)
    draft = found.campaign()
    assert CampaignDraft.from_json(draft.to_json()) == draft
    assert draft.turns == found.turns
    assert draft.turns is not None
    assert (draft.turns.rounds, draft.turns.share.denominator, draft.turns.wipes) == (52, 2, 1)
    crowd = draft.guarantee.crowd
    assert crowd is not None
    assert found.crowd is not None
    assert crowd.eps >= found.crowd.everybody.upper * (1 - 1e-9)
    assert crowd.reports == found.crowd.reports
    assert plan(people=100_000, values=16, rounds=52, eps=4).campaign().guarantee.crowd is None
    strings = plan(people=100 * MILLION, strings=4, rounds=4, eps=4)
    assert strings.campaign().encoding.salt == strings.salt  # type: ignore[union-attr]
    assert plan(people=10**15, bits=100, rounds=1, eps=4, error=0.1).campaign().encoding is None


def test_wipes_in_a_crowd_are_not_hidden_better_than_reports_of_several_rounds() -> None:
    one, two = (plan(people=MILLION, values=2, rounds=4, eps=2 * (w + 1), wipes=w).crowd for w in (0, 1))
    assert one is not None
    assert two is not None
    assert two.everybody.upper > 2 * one.everybody.upper


@pytest.mark.parametrize(
    "asked",
    [
        {"values": 2},
        {"values": 16, "pooled": 3},
        {"values": 5, "simultaneous": False, "share": "1/3"},
        {"values": 64, "want": "quantiles"},
        {"values": 64, "want": "mean"},
        {"encoding": Choices(names=["a", "b", "c"])},
    ],
    ids=str,
)
def test_every_unknown_is_solved_to_the_last(asked: dict[str, Any]) -> None:
    """What is found is enough, and the next smaller or larger one is not."""
    error = 0.03
    for eps in (1.0, 4.0):
        found = plan(rounds=12, eps=eps, error=error, **asked)
        assert found.met
        people = found.solved.people or 0
        assert error_of(found.solved) <= error < error_of(found.solved.replace(people=people - 1))
        rounds = plan(people=people, eps=eps, error=error, **asked).solved
        assert rounds.rounds is not None
        assert rounds.rounds >= 12
        assert error_of(rounds) <= error < error_of(rounds.replace(rounds=rounds.rounds + (rounds.looks or 1)))
        weak = plan(people=people, rounds=12, error=error, **asked).solved
        assert weak.eps == pytest.approx(eps, rel=0.01)
        assert error_of(weak) <= error


def test_a_plan_goes_no_further_than_the_largest_eps() -> None:
    asked: dict[str, Any] = {"people": 300_000, "values": 1024, "rounds": 52, "error": 0.02}
    found = plan(**asked)
    assert not found.met
    assert found.solved.eps == 4
    assert "a plan goes up to 4 by itself" in found.why
    allowed = plan(**asked, largest_eps=20)
    assert allowed.met
    eps = next(change.value for change in found.changes if change.goal == "eps")
    assert allowed.solved.eps == pytest.approx(eps, rel=0.01)
    hopeless = plan(people=1000, values=16, rounds=52, error=0.001)
    assert "No eps is enough" in hopeless.why
    assert [change.goal for change in hopeless.changes] == ["people"]


def test_each_nearest_change_is_enough_and_longer_rounds_come_first() -> None:
    asked: dict[str, Any] = {"people": 100_000, "values": 1024, "rounds": 52, "eps": 1.5, "error": 0.08}
    found = plan(**asked)
    assert not found.met
    assert [change.goal for change in found.changes] == ["rounds", "pooled", "values", "eps", "people"]
    for change in found.changes:
        assert plan(**{**asked, "largest_eps": 64, change.goal: change.value}).met, change
    with pytest.raises(ValueError, match="these goals are not met, so there is no campaign"):
        found.campaign()


def test_without_an_error_it_must_be_usable() -> None:
    found = plan(people=1000, values=16, rounds=52, eps=1)
    assert not found.met
    assert "is the most that says anything" in found.why
    assert found.one_round.radius_upper > 0.1


def test_too_few_people_for_a_crowd() -> None:
    found = plan(people=20, values=2, rounds=20, eps=1, relay=True)
    assert found.crowd is None
    assert not found.met


def test_ranks() -> None:
    assert plan(people=100_000, values=16, rounds=52, eps=4).ranks
    assert not plan(people=20_000, values=16, rounds=52, eps=4).ranks


def test_a_share_of_everybody_is_as_many_rounds_more() -> None:
    one, other = (
        plan(people=MILLION, values=4, rounds=rounds, eps=2, share=share).one_round
        for rounds, share in ((20, 1), (10, "1/2"))
    )
    assert one == other


def test_the_error_grows_with_the_share_it_is_for() -> None:
    found = [plan(people=MILLION, values=16, rounds=52, eps=4, typical=share) for share in (0.01, 0.05, 0.5)]
    errors = [each.error_upper for each in found]
    assert errors == sorted(errors)
    assert math.isclose(errors[-1], found[-1].figure.widest_upper, rel_tol=1e-2)


def test_goals_or_their_fields() -> None:
    goals = Goals(people=MILLION, values=4, rounds=3, eps=2)
    assert plan(goals=goals).figure == plan(people=MILLION, values=4, rounds=3, eps=2).figure
    with pytest.raises(TypeError, match="give either goals or their fields, not both: people"):
        plan(goals=goals, people=3)


def test_progress_never_goes_back() -> None:
    done: list[float] = []
    plan(people=MILLION, values=4, rounds=3, eps=2, progress=lambda what, part: done.append(part or 0.0))
    assert done == sorted(done)
    assert done[-1] <= 1
