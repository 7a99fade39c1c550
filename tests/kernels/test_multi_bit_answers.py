"""Answers of several bits: the compiled kernels, the NumPy ones and the definitions say the same."""

import numpy as np
import pytest
from numpy.typing import NDArray

from untrackable.kernels import compiled, counting
from untrackable.kernels.engine import read_only


@pytest.fixture(params=["compiled", "NumPy"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything is done by one of the two, whatever its size."""
    kernels = compiled if request.param == "compiled" else None
    monkeypatch.setattr(counting, "compiled", lambda work: kernels)
    return str(request.param)


def random_words(limbs: int, count: int, seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, size=(limbs, count), dtype=np.uint64)


def wide_rows(bits: int, width: int, count: int, seed: int = 1) -> NDArray[np.uint64]:
    """Words of random reports, some of whose vectors may be dependent."""
    words = -(-width * (bits + 1) // 64)
    rows = np.random.default_rng(seed).integers(0, 1 << 64, size=(count, words), dtype=np.uint64)
    if width * (bits + 1) % 64:
        rows[:, -1] &= np.uint64((1 << width * (bits + 1) % 64) - 1)
    return rows


@pytest.mark.parametrize(("bits", "width"), [(1, 1), (2, 2), (3, 2), (16, 3), (16, 6), (20, 8), (26, 8)])
def test_answers_expand_alike(bits: int, width: int) -> None:
    rows = wide_rows(bits, width, 300)
    each = (1 << width) - 1
    signs = np.empty(300 * each, dtype=np.uint64)
    fine = compiled.expand_answers(read_only(rows), bits, width, signs)
    assert np.array_equal(counting._expand_answers(rows, bits, width), signs)
    assert fine == bool(np.all(signs >= 2))
    for row, found in zip(rows.tolist(), signs.reshape(300, each).tolist(), strict=True):
        report = sum(word << 64 * i for i, word in enumerate(row))
        vectors = [report >> width + bits * i & (1 << bits) - 1 for i in range(width)]
        for c in (1, each, 1 << width - 1, each // 2 + 1):
            taken = [i for i in range(width) if c >> i & 1]
            place, sign = 0, 0
            for i in taken:
                place, sign = place ^ vectors[i], sign ^ report >> i & 1
            assert found[c - 1] == 2 * place + sign


@pytest.mark.parametrize(("bits", "width"), [(3, 2), (12, 3), (16, 6)])
def test_answers_are_added_alike_or_not_at_all(bits: int, width: int, either: str) -> None:
    rows = wide_rows(bits, width, 3000)
    usable = counting._expand_answers(rows, bits, width).reshape(3000, -1).min(axis=1) >= 2
    expected = np.zeros(1 << bits, dtype=np.int64)
    assert counting._add_signs(expected, counting._expand_answers(rows[usable], bits, width))
    sums = np.zeros(1 << bits, dtype=np.int64)
    assert counting.add_answers(sums, rows[usable], width)
    assert np.array_equal(sums, expected)
    assert sums[0] == 0
    bad = np.concatenate((rows[usable], np.zeros((1, rows.shape[1]), dtype=np.uint64)))
    assert not counting.add_answers(sums, bad, width)
    assert np.array_equal(sums, expected)


@pytest.mark.parametrize(("limbs", "width"), [(1, 1), (1, 3), (2, 2), (3, 2), (4, 8)])
def test_supports_are_counted(limbs: int, width: int, either: str) -> None:
    vectors, candidates = random_words(width * limbs, 5000, 1), random_words(limbs, 7, 2)
    told_answers = np.random.default_rng(3).integers(0, 1 << width, size=5000, dtype=np.uint64)
    found = counting.support_counts(vectors, told_answers, candidates)
    assert found.sum() > 0
    for u in range(7):
        told = np.zeros(5000, dtype=np.uint64)
        for i in range(width):
            odd = sum(np.bitwise_count(vectors[i * limbs + j] & candidates[j, u]) for j in range(limbs)) % 2
            told |= np.asarray(odd, dtype=np.uint64) << np.uint64(i)
        assert found[u] == np.count_nonzero(told == told_answers)
    with pytest.raises(ValueError, match="one column for each of 4999 answers"):
        counting.support_counts(vectors, told_answers[1:], candidates)
    assert counting.support_counts(vectors[:, :0], told_answers[:0], candidates).tolist() == [0] * 7
