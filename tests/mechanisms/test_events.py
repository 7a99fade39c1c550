"""Events of exact chances: the same with and without numba, by their exact law, to the last of 64 bits."""

from typing import Any

import numpy as np
import pytest

from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_inner_products import Scripted
from untrackable.arrays import Words
from untrackable.kernels import compiled
from untrackable.mechanisms import kept_bits

WHOLE = 1 << 64
ALL = np.full(1, WHOLE - 1, dtype=np.uint64)
ODD = 0x0123_4567_89AB_CDEF
THRESHOLDS = [0, 1, ODD, WHOLE // 4, WHOLE // 2, WHOLE - 1, WHOLE]


@pytest.fixture(params=["compiled", "NumPy"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    by = compiled if request.param == "compiled" else None
    monkeypatch.setattr(kept_bits, "compiled", lambda work: by)


def drawn(which: Words, first: int, second: int, rng: Any, among: Words = ALL) -> Words:
    return kept_bits.draw_events(which, first, second, rng, among=among)


@pytest.mark.parametrize("first", THRESHOLDS)
@pytest.mark.parametrize("second", [0, ODD, WHOLE])
def test_with_and_without_numba_the_same_seed_gives_the_same_events(
    first: int, second: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = np.random.default_rng(1).integers(0, WHOLE, size=(3000, 3), dtype=np.uint64)
    among = np.array([WHOLE - 1, ODD, 1], dtype=np.uint64)
    found = []
    for by in (compiled, None):
        monkeypatch.setattr(kept_bits, "compiled", lambda work, by=by: by)
        found.append(drawn(which, first, second, np.random.default_rng(2), among))
    assert found[0].shape == which.shape
    assert np.array_equal(found[0], found[1])
    assert not np.any(found[0] & ~among)
    for threshold, mine in ((first, which), (second, ~which)):
        if threshold in (0, WHOLE):
            assert np.array_equal(found[0] & mine, among & mine if threshold else 0 * mine)


def number_words(numbers: list[int], threshold: int) -> list[int]:
    """The words that give 64 numbers: four of highest bits, then 16 bits at a time of those not yet decided."""
    words = [sum((n >> place & 1) << lane for lane, n in enumerate(numbers)) for place in (63, 62, 61, 60)]
    for bits in (44, 28, 12, -4):
        if not threshold % (1 << bits + 16):
            break
        left = [n for n in numbers if n >> bits + 16 == threshold >> bits + 16]
        pieces = [(n << 16 >> bits + 16) % (1 << 16) for n in left]
        words += [sum(p << 16 * i for i, p in enumerate(pieces[j : j + 4])) for j in range(0, len(pieces), 4)]
    return words


@pytest.mark.parametrize("threshold", [1, 2, ODD, ODD - 15, WHOLE // 2, WHOLE // 2 + 1, ODD >> 40 << 40, WHOLE - 1])
@pytest.mark.parametrize("is_set", [True, False])
def test_an_event_happens_if_its_number_is_below_the_threshold(threshold: int, is_set: bool, either: None) -> None:
    """Numbers that differ from it in one of the 64 bits, and the neighbours."""
    rng = np.random.default_rng(4)
    near = [threshold ^ 1 << i for i in range(64)]
    others = [max(threshold - 1, 0), threshold, min(threshold + 1, WHOLE - 1), 0, WHOLE - 1]
    random = [int(n) for n in rng.integers(0, WHOLE, size=59, dtype=np.uint64)]
    for numbers in (near, others + random):
        script = Scripted(*number_words(numbers, threshold))
        which = np.array([WHOLE - 1 if is_set else 0], dtype=np.uint64)
        (word,) = drawn(which, *((threshold, 0) if is_set else (WHOLE, threshold)), script).tolist()
        assert [word >> lane & 1 for lane in range(64)] == [n < threshold for n in numbers]
        assert script.words == []


def test_the_law(either: None) -> None:
    """Two neighbouring events, of unlike chances: independent, and by their own thresholds."""
    first, second = WHOLE // 3, WHOLE // 10
    which = np.full(40_000, 0x5555_5555_5555_5555, dtype=np.uint64)
    found = drawn(which, first, second, np.random.default_rng(5))
    bits = np.unpackbits(found.astype("<u8").view(np.uint8), bitorder="little").reshape(-1, 2)
    law = np.outer([2 / 3, 1 / 3], [9 / 10, 1 / 10]).reshape(-1)
    agrees(histogram((2 * bits[:, 0] + bits[:, 1]).astype(np.int64), law), law, tilted(law, 0.012))
    for lane in (0, 31, 63):  # and no lane is unlike the others
        ones = (found >> np.uint64(lane) & np.uint64(1)).astype(np.int64)
        chance = 1 / 10 if lane % 2 else 1 / 3
        agrees(
            histogram(ones, np.array([1 - chance, chance])), np.array([1 - chance, chance]), np.array([0.5, 0.5])
        )


@pytest.mark.parametrize(("first", "second"), [(-1, 0), (0, WHOLE + 1)])
def test_what_is_no_chance(first: int, second: int) -> None:
    with pytest.raises(ValueError, match="between 0 and"):
        drawn(np.zeros(1, dtype=np.uint64), first, second, np.random.default_rng(1))
