"""De-noised counts are unbiased, and so are their variances: by enumeration of everything that can be reported."""

import itertools

import numpy as np
import pytest

from untrackable import Rappor
from untrackable.errors import DecodeError
from untrackable.rappor_decode.files import Counts
from untrackable.rappor_decode.regression import denoise


@pytest.mark.parametrize(
    "params",
    [
        Rappor(bloom_bits=2, hashes=1, f=0.5, p=0.25, q=0.75, cohorts=2),
        Rappor(bloom_bits=2, hashes=1, f=0.0, p=0.5, q=0.75, cohorts=2),
        Rappor(bloom_bits=2, hashes=1, f=0.3, p=0.9, q=0.2, cohorts=2),
        Rappor(bloom_bits=2, hashes=1, f=0.0, p=0.0, q=1.0, cohorts=2),
    ],
)
def test_unbiased_by_enumeration(params: Rappor) -> None:
    """Three people with given filters: all kept filters, all reports."""
    filters, cohorts = np.array([[1, 0], [1, 1], [0, 0]]), np.array([0, 0, 1])
    truth = np.array([[2.0, 1.0], [0.0, 0.0]])
    people = np.array([2, 1])
    mean, square, variance, total = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)), 0.0
    for kept in itertools.product((0, 1), repeat=6):
        state = np.array(kept).reshape(3, 2)
        kept_chance = np.where(state == filters, 1 - params.f / 2, params.f / 2).prod()
        if kept_chance == 0:
            continue
        for told in itertools.product((0, 1), repeat=6):
            report = np.array(told).reshape(3, 2)
            one = np.where(state == 1, params.q, params.p)
            chance = kept_chance * np.where(report == 1, one, 1 - one).prod()
            counts = np.array([report[cohorts == c].sum(axis=0) for c in (0, 1)])
            found = denoise(params, Counts(people, counts))
            total += chance
            mean += chance * found.counts
            square += chance * found.counts**2
            variance += chance * found.variances
    assert total == pytest.approx(1)
    np.testing.assert_allclose(mean, truth, atol=1e-12)
    np.testing.assert_allclose(variance, square - mean**2, atol=1e-11)


def test_an_empty_cohort_counts_nothing() -> None:
    params = Rappor(bloom_bits=2, hashes=1, f=0.5, p=0.25, q=0.75, cohorts=2)
    found = denoise(params, Counts(np.array([1000, 0]), np.array([[300, 600], [0, 0]])))
    assert found.counts[1].tolist() == [0, 0]
    assert found.variances[1].tolist() == [0, 0]


def test_what_cannot_be_decoded() -> None:
    params = Rappor(bloom_bits=2, hashes=1, f=1, p=0.25, q=0.75)
    with pytest.raises(DecodeError, match="f must be below 1"):
        denoise(params, Counts(np.array([1]), np.array([[1, 0]])))
    with pytest.raises(DecodeError, match="1 cohorts and 2 bits, as the parameters do, not 2 and 2"):
        denoise(params, Counts(np.array([1, 1]), np.array([[1, 0], [1, 0]])))
