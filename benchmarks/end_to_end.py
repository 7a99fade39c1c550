"""One round from values to estimates: everyone randomises, the server adds up and estimates all of 65,536 values.

The time of everything, and the largest error over all values (mean over seeds), of ours and of the fastest accurate
method of the other packages, in the same run. A method counts as accurate if its largest error is at most 1.2 times
ours. Ratios above 1 mean that ours is faster, or closer to the truth. Run with `make bench`.

Left out of the methods: what does not run with the NumPy and xxhash that are installed (the sketches, all local
hashing), and what needs one number for each of 65,536 values from everyone (unary and histogram encodings, subset
selection).
"""

import math
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import Fresh, NoisyInnerProduct
from untrackable.kernels import compilation, threads

BITS, EPS = 16, 1.0
VALUES = 1 << BITS
SURVEYED = 20_000
FACTOR = 1.2
MECHANISM = Fresh(NoisyInnerProduct(bits=BITS, eps=EPS, width=1))
"""One bit, as HadamardMech; two are more accurate, and the default."""

FloatArray = NDArray[np.float64]
Values = NDArray[np.int64]

# pure-ldp imports scikit-learn for its RAPPOR, which is not compared here.
sys.modules.setdefault("pure_ldp.frequency_oracles.rappor", types.ModuleType("rappor"))


def pure(client: Any, server: Any, values: Values) -> FloatArray:
    """pure-ldp counts values from 1, and estimates how many there are."""
    server.aggregate_all([client.privatise(value) for value in (values + 1).tolist()])
    found = server.estimate_all(range(1, VALUES + 1), suppress_warnings=True)
    return np.asarray(found, dtype=np.float64) / values.size


def hadamard_mechanism(values: Values, t: int = 1) -> FloatArray:
    """One random Hadamard coefficient (t of them) under randomised response."""
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient, HadamardMechServer

    return pure(HadamardMechClient(EPS, VALUES, t), HadamardMechServer(EPS, VALUES, t), values)


def two_coefficients(values: Values) -> FloatArray:
    """The same with t = 2, which it calls optimal for eps = 1."""
    return hadamard_mechanism(values, 2)


def hadamard_response(values: Values) -> FloatArray:
    """One of the places where a row of the Hadamard matrix is 1."""
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    return pure(HadamardResponseClient(EPS, VALUES, None), HadamardResponseServer(EPS, VALUES), values)


def direct(values: Values) -> FloatArray:
    """Generalised randomised response."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    reports = [GRR_Client(value, VALUES, EPS) for value in values.tolist()]
    return np.asarray(GRR_Aggregator_MI(reports, VALUES, EPS), dtype=np.float64)


METHODS: dict[str, Callable[[Values], FloatArray]] = {
    "HadamardMech (pure-ldp)": hadamard_mechanism,
    "HadamardMech, t = 2 (pure-ldp)": two_coefficients,
    "HadamardResponse (pure-ldp)": hadamard_response,
    "GRR (multi-freq-ldpy)": direct,
}


def population(people: int) -> Values:
    """Zipf's law over all values."""
    weights = 1 / np.arange(1, VALUES + 1)
    return np.random.default_rng(people).choice(VALUES, size=people, p=weights / weights.sum())


def ours(values: Values, seed: int) -> FloatArray:
    """Randomise, add up, estimate."""
    sums = MECHANISM.aggregator()
    for batch in MECHANISM.simulate(values, rounds=1, seed=seed):
        sums.add(batch.reports)
    return sums.estimate().frequencies


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long it took, and what came out."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def largest_error(found: FloatArray, values: Values) -> float:
    """Over all values."""
    return float(np.abs(found - np.bincount(values, minlength=VALUES) / values.size).max())


def fastest_accurate() -> Callable[[Values], FloatArray]:
    """By trying all of them."""
    values = population(SURVEYED)
    mine = float(np.mean([largest_error(ours(values, seed), values) for seed in range(1, 9)]))
    print(f"methods for all of {VALUES:,} values, eps = {EPS:g}, {SURVEYED:,} people")
    print("method                            seconds   largest error/ours")
    tried = []
    for name, method in METHODS.items():
        taken, found = timed(lambda m=method: m(values))  # type: ignore[misc]
        ratio = largest_error(found, values) / mine
        print(f"{name:32} {taken:8.2f}   {ratio:18.2f}")
        if ratio <= FACTOR:
            tried.append((taken, name))
    best = min(tried)[1]
    print(f"the fastest accurate one: {best}\n")
    return METHODS[best]


def compare(people: int, peer: Callable[[Values], FloatArray], times: int) -> None:
    """In turns, so that both meet the same machine."""
    values = population(people)
    spent: tuple[list[float], list[float]] = ([], [])
    errors: tuple[list[float], list[float]] = ([], [])
    for seed in range(times):
        taken, found = timed(lambda: peer(values))
        spent[1].append(taken)
        errors[1].append(largest_error(found, values))
        for again in range(12):
            taken, found = timed(lambda s=12 * seed + again: ours(values, s))  # type: ignore[misc]
            spent[0].append(taken)
            errors[0].append(largest_error(found, values))
    mine, other = (float(np.mean(e)) for e in errors)
    print(
        f"{people:9,} {min(spent[0]) * 1e3:8.2f} {min(spent[1]):9.2f}   {min(spent[1]) / min(spent[0]):6.0f} ×   "
        f"{mine:.5f} {other:.5f}   {other / mine:.3f}"
    )


def main() -> None:
    """Ratios."""
    compilation.compiled(compilation.WORTHWHILE)
    peer = fastest_accurate()
    print(f"one round end to end ({threads.allowed()} threads at most)")
    print("   people  ours, ms   peer, s    ratio    largest error, peer's   ratio")
    for people, times in ((1_000_000, 1), (100_000, 5)):
        compare(people, peer, times)
    exact = MECHANISM.accuracy(1).standard_error
    theirs = 1 / math.tanh(EPS / 2)
    print(
        f"standard error × √n of a value that nobody holds: {exact:.4f} ours, {theirs:.4f} HadamardMech's (exact)"
    )


if __name__ == "__main__":
    main()
