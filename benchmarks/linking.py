"""Matching people: the exact scores of all pairs beside the least that they can cost.

For kept places, one BLAS product of the same shape (people × places by places × people) for each number of ones.
For stored executions, sorting as many random words as there are pairs, as patterns have to be told apart.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.shared.clocks import fastest, taken_apart
from benchmarks.shared.measurements import Comparison, Row
from untrackable import InnerProduct, Rappor
from untrackable.auditing.attacks import link

REPORTS, PLACES = 10, 128
RAPPOR = Comparison(
    work="Scores of all pairs of people by their RAPPOR reports",
    peer="the matrix products alone",
    unit="times as long",
)
STORED = Comparison(
    work="Scores of all pairs by stored reports that they share", peer="sorting as many words", unit="times as long"
)
WHOLE = Comparison(work="`link` of RAPPOR, all of it", unit="s")
PEAK = Comparison(work="Peak memory of that", unit="GiB")
COMPARISONS = (RAPPOR, STORED, WHOLE, PEAK)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Two kinds of scores, and one attack from start to end."""
    people = 50 if small else 1000
    size = f"{people:,} × {people:,} people"
    rappor = Rappor.preset("paper")
    sent = np.concatenate([b.reports for b in rappor.simulate(np.zeros(people, int), rounds=2 * REPORTS, seed=1)])
    ours = fastest(lambda: rappor.link_scores(sent[:, :REPORTS], sent[:, REPORTS:], 0))
    left, right = np.random.default_rng(1).random((2, people, PLACES))
    yield RAPPOR.row(ours / fastest(lambda: [left @ right.T for _ in range(REPORTS + 1)]), size)

    rnip = InnerProduct(bits=4, slots=400, eps_report=0.05)
    drawn = np.concatenate([b.reports for b in rnip.simulate(np.zeros(people, int), rounds=2 * REPORTS, seed=1)])
    ours = fastest(lambda: rnip.link_scores(drawn[:, :REPORTS], drawn[:, REPORTS:], 0))
    words = np.random.default_rng(2).integers(0, 1 << 62, size=people * people)
    yield STORED.row(ours / fastest(lambda: np.sort(words)), size)

    for number in (people, 10 * people):
        found = taken_apart(_link, number, times=1, small=small)
        yield WHOLE.row(found.seconds, f"{number:,} × {number:,} people")
        yield PEAK.row(found.peak, f"{number:,} × {number:,} people")


def _link(people: int) -> None:
    link(Rappor.preset("paper"), people=people)
