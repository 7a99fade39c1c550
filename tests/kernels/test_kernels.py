"""The compiled kernels, the NumPy ones and the definitions say the same, in integers."""

import functools
import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from untrackable.arrays import Integers
from untrackable.kernels import compiled, counting, engine
from untrackable.kernels.counting import add_signs, parity_sums, walsh_hadamard

LIMIT = (1 << 63) - 1


@pytest.fixture(params=["compiled", "NumPy"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything is done by one of the two, whatever its size."""
    kernels = compiled if request.param == "compiled" else None
    monkeypatch.setattr(counting, "compiled", lambda work: kernels)
    return str(request.param)


def random_integers(size: int, seed: int) -> Integers:
    return np.random.default_rng(seed).integers(-(10**6), 10**6, size=size)


def random_words(limbs: int, count: int, seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, size=(limbs, count), dtype=np.uint64)


# --- the transform ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", range(9))
def test_the_transform_is_its_definition(bits: int, either: str) -> None:
    size = 1 << bits
    numbers = random_integers(size, bits)
    given = numbers.copy()
    signs = np.array([[(-1) ** bin(u & v).count("1") for v in range(size)] for u in range(size)])
    assert np.array_equal(walsh_hadamard(numbers), signs @ numbers)
    assert np.array_equal(numbers, given)
    assert np.array_equal(walsh_hadamard(walsh_hadamard(numbers)), size * numbers)


@pytest.mark.parametrize("bits", [12, 13, 15, 17])
def test_large_transforms_are_the_definition_where_it_is_looked_up(bits: int, either: str) -> None:
    numbers = random_integers(1 << bits, bits)
    found = walsh_hadamard(numbers)
    v = np.arange(numbers.size, dtype=np.uint64)
    for u in [*(1 << i for i in range(bits)), 0, numbers.size - 1, 0x5A5A % numbers.size]:
        signs = 1 - 2 * (np.bitwise_count(v & np.uint64(u)) & np.uint8(1)).astype(np.int64)
        assert found[u] == signs @ numbers, u


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("bits", range(10, 22))
def test_both_transforms_agree(bits: int, workers: int) -> None:
    numbers = random_integers(1 << bits, bits)
    engine.compiled(engine.WORTHWHILE)
    with engine.at_most(workers):
        assert np.array_equal(walsh_hadamard(numbers), counting._butterflies(numbers.copy()))


@pytest.mark.parametrize("shape", [(0, 8), (1, 1), (5, 1), (3, 64), (3, 1 << 12), (2, 1 << 13)])
def test_rows_are_transformed_one_by_one(shape: tuple[int, int], either: str) -> None:
    numbers = random_integers(shape[0] * shape[1], 5).reshape(shape)
    expected = [counting._butterflies(row.copy()) for row in numbers]
    assert np.array_equal(walsh_hadamard(numbers), np.array(expected).reshape(shape))
    assert np.array_equal(walsh_hadamard(np.asfortranarray(numbers)), np.array(expected).reshape(shape))


def test_in_place_and_strided(either: str) -> None:
    numbers = random_integers(1 << 13, 1)
    expected = walsh_hadamard(numbers)
    assert np.array_equal(walsh_hadamard(np.repeat(numbers, 2)[::2]), expected)
    assert walsh_hadamard(numbers, in_place=True) is numbers
    assert np.array_equal(numbers, expected)
    fixed = numbers.copy()
    fixed.flags.writeable = False
    walsh_hadamard(fixed)
    for bad in (fixed, np.repeat(numbers, 2)[::2]):
        with pytest.raises(ValueError, match="contiguous and writable"):
            walsh_hadamard(bad, in_place=True)


def test_the_transform_is_exact_up_to_its_bound(either: str) -> None:
    """Σ|sums| = 2^63 - 1: every entry of the result, and everything on the way, fits; one level more would not."""
    size = 1 << 12
    numbers = np.full(size, LIMIT // size)
    numbers[0] += LIMIT % size
    assert sum(numbers.tolist()) == LIMIT
    found = walsh_hadamard(numbers)
    assert found[0] == LIMIT
    assert np.all(found[1:] == LIMIT % size)
    alternating = np.where(np.arange(size) % 2, -numbers, numbers)
    assert walsh_hadamard(alternating)[1] == LIMIT


@pytest.mark.parametrize(
    "bad", [np.zeros(shape, dtype=np.int64) for shape in ((3,), (0,), (), (4, 3), (4, 0), (2, 2, 2))]
)
def test_tables_that_are_no_tables(bad: Integers) -> None:
    with pytest.raises(ValueError, match=r"2\^bits entries"):
        walsh_hadamard(bad)
    with pytest.raises(TypeError, match="64-bit integers"):
        walsh_hadamard(np.zeros(4))  # type: ignore[arg-type]


# --- counting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "count"), [(1, 7), (3, 0), (3, 5000), (12, 100), (12, 10_000), (16, 300_000)])
def test_counts_are_their_definition(bits: int, count: int, either: str) -> None:
    rng = np.random.default_rng(bits)
    reports = rng.integers(2, 2 << bits, size=count, dtype=np.uint64)
    before = rng.integers(-9, 9, size=1 << bits)
    sums = before.copy()
    assert add_signs(sums, reports)
    expected = before.copy()
    np.add.at(
        expected, (reports >> np.uint64(1)).astype(np.int64), 1 - 2 * (reports & np.uint64(1)).astype(np.int64)
    )
    assert np.array_equal(sums, expected)
    assert sums[0] == before[0]


@pytest.mark.parametrize("bad", [0, 1, 32, (1 << 64) - 1])
@pytest.mark.parametrize("place", [0, 2047, 2048, 4999])
def test_nothing_is_counted_if_one_report_is_impossible(bad: int, place: int, either: str) -> None:
    reports = np.random.default_rng(1).integers(2, 32, size=5000, dtype=np.uint64)
    reports[place] = bad
    sums = np.arange(16)
    assert not add_signs(sums, reports)
    assert np.array_equal(sums, np.arange(16))


@pytest.fixture
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen sums a bucket, and a thousand reports at a time."""
    for name, size in (("_BUCKET", 4), ("_DEALT", 6), ("_BATCH", 1000)):
        monkeypatch.setattr(counting, name, size)
    monkeypatch.setattr(counting, "compiled", lambda work: compiled)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(("bits", "count"), [(1, 9), (5, 5000), (6, 16), (6, 17), (8, 999), (8, 2001), (9, 6000)])
def test_counts_by_bucket_are_those_of_numpy(bits: int, count: int, workers: int, small_buckets: None) -> None:
    rng = np.random.default_rng(bits)
    for reports in (
        rng.integers(2, 2 << bits, size=count, dtype=np.uint64),
        np.full(count, (2 << bits) - 1, dtype=np.uint64),  # one bucket gets all
    ):
        sums, expected = np.arange(1 << bits), np.arange(1 << bits)
        with engine.at_most(workers):
            assert add_signs(sums, reports)
        assert counting._add_signs(expected, reports)
        assert np.array_equal(sums, expected)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("place", [0, 1999, 4096, 4999])
def test_nothing_is_counted_by_bucket_if_one_report_is_impossible(
    place: int, bits: int, workers: int, small_buckets: None
) -> None:
    for bad in (0, 1, 2 << bits, (1 << 64) - 1):
        reports = np.random.default_rng(1).integers(2, 2 << bits, size=5000, dtype=np.uint64)
        reports[place] = bad
        sums = np.arange(1 << bits)
        with engine.at_most(workers):
            assert not add_signs(sums, reports)
        assert np.array_equal(sums, np.arange(1 << bits))


def test_large_tables_are_counted_as_by_numpy() -> None:
    """As they are, with real buckets."""
    reports = np.random.default_rng(3).integers(2, 2 << 21, size=600_000, dtype=np.uint64)
    sums, expected = np.zeros(1 << 21, dtype=np.int64), np.zeros(1 << 21, dtype=np.int64)
    assert add_signs(sums, reports)
    assert counting._add_signs(expected, reports)
    assert np.array_equal(sums, expected)


@pytest.mark.parametrize("size", [0, 3, 1000])
def test_tables_that_are_no_tables_are_not_counted_in(size: int) -> None:
    with pytest.raises(ValueError, match=r"sums must have 2\^bits entries"):
        add_signs(np.zeros(size, dtype=np.int64), np.array([2, 3], dtype=np.uint64))


def test_counting_reads_arrays_of_any_layout(either: str) -> None:
    reports = np.random.default_rng(2).integers(2, 32, size=(40, 6), dtype=np.uint64)
    plain, other = np.zeros(16, dtype=np.int64), np.zeros(16, dtype=np.int64)
    assert add_signs(plain, reports[:, ::2].copy())
    reports.flags.writeable = False
    assert add_signs(other, reports[:, ::2])
    assert np.array_equal(plain, other)


# --- parities --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limbs", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2049])
def test_parity_sums_are_their_definition(limbs: int, count: int, either: str) -> None:
    vectors, candidates = random_words(limbs, count, limbs), random_words(limbs, 5, 9)
    candidates[:, 0] = 0
    wide = [sum(int(word) << (64 * i) for i, word in enumerate(column)) for column in vectors.T]
    asked = [sum(int(word) << (64 * i) for i, word in enumerate(column)) for column in candidates.T]
    expected = [sum((-1) ** (v & u).bit_count() for v in wide) for u in asked]
    assert parity_sums(vectors, candidates).tolist() == expected


@pytest.mark.parametrize("limbs", [1, 2, 3, 4])
@pytest.mark.parametrize("workers", [1, 3])
def test_both_parity_sums_agree(limbs: int, workers: int) -> None:
    vectors, candidates = random_words(limbs, 50_000, limbs), random_words(limbs, 40, 9)
    with engine.at_most(workers):
        assert np.array_equal(parity_sums(vectors, candidates), counting._parity_sums(vectors, candidates))
        assert np.array_equal(
            parity_sums(vectors[:, ::2], candidates), counting._parity_sums(vectors[:, ::2], candidates)
        )


@pytest.mark.parametrize(("one", "other"), [((1, 3), (2, 3)), ((5, 3), (5, 3)), ((0, 3), (0, 3))])
def test_words_that_do_not_fit(one: tuple[int, int], other: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        parity_sums(np.zeros(one, dtype=np.uint64), np.zeros(other, dtype=np.uint64))


# --- loading and threads ---------------------------------------------------------------------------------------


def in_a_new_process(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


SMALL = "from untrackable.kernels.counting import walsh_hadamard\nimport numpy as np, sys\n"


def test_small_work_does_not_load_numba() -> None:
    in_a_new_process(SMALL + "walsh_hadamard(np.zeros(1 << 12, dtype=np.int64))\nassert 'numba' not in sys.modules")


def test_large_work_does() -> None:
    in_a_new_process(SMALL + "walsh_hadamard(np.zeros(1 << 18, dtype=np.int64))\nassert 'numba' in sys.modules")


def test_without_numba_results_are_the_same() -> None:
    in_a_new_process(
        "import sys; sys.modules['numba'] = None\n" + SMALL + "x = np.zeros(1 << 18, dtype=np.int64); x[3] = 1\n"
        "y = walsh_hadamard(x); assert 'untrackable.kernels.compiled' not in sys.modules\n"
        "assert y[:4].tolist() == [1, -1, -1, 1] and int(y.sum()) == 0"
    )


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_done_without_and_compiling_is_announced() -> None:
    """Where no folder will do, everything is compiled anew, which takes seconds, and the terminal says so."""
    script = "from numba.core import caching\ncaching.CacheImpl._locator_classes = []\n"
    script += SMALL + "print(walsh_hadamard(np.ones(1 << 18, dtype=np.int64))[0])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)  # noqa: S603
    assert done.stdout == f"{1 << 18}\n"
    assert done.stderr == "Loading the compiled kernels. The first time, this takes a few seconds.\n"


class Impatient(threading.Timer):
    """A timer that does not wait."""

    def start(self) -> None:
        self.function(*self.args)


def test_slow_loading_is_announced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(threading, "Timer", Impatient)
    with caplog.at_level(logging.WARNING, "untrackable"):
        assert engine._imported.__wrapped__() is compiled
    assert "The first time, this takes a few seconds" in caplog.text


def test_loading_is_announced_once_however_many_threads_wait_for_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def slow() -> None:
        engine._log.warning("loading")
        time.sleep(0.05)

    monkeypatch.setattr(engine, "_imported", functools.cache(slow))
    with caplog.at_level(logging.WARNING, "untrackable"), ThreadPoolExecutor(4) as pool:
        list(pool.map(engine.compiled, [engine.WORTHWHILE] * 4))
    assert caplog.text.count("loading") == 1


def test_threads_are_the_callers_choice() -> None:
    assert 1 <= engine.allowed() <= 4
    with engine.at_most(7):
        assert engine.allowed() == 7
        with engine.at_most(1):
            assert engine.allowed() == 1
        assert engine.allowed() == 7
    with pytest.raises(ValueError, match="threads must be at least 1"), engine.at_most(0):
        pass
    done: list[tuple[int, int]] = []
    engine.split_work(lambda start, stop: done.append((start, stop)), 10, threads=3)
    assert sorted(done) == [(0, 3), (3, 6), (6, 10)]


def test_a_failing_piece_fails_the_whole() -> None:
    def work(start: int, stop: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.split_work(work, 4, threads=2)


def test_many_threads_may_call_at_once() -> None:
    numbers = [random_integers(1 << 19, seed) for seed in range(4)]
    found: dict[int, Integers] = {}

    def one(i: int) -> None:
        found[i] = walsh_hadamard(numbers[i])

    workers = [threading.Thread(target=one, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for i in range(4):
        assert np.array_equal(found[i], counting._butterflies(numbers[i].copy()))
