"""Work goes to the GPU if it is asked for, and gives the same there; here the GPU is emulated."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.kernels.emulated_device import COMPILER, emulated_device
from untrackable import DiscoveredStrings, Fresh, NoisyInnerProduct, Rappor, discover
from untrackable.auditing.attacks import link
from untrackable.discovery import prefix_search
from untrackable.errors import ExtraMissing, NoGpu
from untrackable.estimation import aggregators
from untrackable.kernels import counting, engine, gpu
from untrackable.kernels.engine import on_gpu, running_on
from untrackable.reports.files import write_reports
from untrackable.reports.sums import discover_files, estimate_files


@pytest.fixture
def small_work_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An emulated GPU, to which small work goes as well."""
    if COMPILER is None:
        pytest.skip("the GPU is not emulated: there is no C++ compiler (g++ or clang++)")
    for kind in ("", "_ENTRIES", "_SCANS"):
        monkeypatch.setattr(counting, f"{kind}_WORTH_COPYING", 1)
    monkeypatch.setattr(prefix_search, "_WORTH_COPYING", 1)
    monkeypatch.setattr(aggregators, "_SCANNED_ON_GPU", 1000)
    with emulated_device():
        yield


def used(module: Any, function: str, work: Callable[[], Any]) -> Any:
    """The result of work on the engine cuda, which must have called the function."""
    with running_on("cuda"), mock.patch.object(module, function, wraps=getattr(module, function)) as called:
        assert on_gpu()
        result = work()
    assert called.called
    assert not on_gpu()
    return result


def test_kernels_run_on_the_gpu_if_asked(small_work_too: None) -> None:
    rng = np.random.default_rng(1)
    numbers = rng.integers(-9, 9, size=(2, 64))
    found = used(gpu, "walsh_hadamard", lambda: counting.walsh_hadamard(numbers))
    assert np.array_equal(found, counting.walsh_hadamard(numbers))
    kept = numbers.copy()
    assert used(gpu, "walsh_hadamard", lambda: counting.walsh_hadamard(kept, in_place=True)) is kept
    assert np.array_equal(kept, found)

    vectors, candidates = (rng.integers(0, 1 << 64, size=(2, n), dtype=np.uint64) for n in (300, 20))
    odd = used(gpu, "parity_sums", lambda: counting.parity_sums(vectors, candidates))
    assert np.array_equal(odd, counting.parity_sums(vectors, candidates))

    reports = rng.integers(2, 128, size=1000, dtype=np.uint64)
    sums, expected = np.zeros(64, dtype=np.int64), np.zeros(64, dtype=np.int64)
    assert used(gpu, "add_signs", lambda: counting.add_signs(sums, reports))
    assert counting.add_signs(expected, reports)
    assert np.array_equal(sums, expected)


def test_small_work_stays_on_the_processor() -> None:
    with emulated_device(), running_on("cuda"), mock.patch.object(gpu, "launch") as launched:
        counting.walsh_hadamard(np.ones(1 << 10, dtype=np.int64))
        counting.parity_sums(np.ones((1, 100), dtype=np.uint64), np.ones((1, 100), dtype=np.uint64))
        counting.add_signs(np.zeros(64, dtype=np.int64), np.full(1000, 5, dtype=np.uint64))
    assert not launched.called


@pytest.mark.parametrize(("eps", "function"), [(0.5, "parity_sums"), (2.5, "support_counts")])
@pytest.mark.parametrize("bits", [40, 62])
def test_estimates_of_candidates_are_the_same(
    bits: int, eps: float, function: str, small_work_too: None, tmp_path: Path
) -> None:
    mechanism = Fresh(NoisyInnerProduct(bits=bits, eps=eps))
    path = tmp_path / "reports.npz"
    sent = mechanism.simulate(np.arange(2500) % 3, rounds=1, seed=1)
    write_reports(path, [(1, batch.reports[:, 0]) for batch in sent], mechanism=mechanism)
    asked = [0, 1, 2, 1 << 39, (1 << bits) - 1]
    found = used(gpu, function, lambda: estimate_files(path, candidates=asked, engine="cuda"))
    expected = estimate_files(path, candidates=asked)
    ours, theirs = (one.rounds[1] for one in (found, expected))
    assert np.array_equal(ours.frequencies, theirs.frequencies)
    assert np.array_equal(ours.radius, theirs.radius)


def test_the_same_strings_are_discovered(small_work_too: None) -> None:
    encoding = DiscoveredStrings(alphabet="abcdefgh", longest=4, shortest=2, prefixes=(2, 4, 4), salt=bytes(16))
    people = encoding.encode_many(["cafe"] * 3000 + ["bad"] * 2000 + ["heed"] * 50)
    mechanism = Fresh(encoding.local(3.0))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(people, rounds=1, seed=1):
        sums.add(batch.reports)
    found = used(gpu, "striking_children", lambda: discover(encoding, sums, beam=64))
    assert "cafe" in [string.string for string in found.strings]
    assert found.to_json() == discover(encoding, sums, beam=64).to_json()


@pytest.mark.parametrize("preset", ["paper", "chrome"])
def test_people_are_matched_as_on_the_processor(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.auditing.attacks.LARGEST_ASSIGNMENT", 10)
    monkeypatch.setattr("untrackable.auditing.attacks._SCORES_ON_GPU", 1000)
    rappor = Rappor.preset(preset)
    with emulated_device():
        ours = link(rappor, people=60, reports=3, engine="cuda")
    assert ours == link(rappor, people=60, reports=3)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="engine must be one of local, cuda"), running_on("abacus"):  # type: ignore[arg-type]
        pass


def test_without_cupy_the_extra_is_named_before_any_work(tmp_path: Path) -> None:
    def nothing_may_be_read(*_: object, **__: object) -> None:
        raise AssertionError

    engine.cupy.cache_clear()
    with (
        mock.patch.dict(sys.modules, {"cupy": None}),
        mock.patch("untrackable.reports.sums.sum_files", nothing_may_be_read),
    ):
        for work in (
            lambda: estimate_files(tmp_path / "reports.npz", engine="cuda"),
            lambda: discover_files([tmp_path / "reports.npz"], engine="cuda"),
        ):
            with pytest.raises(ExtraMissing, match=r"pip install 'untrackable\[cuda\]'"):
                work()
    assert not on_gpu()
    engine.cupy.cache_clear()


def test_without_a_gpu_the_error_says_so() -> None:
    class RuntimeFailure(Exception):
        """As CuPy's."""

    runtime = SimpleNamespace(getDeviceCount=mock.Mock(side_effect=RuntimeFailure), CUDARuntimeError=RuntimeFailure)
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    engine.cupy.cache_clear()
    with (
        mock.patch.dict(sys.modules, {"cupy": cupy}),
        pytest.raises(NoGpu, match="needs an NVIDIA GPU"),
        running_on("cuda"),
    ):
        pass
    engine.cupy.cache_clear()
