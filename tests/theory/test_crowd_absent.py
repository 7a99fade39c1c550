"""One-bit answers where some people are secretly absent, against the definition: all reports of those present."""

import itertools
import math

import numpy as np
import pytest

from tests.theory.enumerated_crowd import delta, worlds
from untrackable.arrays import FloatArray
from untrackable.theory.crowd import CrowdParts, crowd_upper
from untrackable.theory.crowd_absent import CrowdAbsent, absent_deltas
from untrackable.theory.crowd_bit import CrowdBit
from untrackable.theory.search import gaussian_delta

GAMMAS = np.array([0.0, 0.1, 0.4, 0.9])


def laws(bits: int, eps: float, present: float) -> list[list[float]]:
    """The law of what each value shows: a question with a bit, or nothing. With one bit there is one question."""
    flip = 1 / (1 + math.exp(eps))
    found = []
    for value in range(1 << bits):
        law = [1 - present]
        for vector in range(1, 1 << bits):
            truth = (vector & value).bit_count() & 1
            law += [present * ((1 - flip) if bit == truth else flip) / ((1 << bits) - 1) for bit in (0, 1)]
        found.append(law)
    return found


def worst(bits: int, eps: float, present: float, people: int) -> FloatArray:
    """The largest delta, over all values of the person and of the others."""
    shown = laws(bits, eps, present)
    largest = np.zeros(GAMMAS.size)
    for others in itertools.combinations_with_replacement(range(len(shown)), people - 1):
        for one, two in itertools.permutations(range(len(shown)), 2):
            both = worlds(shown[one], shown[two], [shown[v] for v in others])
            largest = np.maximum(largest, [delta(both, gamma) for gamma in GAMMAS.tolist()])
    return largest


def formula(eps: float, share: float, reports: int, gamma: float) -> float:
    """The bound for this many reports, term by term."""
    flip, alpha = 1 / (1 + math.exp(eps)), math.exp(gamma)
    terms = np.array([math.expm1(eps), math.expm1(-eps)])

    def mean(zero: int, one: int, two: int) -> float:
        total = 0.0
        for flips in itertools.product(range(zero + 1), range(one + 1), range(two + 1)):
            chance, sums = 1.0, []
            for count, flipped in zip((zero, one, two), flips, strict=True):
                chance *= math.comb(count, flipped) * flip**flipped * (1 - flip) ** (count - flipped)
                sums.append(flipped * terms[0] + (count - flipped) * terms[1])
            total += chance * max(0.0, 1 - alpha + (sums[1] - alpha * sums[0] - (alpha - 1) * sums[2]) / reports)
        return total

    return math.fsum(
        math.comb(reports, k)
        * share**k
        * (1 - share) ** (reports - k)
        * max(mean(zero, k - zero, reports - k) for zero in range(k + 1))
        for k in range(reports + 1)
    )


@pytest.mark.parametrize(
    ("bits", "eps", "present", "people"),
    [(1, 1.0, 0.5, 2), (1, 2.0, 0.9, 4), (1, 3.0, 0.3, 5), (1, 1.0, 0.8, 6), (2, 1.0, 0.5, 2), (2, 2.0, 0.7, 3)],
)
def test_the_definition_is_below_the_bound(bits: int, eps: float, present: float, people: int) -> None:
    """On average over the number of reports, where somebody is absent; and 1 where nobody is, or nobody reports."""
    share = (1 << (bits - 1)) / ((1 << bits) - 1)
    bound = np.full(GAMMAS.size, present**people)
    for reports in range(1, people):
        chance = math.comb(people, reports) * present**reports * (1 - present) ** (people - reports)
        bound += chance * np.array([formula(eps, share, reports, gamma) for gamma in GAMMAS.tolist()])
    found = worst(bits, eps, present, people)
    assert np.all(found <= bound * (1 + 1e-9))
    assert found[0] > 0.2 * bound[0]


