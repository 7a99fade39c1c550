"""One round from values to estimates: everyone randomises, the server adds up and estimates all of 65,536 values.

Processor time of everything, and the largest error over all values (mean over seeds), of ours and of the fastest
accurate method of the other packages. A method counts as accurate if its largest error is at most 1.2 times ours.

Left out of the methods: what does not run with the NumPy and xxhash that are installed (the sketches, all local
hashing), and what needs one number for each of 65,536 values from everyone (unary and histogram encodings, subset
selection).
"""

import math
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.clocks import processor_timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Fresh, NoisyInnerProduct
from untrackable.arrays import FloatArray
from untrackable.kernels import engine

BITS, EPS = 16, 1.0
VALUES = 1 << BITS
FACTOR = 1.2
MECHANISM = Fresh(NoisyInnerProduct(bits=BITS, eps=EPS, width=1))
"""One bit, as HadamardMech; two are more accurate, and the default."""

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
    from pure_ldp.frequency_oracles.hadamard_response.internal import k2k_hadamard

    # It draws whole numbers up to a float, which Python refuses since 3.12.
    k2k_hadamard.random = types.SimpleNamespace(
        random=random.random,
        randint=lambda low, high: random.randint(low, int(high)),  # noqa: S311
    )
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


ROUND = "One round end to end, all of 65,536 values at eps = 1"
BEST = "the fastest accurate method of pure-ldp and multi-freq-ldpy"
SURVEYED = {name: Comparison(work=ROUND, peer=name, unit="times as fast (processor time)") for name in METHODS}
ERRORS = {
    name: Comparison(work="Largest error of that round", peer=name, unit="times the peer's (sampled)")
    for name in METHODS
}
FASTER = Comparison(work=ROUND, peer=BEST, unit="times as fast (processor time)", at_least=500)
CLOSER = Comparison(work="Largest error of that round", peer=BEST, unit="times the peer's (sampled)")
EXACTLY = Comparison(
    work="Standard error of a value that nobody holds", peer="HadamardMech (pure-ldp)",
    unit="times the peer's (exact)",
)  # fmt: skip
COMPARISONS = (*SURVEYED.values(), *ERRORS.values(), FASTER, CLOSER, EXACTLY)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Try all methods with few people, and the fastest accurate one with many."""
    engine.compiled(engine.WORTHWHILE)
    values = population(20 if small else 20_000)
    runs = [processor_timed(lambda s=seed: ours(values, s)) for seed in range(8)]  # type: ignore[misc]
    fast, error = (
        np.median([seconds for seconds, _ in runs]),
        np.mean([largest_error(each, values) for _, each in runs]),
    )
    accurate = []
    for name, method in METHODS.items():
        seconds, found = processor_timed(lambda m=method: m(values))  # type: ignore[misc]
        ratio = largest_error(found, values) / float(error)
        yield SURVEYED[name].row(seconds / float(fast), f"{values.size:,} people")
        yield ERRORS[name].row(1 / ratio, f"{values.size:,} people")
        if ratio <= FACTOR or small:
            accurate.append((seconds, name))
    for people, times in ((20, 1), (20, 1)) if small else ((1_000_000, 1), (100_000, 5)):
        yield from compare(people, METHODS[min(accurate)[1]], times)
    yield EXACTLY.row(MECHANISM.accuracy(1).standard_error * math.tanh(EPS / 2))


def compare(people: int, peer: Callable[[Values], FloatArray], times: int) -> Iterator[Row]:
    """In turns, so that both meet the same machine."""
    values = population(people)
    spent: tuple[list[float], list[float]] = ([], [])
    errors: tuple[list[float], list[float]] = ([], [])
    for seed in range(times):
        works = [lambda: peer(values), *(lambda s=12 * seed + i: ours(values, s) for i in range(12))]
        for number, work in enumerate(works):
            seconds, found = processor_timed(work)
            spent[number == 0].append(seconds)
            errors[number == 0].append(largest_error(found, values))
    yield FASTER.row(float(np.median(spent[1]) / np.median(spent[0])), f"{people:,} people")
    yield CLOSER.row(float(np.mean(errors[0]) / np.mean(errors[1])), f"{people:,} people")


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


def largest_error(found: FloatArray, values: Values) -> float:
    """Over all values."""
    return float(np.abs(found - np.bincount(values, minlength=VALUES) / values.size).max())
