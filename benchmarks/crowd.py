"""How much smaller eps in a crowd is than by the generic bound, how sharp it is, and how long a budget takes.

The peer is the bound of Feldman, McMillan and Talwar ("Stronger Privacy Amplification by Shuffling", 2023), which
holds for every eps_report-private report. It is the case of our bound without a third part: two values are as far
apart as eps_report permits. Both are composed by the same engine, over the same rounds. The lower end is that of
others who all hold a third value. Times are processor time, and for budgets a multiple of one evaluation, in the
same run. Run with `make bench`.
"""

import math
import time
from fractions import Fraction

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


def clones_eps(eps_report: float, people: int, rounds: int, participation: Fraction) -> float:
    """The generic bound, with the same participation."""
    ratio = math.exp(eps_report)
    generic = CrowdParts(ratio, (ratio - 1) / (ratio + 1), ratio)
    return crowd_upper({(generic, people): rounds}, participation).gamma(DELTA).upper


def main() -> None:
    """One line for each crowd: the deck of a budget of eps 1, and its eps by both bounds."""
    print(
        f"{1 << BITS} values; decks for eps = 1, delta = {DELTA:g} in a crowd; errors of a value that nobody holds"
    )
    print("people    rounds answers  eps_report  width   error   alone   eps (bracket)     generic  ratio   solve")
    for people, rounds, share in CROWDS:
        budget = {"bits": BITS, "slots": rounds, "eps": 1.0, "delta": DELTA, "participation": share}
        start = time.process_time()
        deck = Deck.for_crowd(people=people, **budget)  # type: ignore[arg-type]
        solved = time.process_time()
        quieter = Deck(bits=BITS, slots=rounds, eps_report=0.99 * deck.eps_report, width=deck.width)
        quieter.crowd(people=people, participation=share).delta(1.0)
        once = time.process_time()
        alone = Deck.for_budget(**budget)  # type: ignore[arg-type]
        found = deck.crowd(people=people, participation=share).gamma(DELTA)
        generic = clones_eps(deck.eps_report, people, rounds, share)
        errors = [d.accuracy(int(people * share)).standard_error for d in (deck, alone)]
        print(
            f"{people:<9} {rounds:6} {float(share):7.2f} {deck.eps_report:11.3f} {deck.width:6} {errors[0]:7.4f} "
            f"{errors[1]:7.3f}   {found.lower:.4f} … {found.upper:.4f} {generic:8.4f} {generic / found.upper:6.2f} "
            f"{solved - start:5.1f} s, {(solved - start) / (once - solved):.1f} × one answer"
        )


if __name__ == "__main__":
    main()
