"""The p-value over hash functions, against enumeration of all bits that a string could set."""

import itertools

import numpy as np
import pytest

from untrackable.rappor_decode.decode import hash_p_value


@pytest.mark.parametrize(("cohorts", "bits", "hashes"), [(1, 5, 1), (1, 4, 3), (2, 4, 2), (3, 3, 2)])
def test_the_tail_is_that_of_all_bits_that_a_string_could_set(cohorts: int, bits: int, hashes: int) -> None:
    rng = np.random.default_rng(bits)
    scores = rng.normal(size=(cohorts, bits)) ** 3
    every = list(itertools.product(range(bits), repeat=cohorts * hashes))
    rows = np.repeat(np.arange(cohorts), hashes)
    sums = np.array([scores[rows, list(one)].sum() for one in every])
    spread = float(np.sqrt(hashes * scores.var(axis=1).sum()))
    for one in (every[0], every[len(every) // 3], every[int(np.argmax(sums))]):
        own = float(scores[rows, list(one)].sum())
        found = hash_p_value(scores, np.array(one).reshape(cohorts, hashes))
        assert found >= np.mean(sums >= own - 1e-9)
        assert found <= np.mean(sums >= own - 0.06 * spread) + 1e-10  # roundings raise sums by 5 % at most


def test_scores_that_say_nothing_find_nothing() -> None:
    assert hash_p_value(np.zeros((2, 8)), np.zeros((2, 2), dtype=np.int64)) == 1


def test_many_cohorts_reach_small_p_values() -> None:
    scores = np.zeros((64, 32))
    scores[:, 7] = 1.0
    positions = np.full((64, 2), 7)
    assert hash_p_value(scores, positions) < 1e-10
    assert hash_p_value(scores, np.where(np.arange(64)[:, None] < 2, positions, 0)) > 0.1
