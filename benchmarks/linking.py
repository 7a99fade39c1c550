"""Matching people: the exact scores of all pairs against the least that they can cost.

For kept places, one BLAS product of the same shape (people × places by places × people) for each number of ones.
For stored executions, sorting as many random words as there are pairs, as patterns have to be told apart.
For attendance, one product in single precision (people × rounds by rounds × people).
"""

import resource
import time
from collections.abc import Callable

import numpy as np

from untrackable import InnerProduct, Rappor
from untrackable.auditing.attendance_attack import attend, attendance_scores
from untrackable.auditing.link_attack import link
from untrackable.theory.attendance import Attendance

PEOPLE, REPORTS, PLACES, ROUNDS = 1000, 10, 128, 365


def fastest(run: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Print ratios."""
    rappor = Rappor.preset("paper")
    sent = np.concatenate([b.reports for b in rappor.simulate(np.zeros(PEOPLE, int), rounds=2 * REPORTS, seed=1)])
    ours = fastest(lambda: rappor.link_scores(sent[:, :REPORTS], sent[:, REPORTS:], 0))
    left, right = np.random.default_rng(1).random((2, PEOPLE, PLACES))
    peer = fastest(lambda: [left @ right.T for _ in range(REPORTS + 1)])
    print(f"RAPPOR scores of {PEOPLE:,}² pairs: {ours / peer:.1f}× the matrix products alone")

    rnip = InnerProduct(bits=4, slots=400, eps_report=0.05)
    drawn = np.concatenate([b.reports for b in rnip.simulate(np.zeros(PEOPLE, int), rounds=2 * REPORTS, seed=1)])
    ours = fastest(lambda: rnip.link_scores(drawn[:, :REPORTS], drawn[:, REPORTS:], 0))
    words = np.random.default_rng(2).integers(0, 1 << 62, size=PEOPLE * PEOPLE)
    peer = fastest(lambda: np.sort(words))
    print(f"RNIP scores of {PEOPLE:,}² pairs that share reports: {ours / peer:.0f}× sorting as many words")

    attendance = Attendance()
    home, work = attend(attendance, ROUNDS, PEOPLE, np.random.default_rng(3))
    ours = fastest(lambda: attendance_scores(home, work, attendance))
    here, there = home.astype(np.float32), work.astype(np.float32)
    peer = fastest(lambda: here @ there.T)
    print(f"Attendance scores of {PEOPLE:,}² pairs, {ROUNDS} rounds: {ours / peer:.1f}× the matrix product alone")

    for people in (1000, 10_000):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        link(rappor, people=people)
        taken = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"RAPPOR, {people:,} people: {taken:.1f} s in all, {taken / people**2 * 1e9:.0f} ns a pair; "
            f"peak memory {after / 1024:.0f} MiB (+{(after - before) / 1024:.0f})"
        )


if __name__ == "__main__":
    main()
