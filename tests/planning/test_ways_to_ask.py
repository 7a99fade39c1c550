"""Ways to ask for several answers with one turn: their variances, and where dividing eps wins."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from untrackable import Goals, plan, plan_together
from untrackable.accounting.check import client_problems, verify
from untrackable.encodings import Bit, Choices, IntegerRange, Record
from untrackable.encodings.encoding import Encoding
from untrackable.mechanisms.local.divided import Divided
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.planning.divided_eps import divided_reports
from untrackable.planning.forecast import law_of
from untrackable.planning.report_choice import DIVIDE, best_report
from untrackable.planning.ways_to_ask import ways_to_ask

PEOPLE, ROUNDS = 120_000, 12


@pytest.mark.parametrize(
    ("eps", "questions", "draw", "joint", "divide"),
    [(1, 2, 2.32, 2.75, 4.15), (2, 2, 0.84, 0.64, 1.15), (4, 2, 0.52, 0.27, 0.41), (4, 3, 0.79, 0.31, 0.72)],
)
def test_variances_of_yes_no_questions(eps: int, questions: int, draw: float, joint: float, divide: float) -> None:
    names = ["a", "b", "c"][:questions]
    found = plan(people=PEOPLE, encoding=Choices(names=names), rounds=ROUNDS, eps=eps)
    times = PEOPLE / ROUNDS
    variances = {way.name: times * way.standard_error**2 for way in found.ways if way.standard_error is not None}
    for name, expected in (("draw", draw), ("joint", joint), (DIVIDE, divide)):
        assert variances[name] == pytest.approx(expected, abs=0.006)
    assert found.way == min(("draw", draw), ("joint", joint), key=lambda one: one[1])[0]
    assert found.ways[0].name == found.way


def test_joint_reports_by_enumeration() -> None:
    """All reports of a joint answer to two yes/no questions, weighted as the estimate weighs them."""
    base = NoisyInnerProduct(bits=2, eps=2.0, width=2)
    truth, lie = base.chances()
    # The first bit of the answer is right with the truth, or with the lie that has it right too.
    right = truth + lie
    variance = right * (1 - right) / (2 * right - 1) ** 2 + 0.25 * (PEOPLE - PEOPLE / ROUNDS) / (PEOPLE - 1)
    found = plan(people=PEOPLE, encoding=Choices(names=["a", "b"]), rounds=ROUNDS, eps=2)
    joint = next(way for way in found.ways if way.name == "joint")
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
    found = plan(goals=goals)
    assert found.way == found.ways[0].name == DIVIDE
    others = [way.standard_error for way in found.ways[1:] if way.standard_error is not None]
    assert found.one_round.standard_error < 0.97 * min(others)
    assert isinstance(found.mechanism.base, Divided)
    # Written down once more: the larger of two surveys, each with half of eps.
    truth = math.exp(3) / (math.exp(3) + 1)
    bit = truth * (1 - truth) / (2 * truth - 1) ** 2 + 0.25 * (10**6 - 10**6 / 12) / (10**6 - 1)
    assert found.one_round.standard_error == pytest.approx(math.sqrt(bit * 12 / 10**6), rel=1e-9)
    draft = found.campaign()
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
    found = {way.name: way.standard_error for way in ways_to_ask(goals)}
    chosen = best_report(goals)
    assert min(error for error in found.values() if error) == found[chosen.way]
    assert chosen.law.promise(goals, 1).standard_error == found[chosen.way]


def test_tables_that_cannot_be_divided() -> None:
    overlapping = Record(attributes={"a": Bit(), "b": Bit(), "c": Bit()})
    some = Record(attributes={"a": Bit(), "b": Bit(), "c": Bit()}, tables=[("a",), ("b",)])
    many = Choices(names=[str(i) for i in range(9)])
    for encoding in (overlapping, some, many):
        assert encoding.asked is not None
        assert list(divided_reports(encoding.bits, encoding.asked, 4.0)) == []
        found = next(
            way
            for way in ways_to_ask(Goals(people=10**6, encoding=encoding, rounds=12, eps=4))
            if way.name == DIVIDE
        )
        assert found.why.startswith("tables have answers in common")


def test_a_set_is_one_campaign() -> None:
    found = plan_together(
        {"smokes": {"values": 2}, "age": {"values": 8}}, people=10**6, rounds=12, eps=2, relay=True, wipes=1
    )
    assert found.met
    draft = found.campaign()
    assert isinstance(draft.encoding, Record)
    assert draft.encoding.tables == (("smokes",), ("age",))
    assert draft.turns is not None
    assert draft.turns.chance == Fraction(1, 12)
    assert draft.guarantee.eps == 2
    assert [part.name for part in found.parts] == ["smokes", "age"]
    worst = max(part.one_round.standard_error for part in found.parts)
    assert worst == pytest.approx(found.plan.one_round.standard_error)
    # All cells of both questions at once are a little further off than those of one question.
    assert max(part.figure.radius_upper for part in found.parts) < found.plan.error_upper


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
