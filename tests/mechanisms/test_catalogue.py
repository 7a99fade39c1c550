"""Every mechanism of the catalogue, set for a budget and within a tolerance, or the reason why it is not."""

import math
from fractions import Fraction
from typing import Any

import pytest

from untrackable import Bitwise, Deck, Fading, InnerProduct, Memoized
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.tolerance import Tolerance
from untrackable.theory.collisions import crossing_upper, fewest_slots

PLANNED: dict[str, Any] = {"for_ever": True, "every_round": True, "beta": 0.05}
LOOSE = Tolerance(advantage=0.3, reports=8)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_budget_is_kept(name: str) -> None:
    entry = CATALOGUE[name]
    budget = Budget(values=2, eps=2.0, reports=8)
    if name == "fixed-vector-fresh":
        with pytest.raises(Unsuitable, match="reveals one bit of the value in the end"):
            entry.for_budget(budget)
        return
    made = entry.for_budget(budget)
    assert made.privacy(reports=None if entry.lasts else 8).delta(2.0).upper <= budget.delta


@pytest.mark.parametrize("name", ["deck", "fading", "fresh", "cms-fresh", "hcms-fresh"])
def test_answering_by_chance_makes_reports_louder(name: str) -> None:
    entry = CATALOGUE[name]
    always, seldom = (
        entry.for_budget(Budget(values=2, eps=2.0, reports=8, participation=share))
        for share in (Fraction(1), Fraction(1, 20))
    )
    reports = 8 if name != "fading" else None
    spent = seldom.privacy(reports=reports, participation="1/20").delta(2.0).upper
    assert 0.9e-6 < spent <= 1e-6
    assert seldom.accuracy(1000).standard_error < always.accuracy(1000).standard_error
    assert seldom.privacy(reports=reports).delta(2.0).upper > 1e-6


def test_nobody_answers_with_participation_0() -> None:
    with pytest.raises(ValueError, match="participation must be above 0"):
        Budget(participation=Fraction(0))


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.tuned])
@pytest.mark.parametrize(
    "tolerance",
    [LOOSE, Tolerance(matched=0.05, crowd=100, reports=8), Tolerance(untrackable=(0.3, 0.05), reports=8)],
    ids=lambda t: t.measure,
)
def test_the_tolerance_is_kept(name: str, tolerance: Tolerance) -> None:
    made = CATALOGUE[name].for_budget(Budget(values=2, eps=2.0, reports=8, tolerance=tolerance, **PLANNED))
    assert tolerance.of(made.tracking(rounds=range(1, 9))).upper <= tolerance.limit + 1e-9


@pytest.mark.parametrize(
    ("name", "demands", "binding", "why"),
    [
        ("bitwise", {"values": 16}, "values", "yes/no questions only, and this question has 16 answers"),
        ("l-grr", {"values": 5000}, "values", "at most 4,096 answers, and this question has 5,000"),
        ("rappor", {"values": 5000}, "values", "at most 4,096 answers"),
        ("l-sue", {"levels": 3}, "values", "whole values, and strings are discovered by their prefixes"),
        ("fresh", {}, "privacy", "`Deck` does the same for a fixed number of rounds"),
        ("votes", {"values": 2}, "accuracy", "at its updates only, not at every round"),
        ("deck", {"reports": None}, "horizon", "one card for each round, so it needs a last round"),
        ("one-change", {"values": 2, "reports": None}, "horizon", "so it needs a last round"),
        ("one-change", {"values": 2, "changes": True}, "changes", "one change of a value, and no later one"),
        ("rnip", {"tolerance": Tolerance(advantage=0.1)}, "tracking", "sees stored reports again and again"),
        ("rnip", {"tolerance": Tolerance(advantage=0, reports=8)}, "tracking", "may be sent twice"),
        ("rnip", {"tolerance": Tolerance(advantage=1e-17, reports=8)}, "tracking", "more than 9e\\+15 slots"),
        ("bitwise", {"values": 2, "tolerance": Tolerance(advantage=0, reports=8)}, "tracking", "shows through"),
        ("l-sue", {"eps": 100.0, "tolerance": None}, "values", r"^Eps must be at most 64, .*, got 100\.0\.$"),
    ],
)
def test_reasons(name: str, demands: dict[str, Any], binding: str, why: str) -> None:
    with pytest.raises(Unsuitable, match=why) as raised:
        CATALOGUE[name].for_budget(Budget(**{"reports": 8, "tolerance": LOOSE, **PLANNED, **demands}))
    assert raised.value.binding == binding


