"""Guarantees with the standard library: equal to the engine's, within its brackets, and never more optimistic."""

import itertools
import math
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.client.samples import campaign
from untrackable.accounting import client_check, verification
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.mechanisms.inner_product import fading as rounds_that_fade
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.interface import Mechanism, Values
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.theory import integer_gaussian, integer_kept_bit, integer_slots
from untrackable.theory.attendance import Attendance
from untrackable.theory.collisions import cross_probability
from untrackable.theory.experiment import Experiment
from untrackable.theory.integer_kept_bit import KeptBit
from untrackable.theory.integer_losses import LONGEST, LossLaw
from untrackable.theory.kept_advantage import binomial_distances, kept_bit_advantages

EXACT = 1e-8


def privacy(mechanism: Mechanism, reports: int | None, step: float = 1.0, values: Values = "fixed") -> LossLaw:
    found = mechanism.integer_privacy(reports, values=values, step=step)
    assert found is not None
    return found


def thresholds(bit: Bitwise) -> KeptBit:
    return KeptBit(bit.state_flip.threshold, bit.report_flip.threshold)


@pytest.mark.parametrize("bits", [1, 2, 3, 16, 256])
@pytest.mark.parametrize(("slots", "eps_report"), [(1, 1.0), (7, 0.3), (365, 0.015), (730, 0.5), (3000, 0.004)])
def test_a_deck(bits: int, slots: int, eps_report: float) -> None:
    deck = Deck(bits=bits, slots=slots, eps_report=eps_report)
    for reports in (None, 1, slots // 2 or 1):
        for eps in (0.0, 0.1, 1.0, 3.0):
            engine = deck.privacy(reports=reports).delta(eps)
            found = privacy(deck, reports).delta(eps)
            assert engine.lower * (1 - 1e-12) <= found <= engine.upper * (1 + EXACT) + 1e-20


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_wide_answers(width: int) -> None:
    deck = Deck(bits=5, slots=12, eps_report=1.5, width=width)
    fading = Fading(bits=5, eps=2.0, delta=1e-5, width=width)
    for eps in (0.0, 1.0, 4.0):
        engine, found = (
            deck.privacy().delta(eps),
            privacy(deck, None).delta(eps),
        )
        assert engine.lower * (1 - 1e-12) <= found <= engine.upper * (1 + EXACT)
        engine = fading.privacy(reports=20).delta(eps)
        found = privacy(fading, 20, max(eps, 0.5) / 512).delta(eps)
        assert engine.lower * (1 - 1e-12) <= found <= engine.upper * 1.02 + 1e-12


@pytest.mark.parametrize(("slots", "reports"), [(1, 5), (2, 3), (10, 4), (10, 200), (730, 90), (730, None)])
def test_stored_inner_products(slots: int, reports: int | None) -> None:
    mechanism = InnerProduct(bits=6, slots=slots, eps_report=0.2)
    for eps in (0.0, 0.2, 1.0, 2.0):
        engine = mechanism.privacy(reports=reports).delta(eps)
        found = privacy(mechanism, reports).delta(eps)
        assert found == pytest.approx(engine.upper, rel=EXACT, abs=1e-14)
        engine = mechanism.privacy(reports=reports, values="any").delta(eps)
        found = privacy(mechanism, reports, values="any").delta(eps)
        assert found == pytest.approx(engine.upper, rel=EXACT, abs=1e-14)


def test_the_slots_that_draws_show_by_enumeration() -> None:
    for slots, draws in itertools.product((1, 2, 3), (1, 2, 4)):
        counts = [0] * (draws + 1)
        for drawn in itertools.product(range(slots), repeat=draws):
            counts[len(set(drawn))] += 1
        expected = [count / slots**draws for count in counts][: min(draws, slots) + 1]
        assert integer_slots.occupancy(draws, slots) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("slots", [1, 2, 10, 730])
@pytest.mark.parametrize("reports", [2, 3, 7, 40])
def test_a_slot_on_both_sides(slots: int, reports: int) -> None:
    exact = max(cross_probability(slots, reports, split) for split in range(1, reports))
    found = integer_slots.slot_crossing(slots, reports)
    assert exact * (1 - 1e-14) <= found <= exact * (1 + 1e-10)
    engine = InnerProduct(bits=200, slots=slots, eps_report=0.1).tracking(reports=reports).delta(0.0)
    assert found <= engine.upper * (1 + EXACT)


def test_very_many_reports_have_a_bound() -> None:
    assert integer_slots.slot_crossing(10**9, 1 << 32) == 1.0
    few = integer_slots.slot_crossing(10**9, 2048)
    assert few <= integer_slots.slot_crossing(10**9, 2049) == pytest.approx(1024 * 1025 / 1e9)


@pytest.mark.parametrize("reports", [1, 5, 64])
def test_fading_rounds_one_by_one(reports: int) -> None:
    fading = Fading(bits=8, eps=1.0, delta=1e-6)
    for eps in (0.0, 0.2, 0.7):
        engine = fading.privacy(reports=reports).delta(eps)
        found = privacy(fading, reports, 1 / 512).delta(eps)
        assert engine.lower * (1 - 1e-12) <= found <= engine.upper * 1.02 + 1e-12


@pytest.mark.parametrize("reports", [65, 4000, None])
def test_fading_with_a_tail_keeps_its_budget(reports: int | None) -> None:
    fading = Fading(bits=8, eps=1.0, delta=1e-6)
    found = privacy(fading, reports, 1 / 512).delta(1.0)
    assert found <= 1e-6
    # No more optimistic than more rounds told one by one.
    told = [fading.base(t).privacy_factor() for t in range(1, min(reports or 400, 400) + 1)]
    assert found >= Experiment(told).delta(1.0).lower


@pytest.mark.parametrize("shift", [0.05, 0.4, 2.0])
def test_a_gaussian(shift: float) -> None:
    for eps in (0.0, 0.5, 2.0):
        low, high = (math.erfc(-(sign * shift / 2 - eps / shift) / math.sqrt(2)) / 2 for sign in (1, -1))
        exact = low - math.exp(eps) * high
        found = integer_gaussian.gaussian(shift, 1 / 512).delta(eps)
        assert exact * (1 - 1e-9) - 1e-18 <= found <= exact * 1.02 + 1e-4 * shift


@pytest.mark.parametrize(("eps_state", "eps_report"), [(1.0, 0.5), (0.1, 3.0), (5.0, 5.0)])
def test_one_kept_bit(eps_state: float, eps_report: float) -> None:
    bit = Bitwise(eps_state=eps_state, eps_report=eps_report)
    for reports, eps in itertools.product((None, 1, 2, 9, 50, 300), (0.0, 0.05, 1.0, 4.0)):
        engine = bit.privacy(reports=reports).delta(eps)
        found = privacy(bit, reports, max(eps, 0.05) / 512).delta(eps)
        assert found >= engine.lower * (1 - 1e-12)
        assert reports == 300 or found <= engine.upper * 1.001 + 1e-5
        engine = bit.privacy(reports=reports, values="any").delta(eps)
        found = privacy(bit, reports, values="any").delta(eps)
        assert engine.lower * (1 - 1e-12) <= found <= engine.upper * (1 + EXACT) + 1e-13
    for reports, gamma in itertools.product((2, 3, 8, 30), (0.0, 0.2, 1.0)):
        engine = bit.tracking(reports=reports).delta(gamma)
        found = integer_kept_bit.tracking_delta(thresholds(bit), reports, gamma)
        assert engine.lower * (1 - 1e-10) <= found <= engine.upper * (1 + EXACT) + 1e-12


def test_a_kept_bit_of_very_many_reports_is_granted() -> None:
    bit = Bitwise(eps_state=1.0, eps_report=0.5)
    most = integer_kept_bit.MOST_TRACKED
    many, more = (integer_kept_bit.tracking_delta(thresholds(bit), reports, 0.3) for reports in (most, most + 1))
    assert bit.tracking(reports=most + 1).delta(0.3).lower <= more
    assert many <= more <= integer_kept_bit.tracking_delta(thresholds(bit), 10**9, 0.3)


@pytest.mark.parametrize(
    ("eps_state", "eps_report"), [(1.0, 0.029790086909681983), (0.3, 0.2), (4.0, 1.5), (2.0, 9.0), (1e-3, 1e-3)]
)
def test_the_advantage_of_any_number_of_reports(eps_state: float, eps_report: float) -> None:
    bit = Bitwise(eps_state=eps_state, eps_report=eps_report)
    for reports in (2, 3, 4, 5, 6, 7, 30, 257, 365, 10_001):
        lie = bit.report_flip.probability
        exact = kept_bit_advantages(bit.state_flip.probability, binomial_distances(reports, 1 - lie, lie)).max()
        assert exact * (1 - EXACT) <= integer_kept_bit.advantage(thresholds(bit), reports) <= exact * (1 + EXACT)
    for reports in (2, 5, 40, 300):
        engine = bit.tracking(reports=reports).delta(0.0)
        assert (
            engine.lower * (1 - 1e-10)
            <= integer_kept_bit.tracking_delta(thresholds(bit), reports, 0.0)
            <= engine.upper * (1 + EXACT)
        )
    assert integer_kept_bit.advantage(thresholds(bit), 1) == 0.0


def test_the_advantage_by_enumeration_with_fractions() -> None:
    bit = Bitwise(eps_state=0.7, eps_report=0.4)
    kept, noise = (Fraction(flip.threshold, 1 << 64) for flip in (bit.state_flip, bit.report_flip))
    chances = {1: kept, 0: 1 - kept}
    for reports, split in ((r, s) for r in range(2, 7) for s in range(1, r)):

        def law(seen: tuple[int, ...], held: int) -> Fraction:
            return math.prod((noise if bit != held else 1 - noise for bit in seen), start=Fraction(1))

        apart = Fraction(0)
        for seen in itertools.product((0, 1), repeat=reports):
            left, right = seen[:split], seen[split:]
            one = sum((p * law(left, held) * law(right, held) for held, p in chances.items()), Fraction(0))
            alone, other = (
                sum((p * law(side, held) for held, p in chances.items()), Fraction(0)) for side in (left, right)
            )
            apart += abs(one - alone * other) / 2
        found = Fraction(integer_kept_bit.advantage(thresholds(bit), reports))
        assert found >= apart
        if split == reports // 2 - (reports % 4 == 0):  # both sides as near to each other as two odd numbers can be
            assert found <= apart * (1 + Fraction(1, 10**15))


def test_a_bound_beyond_the_terms_that_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    bit = Bitwise(eps_state=1.0, eps_report=0.03)
    exact = integer_kept_bit.advantage(thresholds(bit), 4000)
    monkeypatch.setattr(integer_kept_bit, "MOST_TERMS", 700)
    bound = integer_kept_bit.advantage(thresholds(bit), 4000)
    assert exact < bound < 1.2 * exact


def test_a_year_of_a_kept_bit_is_confirmed() -> None:
    bit = Bitwise(eps_state=1.0, eps_report=0.029790086909681983)
    changes = {"values": "fixed", "delta": 0.0, "rounds": 365}
    asked = campaign(bit, **changes, tracking_delta=0.01)
    assert client_check.recompute(asked).problems == verification.verify(asked).problems == ()
    (problem,) = client_check.recompute(campaign(bit, **changes, tracking_delta=0.0099)).problems
    assert problem.endswith("at gamma = 0, which cannot be confirmed here: at most 0.01 (upper)")


def test_three_places_need_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of reports is that of two people, and one person is told from three more easily than from two."""
    thirds = Attendance(Fraction(1, 20), (Fraction(1, 3),) * 3)
    linked = campaign(Bitwise(eps_state=1.0, eps_report=0.02), values="fixed", delta=0.0, tracking_delta=1.0)
    linked = replace(linked, attendance=thirds, guarantee=replace(linked.guarantee, recognition=1.0))
    dealt = campaign(Deck(bits=2, slots=30, eps_report=0.02))
    dealt = replace(dealt, attendance=thirds, guarantee=replace(dealt.guarantee, recognition=1.0))
    assert client_check.recognition(linked) == verification.recognition(linked).upper < 0.01
    monkeypatch.setattr(client_check, "_engine", lambda: False)
    assert client_check.recognition(linked) == 1.0
    assert client_check.recognition(dealt) < 1.01 * verification.recognition(dealt).upper


CASES = [
    (Deck.for_budget(bits=2, slots=30, eps=1.0, delta=0.0), {"delta": 0.0}, True),
    (Deck.for_budget(bits=2, slots=30, eps=1.0, delta=1e-6), {}, True),
    (Deck(bits=2, slots=30, eps_report=0.06), {}, False),
    (
        Deck(bits=2, slots=29, eps_report=0.02),
        {},
        False,
    ),  # fewer cards than rounds: nothing is promised of the last
    (Deck(bits=3, slots=30, eps_report=0.02), {}, True),
    (Fading(bits=2, eps=1.0, delta=1e-6), {"rounds": None}, True),
    (InnerProduct(bits=2, slots=100, eps_report=0.02), {"values": "fixed", "tracking_delta": 1.0}, True),
    (InnerProduct(bits=2, slots=100, eps_report=0.02), {"values": "fixed"}, False),
    (InnerProduct(bits=2, slots=100, eps_report=0.02), {"tracking_delta": 1.0}, False),
    (Bitwise(eps_state=1.0, eps_report=0.5), {"values": "fixed", "tracking_delta": 0.5, "gamma": 0.5}, True),
    (Bitwise(eps_state=1.0, eps_report=0.5), {"values": "fixed"}, False),
]


@pytest.mark.parametrize(("mechanism", "changes", "holds"), CASES)
def test_campaigns_are_judged_as_the_engine_judges_them(
    mechanism: Mechanism, changes: dict[str, object], holds: bool
) -> None:
    asked = campaign(mechanism, **changes)
    found, verdict = client_check.recompute(asked), verification.verify(asked)
    assert (not found.problems) == verdict.holds == holds, (found.problems, verdict.problems)
    pairs = [mechanism.privacy(reports=reports, values=asked.guarantee.values) for reports in (None, asked.rounds)]
    assert found.delta_upper >= min(pair.delta(1.0).lower for pair in pairs) * (1 - 1e-12)


@pytest.mark.parametrize("levels", [2, 9])
def test_decks_of_discovered_strings(levels: int) -> None:
    strings = DiscoveredStrings(prefixes=range(1, levels + 1), bucket_bits=8, longest=levels, salt=b"s" * 16)
    asked = campaign(strings.deck(slots=30, eps=1.0, delta=1e-6), encoding=strings)
    found = client_check.recompute(asked)
    assert found.problems == verification.verify(asked).problems == ()
    assert found.delta_upper == pytest.approx(asked.mechanism.privacy().delta(1.0).upper, rel=EXACT)
    assert client_check.recompute(campaign(asked.mechanism, encoding=strings, eps=0.9)).problems
    wider = DiscoveredStrings(prefixes=strings.prefixes, bucket_bits=9, longest=levels, salt=b"s" * 16)
    assert "does not take all" in client_check.recompute(campaign(asked.mechanism, encoding=wider)).problems[0]


def test_values_that_do_not_fit_are_noticed() -> None:
    asked = campaign(Deck(bits=1, slots=30, eps_report=0.01), encoding=campaign().encoding)
    assert "does not take all 4 values" in client_check.recompute(asked).problems[0]


def test_other_mechanisms_are_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    rappor = Rappor(bloom_bits=8, hashes=1, f=0.9, p=0.5, q=0.6)
    changes = {"values": "fixed", "eps": 10.0, "tracking_delta": 1.0, "encoding": campaign().encoding}
    asked = campaign(rappor, **changes)
    assert client_check.recompute(asked).problems == verification.verify(asked).problems
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert "without the full package" in client_check.recompute(asked).problems[0]


def test_losses_that_are_too_many_steps_away_are_not_forgotten() -> None:
    bit = Bitwise(eps_state=1.0, eps_report=2.0)
    for eps in (1e-3, 1e-5, 1e-8):
        engine = bit.privacy(reports=5).delta(eps)
        assert engine.lower * (1 - 1e-12) <= privacy(bit, 5, eps / 512).delta(eps) <= engine.upper * 1.01


@pytest.mark.parametrize("slots", [10**6 + 1, 10**12])
@pytest.mark.parametrize("kind", [Deck, InnerProduct])
def test_more_slots_than_a_client_keeps_are_a_problem(kind: type[Deck | InnerProduct], slots: int) -> None:
    asked = campaign(kind(bits=2, slots=slots, eps_report=0.01), rounds=3, tracking_delta=1.0)
    expected = "it has more than 1,000,000 slots, the most that a client keeps"
    assert client_check.recompute(asked).problems == (expected,)


@pytest.mark.parametrize(("slots", "reports"), [(10_000, 300), (50, 400), (3, 60)])
def test_numbers_of_slots_that_are_rare_are_on_the_safe_side(slots: int, reports: int) -> None:
    mechanism = InnerProduct(bits=6, slots=slots, eps_report=0.02)
    for eps in (0.0, 0.3, 1.0, 0.02 * min(slots, reports)):
        engine = mechanism.privacy(reports=reports).delta(eps)
        found = privacy(mechanism, reports).delta(eps)
        assert found == pytest.approx(engine.upper, rel=1e-6, abs=1e-13)
    exact = sum(chance for chance in integer_slots.occupancy(reports, slots))
    assert exact == pytest.approx(1.0)


@pytest.mark.parametrize(("bits", "width", "power"), [(1, 1, 0.75), (3, 1, 0.6), (3, 2, 0.75), (4, 4, 1.5)])
@pytest.mark.parametrize("head", [1, 2])
def test_rounds_that_fade_by_enumeration(
    bits: int, width: int, power: float, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail is a bound: with next to no rounds told one by one it is still never too low."""
    fading = Fading(bits=bits, width=width, power=power, eps=3.0, delta=1e-3)
    monkeypatch.setattr(rounds_that_fade, "ON_LATTICE", head)
    rounds_that_fade._integer_law.cache_clear()
    for reports, eps in itertools.product((1, 2, 5), (0.0, 0.3, 2.5)):
        factors = [
            NoisyInnerProduct(bits=bits, eps=fading.eps_report(t), width=width).privacy_factor()
            for t in range(1, reports + 1)
        ]
        truth = 0.0
        for told in itertools.product(*(list(zip(factor.p, factor.q, strict=True)) for factor in factors)):
            here, there = math.prod(p for p, _ in told), math.prod(q for _, q in told)
            truth += max(0.0, here - math.exp(eps) * there)
        law = privacy(fading, reports, max(eps, 0.1) / 512)
        assert law.delta(eps) >= truth * (1 - 1e-9)
        assert head < reports or law.delta(eps) <= truth * 1.02 + 1e-6
    rounds_that_fade._integer_law.cache_clear()


@pytest.mark.parametrize("eps", [1.0, 0.1, 0.01, 1e-5])
def test_fading_at_a_small_eps(eps: float) -> None:
    fading = Fading(bits=2, eps=1.0, delta=1e-6)
    law = privacy(fading, None, eps / 512)
    assert len(law.masses) <= 2 * LONGEST + 1
    told = [fading.base(t).privacy_factor() for t in range(1, 401)]
    assert Experiment(told).delta(eps).lower <= law.delta(eps) <= fading.privacy().delta(eps).upper * 1.02