@pytest.mark.parametrize(
    ("values", "eps", "present", "people"), [(3, 1.0, 0.7, 3), (3, 2.0, 0.9, 4), (4, 1.5, 0.6, 3)]
)
def test_the_argument_holds_for_wider_answers(values: int, eps: float, present: float, people: int) -> None:
    """Randomised response over several values: names may hold any value. It is not computed for many people."""
    whole = math.exp(eps) + values - 1
    told = np.where(np.eye(values) > 0, math.exp(eps), 1.0) / whole
    bound = np.full(GAMMAS.size, present**people)
    for reports in range(1, people):
        largest = np.zeros(GAMMAS.size)
        for names in itertools.combinations_with_replacement(range(values), reports):
            seen = list(itertools.product(range(values), repeat=reports))
            chances = np.array([math.prod(told[c, y] for c, y in zip(names, ys, strict=True)) for ys in seen])
            ratios = np.array(
                [np.mean([told[:, y] / told[c, y] for c, y in zip(names, ys, strict=True)], axis=0) for ys in seen]
            )
            for one, two in itertools.permutations(range(values), 2):
                lost = ratios[:, one, None] - np.exp(GAMMAS) * ratios[:, two, None]
                largest = np.maximum(largest, chances @ np.maximum(0.0, lost))
        bound += math.comb(people, reports) * present**reports * (1 - present) ** (people - reports) * largest
    shown = [[1 - present, *(present * law)] for law in told]
    for others in itertools.combinations_with_replacement(range(values), people - 1):
        for one, two in itertools.permutations(range(values), 2):
            both = worlds(shown[one], shown[two], [shown[v] for v in others])
            assert np.all(np.array([delta(both, gamma) for gamma in GAMMAS.tolist()]) <= bound * (1 + 1e-9))


@pytest.mark.parametrize(("eps", "share", "reports"), [(1.0, 1.0, 4), (2.0, 2 / 3, 3), (0.5, 4 / 7, 6)])
def test_few_reports_are_computed_as_the_formula_says(eps: float, share: float, reports: int) -> None:
    """Values between two places of the grid are split, which never makes delta smaller."""
    found = absent_deltas(eps, share, reports, GAMMAS, steps=48)
    exact = np.array([formula(eps, share, reports, gamma) for gamma in GAMMAS.tolist()])
    assert np.all(found >= exact * (1 - 1e-9))
    assert found[0] == pytest.approx(exact[0], rel=1e-6)


def test_delta_falls_with_every_report_and_grows_with_the_share() -> None:
    for gamma in (0.0, 0.3):
        by_reports = [formula(1.5, 0.6, reports, gamma) for reports in range(1, 7)]
        assert by_reports == sorted(by_reports, reverse=True)
        by_share = [formula(1.5, share, 4, gamma) for share in (0.2, 0.5, 0.8, 1.0)]
        assert by_share == sorted(by_share)
        by_eps = [formula(eps, 0.6, 4, gamma) for eps in (0.5, 1.0, 2.0)]
        assert by_eps == sorted(by_eps)


def kind(eps: float, share: float, present: float) -> CrowdAbsent:
    ratio = math.exp(eps)
    return CrowdAbsent(eps, share, present, CrowdParts(ratio, share * (ratio - 1) / (ratio + 1), ratio))


@pytest.mark.parametrize(("people", "eps", "share"), [(10_000, 1.0, 1.0), (100_000, 4.0, 1.0), (10_000, 2.0, 0.5)])
def test_many_reports_are_bounded_closely(people: int, eps: float, share: float) -> None:
    """Within 2 % of a plain bit in eps, and well below the bound without absence. Fifty in n absent are enough."""
    absent = kind(eps, share, 1 - 50 / people)
    found, before = (crowd_upper({(each, people): 1}).gamma(1e-6).upper for each in (absent, absent.otherwise))
    assert found < (0.85 if eps < 2 else 0.78) * before
    if share == 1:
        plain = crowd_upper({(CrowdBit(eps), people): 1}).gamma(1e-6).upper
        assert plain < found < 1.02 * plain
    sharp, rough = (absent.deltas(people, np.array([0.0, found / 2, found]), sharp=how) for how in (True, False))
    assert np.all(sharp <= rough * (1 + 1e-9))
    assert sharp[0] == pytest.approx(gaussian_delta(absent.shift(people), 0.0), rel=0.05)


def test_if_too_few_are_absent_the_other_bound_holds() -> None:
    absent = kind(2.0, 0.5, 0.999)
    gammas = np.array([0.0, 0.2, 0.5])
    assert absent.deltas(500, gammas) == pytest.approx(absent.otherwise.deltas(500, gammas))
    louder = kind(3.0, 0.4, 0.5)
    assert absent.joined(louder).shift(500) >= max(absent.shift(500), louder.shift(500))
    assert absent.joined(louder).largest == louder.largest


@pytest.mark.parametrize("eps", [1e-9, 5.0, 40.0])
def test_the_extremes(eps: float) -> None:
    for people in (2, 50, 10**9):
        absent = kind(eps, 0.5, 0.5)
        found, before = (crowd_upper({(each, people): 1}).gamma(1e-6).upper for each in (absent, absent.otherwise))
        assert 0 <= found <= 1.02 * min(eps, before) + 1e-12
