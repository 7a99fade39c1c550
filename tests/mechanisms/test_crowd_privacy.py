"""Decks in a crowd: budgets that are spent, errors that follow, and what a crowd does not hide."""

import numpy as np
import pytest

from tests.theory.enumerated_crowd import all_worlds, delta, worlds, worst_delta
from untrackable import Deck, NoisyInnerProduct
from untrackable.mechanisms import CountMeanSketch, Fading, Fresh, HadamardSketch, Memoized, Rappor
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.interface import crowd_curve
from untrackable.mechanisms.local import OneBitMean, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.local_interface import Local, crowd_parts
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views


@pytest.mark.parametrize(("people", "slots", "most"), [(100_000, 365, 0.0017), (20_000, 52, 0.0034)])
def test_a_crowd_permits_loud_reports(people: int, slots: int, most: float) -> None:
    """Where a deck that is private by itself has 0.36 for 10^5 people and 365 rounds."""
    deck = Deck.for_crowd(bits=10, slots=slots, people=people, eps=1.0, delta=1e-6)
    spent = deck.crowd(people=people)
    assert spent.certainty == "upper"
    assert 0.99 < spent.gamma(1e-6).upper <= 1.0
    assert deck.accuracy(people).standard_error <= most
    louder = Deck(bits=10, slots=slots, eps_report=deck.eps_report * 1.01, width=deck.width)
    assert louder.crowd(people=people).delta(1.0).upper > 1e-6
    alone = deck.privacy().gamma(1e-6).lower
    assert alone > 50, "somebody who knows whose reports these are learns nearly everything"


