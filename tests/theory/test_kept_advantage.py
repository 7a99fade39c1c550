"""Kept bits and symbols in closed form, against the engine and against enumeration."""

import itertools
import math
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable import Bitwise
from untrackable.mechanisms import Lgrr, Unary
from untrackable.theory.kept_bit import (
    _chi_squares,
    binomial_distances,
    flipped_distances,
    kept_bit_advantages,
    kept_bits_advantage_upper,
    kept_symbol_advantage_upper,
)

chances = st.floats(0.01, 0.99)


def enumerated(law: list[float], report: list[list[float]], reports: int, split: int) -> float:
    """Total variation of one user against two, by the definition: a kept state, every stream of reports."""
    streams = itertools.product(range(len(report[0])), repeat=reports)

    def chance(part: tuple[int, ...]) -> float:
        return sum(w * math.prod(report[s][r] for r in part) for s, w in enumerate(law))

    return sum(abs(chance(s) - chance(s[:split]) * chance(s[split:])) for s in streams) / 2


@given(chances, chances, chances, st.integers(2, 6))
def test_chi_square_of_one_kept_bit(kept: float, one: float, zero: float, reports: int) -> None:
    """By the definition, for every split and every stream of reports, at the worst split."""
    law, report = [1 - kept, kept], [[1 - zero, zero], [1 - one, one]]

    def chance(part: tuple[int, ...]) -> float:
        return sum(w * math.prod(report[s][r] for r in part) for s, w in enumerate(law))

    def chi_square(split: int) -> float:
        streams = itertools.product((0, 1), repeat=reports)
        pairs = [(chance(s), chance(s[:split]) * chance(s[split:])) for s in streams]
        return sum((p - q) ** 2 / q for p, q in pairs)

    worst = max(chi_square(split) for split in range(1, reports))
    found = _chi_squares([(kept, 1)], one, zero, reports).max()
    assert found == pytest.approx(worst, rel=1e-6, abs=1e-12)
    two = _chi_squares([(kept, 2)], one, zero, reports).max()
    assert two == pytest.approx((1 + worst) ** 2 - 1, rel=1e-6, abs=1e-12)


@given(chances, chances, chances, st.integers(1, 6), st.data())
def test_one_kept_bit_is_exact(kept: float, one: float, zero: float, reports: int, data: st.DataObject) -> None:
    split = data.draw(st.integers(0, reports))
    found = kept_bit_advantages(kept, binomial_distances(reports, one, zero))[split]
    law, report = [1 - kept, kept], [[1 - zero, zero], [1 - one, one]]
    assert found == pytest.approx(enumerated(law, report, reports, split), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(("one", "zero"), [(1.0, 0.3), (0.7, 0.0), (1.0, 0.0), (0.4, 0.4)])
def test_distances_at_the_ends(one: float, zero: float) -> None:
    for n, found in enumerate(binomial_distances(4, one, zero)):
        laws = [[math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)] for p in (one, zero)]
        assert found == pytest.approx(sum(abs(a - b) for a, b in zip(*laws, strict=True)) / 2, abs=1e-14)


@pytest.mark.parametrize(("eps_state", "eps_report", "reports"), [(1, 0.3, 20), (0.5, 2, 7), (3, 0.05, 52)])
def test_bitwise_agrees_with_the_engine(eps_state: float, eps_report: float, reports: int) -> None:
    made = Bitwise(eps_state=eps_state, eps_report=eps_report)
    lie = made.report_flip.probability
    found = kept_bit_advantages(made.state_flip.probability, binomial_distances(reports, 1 - lie, lie)).max()
    assert found == pytest.approx(made.tracking(reports=reports).advantage().upper, rel=1e-9)


