"""Plans: the numbers that must hold, what is solved for, what would help, and ways to ask.

Campaigns that plans propose are carried out: errors are as large as promised, and estimates have such radii.
Simulated people draw a round each, and all is repeated with independent draws. The sum of squares of errors over
their promised variance is nearly chi-square. With 3,000 trials, a right law is refused with probability 1e-6, and
one whose variance is off by 1.3 times is accepted with probability below 1e-7 (both computed).
"""

import dataclasses
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from tests.client.samples import GATEWAY
from untrackable import Deck, Goals, plan, plan_together, randomizers
from untrackable.accounting.check import client_problems, make_campaign, verify
from untrackable.encodings import Bit, Choices, IntegerRange, Record
from untrackable.encodings.encoding import Encoding
from untrackable.estimation.estimate import Estimate
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh
from untrackable.planning import forecast
from untrackable.planning.forecast import DIVIDE, best_report, divided_reports, law_of
from untrackable.planning.plan import DELTA, Plan, better_from, error_of, every_round, ways_to_ask
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.settings.catalogue import EVERY_ROUND
from untrackable.theory.crowd import fewest_likely_reports

MILLION = 10**6


def test_the_report_is_that_for_all_rounds_if_one_round_tells_nothing() -> None:
    """With eps 2, an answer of three bits gives ±8.0 points; the best one for a single round gives ±8.6 or more."""
    for rounds in (52, 365):
        result = plan(people=1000, values=16, rounds=rounds, eps=2)
        assert result.one_round.radius_upper > 0.45
        every = []
        for width in (1, 2, 3, 4):
            law = law_of(Fresh(NoisyInnerProduct(bits=4, eps=2, width=width)), result.solved)
            every.append(law.promise(result.solved, rounds).radius_upper)
        assert result.all_rounds.radius_upper == min(every) < 0.081
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
    result = plan(people=10_000, values=2, rounds=12, eps=1)
    assert result.all_rounds.standard_error <= 0.011
    assert result.all_rounds.fewest == 10_000


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
    result = plan(people=people, values=values, rounds=rounds, eps=eps, looks=1)
    assert result.one_round.standard_error == pytest.approx(error, rel=0.012)


def test_small_rounds_of_many() -> None:
    result = plan(people=10_000, values=2, rounds=12, eps=4, looks=1)
    assert result.one_round.radius_upper == pytest.approx(0.035, abs=0.005)


@pytest.mark.parametrize("wipes", [0, 1, 2])
@pytest.mark.parametrize("eps", [0.1, 1.0, 1.7, 4.0, 5.3, 11.0])
def test_clients_confirm_the_declared_eps(eps: float, wipes: int) -> None:
    for asked in ({"values": 2}, {"values": 100}, {"encoding": Choices(names=["a", "b", "c"])}):
        result = plan(people=10**9, rounds=5, eps=eps, wipes=wipes, **asked)
        draft = result.campaign()
        loss = draft.mechanism.loss_of_one_report
        assert loss is not None
        assert (wipes + 1) * loss <= draft.guarantee.eps == eps
        assert (wipes + 1) * loss == pytest.approx(eps, rel=1e-6)


def test_wipes_cost_accuracy() -> None:
    """Noise alone at eps 4, 16 answers, 52 rounds and 100,000 people."""
    for wipes, noise in ((0, 0.0035), (1, 0.0164), (2, 0.0291)):
        result = plan(people=100_000, values=16, rounds=52, eps=4, wipes=wipes)
        base: Any = result.mechanism.base
        assert base.held_error(round(100_000 / 52), 0.0) == pytest.approx(noise, rel=0.03)


@pytest.mark.parametrize(("eps", "wiped"), [(1, 5.4), (2, 13), (4, 30)])
def test_storage_wiped_in_every_round(eps: float, wiped: float) -> None:
    """The number is that of the report that is chosen. Others of the same eps may reveal a little more."""
    assert 0.9 * wiped < plan(people=MILLION, values=16, rounds=52, eps=eps).wiped.upper < 1.01 * wiped


