"""How much smaller eps in a crowd is than by the generic bound, and how long a budget takes.

The peer is the bound of Feldman, McMillan and Talwar ("Stronger Privacy Amplification by Shuffling", 2023), which
holds for every eps_report-private report. It is the case of our bound without a third part: two values are as far
apart as eps_report permits. Both are composed by the same engine, over the same rounds.
"""

import math
from collections.abc import Iterator
from typing import Any

from benchmarks.shared.clocks import processor_timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck, Fresh, NoisyInnerProduct
from untrackable.theory.crowd import CrowdParts, crowd_upper

BITS, DELTA = 10, 1e-6
CROWDS = ((20_000, 52), (100_000, 52), (100_000, 365), (1_000_000, 730))
TURNS = (1_000, 10_000, 100_000)
"""Reports of the round in which a person answers."""
DECKS = "Decks of 1,024 values for eps = 1 in a crowd"
GENERIC = Comparison(work=DECKS, peer="the generic bound of their eps", unit="times as small an eps (upper)")
ALONE = Comparison(work=DECKS, peer="the error of decks that rely on no crowd", unit="times as small (exact)")
SOLVED = Comparison(work="Such a deck is found", peer="one evaluation of its delta", unit="times as long")
ONCE = Comparison(work="One report of eps = 4 about 16 values, in a crowd", peer=GENERIC.peer, unit=GENERIC.unit)
COMPARISONS = (ONCE, GENERIC, ALONE, SOLVED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """A few crowds, after one that warms up."""
    report = Fresh(NoisyInnerProduct(bits=4, eps=4.0, width=4))
    for reports in [200] * len(TURNS) if small else TURNS:
        eps = report.crowd(people=reports, reports=1).gamma(DELTA).upper
        yield ONCE.row(clones_eps(4.0, reports, 1) / eps, f"{reports:,} reports in the round")
    Deck.for_crowd(people=200, bits=BITS, slots=2, eps=1.0, delta=DELTA)
    for people, rounds in [(200, 2)] * len(CROWDS) if small else CROWDS:
        budget: dict[str, Any] = {"bits": BITS, "slots": rounds, "eps": 1.0, "delta": DELTA}
        solved, deck = processor_timed(lambda n=people, b=budget: Deck.for_crowd(people=n, **b))  # type: ignore[misc]
        quieter = Deck(bits=BITS, slots=rounds, eps_report=0.99 * deck.eps_report, width=deck.width)
        once, _ = processor_timed(lambda d=quieter, n=people: d.crowd(people=n).delta(1.0))  # type: ignore[misc]
        size = f"{people:,} people, {rounds} rounds"
        eps = deck.crowd(people=people).gamma(DELTA).upper
        yield GENERIC.row(clones_eps(deck.eps_report, people, rounds) / eps, size)
        alone, beside = (d.accuracy(people).standard_error for d in (Deck.for_budget(**budget), deck))
        yield ALONE.row(alone / beside, size)
        yield SOLVED.row(solved / once, size)


def clones_eps(eps_report: float, people: int, rounds: int) -> float:
    """The generic bound."""
    ratio = math.exp(eps_report)
    generic = CrowdParts(ratio, (ratio - 1) / (ratio + 1), ratio)
    return crowd_upper({(generic, people): rounds}).gamma(DELTA).upper
