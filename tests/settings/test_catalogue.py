"""Every mechanism of the catalogue, set for a budget, or the reason why it is not."""

from typing import Any

import pytest

from untrackable import Bitwise, Deck, InnerProduct, Memoized
from untrackable.mechanisms.interface import FORMS
from untrackable.settings.catalogue import CATALOGUE, EVERY_ROUND
from untrackable.settings.demands import Budget, Unsuitable


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_budget_is_kept(name: str) -> None:
    entry = CATALOGUE[name]
    budget = Budget(values=2, eps=2.0, reports=8)
    never = {"fixed-vector-fresh": "reveals one bit of the value in the end", "rarely": "followed with certainty"}
    if name in never:
        with pytest.raises(Unsuitable, match=never[name]):
            entry.for_budget(budget)
        return
    made = entry.for_budget(budget)
    assert made.privacy(reports=None if entry.lasts else 8).delta(2.0).upper <= budget.delta


@pytest.mark.parametrize(
    ("name", "demands", "binding", "why"),
    [
        ("bitwise", {"values": 16}, "values", "yes/no questions only"),
        ("l-grr", {"values": 5000}, "values", "at most 4,096 answers, and this question has 5,000"),
        ("rappor", {"values": 5000}, "values", "at most 4,096 answers"),
        ("deck", {"reports": None}, "horizon", "one card for each round, so it needs a last round"),
        ("fresh", {"reports": None}, "horizon", "so it needs a last round"),
        ("one-change", {"values": 2, "reports": None}, "horizon", "so it needs a last round"),
        ("l-sue", {"eps": 100.0}, "values", r"^Eps must be at most 64, .*, got 100\.0\.$"),
    ],
)
def test_reasons(name: str, demands: dict[str, Any], binding: str, why: str) -> None:
    with pytest.raises(Unsuitable, match=why) as raised:
        CATALOGUE[name].for_budget(Budget(**{"reports": 8, **demands}))
    assert raised.value.binding == binding


@pytest.mark.parametrize("sent", ["fresh", "memoized", "dealt", "stored"])
@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - set(EVERY_ROUND)))
def test_local_mechanisms_are_sent_in_four_ways(name: str, sent: str) -> None:
    """Each has its name in JSON, and the kinds of reports that wrap it."""
    entry = CATALOGUE[name]
    given: dict[str, Any] = {"bits": 4, "values": 4, "sizes": (2, 3), "eps": 1.5}
    own = {key: value for key, value in given.items() if key in entry.parameters()}
    made = entry.make(sent=sent, slots=3, **own)
    described = made.to_json()
    assert (described["mechanism"], described["base"]["mechanism"]) == (sent, name)
    assert described.get("slots", 3) == 3
    with pytest.raises(ValueError, match="sent must be one of"):
        entry.make(sent="twice", **own)


def test_local_mechanisms_that_plans_propose_are_listed() -> None:
    """The others are below a wrapper of their own, or need strings to be discovered."""
    beside = {"count-mean-sketch", "hadamard-sketch", "levelled", "noisy-inner-product", "numbered-bit", "present"}
    assert set(FORMS.bases) - {*beside, "rare-response", "vector-question"} == set(CATALOGUE) - set(EVERY_ROUND)


def test_they_are_set_as_published() -> None:
    budget = Budget(values=2, eps=2.0, reports=8)
    assert CATALOGUE["bitwise"].for_budget(budget) == Bitwise(eps_state=2.0, eps_report=2.0)
    stored = CATALOGUE["rnip"].for_budget(Budget(values=16, eps=2.0, reports=8))
    assert isinstance(stored, InnerProduct)
    assert (stored.slots, stored.width) == (4 * 8**2, 1)
    deck = CATALOGUE["deck"].for_budget(budget)
    assert deck == Deck.for_budget(bits=1, slots=8, eps=2.0, delta=1e-6)
    assert isinstance(CATALOGUE["memoized"].for_budget(budget), Memoized)


@pytest.mark.parametrize("name", ["deck", "fading", "memoized", "bitwise", "rnip", "l-grr"])
def test_closed_forms_bound_the_engine(name: str) -> None:
    made = CATALOGUE[name].for_budget(Budget(values=2, eps=2.0, reports=6))
    pair = made.tracking(rounds=range(1, 7))
    assert pair.advantage().lower <= made.tracking_advantage_upper(6)
