"""How the entries of a string that nobody holds are distributed, by enumeration."""

import itertools

import numpy as np
import pytest

from untrackable.discovery.prefix_search import BucketTables, _NullDistributions


def test_tails_are_those_of_all_choices_of_buckets() -> None:
    rng = np.random.default_rng(1)
    steps = rng.integers(-3, 4, (3, 6))
    counts = np.stack([np.bincount(row + 3, minlength=7) for row in steps])
    null = _NullDistributions(counts, -3)
    for first, last in ((0, 1), (0, 2), (0, 3), (1, 3), (2, 3)):
        sums = np.array([sum(choice) for choice in itertools.product(*steps[first:last])])
        asked = np.arange(-12, 13)
        exact = [(sums >= s).mean() for s in asked]
        assert null.tail(first, last, asked) == pytest.approx(exact, abs=1e-12)
        for probability in (0.0, 0.01, 0.2, 0.7, 1.0):
            found = null.threshold(first, last, probability)
            assert (sums >= found).mean() <= probability + 1e-12
            assert (
                found == sums.min()
                or (sums >= found - 1).mean() > probability - 1e-12
                or found <= -3 * (last - first)
            )


def test_small_tails_keep_their_digits() -> None:
    counts = np.array([[(1 << 20) - 1, 1]] * 3)
    assert _NullDistributions(counts, 0).tail(0, 3, np.array([3]))[0] == pytest.approx(2.0**-60, rel=1e-12)


def test_steps_are_entries_in_one_scale_and_never_above_the_cap() -> None:
    rng = np.random.default_rng(2)
    entries = rng.normal(size=(3, 1 << 14))
    plain = BucketTables(entries, {0: 1e-9})
    assert np.corrcoef(plain.steps.reshape(-1), entries.reshape(-1))[0, 1] > 0.999
    entries[:, :3] = 40.0
    heavy = BucketTables(entries, {0: 1e-9})
    assert heavy.steps.max() < 0.3 * 40 * 24
    assert np.all(heavy.steps[:, :3] == heavy.steps.max())
    assert np.all(BucketTables(np.zeros((2, 4)), {0: 1e-3}).steps == 0)