def test_campaigns() -> None:
    result = plan(people=100_000, values=16, rounds=52, eps=4, share="1/2", wipes=1, relay=True)
    draft = result.campaign()
    assert CampaignDraft.from_json(draft.to_json()) == draft
    assert draft.turns == result.turns
    assert draft.turns is not None
    assert (draft.turns.rounds, draft.turns.share.denominator, draft.turns.wipes) == (52, 2, 1)
    crowd = draft.guarantee.crowd
    assert crowd is not None
    assert result.crowd is not None
    assert crowd.eps >= result.crowd.everybody.upper * (1 - 1e-9)
    assert crowd.reports == result.crowd.reports
    assert plan(people=100_000, values=16, rounds=52, eps=4).campaign().guarantee.crowd is None
    strings = plan(people=100 * MILLION, strings=4, rounds=4, eps=4)
    assert strings.campaign().encoding.salt == strings.salt  # type: ignore[union-attr]
    assert plan(people=10**15, bits=100, rounds=1, eps=4, error=0.1).campaign().encoding is None


def test_plans_and_checks_agree_on_answers_after_wipes() -> None:
    result = plan(people=MILLION, values=2, rounds=4, eps=4, wipes=1, relay=True)
    one = plan(people=MILLION, values=2, rounds=4, eps=2).crowd
    assert one is not None
    assert result.crowd is not None
    hidden = result.crowd.everybody.upper
    assert one.everybody.upper < hidden < 2 * one.everybody.upper
    draft = result.campaign()
    declared = dataclasses.replace(draft.guarantee.crowd, eps=hidden)  # type: ignore[type-var]
    draft = dataclasses.replace(draft, guarantee=dataclasses.replace(draft.guarantee, crowd=declared))
    _, verdict = make_campaign(draft, question="?", first_round=1, round_seconds=3600, gateway=GATEWAY)
    assert verdict.crowd is not None
    assert verdict.crowd.upper == pytest.approx(result.crowd.delta, rel=0.01)


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
        result = plan(rounds=12, eps=eps, error=error, **asked)
        assert result.met
        people = result.solved.people or 0
        assert error_of(result.solved) <= error < error_of(result.solved.replace(people=people - 1))
        rounds = plan(people=people, eps=eps, error=error, **asked).solved
        assert rounds.rounds is not None
        assert rounds.rounds >= 12
        assert error_of(rounds) <= error < error_of(rounds.replace(rounds=rounds.rounds + (rounds.looks or 1)))
        weak = plan(people=people, rounds=12, error=error, **asked).solved
        assert weak.eps == pytest.approx(eps, rel=0.01)
        assert error_of(weak) <= error


def test_a_plan_goes_no_further_than_the_largest_eps() -> None:
    asked: dict[str, Any] = {"people": 300_000, "values": 1024, "rounds": 52, "error": 0.02}
    result = plan(**asked)
    assert not result.met
    assert result.solved.eps == 4
    assert "a plan goes up to 4 by itself" in result.why
    allowed = plan(**asked, largest_eps=20)
    assert allowed.met
    eps = next(change.value for change in result.changes if change.goal == "eps")
    assert allowed.solved.eps == pytest.approx(eps, rel=0.01)
    hopeless = plan(people=1000, values=16, rounds=52, error=0.001)
    assert "No eps is enough" in hopeless.why
    assert [change.goal for change in hopeless.changes] == ["people"]


def test_each_nearest_change_is_enough_and_longer_rounds_come_first() -> None:
    asked: dict[str, Any] = {"people": 100_000, "values": 1024, "rounds": 52, "eps": 1.5, "error": 0.08}
    result = plan(**asked)
    assert not result.met
    assert [change.goal for change in result.changes] == ["rounds", "pooled", "values", "eps", "people"]
    for change in result.changes:
        assert plan(**{**asked, "largest_eps": 64, change.goal: change.value}).met, change
    with pytest.raises(ValueError, match="these goals are not met, so there is no campaign"):
        result.campaign()


def test_without_an_error_it_must_be_usable() -> None:
    result = plan(people=1000, values=16, rounds=52, eps=1)
    assert not result.met
    assert "is the most that says anything" in result.why
    assert result.one_round.radius_upper > 0.1


def test_too_few_people_for_a_crowd() -> None:
    result = plan(people=20, values=2, rounds=20, eps=1, relay=True)
    assert result.crowd is None
    assert not result.met


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
    result = [plan(people=MILLION, values=16, rounds=52, eps=4, typical=share) for share in (0.01, 0.05, 0.5)]
    errors = [each.error_upper for each in result]
    assert errors == sorted(errors)
    assert math.isclose(errors[-1], result[-1].figure.widest_upper, rel_tol=1e-2)


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


