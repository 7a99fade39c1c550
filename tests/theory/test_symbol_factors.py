"""A kept symbol's experiments against enumeration of the definition, their bounds, their digits, their size."""

import decimal
import itertools
import math
from collections.abc import Hashable
from decimal import Decimal

import numpy as np
import pytest

from tests.enumeration import FiniteMechanism, Law, streams_factor
from tests.oracles import subsets
from tests.theory.test_factorisations import DIRECTIONS, GAMMAS, assert_dominates, assert_equal
from untrackable import Bitwise
from untrackable.mechanisms.kept_symbol import Lgrr
from untrackable.randomizers.randomness import flip_chance
from untrackable.theory import Experiment, symbols
from untrackable.theory.symbols import Response


def oracle(values: int, keep: float, tell: float) -> FiniteMechanism:
    """Generalised randomised response, once for ever and again for each report."""

    def law(truth: float, symbol: Hashable) -> Law:
        return {other: truth if other == symbol else (1 - truth) / (values - 1) for other in range(values)}

    return FiniteMechanism(range(values), lambda value: law(keep, value), lambda kept, round: law(tell, kept))


def steps(values: int, keep: float, tell: float) -> tuple[Response, Response]:
    return Response.of(values, keep), Response.of(values, tell)


CASES = [(2, 0.7, 0.8), (3, 0.6, 0.7), (3, 0.34, 0.99), (4, 0.5, 0.3), (4, 0.999, 0.9), (5, 0.3, 0.6)]


@pytest.mark.parametrize(("values", "keep", "tell"), CASES)
@pytest.mark.parametrize("reports", [1, 2, 3, 4])
def test_experiments(values: int, keep: float, tell: float, reports: int) -> None:
    """For every set of rounds; with four symbols or more, three reports are as many as there are cases."""
    if values**reports > 150:
        reports = 3
    mechanism, truth = Lgrr(values=values, keep=keep, tell=tell), oracle(values, keep, tell)
    rounds = list(range(1, reports + 1))
    assert_equal(mechanism.privacy(reports=reports), truth.privacy(1, 0, rounds))
    for first in subsets(rounds):
        assert_equal(mechanism.tracking(rounds=rounds, first=first), truth.tracking(1, rounds, first))
        for after in ("fresh", "same"):
            found = mechanism.detection(rounds=rounds, first=first, after=after)
            assert_equal(found, truth.detection(1, 0, rounds, first))


def test_more_reports_of_few_symbols() -> None:
    mechanism, truth = Lgrr(values=3, keep=0.6, tell=0.5), oracle(3, 0.6, 0.5)
    rounds = list(range(1, 7))
    for split in (1, 3):
        assert_equal(mechanism.tracking(reports=6, split=split), truth.tracking(2, rounds, rounds[:split]))
        assert_equal(mechanism.detection(reports=6, split=split), truth.detection(2, 1, rounds, rounds[:split]))


def test_two_symbols_are_a_bit() -> None:
    bit = Bitwise(eps_state=1.0, eps_report=0.5)
    keep, tell = (1 - flip_chance(eps).probability for eps in (1.0, 0.5))
    mechanism = Lgrr(values=2, keep=keep, tell=tell)
    for reports in (9, 60):
        for gamma in (0.0, 0.5):
            for mine, other in (
                (mechanism.tracking(reports=reports), bit.tracking(reports=reports)),
                (mechanism.detection(reports=reports, split=5), bit.detection(reports=reports, split=5)),
                (mechanism.privacy(reports=reports), bit.privacy(reports=reports)),
            ):
                assert mine.certainty == "exact"
                assert mine.delta(gamma).upper == pytest.approx(other.delta(gamma).upper, rel=1e-9)


def test_everlasting_is_the_kept_symbol_and_the_limit() -> None:
    mechanism = Lgrr(values=4, keep=0.6, tell=0.7)
    everlasting = mechanism.privacy()
    assert everlasting.certainty == "exact"
    assert everlasting.pure() == pytest.approx(math.log(0.6 * 3 / 0.4))
    told = Lgrr(values=4, keep=0.6, tell=1.0)  # one report is the kept symbol
    for reports in (1, 5, 10**6):
        assert told.privacy(reports=reports).pure() == pytest.approx(everlasting.pure())
    deltas = [mechanism.privacy(reports=k).delta(0.3).upper for k in (1, 3, 10, 30)]
    assert deltas == sorted(deltas)
    assert deltas[-1] == pytest.approx(everlasting.delta(0.3).upper, rel=1e-4)
    assert mechanism.privacy(reports=300).certainty == "upper"
    assert mechanism.privacy(reports=300).delta(0.3).upper == everlasting.delta(0.3).upper


