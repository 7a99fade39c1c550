"""Everybody in every round: from which eps on that is better, and what each mechanism would give."""

import pytest

from untrackable import Deck, Goals
from untrackable.encodings import Choices
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.planning.every_round import DELTA, better_from, every_round
from untrackable.planning.plans import plan


@pytest.mark.parametrize(("rounds", "eps"), [(2, 3.1), (4, 4.3), (12, 7.1), (52, 10.5), (365, 10.9)])
def test_a_deck_wins_at_large_eps_only(rounds: int, eps: float) -> None:
    found = better_from(Goals(people=100_000, values=2, rounds=rounds, eps=1.0, looks=1))
    assert found == pytest.approx(eps, abs=0.06)


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
    assert {row.name for row in rows} == set(CATALOGUE)
    errors = [row.standard_error for row in rows if row.standard_error is not None]
    assert errors == sorted(errors)
    by_name = {row.name: row for row in rows}
    assert not by_name["deck"].linked
    assert by_name["memoized"].linked
    assert by_name["bitwise"].why == "It takes yes/no questions only."