PEOPLE, ROUNDS = 120_000, 12


@pytest.mark.parametrize(
    ("eps", "questions", "draw", "joint", "divide"),
    [(1, 2, 2.32, 2.75, 4.15), (2, 2, 0.84, 0.64, 1.15), (4, 2, 0.52, 0.27, 0.41), (4, 3, 0.79, 0.31, 0.72)],
)
def test_variances_of_yes_no_questions(eps: int, questions: int, draw: float, joint: float, divide: float) -> None:
    names = ["a", "b", "c"][:questions]
    result = plan(people=PEOPLE, encoding=Choices(names=names), rounds=ROUNDS, eps=eps)
    times = PEOPLE / ROUNDS
    variances = {way.name: times * way.standard_error**2 for way in result.ways if way.standard_error is not None}
    for name, expected in (("draw", draw), ("joint", joint), (DIVIDE, divide)):
        assert variances[name] == pytest.approx(expected, abs=0.006)
    assert result.way == min(("draw", draw), ("joint", joint), key=lambda one: one[1])[0]
    assert result.ways[0].name == result.way


def test_joint_reports_by_enumeration() -> None:
    """All reports of a joint answer to two yes/no questions, weighted as the estimate weighs them."""
    base = NoisyInnerProduct(bits=2, eps=2.0, width=2)
    truth, lie = base.chances()
    # The first bit of the answer is right with the truth, or with the lie that has it right too.
    right = truth + lie
    variance = right * (1 - right) / (2 * right - 1) ** 2 + 0.25 * (PEOPLE - PEOPLE / ROUNDS) / (PEOPLE - 1)
    result = plan(people=PEOPLE, encoding=Choices(names=["a", "b"]), rounds=ROUNDS, eps=2)
    joint = next(way for way in result.ways if way.name == "joint")
    assert joint.standard_error is not None
    assert joint.standard_error**2 * PEOPLE / ROUNDS == pytest.approx(variance, rel=1e-9)


def _record(sizes: tuple[int, ...]) -> Record:
    attributes: dict[str, Encoding] = {
        f"q{i}": Bit() if size == 2 else IntegerRange(low=0, high=size - 1) for i, size in enumerate(sizes)
    }
    return Record(attributes=attributes, tables=[(name,) for name in attributes])


ALIKE = [(size,) * count for size in (2, 4, 16, 64) for count in (2, 3, 6) if size**count < 2**30]
MIXED = [(2, 4), (2, 16), (2, 64), (4, 16), (16, 64), (2, 2, 8), (2, 16, 16)]


@pytest.mark.parametrize("sizes", [*ALIKE, *MIXED], ids=str)
def test_dividing_eps_never_wins_up_to_the_largest_eps_of_plans(sizes: tuple[int, ...]) -> None:
    for eps, rounds in itertools.product((0.5, 1.0, 2.0, 4.0), (2, 365)):
        goals = Goals(people=10**7, encoding=_record(sizes), rounds=rounds, eps=eps)
        errors = {way.name: way.standard_error for way in ways_to_ask(goals)}
        divided = errors.pop(DIVIDE)
        assert divided is not None
        assert min(error for error in errors.values() if error is not None) < divided, (eps, rounds)


def test_it_wins_beyond_and_is_proposed() -> None:
    goals = Goals(people=10**6, encoding=_record((2, 64)), rounds=12, eps=6)
    result = plan(goals=goals)
    assert result.way == result.ways[0].name == DIVIDE
    others = [way.standard_error for way in result.ways[1:] if way.standard_error is not None]
    assert result.one_round.standard_error < 0.97 * min(others)
    assert isinstance(result.mechanism.base, Divided)
    # Written down once more: the larger of two surveys, each with half of eps.
    truth = math.exp(3) / (math.exp(3) + 1)
    bit = truth * (1 - truth) / (2 * truth - 1) ** 2 + 0.25 * (10**6 - 10**6 / 12) / (10**6 - 1)
    assert result.one_round.standard_error == pytest.approx(math.sqrt(bit * 12 / 10**6), rel=1e-9)
    draft = result.campaign()
    campaign = draft.campaign(question="Which?", first_round=2_000_000_000, round_seconds=3600)
    assert client_problems(campaign) == ()
    assert verify(campaign).holds


