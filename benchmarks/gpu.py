"""The engine cuda beside the processor of the same machine, CuPy, and what the GPU could do at best.

A "pass" is the time of a copy from one place of the GPU's memory to another, of as many bytes as the table has.
Where nothing else is said, the data is on the GPU already. Results are compared with those of the processor: they
must be equal.

The plain parity scan takes one population count for each pair of a report and a candidate, and with many bits its
logical operations are the limit. Ours does 32 inner products at once: a block keeps 1,024 reports in shared memory,
transposed, as tables with one row for each combination of some bits of a candidate. Each look-up is a shift, a mask
and half of an exclusive or of three words; counting takes two more operations, each for 32 lanes.
"""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared.clocks import fastest, timed
from benchmarks.shared.measurements import Comparison, Row, Unavailable
from untrackable import DiscoveredStrings, Fresh, NoisyInnerProduct, Rappor, discover
from untrackable.auditing.attacks import link
from untrackable.errors import UntrackableError
from untrackable.kernels import counting, engine, gpu
from untrackable.kernels.engine import running_on
from untrackable.reports.files import write_reports
from untrackable.reports.sums import estimate_files

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


PROCESSOR = "the processor"
COPIED = "the processor, if data is copied to the GPU and back"
FASTER = "times as fast"


def _beside(work: str, *peers: str, unit: str = FASTER) -> dict[str, Comparison]:
    return {peer: Comparison(work=work, peer=peer, unit=unit) for peer in peers}


TRANSFORM = "Transform of int64"
PASSES = Comparison(work="Transform in place", peer="one pass over the table", unit="times as long", at_most=5)
RFFT = Comparison(work="Transform of float32 in place", peer="`cupy.fft.rfft`", unit=FASTER)
TRANSFORMED = _beside(TRANSFORM, PROCESSOR, COPIED)
COUNTED = _beside("Reports counted", PROCESSOR, COPIED, "`cupy.bincount`, without signs")
SCANNED = _beside("Parity scan", f"{PROCESSOR}, from a part", "one population count per pair, from a part")
LIMIT = Comparison(work="Parity scan", peer="the limit of its method", unit="times its rate")
DIRECT_LIMIT = Comparison(
    work="Parity scan", peer="the limit of one population count per pair", unit="times its rate"
)
ESTIMATED = Comparison(work="`estimate_files` with 100,000 candidates", peer=PROCESSOR, unit=FASTER)
LINKED = Comparison(work="`link`, RAPPOR, 10 reports from each place", peer=PROCESSOR, unit=FASTER)
LINKED_SECONDS = Comparison(work="`link`, RAPPOR, 10 reports from each place", unit="s")
DISCOVERED = Comparison(work="`discover`, 8 hexadecimal digits", peer=PROCESSOR, unit=FASTER)
COMPARISONS = (
    PASSES, RFFT, *TRANSFORMED.values(), *COUNTED.values(), *SCANNED.values(), LIMIT, DIRECT_LIMIT, ESTIMATED,
    LINKED, LINKED_SECONDS, DISCOVERED,
)  # fmt: skip


def measure(*, small: bool = False) -> Iterator[Row]:
    """All parts. There is no small size: what a GPU does at once takes no time."""
    try:
        arrays = engine.cupy()
    except (ImportError, UntrackableError) as error:
        raise Unavailable(str(error)) from None
    for part in (transforms, counts, parities, estimates, linking, searching):
        yield from part(arrays)


def machine() -> str:
    """The GPU, and the cores of the machine that it is in."""
    try:
        arrays = engine.cupy()
    except (ImportError, UntrackableError):
        return "no GPU"
    name = arrays.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"one {name}, beside {os.cpu_count()} cores of which our kernels use four"


def check(same: bool) -> None:
    """Refuse to time what is wrong."""
    if not same:
        raise AssertionError("the GPU and the processor disagree")


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


