"""The participation that plans choose: the largest that keeps people from being recognised, and what it costs."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from untrackable import Bitwise, Goals, plan
from untrackable.display import plan_json, plan_words
from untrackable.mechanisms.attended_tracking import recognition
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.forecast import errors, reports_counted
from untrackable.planning.goals import FOREVER
from untrackable.planning.participation import with_participation
from untrackable.planning.participation_curve import participation_curve
from untrackable.planning.plans import Plan
from untrackable.planning.unknown_goal import solve

YEAR: dict[str, Any] = {"people": 10**6, "bits": 10, "rounds": 365, "eps": 1.0, "error": 0.99, "advantage": 0.0}


@pytest.fixture(scope="module")
def year() -> Plan:
    return plan(**YEAR)


def test_a_year_of_attendance_costs_a_tenth_at_most(year: Plan) -> None:
    """10^6 people, 365 rounds, 10 bits, (1, 1e-6): recognition among 1,000 at most 0.002, attendance included."""
    best, always = year.recommended, plan(**YEAR, recognition=1.0).recommended
    assert best is not None
    assert always is not None
    assert best.name == always.name == "deck"
    assert always.goals.participation == 1
    share = best.goals.answered
    assert recognition(best.mechanism, best.goals.attendance, 365).upper <= 0.002
    assert best.mechanism.privacy(participation=share).delta(1.0).upper <= 1e-6
    by_chance = best.mechanism.accuracy(int(10**6 * share)).standard_error
    every_round = always.mechanism.accuracy(10**6).standard_error
    assert by_chance <= 1.1 * every_round
    assert every_round == pytest.approx(0.1138, abs=1e-4)
    assert best.error_upper <= 1.1 * always.error_upper


def test_known_numbers_of_one_round_in_twenty() -> None:
    best = plan(**YEAR, participation="1/20").recommended
    assert best is not None
    found = best.recognised
    assert found.recognition.upper == pytest.approx(0.00185, abs=1e-5)
    assert found.stays_of_7.upper == pytest.approx(0.0201, abs=1e-4)
    assert found.stays_of_30.upper == pytest.approx(0.18, abs=1e-2)
    assert (found.worst_stay, round(found.worst.upper, 3)) == (37, 0.205)
    assert found.advantage.upper == pytest.approx(0.2043, abs=1e-4)
    assert best.mechanism.accuracy(50_000).standard_error == pytest.approx(0.1213, abs=2e-4)


@pytest.mark.parametrize(
    ("name", "demands"),
    [
        ("deck", {"rounds": 365}),
        ("deck", {"rounds": 2}),
        ("deck", {"rounds": 100, "places": ("0.8", "0.2"), "persistence": 5}),
        ("fading", {"rounds": 52, "recognition": 0.01}),
        ("bitwise", {"rounds": 30}),
        ("l-osue", {"rounds": 12, "advantage": 0.02}),
        ("rnip", {"rounds": 100, "advantage": 0.02, "recognition": 0.005}),
    ],
)
def test_the_participation_is_the_largest(name: str, demands: dict[str, Any]) -> None:
    entry, goals = CATALOGUE[name], Goals(people=10**12, values=2, eps=1.0, error=0.9, **demands)
    found = solve(entry, goals)
    share = found.goals.answered
    assert share.numerator == 1
    assert recognition(found.mechanism, found.goals.attendance, found.goals.rounds).upper <= goals.recognition  # type: ignore[arg-type]
    more = goals.replace(participation=Fraction(1, share.denominator - 1))
    with pytest.raises(Unsuitable) as refused:
        solve(entry, more)
    assert refused.value.binding == "attendance"


def test_one_round_is_answered_by_everybody() -> None:
    best = plan(people=10**6, values=2, rounds=1, eps=1.0).recommended
    assert best is not None
    assert best.goals.participation == 1


def test_without_end_it_takes_one_network() -> None:
    found = plan(people=10**7, values=4, rounds=FOREVER, eps=2.0, error=0.05)
    assert found.recommended is None
    fading = next(refusal for refusal in found.refusals if refusal.name == "fading")
    assert fading.binding == "attendance"
    assert fading.why.startswith("Without a last round, people are recognised in the end")
    assert [change.goal for change in fading.nearest] == ["one_network", "rounds"]
    assert fading.nearest[0].text == "clients that answer from one network only"
    for change in (found.goals.replace(one_network=True), found.goals.replace(rounds=fading.nearest[1].value)):
        assert any(option.name == "fading" for option in plan(goals=change).options)
    one = plan(goals=found.goals.replace(one_network=True)).recommended
    assert one is not None
    assert one.goals.participation == 1
    assert one.recognised.recognition.upper == pytest.approx(1e-3)
    assert "Clients answer from one network only" in " ".join(plan_words.verdict(plan(goals=one.goals)))


def test_too_large_a_participation_is_refused_with_a_smaller_one() -> None:
    found = plan(**YEAR, participation="1/3")
    deck = next(refusal for refusal in found.refusals if refusal.name == "deck")
    assert deck.binding == "attendance"
    changes = {change.goal: change for change in deck.nearest}
    assert set(changes) >= {"one_network", "participation", "rounds"}
    assert changes["participation"].text == f"a participation of {changes['participation'].value}"
    entry = CATALOGUE["deck"]
    solve(entry, found.goals.replace(participation=changes["participation"].value))
    solve(entry, found.goals.replace(rounds=changes["rounds"].value))


def test_a_recognition_that_guessing_reaches_takes_one_network() -> None:
    found = plan(people=10**9, values=2, rounds=30, eps=1.0, recognition=0.001)
    deck = next(refusal for refusal in found.refusals if refusal.name == "deck")
    assert deck.binding == "attendance"
    assert {change.goal for change in deck.nearest} >= {"one_network", "recognition"}


def test_reports_that_are_counted_on_average() -> None:
    """The bound holds on average over how many people answer, and a few reports more would break it."""
    for people, share, beta in itertools.product((60, 1000, 10**5), (Fraction(1, 2), Fraction(1, 9)), (0.2, 1e-3)):
        reports = reports_counted(people, share, beta)
        numbers = np.arange(people + 1)
        weights = binom.pmf(numbers, people, float(share))

        def failing(count: float, numbers: Any = numbers, weights: Any = weights, beta: float = beta) -> float:
            u = math.log(2 / beta) / count
            return float((weights * 2 * np.exp(-numbers * u)).sum())

        if reports == 0:
            assert 2 * weights[0] >= beta * (1 - 1e-9)
            continue
        assert failing(reports) <= beta * (1 + 1e-9)
        assert failing(reports + 1) > beta
        assert reports < people * share
    assert reports_counted(10, Fraction(1, 20), 0.05) == 0
    assert reports_counted(10, Fraction(1), 0.05) == 10


@pytest.mark.parametrize("holders", [0, 3, 20, 40])
def test_the_forecast_holds_for_all_people(holders: int) -> None:
    """All outcomes of 40 people, each of whom answers and lies by chance; the truth is that of all 40."""
    people, share, beta = 40, 0.5, 0.2
    mechanism = Bitwise(eps_state=4.0, eps_report=2.0)
    goals = Goals(people=people, values=2, rounds=4, eps=8.0, error=0.99, beta=beta, participation="1/2")
    radius = errors(mechanism, goals, people).one_round
    kept, told = 1 / (1 + math.exp(-4.0)), 1 / (1 + math.exp(-2.0))
    truth = kept * told + (1 - kept) * (1 - told)
    outcomes = np.zeros((people + 1, people + 1))  # of reports that are 1, and 0
    outcomes[0, 0] = 1.0
    for person in range(people):
        one = truth if person < holders else 1 - truth
        following = (1 - share) * outcomes
        following[1:] += share * one * outcomes[:-1]
        following[:, 1:] += share * (1 - one) * outcomes[:, :-1]
        outcomes = following
    ones, zeros = np.indices(outcomes.shape)
    reports = ones + zeros
    shares = np.divide(ones, reports, where=reports > 0, out=np.zeros(reports.shape))
    estimate = (shares - (1 - truth)) / (2 * truth - 1)
    off = np.where(reports > 0, np.abs(estimate - holders / people), math.inf)
    assert outcomes.sum() == pytest.approx(1.0)
    assert outcomes[off > radius].sum() <= beta
    assert outcomes[off > radius / 3].sum() > beta
    sums: Any = mechanism.aggregator(1)
    found = sums.add(np.array([1] * 7 + [0] * 5)).estimate(beta)
    assert found.frequencies[1] == pytest.approx(estimate[7, 5])


def test_the_curve_has_the_plan_on_it(year: Plan) -> None:
    best = year.recommended
    assert best is not None
    curve = participation_curve(best)
    assert curve[0].participation == 1
    assert curve[-1].participation == Fraction(1, 100)
    own = next(point for point in curve if point.participation == best.goals.participation)
    assert own.error_upper == best.error_upper
    assert own.recognition == best.recognised.recognition
    seen = [point.recognition.upper for point in curve]
    assert seen == sorted(seen, reverse=True)
    assert all(a.error_upper <= b.error_upper * 1.001 for a, b in itertools.pairwise(curve))
    assert participation_curve(plan(**YEAR, one_network=True).options[0]) == []


def test_words_and_json_say_it(year: Plan) -> None:
    words = " ".join(plan_words.verdict(year))
    assert "Each person answers about one round in 19, as a secret coin decides." in words
    assert "Recognised among 1,000 by reports and attendance together: at most 0.00194" in words
    assert "for 37 rounds, which is the worst" in words
    option = plan_json.as_json(year)["options"][0]
    assert option["participation"] == option["attendance"]["participation"] == "1/19"
    assert option["recognised"]["worst_stay"] == 37
    assert option["recognised"]["stays_of_7"]["upper"] < option["recognised"]["stays_of_30"]["upper"]
    assert option["recognised"]["advantage"]["certainty"] in ("exact", "bracket")


def test_privacy_of_a_population_that_answers_by_chance() -> None:
    """The best test of one value against another is as good as planned, and better if all rounds were sent."""
    goals = Goals(people=10**6, values=2, rounds=12, eps=0.5, delta=0.05, error=0.99, recognition=0.004)
    best = next(option for option in plan(goals=goals).options if option.name == "deck")
    people, rounds, share = 40_000, 12, float(best.goals.answered)
    assert share < 1
    rng = np.random.default_rng(4)
    losses = {}
    for value in (0, 1):
        batches = best.mechanism.simulate(np.full(people, value), rounds=rounds, seed=value)
        reports = np.concatenate([batch.reports for batch in batches])
        each = np.stack(
            [
                best.mechanism.log_likelihood(reports[:, i : i + 1], 1, [i + 1])
                - best.mechanism.log_likelihood(reports[:, i : i + 1], 0, [i + 1])
                for i in range(rounds)
            ],
            axis=1,
        )
        losses[value] = each, (each * (rng.random(each.shape) < share)).sum(axis=1)

    def delta(one: Any, zero: Any) -> float:
        return float((one > 0.5).mean() - math.exp(0.5) * (zero > 0.5).mean())

    spread = 6 * math.sqrt((1 + math.exp(1.0)) / 4 / people)
    by_chance = delta(losses[1][1], losses[0][1])
    exact = best.mechanism.privacy(participation=best.goals.answered).delta(0.5)
    assert abs(by_chance - exact.upper) <= spread
    assert exact.upper <= 0.05
    always = delta(losses[1][0].sum(axis=1), losses[0][0].sum(axis=1))
    assert always > 0.05 + spread


def test_the_choice_does_not_depend_on_people() -> None:
    entry = CATALOGUE["deck"]
    shares = {
        with_participation(entry, Goals(people=people, values=values, rounds=52, eps=eps)).participation
        for people, values, eps in ((10, 2, 1.0), (10**9, 1000, 3.0))
    }
    assert shares == {Fraction(1, 9)}
