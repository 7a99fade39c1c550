"""Simulation and aggregation against the rate at which NumPy draws and counts at all.

A ratio of 1 is the physical limit of drawing the random words that a report needs and nothing else.
"""

import resource
import time
from collections.abc import Callable

import numpy as np

from untrackable import Deck, InnerProduct, Rappor
from untrackable.mechanisms.interface import Mechanism

PEOPLE = 2_000_000


def seconds(work: Callable[[], object]) -> float:
    """The shorter of two runs."""
    spent = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


def collect(mechanism: Mechanism, people: int) -> None:
    """Simulate one round of a population and count it."""
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(np.zeros(people, dtype=np.uint8), rounds=1, seed=1):
        sums.add(batch.reports)


def draw(words: int) -> None:
    """So many 64-bit words in pieces of two million, thrown away."""
    rng = np.random.default_rng(1)
    for _ in range(0, words, 1 << 21):
        rng.integers(0, (1 << 64) - 1, size=1 << 21, dtype=np.uint64, endpoint=True)


def main() -> None:
    """Ratios, and the memory that it took."""
    print("simulate and aggregate one round: time over that of drawing the words alone")
    for mechanism, words, people in (
        (Deck(bits=16, slots=730, eps_report=0.0124), 1, PEOPLE),
        (InnerProduct(bits=16, slots=730, eps_report=0.0124), 2, PEOPLE),
        (Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75), 16, PEOPLE // 10),
    ):
        ours = seconds(lambda m=mechanism, n=people: collect(m, n))  # type: ignore[misc]
        limit = seconds(lambda n=words * people: draw(n))  # type: ignore[misc]
        rate = people / ours / 1e6
        print(f"  {type(mechanism).__name__:12} {ours / limit:6.2f}   ({rate:.2f} million reports/s here)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory of this process {peak:.0f} MiB")


if __name__ == "__main__":
    main()