# --- bounds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("values", "keep", "tell"), CASES)
def test_granted_symbols_dominate(values: int, keep: float, tell: float) -> None:
    (kept, told), truth = steps(values, keep, tell), oracle(values, keep, tell)
    for reports in (2, 3):
        rounds = list(range(1, reports + 1))
        for split in range(1, reports):
            apart = truth.tracking(1, rounds, rounds[:split]), truth.detection(1, 0, rounds, rounds[:split])
            shorter, later = min(split, reports - split), reports - split
            for found in (
                symbols.tracking_both_symbols_known(kept),
                symbols.tracking_one_symbol_known(kept, told, shorter),
            ):
                assert_dominates(Experiment([found], certainty="upper"), apart[0])
            for found in (
                symbols.detection_both_symbols_known(kept),
                symbols.detection_one_symbol_known(kept, told, later),
            ):
                assert_dominates(Experiment([found], certainty="upper"), apart[1])


@pytest.mark.parametrize(("values", "keep", "tell"), CASES)
def test_one_known_symbol(values: int, keep: float, tell: float) -> None:
    """The symbol of the first side and three reports of the second, as enumerated."""
    reports = [1, 2, 3] if values < 5 else [1, 2]
    (kept, told), truth = steps(values, keep, tell), oracle(values, keep, tell)
    law = truth.state(1)
    of_symbol = {s: FiniteMechanism([s], lambda v: {v: 1.0}, truth.report).streams(s, reports) for s in law}
    for value, found in (
        (1, symbols.tracking_one_symbol_known),
        (0, symbols.detection_one_symbol_known),
    ):
        of_other = truth.streams(value, reports)
        one = {(s, *stream): law[s] * p for s in law for stream, p in of_symbol[s].items()}
        two = {(s, *stream): law[s] * p for s in law for stream, p in of_other.items()}
        assert_equal(Experiment([found(kept, told, len(reports))]), streams_factor(one, two))