def test_fewer_people_hide_less_and_fewer_rounds_reveal_less() -> None:
    deck = Deck(bits=6, slots=20, eps_report=2.0, width=3)
    found = [deck.crowd(people=people).gamma(1e-6).upper for people in (10, 100, 1_000, 10_000, 1_000_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= 20 * 2.0
    assert deck.crowd(people=1_000, reports=5).gamma(1e-6).upper < found[2]


def test_a_wider_answer_is_chosen_for_rare_values_and_a_narrower_one_for_common_ones() -> None:
    asked = {"bits": 10, "slots": 365, "people": 100_000, "eps": 1.0, "delta": 1e-6}
    rare, common = Deck.for_crowd(**asked), Deck.for_crowd(**asked, share=0.1)  # type: ignore[arg-type]
    assert rare.width > common.width
    assert rare.base.held_variance(0.0) <= common.base.held_variance(0.0)
    assert common.base.held_variance(0.1) <= rare.base.held_variance(0.1)


def test_the_variance_of_a_value_that_some_hold() -> None:
    """Sampled, beside the formula; of a value that nobody holds, it is the one that accuracy gives."""
    base = NoisyInnerProduct(bits=4, eps=2.0, width=2)
    assert base.held_variance(0.0) == pytest.approx(base.accuracy(1, 0.05).standard_error ** 2)
    deck, people, times = Deck(bits=4, slots=1, eps_report=2.0, width=2), 400, 1500
    values = np.repeat([3, 9], [people // 4, people - people // 4])
    errors = []
    for seed in range(times):
        reports = np.concatenate([b.reports for b in deck.simulate(values, rounds=1, seed=seed)])
        errors.append(deck.aggregator().add(reports).estimate().frequencies[3] - 0.25)
    # The relative error of a sampled standard deviation is about 1/√(2·1500); 6 of them have a probability of 2e-9.
    assert np.std(errors) == pytest.approx(np.sqrt(base.held_variance(0.25) / people), rel=6 / np.sqrt(2 * times))


def test_what_a_crowd_does_not_hide() -> None:
    with pytest.raises(ValueError, match="its reports can be linked, so a crowd does not hide them"):
        Deck(bits=2, slots=4, eps_report=1.0, when_empty="replay").crowd(people=100)
    with pytest.raises(ValueError, match="its reports can be linked"):
        Deck(bits=2, slots=4, eps_report=1.0, when_empty="replay").crowd(people=100, reports=5)
    for linked in (Memoized(RandomizedResponse(eps=1.0)), Rappor.preset("paper")):
        with pytest.raises(ValueError, match="its reports can be linked, so a crowd does not hide them"):
            linked.crowd(people=100, reports=2)
    for endless in (Fresh(RandomizedResponse(eps=1.0)), Fading(bits=2, eps=1.0, delta=1e-6, scale=0.1)):
        with pytest.raises(ValueError, match="reports must be given"):
            endless.crowd(people=100)
    deck = Deck(bits=2, slots=4, eps_report=1.0)
    with pytest.raises(ValueError, match="people must be between 2 and"):
        deck.crowd(people=1)
    with pytest.raises(ValueError, match="reports must be at least 1"):
        deck.crowd(people=100, reports=0)
    with pytest.raises(ValueError, match="reports must be between 1 and 4"):
        deck.crowd(people=100, reports=5)
    with pytest.raises(ValueError, match="one for each of 4 rounds, got 2"):
        deck.crowd(people=[100, 200])
    replayed = Deck(bits=2, slots=4, eps_report=1.0, when_empty="replay")
    assert replayed.crowd(people=100, reports=4).delta(0.1) == deck.crowd(people=100).delta(0.1)


@pytest.mark.parametrize("width", [1, 3])
def test_the_parts_of_a_noisy_inner_product(width: int) -> None:
    base = NoisyInnerProduct(bits=5, eps=1.5, width=width)
    ratio = np.exp(1.5)
    parts = crowd_parts(base)
    assert parts.ratio == parts.other_ratio == pytest.approx(ratio)
    assert parts.distance == pytest.approx(base.differing() * (ratio - 1) / (ratio + 2**width - 1))


def laws_of(base: Local) -> list[list[float]]:
    """The probabilities of all reports, for every value."""
    wide = base.report_bits > 64 or isinstance(base, (CountMeanSketch, SubsetSelection))
    numbers = range(1 << base.report_bits)
    if wide:
        size = -(-base.report_bits // 8)
        reports = np.array([list(number.to_bytes(size, "little")) for number in numbers], dtype=np.uint8)
    else:
        reports = np.arange(1 << base.report_bits, dtype=np.uint64)
    possible = np.array([base.possible(number) for number in numbers])
    return [np.exp(base.log_likelihood(reports[possible], value)).tolist() for value in range(base.values)]


BASES: list[tuple[Local, int]] = [
    (RandomizedResponse(eps=2.0), 6),
    (NoisyInnerProduct(bits=1, eps=1.0, width=1), 4),
    (NoisyInnerProduct(bits=2, eps=1.5, width=1), 3),
    (NoisyInnerProduct(bits=2, eps=1.0, width=2), 2),
    (SubsetSelection(values=3, eps=1.0, size=1), 5),
    (SubsetSelection(values=4, eps=1.5, size=2), 3),
    (Levelled(NoisyInnerProduct(bits=1, eps=1.5, width=1), 2), 3),
    (Views.single_bits(bits=2, eps=1.5), 3),
    (Views(bits=2, views=((0, 1),), eps=1.0, width=2), 2),
    (Divided(sizes=(1, 1), eps=1.5, weights=(3, 1)), 3),
    (Views(bits=3, views=((0,), (1, 2)), eps=1.2, width=2), 2),
    (CountMeanSketch(hashes=2, width=2, eps=1.0, values=3), 3),
    (HadamardSketch(hashes=2, width=2, eps=1.0, values=3), 3),
]
GAMMAS = (0.0, 0.1, 0.4, 0.9)


@pytest.mark.parametrize(("base", "people"), BASES, ids=lambda given: type(given).__name__)
def test_the_definition_is_between_both_ends(base: Local, people: int) -> None:
    """Enumerated: all pairs of values, all values of the others, the second round chosen after the first."""
    laws = laws_of(base)
    assert [sum(law) for law in laws] == pytest.approx([1.0] * base.values)
    everything = list(all_worlds(laws, people))
    for rounds in (1, 2):
        found = Fresh(base).crowd(people=people, reports=rounds)
        few = (
            everything
            if rounds == 1 or len(everything[0][0]) < 100
            else everything[:: max(1, len(everything) // 12)]
        )
        for gamma in GAMMAS:
            truth, bracket = worst_delta(few, gamma, rounds), found.delta(gamma)
            assert truth <= bracket.upper * (1 + 1e-9)
            if len(few) == len(everything):
                assert bracket.lower <= truth * (1 + 1e-9)
            if base.certainty == "exact" and gamma == 0:
                assert bracket.lower > 0.4 * bracket.upper


@pytest.mark.parametrize(
    "base",
    [
        RandomizedResponse(eps=1.0),
        NoisyInnerProduct(bits=2, eps=1.5, width=1),
        NoisyInnerProduct(bits=2, eps=1.0, width=2),
        SubsetSelection(values=4, eps=1.5, size=2),
    ],
)
def test_the_lower_end_is_that_of_others_who_all_hold_one_value(base: Local) -> None:
    """A third value, or the first if there are two."""
    laws, people = laws_of(base), 3
    third = laws[2 if base.values > 2 else 0]
    world = worlds(laws[0], laws[1], [third] * (people - 1))
    found = Fresh(base).crowd(people=people, reports=1)
    for gamma in GAMMAS:
        exact = delta(world, gamma)
        assert 0.4 * exact - 1e-3 <= found.delta(gamma).lower <= exact * (1 + 1e-9)


@pytest.mark.parametrize("bits", [2, 3])
@pytest.mark.parametrize("width", [1, 2])
def test_the_classes_of_a_noisy_inner_product(bits: int, width: int) -> None:
    """Counted from all reports of three values."""
    base = NoisyInnerProduct(bits=bits, eps=1.5, width=width)
    first, second, third = np.array(laws_of(base))[:3]
    classes = base.crowd_classes()
    for one, two, other in zip(classes.first, classes.second, classes.others, strict=True):
        same = np.isclose(first * two, second * one) & np.isclose(first * other, third * one)
        assert [law[same].sum() for law in (first, second, third)] == pytest.approx([one, two, other])
    assert sum(classes.first) == pytest.approx(first[~np.isclose(first, second)].sum())


@pytest.mark.parametrize(("eps_report", "width"), [(1.5, 4), (3.9, 8)])
def test_both_ends_are_close_for_wide_answers(eps_report: float, width: int) -> None:
    deck = Deck(bits=10, slots=365, eps_report=eps_report, width=width)
    for people in (10_000, 10_000_000):
        pair = deck.crowd(people=people)
        for level in (1e-6, 1e-12):
            found = pair.gamma(level)
            assert found.certainty == "bracket"
            assert found.lower < found.upper <= 1.04 * found.lower


@pytest.mark.parametrize("reports", [1, 12])
def test_both_ends_for_a_plain_bit_are_closest(reports: int) -> None:
    for people in (1_000, 10_000, 1_000_000):
        for eps in (0.5, 2.0, 4.0):
            found = Fresh(RandomizedResponse(eps=eps)).crowd(people=people, reports=reports).gamma(1e-6)
            # Only few people, many loud rounds: there is no crowd that is the worst in all of them.
            assert found.lower < found.upper < (1.013 if people == 1_000 else 1.0035) * found.lower


@pytest.mark.parametrize("base", [RandomizedResponse(eps=2.0), OneBitMean(values=5, eps=2.0)])
def test_a_plain_bit_hides_better_than_its_parts_say(base: Local) -> None:
    """Reports that tell their rounds are no plain bits, as people may hold different bits in different rounds."""
    plain, mixed = (Fresh(base).crowd(people=5_000, reports=1, mixed=m).gamma(1e-6) for m in (False, True))
    assert 1.2 * plain.upper < mixed.upper
    assert plain.lower == mixed.lower
    deck = Deck(bits=1, slots=1, eps_report=2.0, width=1)
    assert deck.crowd(people=5_000).gamma(1e-6).upper == pytest.approx(plain.upper)


def test_secret_absence_makes_one_bit_answers_harder_to_tell() -> None:
    """One turn in ten is not taken, by a coin of the device: so nobody knows that somebody reports."""
    answer = Fresh(NoisyInnerProduct(bits=6, eps=2.0, width=1))
    seen, hidden = (answer.crowd(people=10_000, reports=1, present=p).gamma(1e-6) for p in (1.0, 0.9))
    assert hidden.upper < 0.8 * seen.upper
    assert hidden.certainty == "upper"
    bit = Fresh(RandomizedResponse(eps=2.0))
    seen, hidden = (bit.crowd(people=10_000, reports=1, mixed=True, present=p).gamma(1e-6) for p in (1, 0.9))
    assert hidden.upper < 0.8 * seen.upper
    plain = [bit.crowd(people=10_000, reports=1, present=p).gamma(1e-6) for p in (1, 0.9)]
    assert plain[0] == plain[1]
    wide = Fresh(NoisyInnerProduct(bits=6, eps=2.0, width=3))
    assert wide.crowd(people=10_000, reports=1, present=0.9).gamma(1e-6).certainty == "bracket"
    with pytest.raises(ValueError, match="present must be between 0 and 1"):
        bit.crowd(people=10_000, reports=1, present=1.5)


def test_both_ends_for_one_bit_of_many_are_farther_apart() -> None:
    """By at most √2 in the shift of a Gaussian, and so a little more in eps."""
    for eps_report in (0.05, 3.0):
        found = Deck(bits=10, slots=52, eps_report=eps_report, width=1).crowd(people=100_000).gamma(1e-6)
        assert found.upper <= (1.46 if eps_report > 1 else 1.04) * found.lower


def test_every_question_has_both_ends() -> None:
    pair = Deck(bits=6, slots=20, eps_report=2.0, width=4).crowd(people=10_000)
    assert pair.pure() == pytest.approx(20 * 2.0)
    assert pair.gamma(0.0).upper == pair.pure()
    assert pair.advantage().certainty == pair.power(1 / 1000).certainty == "bracket"
    assert 1 / 1000 < pair.power(1 / 1000).lower < pair.power(1 / 1000).upper < 0.01
    curve = pair.roc(points=11)
    assert np.all(curve.fpr <= curve.lower)
    assert np.all(curve.lower <= curve.upper)
    sketch = Fresh(CountMeanSketch(hashes=4, width=16, eps=1.0)).crowd(people=1_000, reports=3)
    assert sketch.advantage().certainty == "upper"


def test_the_extremes() -> None:
    base = NoisyInnerProduct(bits=8, eps=1.5, width=4)
    for people, reports in ((2, 1), (2, 3_000), (10**9, 1), (10**9, 10**6)):
        pair = Fresh(base).crowd(people=people, reports=reports)
        found = pair.gamma(1e-12)
        assert 0 <= found.lower <= found.upper <= reports * 1.5 * (1 + 1e-12)
        assert found.upper < 0.3 or people == 2
    for eps in (1e-9, 40.0):
        for people in (2, 10**9):
            found = Fresh(RandomizedResponse(eps=eps)).crowd(people=people, reports=5).delta(0.0)
            assert 0 <= found.lower <= found.upper <= min(1.0, 5 * eps)
    in_one, in_blocks = (Fresh(base).crowd(people=1_000, reports=k).gamma(1e-12) for k in (1_024, 1_025))
    assert in_one.upper <= in_blocks.upper < 1.01 * in_one.upper
    assert 0.99 * in_one.lower < in_blocks.lower


def test_fading_rounds_are_each_as_loud_as_they_are() -> None:
    fading = Fading(bits=4, eps=8.0, delta=1e-6)
    found = [fading.crowd(people=5_000, reports=k).gamma(1e-6) for k in (1, 3, 40)]
    assert found[0].upper < found[1].upper < found[2].upper
    first = Fresh(fading.base(1)).crowd(people=5_000, reports=1).gamma(1e-6)
    assert found[0] == first
    assert found[1].upper < Fresh(fading.base(1)).crowd(people=5_000, reports=3).gamma(1e-6).lower * 1.3
    assert all(bracket.lower > 0.6 * bracket.upper for bracket in found)


def test_crowds_of_different_sizes() -> None:
    deck = Deck(bits=6, slots=6, eps_report=2.0, width=3)
    small, mixed, large = (
        deck.crowd(people=people).gamma(1e-6)
        for people in (1_000, [1_000, 1_000, 1_000, 9_000, 9_000, 9_000], 9_000)
    )
    assert large.upper < mixed.lower <= mixed.upper < small.upper
    assert deck.crowd(people=[2_000] * 6).gamma(1e-6) == deck.crowd(people=2_000).gamma(1e-6)


@pytest.mark.parametrize(("base", "people"), BASES[:1] + BASES[2:6], ids=lambda given: type(given).__name__)
def test_what_one_dishonest_report_can_shift(base: Local, people: int) -> None:
    """By brute force: every possible report is added to honest ones."""
    mechanism = Fresh(base)
    numbers = [number for number in range(1 << base.report_bits) if base.possible(number)]
    added = []
    for number in numbers:
        sums = mechanism.aggregator().add([number])
        added.append(np.max(sums.estimate().frequencies))
    assert mechanism.shift() == pytest.approx(max(added))


def test_the_shifts_of_sketches() -> None:
    for sketch in (
        CountMeanSketch(hashes=2, width=4, eps=2.0, values=4),
        HadamardSketch(hashes=2, width=4, eps=2.0, values=4),
    ):
        mechanism = Fresh(sketch)
        numbers = [number for number in range(1 << sketch.report_bits) if sketch.possible(number)]
        added = [float(mechanism.aggregator().add([n]).estimate().frequencies.max()) for n in numbers]
        assert mechanism.shift() == pytest.approx(max(added))


def test_loud_reports_can_shift_less() -> None:
    quiet, loud = (Deck(bits=10, slots=365, eps_report=eps, width=w) for eps, w in ((0.0124, 1), (2.85, 4)))
    assert quiet.shift() == pytest.approx(161, abs=0.5)
    assert loud.shift() == pytest.approx(2.0, abs=0.1)
    fading = Fading(bits=10, eps=1.0, delta=1e-6)
    first, later = (fading.shift(round=number) or 0.0 for number in (1, 10))
    assert later > first == pytest.approx(fading.base(1).largest_weight())
    assert Rappor.preset("paper").shift() is None


def test_fewer_people_than_planned() -> None:
    deck = Deck(bits=6, slots=20, eps_report=2.0, width=4)
    curve = crowd_curve(deck, [1_000, 10_000, 100_000], reports=10, delta=1e-6)
    assert list(curve) == [1_000, 10_000, 100_000]
    assert curve[10_000] == deck.crowd(people=10_000, reports=10).gamma(1e-6)
    assert curve[1_000].upper > curve[10_000].upper > curve[100_000].upper
    (lost,) = crowd_curve(deck, [1_000], eps=1.0).values()
    assert lost == deck.crowd(people=1_000).delta(1.0)
    with pytest.raises(ValueError, match="eps or delta"):
        crowd_curve(deck, [1_000])


def test_errors_of_rare_and_common_values() -> None:
    deck = Deck(bits=10, slots=365, eps_report=3.9, width=8)
    assert deck.held_error(1_000, share=0.0) == pytest.approx(deck.accuracy(1_000).standard_error)
    assert deck.held_error(1_000, share=0.1) == pytest.approx((deck.base.held_variance(0.1) / 1_000) ** 0.5)
    assert deck.base.held_error(1_000, 0.1) > 2 * deck.base.held_error(1_000, 0.0)
    fading = Fading(bits=4, eps=1.0, delta=1e-6)
    assert fading.held_error(100, share=0.2, round=5) == fading.base(5).held_error(100, 0.2)


def test_fading_for_a_crowd() -> None:
    fading = Fading.for_crowd(bits=4, rounds=6, people=50_000, eps=0.5, delta=1e-6)
    assert 0.49 < fading.crowd(people=50_000, reports=6).gamma(1e-6).upper <= 0.5
    assert fading.privacy().delta(fading.eps).upper <= 1e-6
    assert fading.eps > 5
    local = Fading.for_budget(bits=4, rounds=6, eps=0.5, delta=1e-6)
    assert fading.accuracy(50_000, round=6).standard_error < local.accuracy(50_000, round=6).standard_error / 10


def test_values_that_depend_on_noise_are_not_covered() -> None:
    """If the other person's report is made a 0 by choosing the value that does so, nobody hides the person."""
    response = Fresh(RandomizedResponse(eps=1.0))
    alone, crowd = response.privacy(reports=8).delta(0.5), response.crowd(people=2, reports=8).delta(0.5)
    assert alone.lower == pytest.approx(0.797, abs=1e-3)
    assert crowd.upper == pytest.approx(0.705, abs=1e-3)