def test_all_tables_are_known_alike_with_balanced_parts_of_eps() -> None:
    """Against a search over all hundredths of eps."""
    goals = Goals(people=10**6, encoding=_record((2, 16)), rounds=365, eps=4)
    assert goals.asked is not None
    best = best_report(goals, ways=[DIVIDE]).law.relative_error(goals)
    tried = []
    for weight in range(5, 96):
        base = Divided(sizes=(1, 4), eps=4, weights=(weight, 100 - weight))
        tried.append(law_of(Fresh(base), goals).relative_error(goals))
    assert best < 1.01 * min(tried)
    even = law_of(Fresh(Divided(sizes=(1, 4), eps=4)), goals).relative_error(goals)
    assert best < 0.9 * even


@pytest.mark.parametrize("sizes", [(2, 16), (2, 64), (2, 2, 8), (4, 16)], ids=str)
@pytest.mark.parametrize("eps", [2.0, 4.0, 6.0])
def test_the_report_of_each_way_has_the_smallest_error_of_a_round(sizes: tuple[int, ...], eps: float) -> None:
    """Who answers counts too: weights of views that are best for noise alone are worse."""
    goals = Goals(people=10**6, encoding=_record(sizes), rounds=12, eps=eps)
    result = {way.name: way.standard_error for way in ways_to_ask(goals)}
    chosen = best_report(goals)
    assert min(error for error in result.values() if error) == result[chosen.way]
    assert chosen.law.promise(goals, 1).standard_error == result[chosen.way]


def test_tables_that_cannot_be_divided() -> None:
    overlapping = Record(attributes={"a": Bit(), "b": Bit(), "c": Bit()})
    some = Record(attributes={"a": Bit(), "b": Bit(), "c": Bit()}, tables=[("a",), ("b",)])
    many = Choices(names=[str(i) for i in range(9)])
    for encoding in (overlapping, some, many):
        assert encoding.asked is not None
        assert list(divided_reports(encoding.bits, encoding.asked, 4.0)) == []
        result = next(
            way
            for way in ways_to_ask(Goals(people=10**6, encoding=encoding, rounds=12, eps=4))
            if way.name == DIVIDE
        )
        assert result.why.startswith("tables have answers in common")


def test_a_set_is_one_campaign() -> None:
    result = plan_together(
        {"smokes": {"values": 2}, "age": {"values": 8}}, people=10**6, rounds=12, eps=2, relay=True, wipes=1
    )
    assert result.met
    draft = result.campaign()
    assert isinstance(draft.encoding, Record)
    assert draft.encoding.tables == (("smokes",), ("age",))
    assert draft.turns is not None
    assert draft.turns.chance == Fraction(1, 12)
    assert draft.guarantee.eps == 2
    assert [part.name for part in result.parts] == ["smokes", "age"]
    worst = max(part.one_round.standard_error for part in result.parts)
    assert worst == pytest.approx(result.plan.one_round.standard_error)
    # All cells of both questions at once are a little further off than those of one question.
    assert max(part.figure.radius_upper for part in result.parts) < result.plan.error_upper


