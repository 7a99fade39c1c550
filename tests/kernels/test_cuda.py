"""The GPU's kernels give the integers of the processor's, on a GPU if there is one, and emulated in any case."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.kernels.emulated_device import COMPILER, emulated_device
from untrackable.errors import UntrackableError
from untrackable.kernels import counting, engine
from untrackable.kernels import gpu as device
from untrackable.mechanisms.randomness import mixed_words


def missing_gpu() -> str:
    """Why there is no GPU here; empty if there is one."""
    try:
        engine.cupy()
    except (ImportError, UntrackableError) as error:
        return str(error)
    return ""


@pytest.fixture(params=["emulated", "emulated backwards", "gpu"])
def gpu(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module for arrays on the device."""
    if request.param == "gpu":
        if missing := missing_gpu():
            pytest.skip(f"not run on a GPU: {missing}")
        yield engine.cupy()
        return
    if COMPILER is None:
        pytest.skip("the kernels are not emulated: there is no C++ compiler (g++ or clang++)")
    with emulated_device(backwards=request.param == "emulated backwards"):
        yield np


def integers(shape: int | tuple[int, ...], seed: int, high: int = 1000) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-high, high, size=shape)


def words(shape: tuple[int, ...], seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, size=shape, dtype=np.uint64)


# --- the transform ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("bits", [4, 7, 13, 14, 17])
def test_transforms_agree(bits: int, kind: str, gpu: Any) -> None:
    numbers = integers(1 << bits, bits, high=60)  # float32 is exact up to 2^24
    table = gpu.asarray(numbers.astype(kind))
    device.walsh_hadamard(table)
    assert np.array_equal(engine.in_main_memory(table).astype(np.int64), counting.walsh_hadamard(numbers))


@pytest.mark.parametrize("bits", [4, 9, 16])
def test_rows_are_transformed_one_by_one(bits: int, gpu: Any) -> None:
    numbers = integers((3, 1 << bits), bits)
    table = gpu.array(numbers)
    device.walsh_hadamard(table)
    assert np.array_equal(engine.in_main_memory(table), counting.walsh_hadamard(numbers))
    device.walsh_hadamard(table[:0])


