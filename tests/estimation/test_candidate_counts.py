"""Candidates that are known beforehand: the same estimates to the bit, with no report kept."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrackable import Deck, Fresh, InnerProduct, NoisyInnerProduct
from untrackable.errors import MergeError, SumsError
from untrackable.estimation import aggregators
from untrackable.estimation.aggregators import CandidateAggregator, CandidateCounts

KINDS = [(27, 1), (63, 1), (64, 1), (65, 1), (256, 1), (27, 2), (32, 2), (63, 3), (129, 4), (256, 8)]
each_kind = pytest.mark.parametrize(("bits", "width"), KINDS)
FIELDS = ("frequencies", "radius", "simultaneous_radius", "standard_error", "span")


def mechanism_of(bits: int, width: int) -> Deck:
    return Deck(bits=bits, slots=9, eps_report=2.0, width=width)


def keeping(bits: int, width: int) -> CandidateAggregator:
    sums = mechanism_of(bits, width).aggregator()
    assert isinstance(sums, CandidateAggregator)
    return sums


def some_reports(bits: int, width: int, count: int, seed: int = 1) -> list[int]:
    """Any vectors that are independent, with any answers."""
    base, rng = NoisyInnerProduct(bits=bits, eps=2.0, width=width), np.random.default_rng(seed)
    return [base.draw(int.from_bytes(rng.bytes(40)) % (1 << bits), rng.bytes) for _ in range(count)]


def same(first: CandidateCounts, second: CandidateAggregator, asked: list[int], beta: float = 0.05) -> None:
    left, right = first.estimate(beta), second.estimate(beta, candidates=asked)
    assert (left.n, left.beta, left.values, left.complete) == (right.n, right.beta, right.values, right.complete)
    for name in FIELDS:
        assert np.array_equal(getattr(left, name), getattr(right, name)), name
    assert np.array_equal(left.p_values(), right.p_values())


@settings(deadline=None, max_examples=60)
@given(data=st.data(), kind=st.sampled_from(KINDS), beta=st.floats(0.001, 0.9))
def test_the_same_estimates_to_the_bit_however_reports_come(data: Any, kind: tuple[int, int], beta: float) -> None:
    bits, width = kind
    reports = some_reports(bits, width, data.draw(st.integers(1, 40)), data.draw(st.integers(0, 99)))
    asked = data.draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=1, max_size=6))
    first, second = sorted(data.draw(st.integers(0, len(reports))) for _ in range(2))
    kept = keeping(bits, width).add(reports)
    counted = keeping(bits, width).add(reports[:first]).for_candidates(asked).add(reports[first:second])
    other = keeping(bits, width).for_candidates(asked).add(reports[second:])
    restored = keeping(bits, width).for_candidates(asked).add_saved(other.to_bytes()).merge(counted)
    same(counted.merge(other), kept, asked, beta)
    same(restored, kept, asked, beta)
    assert restored.to_bytes() == counted.to_bytes() == kept.for_candidates(asked).to_bytes()


@each_kind
def test_a_large_array_is_counted_in_parts(bits: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregators, "_SCANNED", 7)
    reports, asked = some_reports(bits, width, 50), [0, 1, (1 << bits) - 1]
    kept = keeping(bits, width)
    array = kept._array(reports)
    same(keeping(bits, width).for_candidates(asked).add(array), kept.add(array), asked)
    both = np.stack((array, array), axis=1)
    same(keeping(bits, width).for_candidates(asked).add(both), keeping(bits, width).add(both), asked)
    counted = keeping(bits, width).for_candidates(asked).add(array)
    before = counted.to_bytes()
    wrong = array.copy()
    wrong[45] = 0
    for method in (counted.add, counted.check):
        with pytest.raises(ValueError, match="a report must be"):
            method(wrong)
    counted.check(array)
    assert counted.to_bytes() == before


def test_memory_does_not_grow_with_reports() -> None:
    """A row of zero bytes but for one is a report; 32 times as many take no more room."""
    rows = np.zeros((1 << 15, 33), dtype=np.uint8)
    rows[:, 5] = 1
    counted = keeping(256, 1).for_candidates([1, 1 << 255])
    kept = keeping(256, 1)
    counted.add(rows)
    grown = []
    for sums in (counted, kept):
        tracemalloc.start()
        for _ in range(32):
            sums.add(rows)
        grown.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert grown[0] < 100_000
    assert grown[1] > 32 * 32 * (1 << 15)
    same(counted, kept.add(rows), [1, 1 << 255])


@each_kind
def test_nobody_and_one(bits: int, width: int) -> None:
    counted = keeping(bits, width).for_candidates([3, 4])
    with pytest.raises(ValueError, match="there are no reports"):
        counted.estimate()
    assert keeping(bits, width).for_candidates([3, 4]).add_saved(counted.to_bytes()).n == 0
    assert counted.add([]).n == 0
    (report,) = some_reports(bits, width, 1)
    same(counted.add([report]), keeping(bits, width).add([report]), [3, 4])
    assert set(counted.counts.tolist()) <= {0, 1}


def test_what_can_be_asked() -> None:
    for bad in ((), "ab"):
        with pytest.raises(ValueError, match="at least one"):
            keeping(64, 1).for_candidates(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="candidate must be between"):
        keeping(64, 1).for_candidates([1 << 64])
    counted = keeping(64, 1).for_candidates([1]).add([7])
    with pytest.raises(ValueError, match="beta"):
        counted.estimate(1.5)
    with pytest.raises(ValueError, match="of 2 rounds, which do not pool"):
        InnerProduct(bits=30, slots=2, eps_report=1.0, width=1).aggregator().for_candidates([1]).add(
            np.full((3, 2), 9, dtype=np.uint64)
        )


def test_other_candidates_rounds_and_parameters_do_not_merge() -> None:
    counted, saved = (
        keeping(64, 1).for_candidates([1, 2]),
        keeping(64, 1).for_candidates([1, 2]).add([7]).to_bytes(),
    )
    for asked in ([1], [2, 1], [1, 2, 2], [1, 3]):
        with pytest.raises(MergeError, match="different candidates, or of the same in another order"):
            counted.merge(keeping(64, 1).for_candidates(asked))
        with pytest.raises(SumsError, match="other candidates, or of the same in another order"):
            keeping(64, 1).for_candidates(asked).add_saved(saved)
    for other in (keeping(65, 1).for_candidates([1, 2]), keeping(64, 2).for_candidates([1, 2]), keeping(64, 1)):
        with pytest.raises(MergeError, match="different parameters or rounds"):
            counted.merge(other)
    with pytest.raises(MergeError, match="with itself"):
        counted.merge(counted)
    with pytest.raises(SumsError, match="of another mechanism"):
        keeping(65, 1).for_candidates([1, 2]).add_saved(saved)
    assert counted.n == 0
    rnip = InnerProduct(bits=30, slots=2, eps_report=1.0, width=1)
    first, second = (rnip.aggregator(t).for_candidates([1]) for t in (1, 2))
    with pytest.raises(MergeError):
        first.merge(second)
    with pytest.raises(SumsError, match="of round or deck 2, not of 1"):
        first.add_saved(second.to_bytes())


def test_counts_and_kept_reports_are_not_taken_for_each_other() -> None:
    """Their lengths may agree: 32 + 5·8 bytes are one report of 256 bits and width 2."""
    kept, counted = keeping(256, 2), keeping(256, 2).for_candidates(range(5))
    report = some_reports(256, 2, 1)
    with pytest.raises(SumsError, match="not sums"):
        kept.add_saved(counted.add(report).to_bytes())
    with pytest.raises(SumsError, match="not counts of candidates"):
        counted.add_saved(keeping(256, 2).add(report).to_bytes())


def test_damaged_or_impossible_counts_are_refused() -> None:
    counted = keeping(64, 1).for_candidates([1, 2]).add([7, 9])
    saved = counted.to_bytes()
    for place in range(len(saved)):
        with pytest.raises(SumsError):
            counted.add_saved(saved[:place])
        with pytest.raises(SumsError):
            counted.add_saved(saved[:place] + bytes([saved[place] ^ 4]) + saved[place + 1 :])
    for wrong in (3, -1):
        counted.counts[0] = wrong
        with pytest.raises(SumsError, match="not between 0 and 2"):
            keeping(64, 1).for_candidates([1, 2]).add_saved(counted.to_bytes())
    counted.counts = np.zeros(3, dtype=np.int64)
    with pytest.raises(SumsError, match="should have 16 bytes"):
        keeping(64, 1).for_candidates([1, 2]).add_saved(counted.to_bytes())


def test_fresh_rounds_pool() -> None:
    fresh = Fresh(NoisyInnerProduct(bits=64, eps=1.0, width=1))
    first: Any = fresh.aggregator(1)
    second: Any = fresh.aggregator(2)
    assert first.for_candidates([5]).add([7]).merge(second.for_candidates([5]).add([9])).n == 2