def transforms(cupy: Any) -> Iterator[Row]:
    """Up to 2^32 entries, in place; then tables that are also copied."""
    for kind, bits in (("float32", 30), ("float32", 32), ("int64", 32)):
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
        gpu.walsh_hadamard(table)
        looked_up = np.random.default_rng(3).integers(0, table.size, size=1000)
        signs = 1 - 2 * (np.bitwise_count(np.unique(spikes)[:, None] & looked_up) & 1).astype(np.int64)
        check(np.array_equal(table[cupy.asarray(looked_up)].get(), signs.sum(axis=0)))
        table[...] = 0
        table[::3] = 1
        ours = gpu_seconds(cupy, lambda t=table: gpu.walsh_hadamard(t), times=5)  # type: ignore[misc]
        yield PASSES.row(ours / once, f"2^{bits} {kind}")
        del table
        cupy.get_default_memory_pool().free_all_blocks()
        if (kind, bits) == ("float32", 30):
            real = cupy.random.default_rng(1).random(1 << 30, dtype=np.float32)
            yield RFFT.row(gpu_seconds(cupy, lambda r=real: cupy.fft.rfft(r), 3) / ours, "2^30")  # type: ignore[misc]
            del real
            cupy.get_default_memory_pool().free_all_blocks()
    for bits in (26, 30):
        numbers = np.random.default_rng(4).integers(-9, 9, size=1 << bits)
        table = cupy.asarray(numbers)
        ours = gpu_seconds(cupy, lambda t=table: gpu.walsh_hadamard(t))  # type: ignore[misc]
        copied = fastest(lambda n=numbers: on_gpu_and_back(cupy, n), 2)  # type: ignore[misc]
        local = fastest(lambda n=numbers: counting.walsh_hadamard(n, in_place=True), 1 if bits == 30 else 3)  # type: ignore[misc]
        yield TRANSFORMED[PROCESSOR].row(local / ours, f"2^{bits}")
        yield TRANSFORMED[COPIED].row(local / copied, f"2^{bits}")
        del table
        cupy.get_default_memory_pool().free_all_blocks()


def on_gpu_and_back(cupy: Any, numbers: Any) -> None:
    """Transform a table in main memory."""
    table = cupy.asarray(numbers)
    gpu.walsh_hadamard(table)
    table.get(out=numbers)


def counts(cupy: Any) -> Iterator[Row]:
    """Range check and signs included."""
    for bits in (16, 24):
        reports = np.random.default_rng(bits).integers(2, 2 << bits, size=REPORTS, dtype=np.uint64)
        sums, there = np.zeros(1 << bits, dtype=np.int64), cupy.asarray(reports)
        table = cupy.zeros(1 << bits, dtype=np.int64)
        ours = gpu_seconds(cupy, lambda t=table, r=there: gpu.add_signs(t, r))  # type: ignore[misc]
        peer = gpu_seconds(cupy, lambda r=there: cupy.bincount(r.view(np.int64)), 3)  # type: ignore[misc]
        copied = fastest(lambda s=sums, r=reports: gpu.add_signs(s, r), 2)  # type: ignore[misc]
        sums[...] = 0
        local = fastest(lambda s=sums, r=reports: counting.add_signs(s, r), 2)  # type: ignore[misc]
        table[...] = 0
        gpu.add_signs(table, there)
        check(np.array_equal(2 * table.get(), sums))
        for made, beside in zip(COUNTED.values(), (local / ours, local / copied, peer / ours), strict=True):
            yield made.row(beside, f"{REPORTS:,} reports of {bits} bits")


