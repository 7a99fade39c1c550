"""Plans that solve for the number of rounds, and searches that once ended in errors of our own making."""

import pytest

from untrackable import Goals, plan
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.mechanisms.demands import Unsuitable
from untrackable.planning.unknown_goal import solve
from untrackable.theory.kept_advantage import kept_symbol_advantage_upper


def test_no_tracking_at_all_with_unknown_rounds() -> None:
    """One report tells nothing about tracking, exactly; a bound that is not quite 0 refused every mechanism."""
    found = plan(people=10**5, values=16, eps=1.0, error=0.1, advantage=0.0)
    assert found.recommended is not None
    assert all(option.tracked.upper == 0 for option in found.options)
    assert kept_symbol_advantage_upper(0.9, 0.9, 16, 1) == 0


def test_a_delta_that_covers_all_that_is_spent() -> None:
    found = plan(people=10**8, values=3, rounds="forever", error=0.3, delta=1e-3, one_network=True)
    assert found.recommended is not None
    assert found.recommended.goals.eps == pytest.approx(1e-6)
    assert found.recommended.spent.upper <= 1e-3


@pytest.mark.parametrize(("name", "recognition"), [("deck", 0.002), ("deck", 1.0), ("rnip", 1.0), ("fading", 0.01)])
@pytest.mark.parametrize("values", [2, 1000])
def test_one_round_more_is_too_many(name: str, recognition: float, values: int) -> None:
    goals = Goals(people=10**7, values=values, eps=2.0, error=0.05, advantage=0.05, recognition=recognition)
    entry = CATALOGUE[name]
    found = solve(entry, goals)
    assert isinstance(found.goals.rounds, int)
    assert found.goals.rounds > 1
    assert solve(entry, found.goals).goals.rounds == found.goals.rounds
    with pytest.raises(Unsuitable):
        solve(entry, found.goals.replace(rounds=found.goals.rounds + 1))


def test_tens_of_thousands_of_rounds() -> None:
    """They are found by the eps of one report; a search over budgets took minutes."""
    found = solve(CATALOGUE["deck"], Goals(people=2 * 10**9, values=2, eps=3.0, error=0.02, recognition=1.0))
    assert found.goals.rounds == 87_199
    assert found.mechanism.privacy().delta(3.0).upper <= 1e-6
