"""How many people were active: the interval misses no more often than stated, for any activity, and is no wider."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

from untrackable.estimation.rounds import ActivePeople, active_people
from untrackable.theory.turns import Turns

NEARLY = 1 + 1e-9


def missed(law: NDArray[np.float64], turns: Turns, beta: float, truth: float, rounds: int) -> tuple[float, float]:
    """The probabilities that the lower and the upper end miss, if all reports together have this law."""
    low = high = 0.0
    for reports, chance in enumerate(law.tolist()):
        if chance > 0:
            found = active_people([reports] + [0] * (rounds - 1), turns, beta)
            low += chance * (found.lower > truth + 1e-9)
            high += chance * (found.upper < truth - 1e-9)
    return low, high


@pytest.mark.parametrize(("rounds", "share"), [(2, "1"), (12, "1"), (52, "1/2")])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_every_number_of_people_is_covered(rounds: int, share: str, beta: float) -> None:
    """By enumeration, for up to 80 people and for 2,000: each end misses with probability at most beta/2."""
    turns = Turns(rounds=rounds, share=share)  # type: ignore[arg-type]
    worst = [0.0, 0.0]
    for people in (*range(80), 2000):
        law = binom.pmf(np.arange(people + 1), people, float(turns.chance))
        law[law < 1e-15] = 0
        worst = [max(pair) for pair in zip(worst, missed(law, turns, beta, people, 1), strict=True)]
    assert max(worst) <= beta / 2 * NEARLY
    # Not much less either: a level that is 1.3 times as large would miss too often.
    if beta == 0.05:
        assert max(worst) > 0.05 / 2 / 1.3


@pytest.mark.parametrize("often", [(1,) * 30, (12,) * 8, (12, 12, 12, *(1,) * 40), (1, 6, 12) * 6, (2,) * 3, (1,)])
@pytest.mark.parametrize("beta", [0.5, 0.2, 0.05])
def test_the_mean_of_several_rounds_is_covered_however_often_people_are_active(
    often: tuple[int, ...], beta: float
) -> None:
    """By enumeration: somebody who is active in r of 12 rounds answers with probability r/12."""
    law = np.ones(1)
    for times in often:
        law = np.convolve(law, [1 - times / 12, times / 12])
    assert max(missed(law, Turns(rounds=12), beta, sum(often) / 12, 12)) <= beta / 2 * NEARLY


def test_the_interval_is_about_as_wide_as_the_normal_one() -> None:
    for rounds, people in ((12, 100_000), (52, 100_000), (365, 10**7)):
        turns = Turns(rounds=rounds)
        found = active_people([people // rounds], turns)
        normal = norm.isf(0.025) * math.sqrt(people * (rounds - 1))
        assert 1 <= (found.upper - found.lower) / (2 * normal) <= 1.02
        assert found.value == pytest.approx(people, rel=1e-3)
    whole = active_people([10**9, 10**9], Turns(rounds=52))
    assert whole.lower < 52e9 < whole.upper < 1.001 * whole.lower


def test_what_is_said_of_few_reports_and_of_every_round() -> None:
    nobody = active_people([0], Turns(rounds=52))
    assert nobody[:2] == (0, 0)
    assert nobody.upper == max(n for n in range(400) if (51 / 52) ** n > 0.025)
    assert active_people([7, 9], None) == ActivePeople(8, 8, 8, 0.05)
    assert active_people([7, 9], None).to_json()["certainty"] == "exact"
    assert active_people([7], Turns(rounds=1)) == ActivePeople(7, 7, 7, 0.05)
    assert active_people([7], Turns(rounds=9)).to_json()["certainty"] == "interval: upper, value: unbiased"
    with pytest.raises(ValueError, match="at least one round"):
        active_people([], None)


@pytest.mark.parametrize(("people", "fewest"), [(10, 1), (40, 1), (600, 15), (1100, 100)])
def test_rounds_that_are_withheld_because_they_are_small_do_not_mislead(people: int, fewest: int) -> None:
    """Everybody is active in all of 12 rounds. Of those shown alone, the mean would be far too large."""
    turns, beta, trials = Turns(rounds=12), 0.05, 400
    rng = np.random.default_rng(3)
    missed = naive = 0
    for reports in rng.multinomial(people, [1 / 12] * 12, size=trials):
        shown = [int(m) for m in reports if m >= max(1, fewest)]
        if not shown:
            continue
        found = active_people(shown, turns, beta, missing=12 - len(shown), fewest=fewest)
        missed += not found.lower <= people <= found.upper
        alone = active_people(shown, turns, beta)
        naive += not alone.lower <= people <= alone.upper
        assert found.lower <= found.value <= found.upper
    # More than 38 of 400 with a probability of 0.05 each have a probability of 1e-4.
    assert missed <= 38
    assert naive > missed or people in (40, 600)