def parities(cupy: Any) -> Iterator[Row]:
    """The whole scan on the GPU; the processor and the direct method do a part of it."""
    clock = float(cupy.cuda.Device().attributes["ClockRate"]) * 1e3 * gpu.processors()
    for limbs in (1, 4):
        rng = cupy.random.default_rng(limbs)
        vectors = rng.integers(0, (1 << 63) - 1, size=(limbs, REPORTS), dtype=np.uint64)
        asked = np.random.default_rng(limbs).integers(0, 1 << 64, size=(limbs, CANDIDATES), dtype=np.uint64)
        there, pairs = cupy.asarray(asked), REPORTS * CANDIDATES
        ours = gpu_seconds(cupy, lambda v=vectors, u=there: gpu.parity_sums(v, u), 3)  # type: ignore[misc]
        some, few = vectors[:, :SAMPLE].get(), np.ascontiguousarray(asked[:, :1000])
        local = fastest(lambda v=some, u=few: counting.parity_sums(v, u), 2)  # type: ignore[misc]
        found = gpu.parity_sums(vectors[:, :SAMPLE], cupy.asarray(few)).get()
        check(np.array_equal(found, counting.parity_sums(some, few)))
        part = cupy.ascontiguousarray(vectors[:, : 10 * SAMPLE])
        kernel = cupy.RawModule(code=DIRECT, options=(f"-DLIMBS={limbs}",)).get_function("direct")
        arguments = (part, np.int64(part.shape[1]), there, np.int64(CANDIDATES), cupy.zeros(CANDIDATES, np.uint64))
        direct = gpu_seconds(cupy, lambda k=kernel, a=arguments: k((32, -(-CANDIDATES // 256)), (256,), a), 3)  # type: ignore[misc]
        direct_rate = part.shape[1] * CANDIDATES / direct
        look_ups = -(-64 * limbs // gpu._group_bits(limbs))
        limit = 1024 * clock / (32 * (2.5 * look_ups + 2) / OPERATIONS)
        direct_limit = clock / max(1 / POPCOUNTS, (2 * limbs + 1.5) / OPERATIONS)
        rate, local_rate = pairs / ours, some.shape[1] * few.shape[1] / local
        size = f"{REPORTS:,} reports × {CANDIDATES:,} candidates of {64 * limbs} bits"
        for made, beside in zip(SCANNED.values(), (local_rate, direct_rate), strict=True):
            yield made.row(rate / beside, size)
        yield LIMIT.row(rate / limit, size)
        yield DIRECT_LIMIT.row(rate / direct_limit, size)
        del vectors, part
        cupy.get_default_memory_pool().free_all_blocks()


def estimates(_: Any) -> Iterator[Row]:
    """From a file of reports to the frequencies of candidates, the reading included."""
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
            check(np.array_equal(found.best.frequencies, expected.best.frequencies))
            yield ESTIMATED.row(local / ours, f"{2 * SAMPLE:,} reports of 40 bits, eps = {eps:g}")


def linking(_: Any) -> Iterator[Row]:
    """An attack with all pairs of people; the processor matches a tenth of the people, 1 % of the pairs.

    The larger one comes first, so that both start with kernels that are compiled already.
    """
    rappor, fewer = Rappor.preset("paper"), PEOPLE // 10
    taken, _found = timed(lambda: link(rappor, people=PEOPLE, engine="cuda"))
    here, found = timed(lambda: link(rappor, people=fewer, engine="cuda"))
    local, expected = timed(lambda: link(rappor, people=fewer))
    check(found == expected)
    yield LINKED.row(local / here, f"{fewer:,} × {fewer:,} people")
    yield LINKED_SECONDS.row(taken, f"{PEOPLE:,} × {PEOPLE:,} people")


def searching(_: Any) -> Iterator[Row]:
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
    local, expected = timed(lambda: discover(encoding, sums, beam=65_536))
    with running_on("cuda"):
        discover(encoding, sums, beam=65_536)
        ours, found = timed(lambda: discover(encoding, sums, beam=65_536))
    check(found.to_json() == expected.to_json())
    yield DISCOVERED.row(local / ours, f"1,000,000 reports, {found.tried:,} prefixes")