def test_bounds_are_attained_by_many_reports() -> None:
    kept, told = steps(3, 0.6, 0.9)
    pairs = (
        (
            symbols.tracking_both_symbols_known,
            symbols.tracking_one_symbol_known,
            symbols.tracking_factor,
        ),
        (
            symbols.detection_both_symbols_known,
            symbols.detection_one_symbol_known,
            symbols.detection_factor,
        ),
    )
    for granted, known, exact in pairs:
        limit = Experiment([granted(kept)]).advantage().upper
        gaps = [limit - Experiment([exact(kept, told, k, k // 2)]).advantage().upper for k in (4, 12, 24)]
        halfway = [limit - Experiment([known(kept, told, k // 2)]).advantage().upper for k in (4, 12, 24)]
        assert all(-1e-12 < inner < outer for inner, outer in zip(halfway, gaps, strict=True))
        assert gaps[2] < 0.01 * gaps[0] < 0.01


def test_what_is_too_much_to_enumerate_is_bounded_and_says_so() -> None:
    mechanism = Lgrr(values=10, keep=0.45, tell=0.18)
    last: dict[str, float] = {}
    for reports in (10, 21, 34, 110, 10**9):
        for name in ("tracking", "detection", "privacy"):
            found = getattr(mechanism, name)(reports=reports)
            assert found.certainty == "upper" or reports <= 34
            delta = found.delta(0.1).upper
            assert delta >= last.get(name, 0.0) - 1e-12
            last[name] = delta
    assert symbols.can_enumerate(10**6, 1, ((j, 20 - j) for j in range(1, 11)))  # exact to 20 reports, whatever g
    assert symbols.can_enumerate(10**6, 2, ((j, 16 - j) for j in range(16)))
    kept, _ = steps(10, 0.45, 0.18)
    assert last["tracking"] == pytest.approx(
        Experiment([symbols.tracking_both_symbols_known(kept)]).advantage().upper
    )
    assert mechanism.detection(reports=100, split=98).advantage().upper < 0.3  # two reports after the change


# --- how many outcomes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [2, 3, 4, 9, 10**6])
def test_outcomes_are_counted(values: int) -> None:
    """Against the enumeration itself, and against counting all multisets one by one."""
    kept, told = steps(values, 0.7, 0.8)
    for first, second in ((0, 1), (0, 4), (1, 1), (1, 3), (2, 3), (3, 3)):
        for special, exact in ((1, symbols.tracking_factor), (2, symbols.detection_factor)):
            number = symbols.count_outcomes(values, special, first, second)
            assert number == exact(kept, told, first + second, first).p.size
            if values > 2:
                assert number == counted(values, special, first, second)


def counted(values: int, special: int, first: int, second: int) -> int:
    """Counts of the singled-out symbols, then a multiset of the others'."""
    parts = [(x, y) for x in range(first + 1) for y in range(second + 1) if x + y]
    rest = 0
    for size in range(min(values - special, first + second) + 1):
        for chosen in itertools.combinations_with_replacement(parts, size):
            a, b = first - sum(x for x, _ in chosen), second - sum(y for _, y in chosen)
            rest += (1 if special == 1 else (a + 1) * (b + 1)) if a >= 0 and b >= 0 else 0
    return rest


def test_counting_stops_in_time() -> None:
    many = symbols.MOST_OUTCOMES + 1
    for values in (3, 10, 10**6):
        for first, second in ((10**5, 10**5), (0, 10**7), (60, 60)):
            assert symbols.count_outcomes(values, 2, first, second) == many
    assert symbols.count_outcomes(1000, 1, 10, 10) == symbols.count_outcomes(10**6, 1, 10, 10) == 360_847


# --- digits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keep", "tell"),
    [
        (Decimal("0.6"), 1 / Decimal(3) + Decimal("1e-9")),
        (Decimal("0.6"), 1 - Decimal("1e-18")),
        (1 - Decimal("1e-17"), Decimal("0.5")),
        (1 / Decimal(3) + Decimal("1e-12"), Decimal("0.7")),
    ],
)
def test_digits(keep: Decimal, tell: Decimal) -> None:
    """Three symbols and four reports in sixty digits: losses next to 0, and probabilities next to 1 or to 1/3."""
    with decimal.localcontext(prec=60):
        kept, told = (Response(3, float(p), float(1 - p), float((p * 2 / (1 - p)).ln())) for p in (keep, tell))

        def law(value: int, stream: tuple[int, ...]) -> Decimal:
            total = Decimal(0)
            for s in range(3):
                prior = keep if s == value else (1 - keep) / 2
                total += prior * math.prod((tell if r == s else (1 - tell) / 2 for r in stream), start=Decimal(1))
            return total

        streams = list(itertools.product(range(3), repeat=4))
        for other, found in (
            (0, symbols.tracking_factor(kept, told, 4, 2)),
            (1, symbols.detection_factor(kept, told, 4, 2)),
        ):
            worlds = [(law(0, s), law(0, s[:2]) * law(other, s[2:])) for s in streams]
            losses = [(p / q).ln() for p, q in worlds]
            experiment = Experiment([found])
            assert experiment.pure() == pytest.approx(float(max(map(abs, losses))), rel=1e-12)
            advantage = float(sum(max(Decimal(0), p - q) for p, q in worlds))
            assert experiment.advantage().upper == pytest.approx(advantage, rel=1e-9)


def test_nothing_overflows() -> None:
    kept, told = Response(1 << 20, 0.5, 0.5, math.log(1 << 20)), Response(1 << 20, 1.0, 2.0**-64, 58.2)
    for factor in (
        symbols.tracking_factor(kept, told, 12, 6),
        symbols.detection_factor(kept, told, 8, 4),
        symbols.tracking_one_symbol_known(kept, told, 12),
    ):
        assert np.isfinite(factor.loss).all()
        assert Experiment([factor]).advantage().upper <= 1
    many = Lgrr(values=3, keep=0.6, tell=0.7).privacy(reports=900)  # losses down to ρ^-900
    assert many.certainty == "exact"
    assert many.advantage().upper == pytest.approx(0.4)


def test_certain_steps() -> None:
    """A value that is kept as it is leaves nothing to track; one that is told as it is kept shows what is kept."""
    known = Lgrr(values=4, keep=1.0, tell=0.6)
    assert known.tracking(reports=6).advantage().upper < 1e-14
    assert known.privacy().pure() == math.inf
    truth = oracle(4, 1.0, 0.6)
    assert_equal(known.detection(reports=3, split=1), truth.detection(0, 1, [1, 2, 3], [1]))
    shown, truth = Lgrr(values=4, keep=0.6, tell=1.0), oracle(4, 0.6, 1.0)
    for first in subsets([1, 2, 3]):
        assert_equal(shown.tracking(rounds=[1, 2, 3], first=first), truth.tracking(0, [1, 2, 3], first))
        assert_equal(shown.detection(rounds=[1, 2, 3], first=first), truth.detection(0, 1, [1, 2, 3], first))
    assert shown.tracking(reports=10**6).certainty == "exact"


def test_the_worst_split_is_searched_for() -> None:
    mechanism = Lgrr(values=5, keep=0.5, tell=0.6)
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        for name, splits in (("tracking", range(1, 4)), ("detection", range(6))):
            ask = getattr(mechanism, name)
            worst = max(ask(reports=6, split=j).delta(gamma, direction).upper for j in splits)
            assert ask(reports=6).delta(gamma, direction).upper == pytest.approx(worst, rel=1e-12, abs=1e-15)
