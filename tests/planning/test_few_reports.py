"""Promises for few reports, by enumeration of every count: errors are larger with probability beta at most."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import CountChances, base_chances
from untrackable.planning.forecast import CountLaw
from untrackable.theory.accuracy import count_interval

REPORTS = (5, 7, 10, 20, 30, 50, 100, 200, 300)
ENOUGH = 1 + 1e-9


class Case(NamedTuple):
    """A noisy inner product, and the share that is stated."""

    bits: int
    eps: float
    width: int

    @property
    def share(self) -> float:
        return 0.5 if self.bits == 1 else 0.05

    @property
    def chances(self) -> CountChances:
        result = base_chances(NoisyInnerProduct(bits=self.bits, eps=self.eps, width=self.width))
        assert result is not None
        return result


CASES = [
    Case(bits, eps, width)
    for bits, widths in ((1, (1,)), (2, (1, 2)), (4, (1, 4)), (10, (1, 5, 8)))
    for eps, width in itertools.product((0.5, 1.0, 2.0, 4.0, 8.0), widths)
]


def missing(case: Case, reports: int, radius: float, share: float) -> float:
    """The probability that an estimate is further off than this."""
    there, elsewhere, span, _ = case.chances
    counts = np.arange(reports + 1)
    errors = np.abs((counts / reports - elsewhere) * span - share)
    chance = elsewhere + share * (there - elsewhere)
    return float(binom.pmf(counts, reports, chance)[errors > radius * ENOUGH].sum())


def largest_missing(case: Case, reports: int, radius: float, most: float) -> float:
    """The same for the worst of many shares up to the largest."""
    return max(missing(case, reports, radius, share) for share in np.linspace(0, most, 101))


def radius_before(case: Case, reports: int, beta: float) -> float:
    """The radius of the interval of an estimate that equals the share, and nothing else: the promise as it was."""
    there, elsewhere, span, _ = case.chances
    held = min(case.share, min(1.0, max(0.0, (0.5 - elsewhere) * span)))
    counts = np.array([reports * (elsewhere + held / span)])
    lower, upper = count_interval(counts, reports, beta, elsewhere=elsewhere, span=span, sampled=True)
    assert there > elsewhere
    return float(max(held - lower[0], upper[0] - held))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_errors_are_larger_with_probability_beta_at_most(case: Case) -> None:
    law = CountLaw(case.chances, case.share, 1)
    for reports, beta in itertools.product(REPORTS, (0.2, 0.05, 0.05 / (1 << case.bits))):
        assert largest_missing(case, reports, law.radius(reports, beta), case.share) <= beta * ENOUGH
        assert largest_missing(case, reports, law.radius(reports, beta, 1.0), 1.0) <= beta * ENOUGH


def test_the_promise_as_it_was_is_refused() -> None:
    """It is exceeded too often, up to 1.6 times with 100 reports and 40 times with 10."""
    worst = {}
    for reports in (10, 100, 300):
        excess = []
        for case in CASES:
            beta = 0.05 / (1 << case.bits)
            excess.append(largest_missing(case, reports, radius_before(case, reports, beta), case.share) / beta)
        worst[reports] = max(excess)
    assert worst[10] > 40
    assert worst[100] > 1.6
    assert worst[300] > 1.02


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_of_a_known_number_of_people(case: Case) -> None:
    """Those who answer are a random part of twice as many people: holders are hypergeometric."""
    there, elsewhere, span, _ = case.chances
    for reports, beta in itertools.product((5, 20, 60), (0.05, 0.05 / (1 << case.bits))):
        radius = CountLaw(case.chances, case.share, 1).radius(reports, beta)
        counts = np.arange(reports + 1)
        estimates = (counts / reports - elsewhere) * span
        for holders in range(int(2 * reports * case.share) + 1):
            law = np.zeros(reports + 1)
            for held in range(min(holders, reports) + 1):
                chance = hypergeom.pmf(held, 2 * reports, holders, reports)
                own, others = (
                    binom.pmf(np.arange(size + 1), size, p)
                    for size, p in ((held, there), (reports - held, elsewhere))
                )
                law += chance * np.convolve(own, others)
            off = np.abs(estimates - holders / (2 * reports)) > radius * ENOUGH
            assert law[off].sum() <= beta * ENOUGH


def test_with_many_reports_the_promise_is_that_of_the_interval() -> None:
    for case in CASES:
        for reports in (10**5, 10**7):
            result = CountLaw(case.chances, case.share, 1).radius(reports, 0.01)
            assert radius_before(case, reports, 0.01) <= result < 1.01 * radius_before(case, reports, 0.01)