def test_distant_levels_of_a_small_tile_agree(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With tiles of 2^8 entries, a table of 2^17 takes as many passes as one of 2^32 does with large ones."""
    monkeypatch.setattr(device, "_TILE_BYTES", 1 << 11)
    numbers = integers(1 << 17, 1)
    assert len(list(device.passes(17, 8))) == 4
    table = gpu.array(numbers)
    device.walsh_hadamard(table)
    assert np.array_equal(engine.in_main_memory(table), counting.walsh_hadamard(numbers))


@pytest.mark.parametrize("each", [4, 8])
def test_passes_do_every_level_once(each: int) -> None:
    for bits in range(4, 33):
        done = 0
        for tile, column, stride in device.passes(bits, each):
            assert stride == done
            assert column <= stride
            assert tile <= bits
            assert column == 0 or each << column >= 128
            done += tile - column
        assert done == bits
    assert len(list(device.passes(30, 4))) == len(list(device.passes(32, 4))) == 3


def test_tables_that_cannot_be_transformed(gpu: Any) -> None:
    for bad in (gpu.zeros(8, dtype=np.int64), gpu.zeros(24, dtype=np.int64), gpu.zeros((4, 0), dtype=np.int64)):
        with pytest.raises(ValueError, match=r"2\^bits entries, at least 16"):
            device.walsh_hadamard(bad)
    for bad in (gpu.zeros(16, dtype=np.int16), gpu.zeros(32, dtype=np.int64)[::2]):
        with pytest.raises(ValueError, match="contiguous and of float32, float64, int32, int64"):
            device.walsh_hadamard(bad)


# --- the parity scan -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limbs", [1, 2, 3, 4])
@pytest.mark.parametrize(("count", "asked"), [(1, 1), (1023, 33), (1500, 200)])
def test_parity_sums_agree(count: int, asked: int, limbs: int, gpu: Any) -> None:
    vectors, candidates = words((limbs, count), count), words((limbs, asked), asked)
    expected = counting.parity_sums(vectors, candidates)
    assert np.array_equal(device.parity_sums(vectors, candidates), expected)
    found = device.parity_sums(gpu.asarray(vectors), gpu.asarray(candidates))
    assert np.array_equal(engine.in_main_memory(found), expected)


@pytest.mark.parametrize("limbs", [1, 4])
def test_each_bit_of_a_candidate_counts(limbs: int, gpu: Any) -> None:
    """Vector i has bits 0 … i, so its inner product with bit j alone is odd for i ≥ j."""
    bits = 64 * limbs
    numbers = [(2 << i) - 1 for i in range(bits)]
    singles = [1 << i for i in range(bits)]
    vectors, candidates = (
        np.array([[n >> 64 * i & (1 << 64) - 1 for n in some] for i in range(limbs)], dtype=np.uint64)
        for some in (numbers, singles)
    )
    expected = [bits - 2 * (bits - j) for j in range(bits)]
    assert device.parity_sums(vectors, candidates).tolist() == expected


def test_parity_sums_of_parts_and_of_nothing(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_TOGETHER", 1000)
    vectors, candidates = words((2, 2500), 1), words((2, 40), 2)
    expected = counting.parity_sums(vectors, candidates)
    assert np.array_equal(device.parity_sums(vectors, candidates), expected)
    assert np.array_equal(device.parity_sums(vectors[:, :0], candidates), np.zeros(40))
    assert device.parity_sums(vectors, candidates[:, :0]).size == 0


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("limbs", [1, 2])
def test_support_counts_agree(limbs: int, width: int, gpu: Any) -> None:
    vectors, candidates = words((limbs * width, 500), 1), words((limbs, 10), 2)
    answers = words((500,), 3) & np.uint64((1 << width) - 1)
    found = device.support_counts(vectors, answers, candidates)
    assert np.array_equal(found, counting.support_counts(vectors, answers, candidates))


@pytest.mark.skipif(COMPILER is None, reason="the kernels are not emulated: there is no C++ compiler")
@pytest.mark.parametrize("shared_memory", [65_536, 101_376, 166_912])
@pytest.mark.parametrize("limbs", [1, 4])
def test_parity_sums_agree_on_devices_with_less_shared_memory(limbs: int, shared_memory: int) -> None:
    vectors, candidates = words((limbs, 1500), 3), words((limbs, 50), 4)
    with emulated_device(shared_memory=shared_memory):
        found = device.parity_sums(vectors, candidates)
    assert np.array_equal(found, counting.parity_sums(vectors, candidates))


# --- counting and searching ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [1, 6, 12])
def test_counts_agree(bits: int, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_TOGETHER", 3000)
    reports = np.random.default_rng(bits).integers(2, 2 << bits, size=10_001, dtype=np.uint64)
    sums = integers(1 << bits, bits)
    expected = sums.copy()
    on_device = gpu.asarray(sums.copy())
    assert counting.add_signs(expected, reports)
    assert device.add_signs(on_device, gpu.asarray(reports))
    assert device.add_signs(sums, reports)
    assert np.array_equal(sums, expected)
    assert np.array_equal(engine.in_main_memory(on_device), expected)


@pytest.mark.parametrize("bad", [0, 1, 128, (1 << 64) - 1])
def test_impossible_reports_change_nothing(bad: int, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_TOGETHER", 10)
    reports = np.full(25, 5, dtype=np.uint64)
    reports[22] = bad
    sums = gpu.zeros(64, dtype=np.int64)
    assert not device.add_signs(sums, gpu.asarray(reports))
    assert not engine.in_main_memory(sums).any()


def test_striking_children_agree(gpu: Any) -> None:
    bits, key = 10, 0x9E3779B97F4A7C15
    states, more = words((500,), 5), words((37,), 6)
    table = integers(1 << bits, 7).astype(np.int16)
    limits = integers(500, 8)
    children = mixed_words(mixed_words(states[:, None] + more) ^ np.uint64(key)) >> np.uint64(64 - bits)
    expected = np.flatnonzero(table[children.astype(np.int64)] >= limits[:, None])
    found = device.striking_children(states, more, gpu.asarray(table), limits, key, bits)
    assert np.array_equal(found, expected)
