"""The engine cuda beside the processor of the same machine, CuPy, and what the GPU could do at best.

A "pass" is the time of a copy from one place of the GPU's memory to another, of as many bytes as the table has. The
limits of the parity scan are derived in docs/speed.md. Where nothing else is said, the data is on the GPU already.
Without a GPU, it says so and ends. Arguments select parts: transform, counting, parity, estimates,
linking, discovery.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from untrackable import DiscoveredStrings, Fresh, NoisyInnerProduct, Rappor, discover
from untrackable.auditing.attendance_attack import match_by_attendance
from untrackable.auditing.link_attack import link
from untrackable.errors import UntrackableError
from untrackable.kernels import compilation, counting, parity, transform
from untrackable.kernels.cuda import device, gpu_counting, gpu_parity, gpu_transform
from untrackable.kernels.engine import running_on
from untrackable.reports.file_answers import estimate_files
from untrackable.reports.writer import write_reports
from untrackable.theory.attendance import Attendance

CANDIDATES, REPORTS, SAMPLE, PEOPLE = 100_000, 100_000_000, 1_000_000, 100_000
OPERATIONS, POPCOUNTS = 64, 16
"""What a multiprocessor of compute capability 9.0 does in a clock: integer operations, and population counts."""

DIRECT = """
typedef unsigned long long Word;
extern "C" __global__ void direct(const Word *v, long long n, const Word *u, long long m, Word *odd) {
    long long j = (long long)blockIdx.y * blockDim.x + threadIdx.x;
    Word own[LIMBS];
    for (int k = 0; k < LIMBS; ++k) own[k] = j < m ? u[k * m + j] : 0;
    unsigned found = 0;
    __shared__ Word some[LIMBS][256];
    for (long long start = (long long)blockIdx.x * 256; start < n; start += (long long)gridDim.x * 256) {
        __syncthreads();
        long long i = start + threadIdx.x;
        for (int k = 0; k < LIMBS; ++k) some[k][threadIdx.x] = i < n ? v[k * n + i] : 0;
        __syncthreads();
        #pragma unroll 16
        for (int i = 0; i < 256; ++i) {
            Word common = 0;
            #pragma unroll
            for (int k = 0; k < LIMBS; ++k) common ^= some[k][i] & own[k];
            found += __popc((unsigned)common ^ (unsigned)(common >> 32)) & 1;
        }
    }
    if (j < m) atomicAdd(&odd[j], (Word)found);
}
"""
"""The parity scan without tables: one population count for each vector and candidate."""


def gpu_seconds(cupy: Any, work: Callable[[], object], times: int = 7) -> float:
    """The median time on the GPU, after one run to warm up."""
    work()
    taken: list[float] = []
    for _ in range(times):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        taken.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
    return statistics.median(taken)


def seconds(work: Callable[[], object], times: int = 2) -> float:
    """The shortest of a few runs on the clock, the copies to and from the GPU included."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def transforms(cupy: Any) -> None:
    """Up to 2^32 entries, in place."""
    print("\nWalsh-Hadamard transform in place")
    for kind, bits in (("float32", 30), ("int64", 30), ("float32", 32), ("int64", 32)):
        rng = cupy.random.default_rng(1)
        table = rng.integers(-2, 3, size=1 << bits, dtype=np.int32 if kind == "float32" else np.int64)
        table = table.view(np.float32) if kind == "float32" else table
        if kind == "float32":
            table[...] = table.view(np.int32)
        half = table.size // 2
        once = 2 * gpu_seconds(cupy, lambda t=table, h=half: cupy.copyto(t[:h], t[h:]))  # type: ignore[misc]
        table[...] = 0
        spikes = np.random.default_rng(2).integers(0, table.size, size=50)
        table[cupy.asarray(np.unique(spikes))] = 1
        gpu_transform.walsh_hadamard(table)
        looked_up = np.random.default_rng(3).integers(0, table.size, size=1000)
        signs = 1 - 2 * (np.bitwise_count(np.unique(spikes)[:, None] & looked_up) & 1).astype(np.int64)
        right = np.array_equal(table[cupy.asarray(looked_up)].get(), signs.sum(axis=0))
        table[...] = 0
        table[::3] = 1
        ours = gpu_seconds(cupy, lambda t=table: gpu_transform.walsh_hadamard(t), times=5)  # type: ignore[misc]
        print(
            f"  2^{bits} {kind}: {ours * 1e3:.2f} ms, {ours / once:.2f} passes of {once * 1e3:.2f} ms "
            f"({2 * table.nbytes / once / 1e12:.2f} TB/s); right where looked up: {right}"
        )
        del table
        cupy.get_default_memory_pool().free_all_blocks()
    real = cupy.random.default_rng(1).random(1 << 30, dtype=np.float32)
    peer = gpu_seconds(cupy, lambda r=real: cupy.fft.rfft(r), 3)  # type: ignore[misc]
    print(f"  peer, cupy.fft.rfft of 2^30 float32: {peer * 1e3:.1f} ms")
    del real
    cupy.get_default_memory_pool().free_all_blocks()
    for bits in (20, 24, 26, 30):
        numbers = np.random.default_rng(4).integers(-9, 9, size=1 << bits)
        table = cupy.asarray(numbers)
        ours = gpu_seconds(cupy, lambda t=table: gpu_transform.walsh_hadamard(t))  # type: ignore[misc]
        copied = seconds(lambda n=numbers: on_gpu_and_back(cupy, n))  # type: ignore[misc]
        local = seconds(lambda n=numbers: transform.walsh_hadamard(n, in_place=True), 1 if bits == 30 else 3)  # type: ignore[misc]
        print(
            f"  2^{bits} int64: {ours * 1e3:.2f} ms, {copied * 1e3:.1f} ms with the copies, "
            f"{local * 1e3:.1f} ms on the processor"
        )
        del table
        cupy.get_default_memory_pool().free_all_blocks()


