"""Simulation and aggregation beside the rate at which NumPy draws at all.

A ratio of 1 is the limit: drawing the random words that a report needs, and nothing else.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.shared.clocks import in_turns, taken_apart
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck, InnerProduct, Rappor
from untrackable.mechanisms.interface import Mechanism

MECHANISMS: dict[str, tuple[Mechanism, int]] = {
    "Deck": (Deck(bits=16, slots=730, eps_report=0.0124), 1),
    "InnerProduct": (InnerProduct(bits=16, slots=730, eps_report=0.0124), 2),
    "Rappor": (Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75), 16),
}
"""And how many random words each of their reports needs."""
ROUND = {
    name: Comparison(
        work=f"One round simulated and added up, {name}", peer="drawing the random words", unit="times as long"
    )
    for name in MECHANISMS
}
PEAK = Comparison(work="Peak memory of a process that does so, Deck", unit="GiB")
COMPARISONS = (*ROUND.values(), PEAK)


def measure(*, small: bool = False) -> Iterator[Row]:
    """The shorter of two runs each."""
    everyone = 2000 if small else 2_000_000
    for name, (mechanism, words) in MECHANISMS.items():
        people = everyone // 10 if name == "Rappor" else everyone
        ours, limit = in_turns(
            lambda m=mechanism, n=people: collect(m, n),  # type: ignore[misc]
            lambda n=words * people: draw(n),  # type: ignore[misc]
            times=2,
        )
        yield ROUND[name].row(ours / limit, f"{people:,} people")
    yield PEAK.row(taken_apart(collect, MECHANISMS["Deck"][0], everyone, small=small).peak, f"{everyone:,} people")


def collect(mechanism: Mechanism, people: int) -> None:
    """Simulate one round of a population and count it."""
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(np.zeros(people, dtype=np.uint8), rounds=1, seed=1):
        sums.add(batch.reports)


def draw(words: int) -> None:
    """So many 64-bit words in pieces, thrown away."""
    rng = np.random.default_rng(1)
    for begun in range(0, words, 1 << 21):
        rng.integers(0, (1 << 64) - 1, size=min(1 << 21, words - begun), dtype=np.uint64, endpoint=True)
