"""What the mechanisms promise, at the sizes at which people would use them."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrackable import (
    Bitwise,
    Dealt,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
)
from untrackable.errors import FadedAway
from untrackable.mechanisms.fading import ONE_BY_ONE, later_shift
from untrackable.randomizers.randomness import flip_eps
from untrackable.theory.convolution import squares
from untrackable.theory.experiment import Experiment
from untrackable.theory.symbols import cross_probability, occupancy, repeat_probability

BITWISE = Bitwise(eps_state=1, eps_report=1)
DEALT = Dealt(RandomizedResponse(eps=1), 3)
PAPER = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)


def test_budget_of_a_two_year_deck() -> None:
    deck = Deck.for_budget(bits=16, slots=730, eps=1, delta=1e-6)
    assert deck.eps_report == pytest.approx(0.01240, abs=0.00001)
    assert deck.privacy().delta(1.0).upper <= 1e-6
    bolder = Deck(bits=16, slots=730, eps_report=deck.eps_report * (1 + 1e-6))
    assert bolder.privacy().delta(1.0).lower > 1e-6
    paper = Deck.for_budget(bits=16, slots=730, eps=1, delta=1e-6, accounting="paper")
    assert paper.eps_report == pytest.approx(0.00352, abs=0.000005)
    assert (deck.eps_report / paper.eps_report) ** 2 == pytest.approx(12.4, abs=0.05)
    stored = InnerProduct.for_budget(bits=16, slots=730, eps=1, delta=1e-6)
    assert stored.eps_report == deck.eps_report


@settings(max_examples=25)
@given(st.integers(1, 20), st.integers(1, 300), st.floats(0.05, 8), st.sampled_from((0.0, 1e-12, 1e-6, 1e-2)))
def test_budgets_are_kept_and_used_up(bits: int, slots: int, eps: float, delta: float) -> None:
    deck = Deck.for_budget(bits=bits, slots=slots, eps=eps, delta=delta)
    assert deck.privacy().delta(eps).upper <= delta
    if deck.eps_report < 40:
        bolder = Deck(bits=bits, slots=slots, eps_report=deck.eps_report * (1 + 1e-6), width=deck.width)
        assert bolder.privacy().delta(eps).upper > delta


def test_a_large_state_is_as_exact() -> None:
    deck = Deck.for_budget(bits=16, slots=100_000, eps=1, delta=1e-6)
    assert deck.privacy().delta(1.0).certainty == "exact"
    assert deck.privacy().delta(1.0).upper == pytest.approx(1e-6, rel=1e-6)


def test_accounting_uses_the_thresholds_that_are_drawn() -> None:
    base = NoisyInnerProduct(bits=4, eps=45.0, width=1)  # 2^64/(e^45 + 1) is below one: rounded up to one
    assert base.flip.threshold == 1
    assert flip_eps(base.flip) == pytest.approx(64 * math.log(2))
    assert base.privacy_factor().loss.max() == flip_eps(base.flip) < 45


def test_rappor_at_fifteen_reports() -> None:
    gamma = PAPER.tracking(reports=15, split=7).gamma(1e-6)
    assert gamma.lower < 26.48 < gamma.upper
    assert gamma.width < 0.05
    assert PAPER.tracking(reports=15).pure() == pytest.approx(288.6453266158751, rel=1e-12)
    assert PAPER.tracking(reports=15, ones="worst").pure() == pytest.approx(288.899, abs=0.001)
    assert PAPER.privacy().pure() == pytest.approx(4 * math.log(3))


@given(st.integers(1, 40), st.integers(2, 30), st.data())
def test_crosses(slots: int, reports: int, data: st.DataObject) -> None:
    split = data.draw(st.integers(0, reports))
    cross = cross_probability(slots, reports, split)
    assert 0 <= cross <= min(1.0, split * (reports - split) / slots) + 1e-12
    assert cross == pytest.approx(cross_probability(slots, reports, reports - split), abs=1e-12)
    stored = InnerProduct(bits=8, slots=slots, eps_report=1.0, width=1)
    if slots > 1:
        assert stored.tracking(reports=reports, split=split).advantage().upper == pytest.approx(cross, rel=1e-9)
        assert cross <= reports**2 / slots
    law = occupancy(reports, slots)
    assert law.sum() == pytest.approx(1)
    assert repeat_probability(slots, reports) == pytest.approx(1 - (law[reports] if reports <= slots else 0.0))


def test_stored_detection_costs_at_least_its_parts() -> None:
    stored = InnerProduct.for_budget(bits=16, slots=100, eps=1, delta=1e-6)
    both = stored.detection(reports=20, split=10).advantage().upper
    assert both >= stored.tracking(reports=20, split=10).advantage().upper
    assert stored.detection(reports=20, split=0).advantage().upper == pytest.approx(
        stored.privacy(reports=20).advantage().upper, rel=1e-6
    )
    assert stored.privacy(reports=20).gamma(1e-6).upper < stored.privacy().gamma(1e-6).upper
    assert stored.privacy(values="any").advantage().upper == 1.0


def test_extremes() -> None:
    fresh, memoized = Fresh(RandomizedResponse(eps=1.0)), Memoized(NoisyInnerProduct(bits=16, eps=1.0, width=1))
    assert fresh.privacy().pure() == math.inf
    assert fresh.privacy(reports=3).pure() == pytest.approx(3.0)
    assert fresh.tracking(reports=1000).advantage().upper == 0
    assert memoized.privacy().pure() == pytest.approx(1.0)
    assert memoized.tracking(reports=2).advantage().lower > 0.99999
    assert memoized.privacy(reports=5, values="any").advantage().upper == 1.0


def test_deck_replay_keeps_privacy_and_loses_untrackability() -> None:
    deck = Deck(bits=16, slots=4, eps_report=0.5, when_empty="replay", width=1)
    assert deck.privacy(reports=9).delta(1.0) == deck.privacy().delta(1.0) == deck.privacy(values="any").delta(1.0)
    assert deck.tracking(rounds=[1, 2, 3, 4]).advantage().upper == 0
    assert deck.tracking(rounds=[1, 5], first=[1]).advantage().lower > 0.99
    assert deck.tracking(rounds=[1, 5], first=[1, 5]).advantage().upper == 0
    with pytest.raises(ValueError, match="reports must be at most slots, 4"):
        deck.tracking(reports=5)


@pytest.mark.parametrize("power", [0.55, 0.75, 1.5])
def test_fading_stays_within_its_budget_for_ever(power: float) -> None:
    mechanism = Fading(bits=8, eps=1.0, delta=1e-6, power=power)
    everlasting = mechanism.privacy()
    assert everlasting.certainty == "upper"
    assert everlasting.delta(1.0).upper <= 1e-6
    finite = [mechanism.privacy(reports=k).gamma(1e-6).upper for k in (1, 10, 90, 200, 10_000)]
    assert finite == sorted(finite)
    assert finite[-1] <= everlasting.gamma(1e-6).upper * (1 + 1e-6)
    bolder = Fading(bits=8, eps=1.02, delta=1e-6, power=power)
    assert bolder.scale > mechanism.scale


def test_the_tail_of_fading_dominates_its_rounds() -> None:
    """Rounds beyond the head, accounted one by one, never exceed the Gaussian that stands for them."""
    scale, power, last = 3.0, 0.75, ONE_BY_ONE + 60
    rounds = [
        NoisyInnerProduct(bits=3, eps=scale * t**-power, width=1).privacy_factor()
        for t in range(ONE_BY_ONE + 1, last + 1)
    ]
    one_by_one = Experiment(rounds)
    tail = Experiment(
        gaussian=later_shift(NoisyInnerProduct.share_of_lists(3, 1), 1, scale, power, ONE_BY_ONE, last)
    )
    for gamma in (0.0, 0.2, 0.5, 1.0, 1.5):
        assert one_by_one.delta(gamma).lower <= tail.delta(gamma).upper


def test_fading_fades() -> None:
    mechanism = Fading(bits=4, eps=1.0, delta=1e-6)
    assert mechanism.eps_report(1) / mechanism.eps_report(100) == pytest.approx(100**0.75)  # 31.6 times the error
    with pytest.raises(ValueError, match="the rounds of Fading are not alike"):
        mechanism.tracking(reports=4, split=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: BITWISE.tracking(reports=4, split=5),
            "split must be between 0 and 4, got 5",
        ),
        (lambda: BITWISE.tracking(), "give either rounds"),
        (lambda: PAPER.tracking(rounds=[1, 1], first=[1]), "rounds must be distinct"),
        (lambda: PAPER.tracking(rounds=[1, 2], first=[3]), "first must be a subset of rounds"),
        (lambda: PAPER.tracking(rounds=[1, 2], split=1), "split goes with reports"),
        (lambda: PAPER.tracking(reports=2, first=[1]), "first goes with rounds"),
        (lambda: PAPER.tracking(reports=2, ones=3), "ones must be between 0 and 2, got 3"),
        (lambda: PAPER.privacy(values="some"), "values must be one of fixed, any"),  # type: ignore[arg-type]
        (
            lambda: DEALT.tracking(rounds=[4], first=[]),
            "round must be between 1 and 3, got 4",
        ),
        (lambda: Deck.for_budget(bits=4, slots=3, eps=-1, delta=0.1), "eps must be positive and finite, got -1"),
        (lambda: Deck.for_budget(bits=4, slots=3, eps=1, delta=1.0), "delta must be below 1"),
        (lambda: Fading(bits=4, eps=1, delta=1e-6, power=0.5), "power must be above 0.5"),
        (lambda: Fading(bits=4, eps=1, delta=0.0), "delta must be strictly between 0 and 1, got 0"),
    ],
)
def test_bad_arguments_name_themselves(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()


def test_probabilities_next_to_one_keep_their_complement() -> None:
    """Against the closed form in 60 digits: two reports on each side, all ones against all zeros."""
    mpmath.mp.dps = 60
    for eps_state, eps_report, half in ((38.0, 10.0, 10), (20.0, 1.0, 3), (1.0, 40.0, 1), (1.0, 1e-6, 1)):
        mechanism = Bitwise(eps_state=eps_state, eps_report=eps_report)
        flips = [mpmath.mpf(c.threshold) / 2**64 for c in (mechanism.state_flip, mechanism.report_flip)]
        a, b = 1 - flips[0], flips[0]
        ratio = ((1 - flips[1]) / flips[1]) ** half
        losses = [
            mpmath.log((a * r * s + b) / ((a * r + b) * (a * s + b)))
            for r in (ratio, 1 / ratio)
            for s in (ratio, 1 / ratio)
        ]
        found = mechanism.tracking(reports=2 * half, split=half).pure()
        assert found == pytest.approx(float(max(abs(loss) for loss in losses)), rel=1e-9)


def test_small_epsilons_keep_their_digits() -> None:
    for eps, truth in ((1e-4, 9.83059665e-10), (1e-6, 9.8306e-14)):
        found = Bitwise(eps_state=1, eps_report=eps).tracking(reports=2, split=1).advantage().upper
        assert found == pytest.approx(truth, rel=1e-5)
    state = Bitwise(eps_state=1e-12, eps_report=1)
    assert state.privacy(reports=10).pure() == pytest.approx(1e-12 * math.tanh(5.0), rel=1e-6)


def test_many_slots() -> None:
    for slots in (10**7, 10**9):
        stored = InnerProduct(bits=16, slots=slots, eps_report=0.01, width=1)
        tracking = stored.tracking(reports=4, split=2)
        assert tracking.delta(0.0, "backward").upper == pytest.approx(4 / slots, rel=1e-3)
        assert stored.detection(reports=4, split=2).advantage().upper > 0


def test_a_single_possible_filter_tells_nothing() -> None:
    alone = Rappor(bloom_bits=1, hashes=2, f=0.5, p=0.2, q=0.7)
    assert alone.privacy().advantage().upper == 0.0
    # that the state was redrawn shows all the same
    assert alone.detection(reports=3).advantage() == alone.tracking(reports=3).advantage()
    assert Rappor(bloom_bits=2, hashes=2, f=0.5, p=0.2, q=0.7).detection(reports=2, split=0).advantage().lower > 0


def test_what_is_not_known_for_ever_is_no_exact_statement() -> None:
    for mechanism in (BITWISE, PAPER):
        assert mechanism.privacy(values="any").certainty == "upper"
    assert Fresh(RandomizedResponse(eps=1)).privacy(values="any").certainty == "exact"


@pytest.mark.parametrize("eps", [1e-4, 1.0, 20.0])
def test_fading_of_any_size(eps: float) -> None:
    assert Fading(bits=8, eps=eps, delta=1e-6).privacy().delta(eps).upper <= 1e-6


def test_fading_refuses_what_it_cannot_resolve() -> None:
    with pytest.raises(ValueError, match="delta must be at least 1e-11"):
        Fading(bits=8, eps=1.0, delta=1e-20)


@pytest.mark.parametrize(
    ("eps_state", "eps_report", "reports", "split", "truth"),
    [
        (20.0, 1.0000001, 2, 1, 8.80328203758e-10),
        (20.0, 3.0, 2, 1, 3.37737894418e-9),
        (36.0, 10.0, 2, 1, 4.638e-16),
        (40.0, 1.0000001, 2, 1, 1.83e-18),
    ],
)
def test_strong_states_keep_their_digits(
    eps_state: float, eps_report: float, reports: int, split: int, truth: float
) -> None:
    """Values computed with 80 digits."""
    found = Bitwise(eps_state=eps_state, eps_report=eps_report).tracking(reports=reports, split=split)
    bracket = found.delta(0.0, "forward")
    assert bracket.lower <= truth * (1 + 1e-3)
    assert bracket.upper >= truth * (1 - 1e-3)
    if truth > 1e-10:
        assert bracket.upper == pytest.approx(truth, rel=1e-9)


def test_a_state_without_noise_tells_nothing_of_the_user() -> None:
    for p in (0.25, 0.0):
        bare = Rappor(bloom_bits=8, hashes=2, f=0, p=p, q=0.75)
        assert bare.tracking(reports=40, split=20).pure() == 0.0


def test_many_reports_of_one_bit_are_exact() -> None:
    found = Bitwise(eps_state=1, eps_report=0.05).tracking(reports=1000, split=500).advantage()
    assert found.certainty == "exact"
    assert found.upper == pytest.approx(0.07057199, abs=1e-8)


def test_a_side_without_reports_tells_nothing() -> None:
    stored = InnerProduct(bits=32, slots=16, eps_report=1, width=1)
    assert stored.tracking(reports=1).pure() == 0.0
    assert stored.tracking(reports=3, split=0).gamma(0).upper == 0.0
    assert stored.tracking(reports=4, split=2).gamma(0, "backward").upper < math.inf


def test_large_counts_end_soon() -> None:
    fresh = Fresh(RandomizedResponse(eps=1e-4)).privacy(reports=10**8)
    assert fresh.delta(1.0).lower <= fresh.delta(1.0).upper < 1
    assert InnerProduct(bits=64, slots=1 << 53, eps_report=1e-9, width=1).privacy().advantage().upper > 0
    with pytest.raises(ValueError, match="detection looks at every overlap"):
        Rappor(bloom_bits=256, hashes=16, f=0.5, p=0.25, q=0.75).detection(reports=3, split=1)


def test_probabilities_that_rounding_would_exchange_are_refused() -> None:
    for p, q in ((1e-20, 2e-20), (0.0, 1e-20)):
        with pytest.raises(ValueError, match="must differ by more than"):
            Rappor(bloom_bits=8, hashes=2, f=0.5, p=p, q=q)


def test_fading_until_it_has_faded() -> None:
    steep = Fading(bits=8, eps=1, delta=1e-6, power=4.0, scale=0.01)
    client = steep.client(3)
    assert client.report(1000) >= 2
    with pytest.raises(FadedAway, match="fair coin"):
        client.report(10**5)
    assert Fading(bits=8, eps=3000, delta=1e-6).privacy().delta(3000).upper <= 1e-6


@pytest.mark.parametrize("power", [0.5 + 1e-9, 0.51, 0.75, 2.0])
@pytest.mark.parametrize("last", [100, 20_000, math.inf])
def test_sums_of_squares_are_bounded_from_above(power: float, last: float) -> None:
    mpmath.mp.dps = 40
    exact = mpmath.zeta(2 * mpmath.mpf(power), ONE_BY_ONE + 1)
    exact -= mpmath.zeta(2 * mpmath.mpf(power), int(last) + 1) if last < math.inf else 0
    found = squares(power, ONE_BY_ONE, last)
    assert float(exact) * (1 - 1e-12) <= found <= float(exact) * (1 + 1e-3)