def on_gpu_and_back(cupy: Any, numbers: Any) -> None:
    """Transform a table in main memory."""
    table = cupy.asarray(numbers)
    gpu_transform.walsh_hadamard(table)
    table.get(out=numbers)


def counts(cupy: Any) -> None:
    """Range check and signs included."""
    print(f"\ncounting {REPORTS:,} reports")
    for bits in (10, 16, 24):
        reports = np.random.default_rng(bits).integers(2, 2 << bits, size=REPORTS, dtype=np.uint64)
        sums, there = np.zeros(1 << bits, dtype=np.int64), cupy.asarray(reports)
        table = cupy.zeros(1 << bits, dtype=np.int64)
        ours = gpu_seconds(cupy, lambda t=table, r=there: gpu_counting.add_signs(t, r))  # type: ignore[misc]
        peer = gpu_seconds(cupy, lambda r=there: cupy.bincount(r.view(np.int64)), 3)  # type: ignore[misc]
        copied = seconds(lambda s=sums, r=reports: gpu_counting.add_signs(s, r))  # type: ignore[misc]
        sums[...] = 0
        local = seconds(lambda s=sums, r=reports: counting.add_signs(s, r))  # type: ignore[misc]
        table[...] = 0
        gpu_counting.add_signs(table, there)
        same = np.array_equal(2 * table.get(), sums)
        print(
            f"  {bits} bits: {ours * 1e3:.1f} ms, {copied * 1e3:.0f} ms with the copies, "
            f"{local * 1e3:.0f} ms on the processor; cupy.bincount without signs {peer * 1e3:.1f} ms; "
            f"the same integers: {same}"
        )


