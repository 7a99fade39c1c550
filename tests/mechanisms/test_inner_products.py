"""Simulated noisy inner products: the same with and without numba, by their exact law."""

import math
from typing import Any

import numpy as np
import pytest

from tests.mechanisms.exact_laws import agrees, histogram, tilted
from untrackable.arrays import Words
from untrackable.kernels import compiled
from untrackable.mechanisms import inner_product
from untrackable.mechanisms.inner_product import noisy_inner_products

WHOLE = 1 << 64
THIRD = WHOLE // 3
DRAWS = 1_000_000
ONE = np.uint64(1)


def drawn(monkeypatch: pytest.MonkeyPatch, by: Any, values: Words, bits: int, threshold: int) -> Words:
    with monkeypatch.context() as patch:
        patch.setattr(inner_product, "compiled", lambda work: by)
        return noisy_inner_products(values, bits, threshold, np.random.default_rng([bits, 7]))


@pytest.mark.parametrize("bits", [1, 2, 5, 16, 31, 32, 33, 63])
@pytest.mark.parametrize("threshold", [0, 1, THIRD, WHOLE // 2, WHOLE - 1])
def test_with_and_without_numba_the_same_seed_gives_the_same_reports(
    bits: int, threshold: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).integers(0, 1 << bits, size=(20_000, 2), dtype=np.uint64)
    one, other = (drawn(monkeypatch, by, values, bits, threshold) for by in (compiled, None))
    assert one.shape == values.shape
    assert np.array_equal(one, other)
    vectors = one >> ONE
    assert 1 <= vectors.min() <= vectors.max() < 1 << bits


@pytest.mark.parametrize("bits", [1, 3, 16, 32, 40])
def test_chances_of_0_and_nearly_1_tell_the_inner_product_and_its_opposite(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).integers(0, 1 << bits, size=100_000, dtype=np.uint64)
    for threshold, wrong in ((0, 0), (WHOLE - 1, 1)):
        reports = drawn(monkeypatch, None, values, bits, threshold)
        parity = np.bitwise_count(reports >> ONE & values) & np.uint8(1)
        assert np.array_equal(reports & ONE, parity ^ np.uint8(wrong))


@pytest.mark.parametrize("by", [compiled, None])
@pytest.mark.parametrize("bits", [1, 2, 16, 32, 33, 63])
def test_the_law(bits: int, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the highest bit of the vector, of its lowest, and of the noise: independent but for the zero vector."""
    value = (1 << bits) - 1
    reports = drawn(monkeypatch, by, np.full(DRAWS, value, dtype=np.uint64), bits, THIRD)
    vectors = reports >> ONE
    noise = (reports & ONE) ^ (np.bitwise_count(vectors) & np.uint8(1))
    seen = (vectors >> np.uint64(bits - 1)) << np.uint64(2) | (vectors & ONE) << ONE | noise
    law = np.zeros(8)
    total = (1 << bits) - 1
    for high in (0, 1):
        for low in (0, 1):
            with_ends = [v for v in (0, 1) if v == high == low] if bits == 1 else range(1 << (bits - 2))
            share = (len(with_ends) - (high == low == 0)) / total
            law[4 * high + 2 * low : 4 * high + 2 * low + 2] = share * 2 / 3, share / 3
    assert math.isclose(law.sum(), 1)
    agrees(histogram(seen.astype(np.int64), law), law, tilted(law, 0.012))


class Scripted:
    """A generator that gives these words, and must be asked for all of them."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def integers(self, low: int, high: int, *, size: int, dtype: Any, endpoint: bool) -> Words:
        assert (low, high, endpoint) == (0, WHOLE - 1, True)
        given, self.words = self.words[:size], self.words[size:]
        assert len(given) == size
        return np.array(given, dtype=dtype)


@pytest.mark.parametrize("by", [compiled, None])
def test_noise_that_is_undecided_is_settled_by_another_word(by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The 64 bits of the noise are the 48 lowest of the first word and the 16 highest of the second."""
    monkeypatch.setattr(inner_product, "compiled", lambda work: by)
    bits, threshold, vector = 16, 0x123456789ABC_4321, 0x8001
    high, low = threshold >> 16, threshold & 0xFFFF
    first = [vector << 48 | noise for noise in (high - 1, high, high, high + 1)]
    second = [(low - 1) << 48, low << 48]
    script = Scripted(*first, *second)
    reports = noisy_inner_products(np.zeros(4, dtype=np.uint64), bits, threshold, script)  # type: ignore[arg-type]
    assert (reports & ONE).tolist() == [1, 1, 0, 0]
    assert (reports >> ONE).tolist() == [vector] * 4
    assert script.words == []


@pytest.mark.parametrize("by", [compiled, None])
def test_zero_vectors_are_drawn_again_and_keep_their_noise(by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner_product, "compiled", lambda work: by)
    script = Scripted(0, 3 << 62, 1 << 61, 0, 1 << 62, 2 << 62)  # bits = 2: noise is flipped by the first only
    values = np.array([1, 1, 1], dtype=np.uint64)
    reports = noisy_inner_products(values, 2, 1 << 60, script)  # type: ignore[arg-type]
    assert reports.tolist() == [2 * 2 + 1, 2 * 3 + 0, 2 * 1 + 1]
    assert script.words == []


@pytest.mark.parametrize(("bits", "threshold"), [(0, 5), (64, 5), (3, -1), (3, WHOLE)])
def test_what_cannot_be_drawn(bits: int, threshold: int) -> None:
    with pytest.raises(ValueError, match="must be between"):
        noisy_inner_products(np.zeros(3, dtype=np.uint64), bits, threshold, np.random.default_rng(1))
