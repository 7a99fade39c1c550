"""How much smaller eps in a crowd is than by the generic bound, and how long a budget takes.

The peer is the bound of Feldman, McMillan and Talwar ("Stronger Privacy Amplification by Shuffling", 2023), which
holds for every eps_report-private report. It is the case of our bound without a third part: two values are as far
apart as eps_report permits. Both are composed by the same engine, over the same rounds.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from benchmarks.shared.clocks import processor_timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck
from untrackable.theory.crowd_counts import CrowdParts
from untrackable.theory.crowd_rounds import crowd_upper

BITS, DELTA = 10, 1e-6
CROWDS = (
    (20_000, 52, Fraction(1)),
    (100_000, 52, Fraction(1)),
    (100_000, 365, Fraction(1)),
    (100_000, 365, Fraction(1, 20)),
    (1_000_000, 730, Fraction(1)),
)
_ANSWERED = {Fraction(1): "all answered", Fraction(1, 20): "one in 20 answered"}
DECKS = "Decks of 1,024 values for eps = 1 in a crowd"
GENERIC = Comparison(work=DECKS, peer="the generic bound of their eps", unit="times as small an eps (upper)")
ALONE = Comparison(work=DECKS, peer="the error of decks that rely on no crowd", unit="times as small (exact)")
SOLVED = Comparison(work="Such a deck is found", peer="one evaluation of its delta", unit="times as long")
COMPARISONS = (GENERIC, ALONE, SOLVED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """A few crowds, after one that warms up."""
    Deck.for_crowd(people=200, bits=BITS, slots=2, eps=1.0, delta=DELTA)
    for people, rounds, share in [(200, 2, Fraction(1))] * len(CROWDS) if small else CROWDS:
        budget: dict[str, Any] = {"bits": BITS, "slots": rounds, "eps": 1.0, "delta": DELTA, "participation": share}
        solved, deck = processor_timed(lambda n=people, b=budget: Deck.for_crowd(people=n, **b))  # type: ignore[misc]
        quieter = Deck(bits=BITS, slots=rounds, eps_report=0.99 * deck.eps_report, width=deck.width)
        once, _ = processor_timed(
            lambda d=quieter, n=people, s=share: d.crowd(people=n, participation=s).delta(1.0)  # type: ignore[misc]
        )
        size = f"{people:,} people, {rounds} rounds, {_ANSWERED[share]}"
        eps = deck.crowd(people=people, participation=share).gamma(DELTA).upper
        yield GENERIC.row(clones_eps(deck.eps_report, people, rounds, share) / eps, size)
        alone, beside = (d.accuracy(int(people * share)).standard_error for d in (Deck.for_budget(**budget), deck))
        yield ALONE.row(alone / beside, size)
        yield SOLVED.row(solved / once, size)


def clones_eps(eps_report: float, people: int, rounds: int, participation: Fraction) -> float:
    """The generic bound, with the same participation."""
    ratio = math.exp(eps_report)
    generic = CrowdParts(ratio, (ratio - 1) / (ratio + 1), ratio)
    return crowd_upper({(generic, people): rounds}, participation).gamma(DELTA).upper
