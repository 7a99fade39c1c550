"""The most that one report reveals, in closed form, against enumeration of all reports and pairs of values."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh, OneBitMean, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.sketches import CountMeanSketch, HadamardSketch
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views
from untrackable.randomizers.randomness import log_ratio_upper

ENUMERATED = [
    RandomizedResponse(eps=1.3),
    NoisyInnerProduct(bits=1, eps=0.4),
    NoisyInnerProduct(bits=3, eps=2.0, width=1),
    NoisyInnerProduct(bits=3, eps=2.0, width=2),
    NoisyInnerProduct(bits=2, eps=4.0, width=2),
    SubsetSelection(values=5, eps=1.7),
    OneBitMean(values=4, eps=3.0),
    Levelled(NoisyInnerProduct(bits=2, eps=1.1, width=1), 2),
    Divided(sizes=(1, 2), eps=2.7, weights=(1, 2)),
    Views(bits=3, views=((0, 1), (2,)), weights=(1, 2), eps=2.5),
]
UNENUMERATED = [CountMeanSketch(hashes=4, width=8, eps=3.0), HadamardSketch(hashes=4, width=8, eps=3.0)]


@pytest.mark.parametrize("base", ENUMERATED, ids=repr)
def test_is_the_largest_ratio_of_all_reports_and_values(base: Any) -> None:
    reports = [report for report in range(1 << base.report_bits) if base.possible(report)]
    size = -(-base.report_bits // 8)
    packed: Any = np.array(reports, dtype=np.uint64)
    if isinstance(base, SubsetSelection):
        packed = np.array([list(report.to_bytes(size, "little")) for report in reports], dtype=np.uint8)
    logs = [np.asarray(base.log_likelihood(packed, value), dtype=float) for value in range(base.values)]
    largest = max(float(np.max(one - other)) for one, other in itertools.permutations(logs, 2))
    assert base.largest_loss() == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize("base", [*ENUMERATED, *UNENUMERATED], ids=repr)
def test_is_that_of_the_factor_and_at_most_the_eps_that_is_asked_for(base: Any) -> None:
    asked = base.base.eps if isinstance(base, Levelled) else base.eps
    assert base.largest_loss() <= asked
    assert base.largest_loss() == pytest.approx(float(np.abs(base.privacy_factor().loss).max()), rel=1e-12)


def test_is_rounded_up() -> None:
    for more, less in ((3, 2), (2**64 - 7, 7), (10**19, 10**19 - 1)):
        found = log_ratio_upper(more, less)
        assert Fraction(more, less) <= Fraction(math.exp(found)) * (1 + Fraction(1, 2**50))
        assert found == pytest.approx(math.log1p((more - less) / less), rel=1e-14)


def test_only_fresh_reports_have_it() -> None:
    base = NoisyInnerProduct(bits=1, eps=1.0)
    assert Fresh(base).loss_of_one_report == base.largest_loss()
    assert Dealt(base, 4).loss_of_one_report is None
