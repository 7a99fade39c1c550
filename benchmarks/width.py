"""Wide answers beside one bit, and beside local hashing: error, and the server's time.

The standard error of local hashing is the formula of its publication, 2e^(eps/2)/(e^eps - 1). What both have on the
same people is measured over all values that nobody holds.
"""

import math
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from benchmarks.shared.clocks import fastest, processor_timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Fresh, NoisyInnerProduct
from untrackable.kernels import engine

# pure-ldp imports scikit-learn for its RAPPOR, which is not compared here.
sys.modules.setdefault("pure_ldp.frequency_oracles.rappor", types.ModuleType("rappor"))

EPS = (1.0, 2.0, 4.0, 6.0)
BITS = 10
HELD = 4
"""Values that people hold, of 2^BITS."""
CHOSEN = "Error with the width that is chosen, 2^16 values"
ONE = Comparison(work=CHOSEN, peer="one bit", unit="times its error (exact)")
HASHING = Comparison(work=CHOSEN, peer="local hashing, as published", unit="times its error (exact)")
PEER = "OLH of pure-ldp"
SERVED = Comparison(
    work="Reports become frequencies of 2^10 values", peer=PEER, unit="times as fast (processor time)"
)
SERVED_ERROR = Comparison(work="Errors of these", peer=PEER, unit="times its error (sampled)")
ADDED = Comparison(work="Reports added up, 2^16 values", peer="reports of one bit", unit="times as long")
COMPARISONS = (ONE, HASHING, SERVED, SERVED_ERROR, ADDED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Errors, then servers, then what a wider answer costs: a server adds to 2^width - 1 entries."""
    for eps in EPS:
        chosen, one = (NoisyInnerProduct(bits=16, eps=eps, **more) for more in ({}, {"width": 1}))
        best = chosen.accuracy(1, 0.05).standard_error
        yield ONE.row(best / one.accuracy(1, 0.05).standard_error, f"eps = {eps:g}")
        yield HASHING.row(best * math.expm1(eps) / (2 * math.exp(eps / 2)), f"eps = {eps:g}")
    engine.compiled(engine.WORTHWHILE)
    for eps in EPS[:3]:
        yield from servers(50 if small else 5000, eps)
    people, spent = 1000 if small else 1_000_000, {}
    for width in (1, 2, 4, 8):
        fresh = Fresh(NoisyInnerProduct(bits=16, eps=4.0, width=width))
        values = np.zeros(people, dtype=np.uint64)
        reports = np.concatenate([batch.reports for batch in fresh.simulate(values, rounds=1, seed=1)])[:, 0]
        spent[width] = fastest(lambda f=fresh, r=reports: f.aggregator().add(r))  # type: ignore[misc]
        if width > 1:
            yield ADDED.row(spent[width] / spent[1], f"{people:,} reports of {width} bits")


def spread(frequencies: NDArray[np.float64], people: int) -> float:
    """Times √n, of the values that nobody holds."""
    return float(np.sqrt(np.mean(frequencies[HELD:] ** 2) * people))


def hashed(text: str, seed: int) -> Any:
    """Of the text's bytes; seeds have 32 bits."""
    return xxhash.xxh32(text.encode(), seed=seed & 0xFFFFFFFF)


def servers(people: int, eps: float) -> Iterator[Row]:
    """Reports in, all frequencies out."""
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer, lh_client, lh_server

    # It hashes text, where today's xxhash takes bytes; at most a third of its time is due to encoding.
    lh_client.xxhash = lh_server.xxhash = types.SimpleNamespace(xxh32=hashed)
    values = np.arange(people) % HELD
    fresh = Fresh(NoisyInnerProduct(bits=BITS, eps=eps))
    reports = np.concatenate([batch.reports for batch in fresh.simulate(values, rounds=1, seed=1)])[:, 0]
    runs = [processor_timed(lambda: fresh.aggregator().add(reports).estimate()) for _ in range(10)]
    fast, ours = min(seconds for seconds, _ in runs), runs[0][1].frequencies
    client = LHClient(epsilon=eps, d=1 << BITS, use_olh=True, index_mapper=lambda x: x)
    server = LHServer(epsilon=eps, d=1 << BITS, use_olh=True, index_mapper=lambda x: x)
    sent = [client.privatise(value) for value in values.tolist()]

    def estimated() -> NDArray[np.float64]:
        for report in sent:
            server.aggregate(report)
        return np.asarray(server.estimate_all(range(1 << BITS), suppress_warnings=True)) / people

    slow, theirs = processor_timed(estimated)
    yield SERVED.row(slow / fast, f"{people:,} people, eps = {eps:g}")
    yield SERVED_ERROR.row(spread(ours, people) / spread(theirs, people), f"{people:,} people, eps = {eps:g}")