@pytest.mark.parametrize("values", [2, 5, 40])
@pytest.mark.parametrize(("eps_second", "reports"), [(0.02, 12), (0.4, 12), (3.0, 5)])
def test_bounds_hold_and_are_near(values: int, eps_second: float, reports: int) -> None:
    unary = Unary.of_steps("L-OSUE", values=values, eps=1.0, eps_second=eps_second)
    kept = [(unary.keep, 1), (unary.add, values - 1)]
    exact = unary.tracking(reports=reports).advantage()
    bound = kept_bits_advantage_upper(kept, unary.q, unary.p, reports)
    assert exact.lower <= bound <= min(1.0, 2.2 * exact.upper)


@pytest.mark.parametrize("values", [2, 3, 9])
@pytest.mark.parametrize(("tell", "reports"), [(0.55, 4), (0.9, 6)])
def test_symbol_bound_holds(values: int, tell: float, reports: int) -> None:
    made = Lgrr(values=values, keep=0.6, tell=tell)
    exact = made.tracking(reports=reports).advantage().upper
    bound = kept_symbol_advantage_upper(0.6, tell, values, reports)
    assert exact <= bound * (1 + 1e-9)
    if values == 2:  # one kept bit: attained, up to the steps in which numbers of reports are rounded
        assert bound == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("reports", [2, 7, 40, 150])
def test_what_a_kept_bit_gives_away_is_that_of_the_engine(reports: int) -> None:
    mechanism = Bitwise(eps_state=1.0, eps_report=0.2)
    told, exact = mechanism.tracking_advantage_upper(reports), mechanism.tracking(reports=reports).delta(0.0)
    assert exact.upper <= told <= exact.lower * (1 + 3e-8)


def test_of_many_reports_too_and_of_any_number_it_has_a_limit() -> None:
    mechanism = Bitwise(eps_state=1.0, eps_report=0.05)
    kept, flip = mechanism.state_flip.probability, mechanism.report_flip.probability
    worst = int(kept_bit_advantages(kept, binomial_distances(1000, 1 - flip, flip)).argmax())
    told = mechanism.tracking_advantage_upper(1000)
    exact = mechanism.tracking(reports=1000, split=worst).delta(0.0)
    assert exact.upper <= told <= exact.lower * (1 + 3e-8)
    limit = 2 * kept * (1 - kept)
    for many in (1 << 32, None):
        assert limit <= mechanism.tracking_advantage_upper(many) <= limit * (1 + 3e-8)


@given(st.floats(0.01, 0.499))
def test_distances_of_a_flipped_bit_as_a_series(flip: float) -> None:
    for reports in (0, 1, 2, 40):
        found = flipped_distances(reports, flip, 1 - 2 * flip)
        assert found == pytest.approx(binomial_distances(reports, 1 - flip, flip), abs=1e-13)


def distance(reports: int, flip: Decimal) -> Decimal:
    """TV of the numbers of ones in reports of a 1 and of a 0, by their probabilities."""
    one, zero = flip**reports, (1 - flip) ** reports
    total, odds = Decimal(0), flip / (1 - flip)
    for ones in range(reports + 1):
        total += max(Decimal(0), one - zero)
        one *= (reports - ones) / odds / (ones + 1)
        zero *= (reports - ones) * odds / (ones + 1)
    return total


@pytest.mark.parametrize(("eps_report", "reports"), [(1e-9, 501), (1e-9, 40), (1e-7, 501), (1e-5, 10_001)])
def test_quiet_reports_lose_no_digits(eps_report: float, reports: int) -> None:
    """Against sums over all outcomes in sixty digits, for the splits next to the half."""
    mechanism = Bitwise(eps_state=0.5, eps_report=eps_report)
    with localcontext(prec=60):
        kept, flip = (Decimal(c.threshold) / (1 << 64) for c in (mechanism.state_flip, mechanism.report_flip))
        splits = range(reports // 2 - 1, reports // 2 + 2)
        most = max(distance(split, flip) * distance(reports - split, flip) for split in splits)
        exact = float(2 * kept * (1 - kept) * most)
    assert exact <= mechanism.tracking_advantage_upper(reports) <= exact * (1 + 2e-8)
