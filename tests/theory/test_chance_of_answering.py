"""Rounds that are answered by chance: absence is one more outcome, and answers are a binomial number."""

import math
from fractions import Fraction

import pytest

from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import Factor, response_factor
from untrackable.theory.turns import thinned, thinned_factor


def test_thinned_factors_have_one_more_outcome() -> None:
    factor = Factor([0.7, 0.3, 0.0], [0.3, 0.6, 0.1])
    found = thinned_factor(factor, Fraction(1, 4))
    assert found.p == pytest.approx([0.175, 0.075, 0.0, 0.75])
    assert found.q == pytest.approx([0.075, 0.15, 0.025, 0.75])
    assert list(found.loss) == [*factor.loss, 0.0]
    with pytest.raises(ValueError, match="cannot be left out one by one"):
        thinned(Experiment(gaussian=0.5), Fraction(1, 2))


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 20), Fraction(99, 100)])
@pytest.mark.parametrize("rounds", [3, 40])
def test_only_the_number_of_answers_matters(rounds: int, chance: Fraction) -> None:
    """It has the same law in both worlds, so delta is the mean over it."""
    factor = response_factor(0.3)
    found = thinned(Experiment([(factor, rounds)]), chance)
    for gamma in (0.0, 0.1, 1.0):
        terms = (
            float(math.comb(rounds, count) * chance**count * (1 - chance) ** (rounds - count))
            * Experiment([(factor, count)]).delta(gamma).upper
            for count in range(1, rounds + 1)
        )
        assert found.delta(gamma).upper == pytest.approx(math.fsum(terms), rel=1e-8, abs=1e-12)
    assert found.pure() == pytest.approx(0.3 * rounds)