def parities(cupy: Any) -> None:
    """The whole scan on the GPU; the processor and the direct method do a part of it."""
    print(f"\nparity scan of {REPORTS:,} reports and {CANDIDATES:,} candidates")
    clock = float(cupy.cuda.Device().attributes["ClockRate"]) * 1e3 * device.processors()
    for limbs in (1, 4):
        rng = cupy.random.default_rng(limbs)
        vectors = rng.integers(0, (1 << 63) - 1, size=(limbs, REPORTS), dtype=np.uint64)
        asked = np.random.default_rng(limbs).integers(0, 1 << 64, size=(limbs, CANDIDATES), dtype=np.uint64)
        there, pairs = cupy.asarray(asked), REPORTS * CANDIDATES
        ours = gpu_seconds(cupy, lambda v=vectors, u=there: gpu_parity.parity_sums(v, u), 3)  # type: ignore[misc]
        some, few = vectors[:, :SAMPLE].get(), np.ascontiguousarray(asked[:, :1000])
        local = seconds(lambda v=some, u=few: parity.parity_sums(v, u))  # type: ignore[misc]
        found = gpu_parity.parity_sums(vectors[:, :SAMPLE], cupy.asarray(few)).get()
        same = np.array_equal(found, parity.parity_sums(some, few))
        part = cupy.ascontiguousarray(vectors[:, : 10 * SAMPLE])
        kernel = cupy.RawModule(code=DIRECT, options=(f"-DLIMBS={limbs}",)).get_function("direct")
        arguments = (part, np.int64(part.shape[1]), there, np.int64(CANDIDATES), cupy.zeros(CANDIDATES, np.uint64))
        direct = gpu_seconds(cupy, lambda k=kernel, a=arguments: k((32, -(-CANDIDATES // 256)), (256,), a), 3)  # type: ignore[misc]
        direct_rate = part.shape[1] * CANDIDATES / direct
        look_ups = -(-64 * limbs // gpu_parity._group_bits(limbs))
        limit = 1024 * clock / (32 * (2.5 * look_ups + 2) / OPERATIONS)
        direct_limit = clock / max(1 / POPCOUNTS, (2 * limbs + 1.5) / OPERATIONS)
        rate, far = pairs / ours, local / some.shape[1] / few.shape[1] * pairs
        print(
            f"  {64 * limbs} bits: {ours:.2f} s, {rate / 1e12:.2f}e12 pairs a second\n"
            f"    {100 * rate / limit:.0f} % of its limit of {limit / 1e12:.1f}e12\n"
            f"    {100 * rate / direct_limit:.0f} % of {direct_limit / 1e12:.2f}e12, the limit of one population "
            f"count per pair; a kernel that does so reaches {direct_rate / 1e12:.2f}e12\n"
            f"    {far:,.0f} s on the processor (from 10^9 pairs); the same integers: {same}"
        )
        del vectors, part
        cupy.get_default_memory_pool().free_all_blocks()


def estimates(cupy: Any) -> None:
    """From a file of reports to the frequencies of candidates, the reading included."""
    print(f"\nestimates of {CANDIDATES:,} candidates from a file of {2 * SAMPLE:,} reports of 40 bits")
    values = np.random.default_rng(1).integers(0, 1000, size=2 * SAMPLE)
    with tempfile.TemporaryDirectory() as folder:
        for eps in (0.5, 2.5):
            mechanism = Fresh(NoisyInnerProduct(bits=40, eps=eps))
            sent = mechanism.simulate(values, rounds=1, seed=1)
            path = Path(folder) / f"{eps}.npz"
            write_reports(path, ((1, batch.reports[:, 0]) for batch in sent), mechanism=mechanism)
            asked = range(CANDIDATES)
            estimate_files(path, candidates=asked, engine="cuda")
            ours, found = timed(lambda p=path, u=asked: estimate_files(p, candidates=u, engine="cuda"))  # type: ignore[misc]
            local, expected = timed(lambda p=path, u=asked: estimate_files(p, candidates=u))  # type: ignore[misc]
            same = np.array_equal(found.best.frequencies, expected.best.frequencies)
            print(f"  eps = {eps}: {ours:.1f} s, {local:.1f} s on the processor; the same result: {same}")


def linking(cupy: Any) -> None:
    """Two attacks with all pairs of people; the processor matches a tenth of the people, 1 % of the pairs."""
    print(f"\nmatching {PEOPLE:,} people with {PEOPLE:,}")
    rappor, fewer = Rappor.preset("paper"), PEOPLE // 10
    taken, found = timed(lambda: link(rappor, people=PEOPLE, engine="cuda"))
    print(f"  RAPPOR, 10 reports from each place: {taken:.1f} s in all, top1 {found.top1.sampled:.4f} (sampled)")
    here, ours = timed(lambda: link(rappor, people=fewer, engine="cuda"))
    local, theirs = timed(lambda: link(rappor, people=fewer))
    print(f"    {fewer:,} people: {here:.1f} s, {local:.1f} s on the processor; the same result: {ours == theirs}")
    attendance = Attendance()
    taken, _ = timed(lambda: match_by_attendance(attendance, rounds=365, people=PEOPLE, engine="cuda"))
    here, seen = timed(lambda: match_by_attendance(attendance, rounds=365, people=fewer, engine="cuda"))
    local, expected = timed(lambda: match_by_attendance(attendance, rounds=365, people=fewer))
    print(
        f"  attendance, 365 rounds: {taken:.1f} s; {fewer:,} people: {here:.1f} s, {local:.1f} s on the processor; "
        f"the same result: {seen == expected}"
    )


def searching(cupy: Any) -> None:
    """Strings of 8 hexadecimal digits of a million people."""
    rng = np.random.default_rng(1)
    weights = np.arange(1, 100_001) ** -1.3
    counts = rng.multinomial(1_000_000, weights / weights.sum())
    names = rng.choice(1 << 32, counts.size, replace=False)
    encoding = DiscoveredStrings(
        alphabet="0123456789abcdef", longest=8, shortest=8, prefixes=(5, 8, 8), salt=bytes(16)
    )
    people = np.repeat(encoding.encode_many([f"{name:08x}" for name in names.tolist()]), counts, axis=0)
    mechanism = Fresh(encoding.local(2.0))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(people, rounds=1, seed=1):
        sums.add(batch.reports)
    print("\ndiscovery of strings of 8 hexadecimal digits, 1,000,000 reports")
    for beam in (4096, 65_536):
        local, expected = timed(lambda b=beam: discover(encoding, sums, beam=b))  # type: ignore[misc]
        with running_on("cuda"):
            discover(encoding, sums, beam=beam)
            ours, found = timed(lambda b=beam: discover(encoding, sums, beam=b))  # type: ignore[misc]
        print(
            f"  beam {beam}: {ours:.2f} s, {local:.2f} s on the processor; {len(found.strings)} strings, "
            f"{found.tried:,} prefixes; the same result: {found.to_json() == expected.to_json()}"
        )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds on the clock of one run, and its result."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


PARTS = {
    "transform": transforms,
    "counting": counts,
    "parity": parities,
    "estimates": estimates,
    "linking": linking,
    "discovery": searching,
}


def main() -> None:
    """Print everything, or the parts that are given."""
    try:
        cupy = device.arrays()
    except (ImportError, UntrackableError) as error:
        print(f"not run on a GPU: {error}")
        return
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    compiled = compilation.compiled(compilation.WORTHWHILE) is not None
    print(f"{name}, CuPy {cupy.__version__}; the processor's kernels are {'compiled' if compiled else 'NumPy'}")
    for part in sys.argv[1:] or PARTS:
        PARTS[part](cupy)


if __name__ == "__main__":
    main()