def test_without_a_tolerance_they_are_as_published() -> None:
    budget = Budget(values=2, eps=2.0, reports=8)
    assert CATALOGUE["bitwise"].for_budget(budget) == Bitwise(eps_state=2.0, eps_report=2.0)
    stored = CATALOGUE["rnip"].for_budget(Budget(values=16, eps=2.0, reports=8))
    assert isinstance(stored, InnerProduct)
    assert (stored.slots, stored.width) == (4 * 8**2, 1)
    deck = CATALOGUE["deck"].for_budget(budget)
    assert deck == Deck.for_budget(bits=1, slots=8, eps=2.0, delta=1e-6)
    assert isinstance(CATALOGUE["memoized"].for_budget(budget), Memoized)


def test_set_by_the_eps_of_one_report() -> None:
    unknown = Budget(values=16, eps=math.inf, reports=8, tolerance=LOOSE, **PLANNED)
    for name in ("deck", "rnip", "fading"):
        assert CATALOGUE[name].for_report(unknown, 0.5, 1).accuracy(1000).radius > 0
    fading = CATALOGUE["fading"].for_report(unknown, 0.5, 1)
    spent = fading.privacy().gamma(1e-6).upper * (1 + 1e-12)
    assert fading.accuracy(1000) == Fading(bits=4, eps=spent, delta=1e-6, scale=0.5).accuracy(1000)
    with pytest.raises(ValueError, match="scale must keep"):
        Fading(bits=4, eps=spent * 0.99, delta=1e-6, scale=0.5)
    with pytest.raises(Unsuitable, match="strings are discovered by their prefixes"):
        CATALOGUE["fading"].for_report(Budget(values=16, levels=3), 0.5, 1)
    with pytest.raises(TypeError, match="memoized is not set by the eps of one report"):
        CATALOGUE["memoized"].for_report(unknown, 0.5, 1)


@pytest.mark.parametrize(("reports", "advantage"), [(2, 0.5), (9, 0.01), (40, 0.3), (2000, 0.01)])
def test_fewest_slots(reports: int, advantage: float) -> None:
    slots = fewest_slots(reports, advantage, 1 << 53)
    assert crossing_upper(slots, reports) <= advantage < crossing_upper(slots - 1, reports)
    with pytest.raises(ValueError, match="not even"):
        fewest_slots(reports, advantage, slots - 1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ValueError, "the tolerable tracking is missing: give one of advantage, matched, untrackable"),
        ({"advantage": 0.1, "matched": 0.1}, ValueError, "advantage and matched contradict each other"),
        ({"matched": 0.001, "crowd": 100}, ValueError, "at least 1/crowd, 0.01, which guessing reaches"),
        ({"untrackable": [0, 0]}, TypeError, "a pair \\(gamma, delta\\)"),
        ({"untrackable": (-1, 0)}, ValueError, "gamma of untrackable must be at least 0"),
        ({"advantage": 0.1, "reports": 0}, ValueError, "reports must be at least 1"),
    ],
)
def test_tolerances_are_checked(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Tolerance(**given)


@pytest.mark.parametrize("name", ["deck", "fading", "memoized", "bitwise", "rnip", "l-grr"])
def test_closed_forms_bound_the_engine(name: str) -> None:
    """Also that so many reports are enough, where a mechanism says so."""
    made = CATALOGUE[name].for_budget(Budget(values=2, eps=2.0, reports=6, tolerance=LOOSE, **PLANNED))
    pair = made.tracking(rounds=range(1, 7))
    assert made.tracking_advantage_lower(6) <= pair.advantage().upper
    assert pair.advantage().lower <= made.tracking_advantage_upper(6)
    if made.tracking_ratio_upper(6) < math.inf:
        assert pair.delta(made.tracking_ratio_upper(6) + 1e-9).upper <= 1e-12
    if made.enough_reports is not None:
        few = made.tracking(rounds=range(1, made.enough_reports + 1))
        assert few.advantage().upper == pytest.approx(pair.advantage().upper)
