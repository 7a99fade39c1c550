"""Wide answers against one bit, and against local hashing: error, and the server's time, in the same run.

Standard errors are times √n, of a value that nobody holds. That of local hashing is the formula of its publication,
2e^(eps/2)/(e^eps - 1); what both have on the same people is measured over all values that nobody holds. Ratios
above 1 mean that ours is better. Run with `make bench`, or with the number of people as argument.
"""

import math
import sys
import time
import types
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from untrackable import Fresh, NoisyInnerProduct
from untrackable.kernels import compilation

# pure-ldp imports scikit-learn for its RAPPOR, which is not compared here.
sys.modules.setdefault("pure_ldp.frequency_oracles.rappor", types.ModuleType("rappor"))

EPS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
BITS = 10
HELD = 4
"""Values that people hold, of 2^BITS."""


def errors() -> None:
    """What is lost by one bit, and how near the best width comes to local hashing; 2^16 values."""
    print("Standard error times √n (exact), 2^16 values")
    print(" eps   one bit   width   chosen   one bit/chosen   local hashing   hashing/chosen")
    for eps in EPS:
        chosen = NoisyInnerProduct(bits=16, eps=eps)
        one = NoisyInnerProduct(bits=16, eps=eps, width=1).accuracy(1, 0.05).standard_error
        best = chosen.accuracy(1, 0.05).standard_error
        hashing = 2 * math.exp(eps / 2) / math.expm1(eps)
        print(
            f"{eps:4g}   {one:7.2f}   {chosen.width:5d}   {best:6.2f}   {one / best:14.2f}   "
            f"{hashing:13.2f}   {hashing / best:14.3f}"
        )


def spread(frequencies: NDArray[np.float64], people: int) -> float:
    """Times √n, of the values that nobody holds."""
    return float(np.sqrt(np.mean(frequencies[HELD:] ** 2) * people))


def hashed(text: str, seed: int) -> Any:
    """Of the text's bytes; seeds have 32 bits."""
    return xxhash.xxh32(text.encode(), seed=seed & 0xFFFFFFFF)


def servers(people: int) -> None:
    """Reports in, all frequencies out."""
    print(f"\nServer, {people:,} people, 2^{BITS} values: seconds, and error (sampled)")
    print(" eps   width   ours, s   error   pure-ldp OLH, s   error   OLH/ours, time   OLH/ours, error")
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer, lh_client, lh_server

    # It hashes text, where today's xxhash takes bytes; at most a third of its time is due to encoding.
    lh_client.xxhash = lh_server.xxhash = types.SimpleNamespace(xxh32=hashed)
    values = np.arange(people) % HELD
    compilation.compiled(compilation.WORTHWHILE)
    for eps in (1.0, 2.0, 4.0):
        base = NoisyInnerProduct(bits=BITS, eps=eps)
        fresh = Fresh(base)
        reports = np.concatenate([batch.reports for batch in fresh.simulate(values, rounds=1, seed=1)])[:, 0]
        fast = math.inf
        for _ in range(3):  # the shortest of a few, as it is over in a moment
            start = time.perf_counter()
            ours = fresh.aggregator().add(reports).estimate().frequencies
            fast = min(fast, time.perf_counter() - start)
        client = LHClient(epsilon=eps, d=1 << BITS, use_olh=True, index_mapper=lambda x: x)
        server = LHServer(epsilon=eps, d=1 << BITS, use_olh=True, index_mapper=lambda x: x)
        sent = [client.privatise(value) for value in values.tolist()]
        start = time.perf_counter()
        for report in sent:
            server.aggregate(report)
        theirs = np.asarray(server.estimate_all(range(1 << BITS), suppress_warnings=True)) / people
        slow = time.perf_counter() - start
        mine, other = spread(ours, people), spread(theirs, people)
        print(
            f"{eps:4g}   {base.width:5d}   {fast:7.4f}   {mine:5.2f}   {slow:15.2f}   {other:5.2f}   "
            f"{slow / fast:14,.0f}   {other / mine:15.2f}"
        )


def adding() -> None:
    """What a wider answer costs the server: it adds to 2^width - 1 entries."""
    people = 1_000_000
    print(f"\nAdding {people:,} reports, 2^16 values, eps 4")
    print("width   million reports a second   million entries   bytes of a report")
    values = np.zeros(people, dtype=np.uint64)
    for width in (1, 2, 3, 4, 6, 8):
        fresh = Fresh(NoisyInnerProduct(bits=16, eps=4.0, width=width))
        reports = np.concatenate([batch.reports for batch in fresh.simulate(values, rounds=1, seed=1)])[:, 0]
        sums = fresh.aggregator()
        start = time.perf_counter()
        sums.add(reports)
        spent = time.perf_counter() - start
        rate = people / spent / 1e6
        entries = rate * ((1 << width) - 1)
        print(f"{width:5d}   {rate:24.1f}   {entries:15.1f}   {reports.nbytes / people:17.0f}")


if __name__ == "__main__":
    errors()
    servers(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
    adding()