@pytest.mark.parametrize(
    ("questions", "shared", "message"),
    [
        ({"a": {"values": 2}}, {}, "give two questions or more, got 1"),
        ({"a": {"values": 2}, "b": {"values": 2, "eps": 1}}, {}, "question b: eps is not its own"),
        ({"a": {"values": 2}, "b": {"values": 1}}, {}, "question b: values must be at least 2, got 1"),
        ({"a": {"values": 2}, "b": {"encoding": Choices(names=["x", "y"])}}, {}, "question b: a set has questions"),
        ({"a": {"values": 2}, "b": {}}, {}, "question b: give one of encoding, values"),
        ({"a": {"values": 2}, "b": {"values": 2}}, {"values": 3}, "values is for one question, not for all"),
    ],
)
def test_wrong_sets(questions: dict[str, dict[str, Any]], shared: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan_together(questions, people=1000, rounds=12, eps=2, **shared)


@pytest.mark.parametrize(("rounds", "eps"), [(2, 3.1), (4, 4.3), (12, 7.1), (52, 10.5), (365, 10.9)])
def test_a_deck_wins_at_large_eps_only(rounds: int, eps: float) -> None:
    result = better_from(Goals(people=100_000, values=2, rounds=rounds, eps=1.0, looks=1))
    assert result == pytest.approx(eps, abs=0.06)


@pytest.mark.parametrize("values", [2, 8])
def test_on_both_sides_of_it(values: int) -> None:
    """The whole calculation again, with decks that are set for the budget."""
    goals = Goals(people=50_000, values=values, rounds=4, eps=1.0, looks=1 if values == 2 else None)
    turning = better_from(goals)
    assert turning is not None
    for eps, wins in ((0.97 * turning, False), (1.03 * turning, True)):
        deck = Deck.for_budget(bits=goals.width, slots=4, eps=eps, delta=DELTA)
        error = deck.held_error(50_000, share=goals.typical_share(values))
        turns = [plan(goals=each.replace(eps=eps, error=0.999)) for each in goals.with_looks()]
        assert error is not None
        assert (error < min(turn.one_round.standard_error for turn in turns)) == wins


def test_it_never_wins_where_one_report_may_be_about_all_rounds() -> None:
    assert better_from(Goals(people=50_000, values=2, rounds=4, eps=1.0)) is None


def test_it_never_wins_with_one_round_or_is_not_compared() -> None:
    assert better_from(Goals(people=1000, values=2, rounds=1, eps=1.0)) is None
    asked = Goals(people=1000, encoding=Choices(names=["a", "b"]), rounds=3, eps=1.0)
    assert better_from(asked) is None
    with pytest.raises(ValueError, match="frequencies of one answer only"):
        every_round(asked)


def test_every_mechanism_has_a_line() -> None:
    rows = every_round(Goals(people=100_000, values=16, rounds=5, eps=2.0))
    assert {row.name for row in rows} == set(EVERY_ROUND)
    errors = [row.standard_error for row in rows if row.standard_error is not None]
    assert errors == sorted(errors)
    by_name = {row.name: row for row in rows}
    assert not by_name["deck"].linked
    assert by_name["memoized"].linked
    assert by_name["bitwise"].why == "It takes yes/no questions only."


ALARM = 1e-6
SHARE = 0.05


def holders(people: int, values: int, share: float) -> NDArray[np.int64]:
    """Values of which the first has this share, and the others the rest."""
    many = round(share * people)
    rest = np.arange(people - many) % (values - 1) + 1
    return np.concatenate([np.zeros(many, dtype=np.int64), rest])


def senders(result: Plan, rounds: int, people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Those whose turn is in one of these rounds, each with a round and a share of their own."""
    turn = rng.integers(0, result.turns.rounds, size=people) < rounds
    return turn & (rng.random(people) < float(result.turns.share))


def estimated(result: Plan, values: NDArray[np.int64], seed: int) -> Estimate:
    reports = np.concatenate([b.reports for b in result.mechanism.simulate(values, rounds=1, seed=seed)])
    return result.mechanism.aggregator().add(reports[:, 0]).estimate(result.goals.beta)


def squares_are_as_promised(squares: NDArray[np.float64], variance: float) -> bool:
    ratio, count = squares.sum() / variance, squares.size
    return bool(chi2.ppf(ALARM / 2, count) < ratio < chi2.isf(ALARM / 2, count))


@pytest.mark.parametrize(
    ("asked", "pooled"),
    [
        ({"values": 2, "eps": 1.0}, 1),
        ({"values": 2, "eps": 4.0}, 1),
        ({"values": 2, "eps": 4.0}, 4),
        ({"values": 16, "eps": 4.0, "share": "1/2"}, 1),
        ({"values": 16, "eps": 1.5}, 2),
    ],
    ids=str,
)
def test_standard_errors_and_radii_of_shares(asked: dict[str, Any], pooled: int) -> None:
    people, trials = 3000, 3000
    result = plan(people=people, rounds=4, pooled=pooled, looks=1, error=0.999, **asked)
    share = 0.5 if asked["values"] == 2 else SHARE
    values, rng = holders(people, asked["values"], share), np.random.default_rng(7)
    errors, radii = np.zeros(trials), np.zeros(trials)
    for trial in range(trials):
        turn, has = rng.integers(0, 4, size=people), rng.random(people) < float(result.turns.share)
        heard = (turn < pooled) & has
        # Answers to a yes/no question change from round to round, so that the sample of pooled rounds is the worst.
        changed = values ^ (turn & 1) if asked["values"] == 2 else values
        estimate = estimated(result, changed[heard], trial).of_active(result.turns, pooled=pooled > 1)
        errors[trial] = estimate.frequencies[0] - share
        if trial < 200:
            radii[trial] = estimate.first(asked["values"]).simultaneous_radius[0]
    promise = result.figure
    assert promise.certainty == ("exact" if pooled == 1 else "upper")
    assert squares_are_as_promised(errors**2, promise.standard_error**2)
    for wrong in (0.85, 1.15):
        assert not squares_are_as_promised(errors**2, (wrong * promise.standard_error) ** 2)
    # Estimates near the share have about the promised radius; a few have larger ones by chance.
    assert np.median(radii[:200]) == pytest.approx(promise.radius_upper, rel=0.1)
    misses = int((np.abs(errors) > promise.radius_upper).sum())
    assert misses <= binom.isf(ALARM, trials, result.goals.beta)


@pytest.mark.parametrize("want", ["quantiles", "mean"])
def test_ordered_values(want: str) -> None:
    people, trials, beta = 40_000, 400, 0.2
    result = plan(people=people, values=16, rounds=40, eps=3.0, want=want, error=0.999, beta=beta)
    rng = np.random.default_rng(3)
    values = np.where(rng.random(people) < 0.5, 0, 15)
    missed, squares = 0, np.zeros(trials)
    for trial in range(trials):
        mine = values[senders(result, 1, people, rng)]
        estimate = estimated(result, mine, trial).of_active(result.turns)
        weights = np.linspace(0, 1, 16) if want == "mean" else np.arange(16) < 8
        error = float(estimate.frequencies[:16] @ weights - np.mean(weights[values]))
        squares[trial], missed = error**2, missed + (abs(error) > result.figure.radius_upper)
    # Half of the people at each end are the worst for a mean, for which the bound is then exact.
    assert squares.sum() / result.figure.standard_error**2 < chi2.isf(ALARM, trials)
    if want == "mean":
        assert squares_are_as_promised(squares, result.figure.standard_error**2)
    assert missed <= binom.isf(ALARM, trials, beta)


@pytest.mark.parametrize("eps", [1.0, 4.0])
def test_several_answers_at_once(eps: float) -> None:
    """For shares of a half, the standard error is exact whatever the way to ask."""
    people, trials = 3000, 3000
    result = plan(people=people, encoding=Choices(names=["a", "b"]), rounds=4, eps=eps, error=0.999)
    assert result.way == ("draw" if eps == 1 else "joint")
    rng = np.random.default_rng(5)
    values = np.arange(people) % 4
    errors, radii = np.zeros((trials, 2)), []
    for trial in range(trials):
        mine = values[senders(result, 1, people, rng)]
        reports = np.concatenate([b.reports for b in result.mechanism.simulate(mine, rounds=1, seed=trial)])
        sums: Any = result.mechanism.aggregator().add(reports[:, 0])
        for bit in (0, 1):
            table = sums.table((bit,)).of_active(result.turns)
            errors[trial, bit] = table.frequencies[1] - 0.5
            if trial < 50:
                radii.append(float(table.radius[1]))
    variance = result.figure.standard_error**2
    assert squares_are_as_promised(errors[:, 0] ** 2, variance)
    assert not squares_are_as_promised(errors[:, 0] ** 2, 1.3 * variance)
    misses = int((np.abs(errors) > result.figure.radius_upper).any(axis=1).sum())
    assert misses <= binom.isf(ALARM, trials, 0.05)
    # The radius is of all shares at once, so that of one share is smaller.
    assert 0.75 * result.figure.radius_upper < np.median(radii) < result.figure.radius_upper


@pytest.mark.parametrize(
    "asked",
    [
        {"values": 2},
        {"values": 300},
        {"encoding": IntegerRange(low=0, high=99), "want": "mean"},
        {"encoding": IntegerRange(low=0, high=99), "want": "quantiles"},
        {"encoding": _record((2, 4, 2))},
        {"encoding": Choices(names=["a", "b", "c"])},
        {"strings": 8},
    ],
    ids=repr,
)
def test_clients_make_every_report_that_a_plan_chooses_from(asked: dict[str, Any]) -> None:
    """With the standard library alone: no plan is answered only where the whole package is installed."""
    goals = Goals(people=10**6, rounds=12, eps=4, **asked)
    bases = [base for _, base in forecast._bases(goals, goals.eps_report, forecast.WAYS)]
    assert bases
    for mechanism in (*map(Fresh, bases), forecast.best_look(goals)[1].mechanism):
        assert type(mechanism.client_part()) is randomizers.Fresh
