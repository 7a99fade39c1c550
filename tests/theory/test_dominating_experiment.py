"""One factor for a pair of worlds that is known by its deltas: it dominates, alone and together with others."""

import itertools

import pytest

from untrackable import Bitwise, Rappor
from untrackable.mechanisms import DBitFlip, Lgrr
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.experiment import Experiment, dominating_experiment
from untrackable.theory.factor import Factor, persistent_factor, response_factor
from untrackable.theory.theorems import reports_of_two_values

GAMMAS = (0.0, 0.003, 0.1, 0.37, 1.0, 2.5, 6.0)
LOPSIDED = Experiment([Factor([0.3, 0.7, 0.0], [0.0, 0.9, 0.1])])
PAIRS: list[Mechanism] = [
    Bitwise(eps_state=1.0, eps_report=0.5),
    Bitwise(eps_state=0.1, eps_report=4.0),
    Lgrr(values=4, keep=0.5, tell=0.7),
    Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.3, q=0.7, cohorts=4),
    DBitFlip(buckets=6, sampled=2, eps=1.0, output_flip=0.1),
]


@pytest.mark.parametrize("mechanism", PAIRS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("reports", [2, 5])
def test_it_dominates_in_both_directions_and_is_close(mechanism: Mechanism, reports: int) -> None:
    pair = mechanism.tracking(reports=reports)
    found = dominating_experiment(pair)
    assert found.certainty == "upper"
    for gamma in GAMMAS:
        bound = found.delta(gamma)
        assert bound.upper >= pair.delta(gamma).upper * (1 - 1e-9)
        for direction in ("forward", "backward"):
            assert found.delta(gamma, direction).upper >= pair.delta(gamma, direction).lower * (1 - 1e-9)
    assert found.delta(0.0).upper == pytest.approx(pair.delta(0.0).upper, rel=1e-6, abs=1e-9)


PARTS = [LOPSIDED, Experiment([response_factor(0.7)]), Experiment([persistent_factor(3.0)])]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(PARTS, 2)), ids=str)
def test_together_they_dominate_too(one: Experiment, other: Experiment) -> None:
    for gamma in GAMMAS:
        exact = (one + other).delta(gamma)
        assert (dominating_experiment(one) + dominating_experiment(other)).delta(gamma).upper >= exact.lower * (
            1 - 1e-9
        )
        assert (dominating_experiment(one) + other).delta(gamma).upper >= exact.lower * (1 - 1e-9)


def test_worlds_that_are_the_same_or_have_nothing_in_common() -> None:
    assert dominating_experiment(Experiment()).delta(0.0).upper == 0.0
    assert dominating_experiment(Experiment([Factor([1.0, 0.0], [0.0, 1.0])])).delta(3.0).upper == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("reports", [1, 3, 4, 5, 9, 30, 365])
def test_reports_of_two_values_are_no_more_than_those_of_a_few_pairs(reports: int) -> None:
    pairs = reports_of_two_values(reports)
    assert len(pairs) <= 4
    for rarer in range(2, reports // 2 + 1):
        assert any(rarer <= some and reports - rarer <= most for some, most in pairs)
